// What the pointer is told about in a chart, as a walk: series of stops, read off what is drawn. Nothing is computed but
// which stop lies where: a stop's words are the tooltip's, its place is the mark's.

const LEAST_PX = 14;
const HIDDEN = 9;
const RANKS = { symbol: 0, rect: 1, rule: 2, line: 2, text: 3 };

// Of the scene's items, those with a tooltip, each with the corner of its group and the place of its layer.
function* items(scene, x = 0, y = 0, layers = new Map()) {
  for (const mark of scene.items) {
    if (!mark.items) continue;
    const name = mark.name ?? mark;
    if (!layers.has(name)) layers.set(name, layers.size);
    for (const item of mark.items) {
      if (item.items) yield* items(item, x + (item.x ?? 0), y + (item.y ?? 0), layers);
      else if (item.tooltip && words(item.tooltip)) yield { item, x, y, layer: layers.get(name) };
    }
  }
}

export const anyTold = (view) => !items({ items: [view.scenegraph().root] }).next().done;

export const words = (tooltip) => (typeof tooltip === "object" ? Object.entries(tooltip).filter(([, text]) => text !== "" && text != null).map(([name, text]) => `${name} ${text}`).join(", ") : String(tooltip));

const rankOf = (item) => (item.opacity === 0 ? HIDDEN : RANKS[item.mark.marktype] ?? RANKS.rule);

// Where a mark stands, in px of the drawing; of a point of a line, a small box around it.
function boxOf({ item, x, y }) {
  const whole = item.mark.marktype !== "line" && item.bounds && !item.bounds.empty() ? item.bounds : null;
  const { x1, y1, x2, y2 } = whole ?? { x1: item.x, x2: item.x, y1: item.y, y2: item.y };
  const most = item.opacity === 0 ? LEAST_PX : Infinity; // what only widens what can be hit
  const [width, height] = [Math.min(Math.max(x2 - x1, LEAST_PX), most), Math.min(Math.max(y2 - y1, LEAST_PX), most)];
  if (item.opacity === 0 && item.mark.marktype === "rule") return { ...amid(item, { x: item.x2 ?? item.x, y: item.y2 ?? item.y }, x, y), width, height };
  return { x: x + (x1 + x2) / 2, y: y + (y1 + y2) / 2, width, height };
}

// Between a line's ends, where it can be seen; not in the middle, where a handle of the roof is.
const amid = (one, other, x = 0, y = 0) => ({ x: x + (2 * one.x + other.x) / 3, y: y + (2 * one.y + other.y) / 3 });

// A line's points, or the marks on a strip, are one series whatever draws them; else those of a layer. Lines and strips
// that are numbered come first, in their order.
function seriesOf({ item, layer }) {
  const { line, row } = item.datum ?? {};
  if (line != null) return { name: `line ${line}`, order: Number.isInteger(line) ? line : Infinity };
  if (Number.isInteger(row) && item.mark.marktype !== "symbol") return { name: `row ${row}`, order: row };
  return { name: layer, order: Infinity };
}

// Each dot that is drawn is a stop; of all else, what says something that no other stop says. What lies on top is first.
export function walkOf(view) {
  const found = [...items({ items: [view.scenegraph().root] })].map((one) => ({ ...one, rank: rankOf(one.item), said: words(one.item.tooltip) }));
  found.sort((one, other) => one.rank - other.rank || other.layer - one.layer);
  const stops = new Map();
  const series = new Map();
  for (const one of found) {
    const box = boxOf(one);
    const at = `${one.said} at ${Math.round(box.x)}, ${Math.round(box.y)}`;
    const told = stops.get(one.rank === RANKS.symbol ? at : one.said);
    if (told) {
      if (told.item.mark === one.item.mark && one.item.mark.marktype === "line") told.box = { ...box, ...amid(told.ends, box) }; // a line that says one thing
      continue;
    }
    const stop = { said: one.said, tooltip: one.item.tooltip, datum: one.item.datum, item: one.item, box, ends: box, round: ["symbol", "line"].includes(one.item.mark.marktype) };
    stops.set(at, stop);
    if (!stops.has(one.said)) stops.set(one.said, stop);
    const { name, order } = seriesOf(one);
    if (!series.has(name)) series.set(name, { order, stops: [] });
    series.get(name).stops.push(stop);
  }
  return [...series.values()].sort((one, other) => (one.order < other.order ? -1 : Number(one.order > other.order)))
    .map(({ stops: some }) => some.sort((one, other) => one.box.x - other.box.x));
}

// From a place in the walk by a key; null where the key leads nowhere. A series that ends goes on in the next one.
export function step(walk, [series, at], key) {
  const along = walk[series];
  const next = (by) => (series + by + walk.length) % walk.length;
  if (key === "Home") return [series, 0];
  if (key === "End") return [series, along.length - 1];
  if (key === "ArrowRight" || (key === "ArrowDown" && walk.length === 1)) return at + 1 < along.length ? [series, at + 1] : [next(1), 0];
  if (key === "ArrowLeft" || (key === "ArrowUp" && walk.length === 1)) return at > 0 ? [series, at - 1] : [next(-1), walk[next(-1)].length - 1];
  if (key !== "ArrowDown" && key !== "ArrowUp") return null;
  const other = next(key === "ArrowDown" ? 1 : -1);
  return [other, nearest(walk[other], along[at].box)];
}

const nearest = (stops, { x }) => stops.reduce((best, stop, place) => (Math.abs(stop.box.x - x) < Math.abs(stops[best].box.x - x) ? place : best), 0);

// The place of what the pointer pressed.
export function placeOf(walk, item) {
  const said = words(item.tooltip);
  for (const [series, stops] of walk.entries()) {
    const at = stops.findIndex((stop) => stop.said === said && (stop.item === item || item.mark.marktype !== "symbol"));
    if (at >= 0) return [series, at];
  }
  const series = walk.findIndex((stops) => stops.some((stop) => stop.said === said));
  return series < 0 ? null : [series, walk[series].findIndex((stop) => stop.said === said)];
}
