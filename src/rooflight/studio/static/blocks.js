// Paragraphs, lists and tables as the server tells them, set as text.

import { element } from "./dom.js";

const BLOCKS = {
  prose: (one) => element("p", { class: one.kind }, one.text),
  bullets: (one, last) => element("div", {}, element("h3", {}, one.title.replace(/:$/, "")),
    element("ul", { class: "points" }, ...one.items.map((text, place) => element("li", {}, text, last?.(place) ?? null)))),
  drawing: (one) => element("pre", { tabindex: 0 }, one.lines.join("\n")),
  table,
};

// `last(row)` gives what stands in a further column of a row, or behind a point: a button, or nothing.
function table(one, last) {
  const side = (place) => (one.left.includes(one.heads[place]) ? "left" : null);
  const acts = last ? one.rows.map((_, place) => last(place)) : [];
  const more = acts.some(Boolean);
  const heads = one.heads.map((text, place) => (text ? element("th", { scope: "col", class: side(place) }, text) : element("td", {})));
  const rows = one.rows.map((cells, number) => element("tr", {},
    ...cells.map((text, place) => (place ? element("td", { class: side(place) }, text) : element("th", { scope: "row" }, element("span", {}, text)))),
    more ? element("td", { class: "act" }, acts[number]) : null));
  return element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": one.title || "A table" },
    element("table", {}, one.title ? element("caption", {}, one.title) : null,
      element("thead", {}, element("tr", {}, ...heads, more ? element("td", {}) : null)), element("tbody", {}, ...rows)));
}

export const blockOf = (one, last) => BLOCKS[one.block](one, last);
