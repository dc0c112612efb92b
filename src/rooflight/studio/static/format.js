// Numbers as a person reads them: the same rules as the library's text output.

const PREFIXES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const SMALL = [[1, ""], [1e-3, "m"], [1e-6, "u"]];

export function significant(value, digits = 3) {
  if (value === 0) return "0";
  const places = digits - 1 - Math.floor(Math.log10(Math.abs(Number(value.toPrecision(digits)))));
  const rounded = Number(value.toPrecision(digits));
  return rounded.toLocaleString("en-US", { maximumFractionDigits: Math.max(0, Math.min(places, 20)) });
}

function scaled(value, unit, table) {
  if (value === 0) return `0 ${unit}`;
  const [factor, prefix] = table.find(([size]) => value >= size * 0.9995) ?? table.at(-1);
  return `${significant(value / factor)} ${prefix}${unit}`.trim();
}

export const amount = (value, unit) => (value == null ? "" : scaled(value, unit, PREFIXES));
export const seconds = (value) => (value == null ? "" : scaled(value, "s", SMALL));
export const plain = (value) => (value == null ? "" : significant(value));
export const count = (value) => (value == null ? "" : Math.round(value).toLocaleString("en-US"));
export const percent = (share) => (share > 0 && share < 0.005 ? "<1 %" : `${Math.round(share * 100)} %`);

// What binds, as a page names it: host_memory is the host memory.
export const resource = (name) => name.replaceAll("_", " ");

export const boundBy = (name) => (name.startsWith("host_") ? `bound by ${resource(name)}` : `${name}-bound`);
