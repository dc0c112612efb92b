// The table of the runs: a line a scenario, and what the one in focus gains over the first. Every cell comes as text.

import { byId, element, fill } from "./dom.js";

const BOUND = "bound by";

function cell(head, one, bound) {
  const text = head === BOUND && bound ? element("span", { class: "bound", "data-bound": bound }, one.text) : one.text;
  return element("td", { "data-label": head, class: one.text ? null : "blank" }, text, one.beside ? element("small", {}, one.beside) : null,
    one.goal ? element("small", { class: one.missed ? "goal missed" : "goal" }, one.goal) : null);
}

function row(line, heads, kind, place) {
  const swatch = place === null ? null : element("span", { class: "swatch", "data-hue": place + 1, "aria-hidden": "true" });
  const name = kind === "gain" ? `${line.label.letter} over A` : line.label.name;
  const title = element("th", { scope: "row" }, swatch, kind === "gain" ? null : element("b", {}, `${line.label.letter} `), name);
  const cells = line.missing
    ? [element("td", { colspan: heads.length, class: "trouble" }, line.missing)]
    : line.cells.map((one, number) => cell(heads[number], one, line.bound));
  return element("tr", { class: kind }, title, ...cells);
}

export function showFigures(picture) {
  const { heads, figures, gained, shown } = picture;
  const priced = figures.some((line) => line.cells.at(-1)?.text);
  const kept = priced ? heads : heads.slice(0, -1);
  const lines = figures.map((line, place) => row({ ...line, cells: line.cells.slice(0, kept.length) }, kept, place === shown && figures.length > 1 ? "focus" : "", place));
  if (gained) lines.push(row({ ...gained, cells: gained.cells.slice(0, kept.length) }, kept, "gain", null));
  fill(byId("figures"),
    element("caption", {}, "What a well-run engine gets, with the interval that eight of ten measurements lie in; a step at best is what physics allows."),
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "scenario"), ...kept.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...lines));
}
