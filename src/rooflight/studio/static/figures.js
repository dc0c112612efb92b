// The table of the runs: a line a scenario, and what the one in focus gains over the first. Every cell comes as text.

import { byId, element, fill } from "./dom.js";

const BOUND = "bound by";

function cell(head, one, bound) {
  const text = head === BOUND && bound ? element("span", { class: "bound", "data-bound": bound }, one.text) : one.text;
  return element("td", { "data-label": head, class: one.text ? null : "blank" }, text, one.beside ? element("small", {}, one.beside) : null,
    one.goal ? element("small", { class: one.missed ? "goal missed" : "goal" }, one.goal) : null);
}

function row(line, label, heads, kind, place) {
  const swatch = place === null ? null : element("span", { class: "swatch", "data-hue": place + 1, "aria-hidden": "true" });
  const name = kind === "gain" ? `${label.letter} over A` : label.name;
  const title = element("th", { scope: "row" }, swatch, kind === "gain" ? null : element("b", {}, `${label.letter} `), name);
  const cells = line.missing
    ? [element("td", { colspan: heads.length, class: "trouble" }, line.missing)]
    : line.cells.slice(0, heads.length).map((one, number) => cell(heads[number], one, line.bound));
  return element("tr", { class: kind }, title, ...cells);
}

export function showFigures(picture) {
  const { heads, figures_read: read, labels, figures, gained, shown } = picture;
  const lines = figures.map((line, place) => row(line, labels[place], heads, place === shown && figures.length > 1 ? "focus" : "", place));
  if (gained) lines.push(row(gained, labels[shown], heads, "gain", null));
  fill(byId("figures"),
    element("caption", {}, read),
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "scenario"), ...heads.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...lines));
}
