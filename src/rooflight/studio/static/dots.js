// Every mark with a tooltip is reached by keyboard: a chart is one stop, arrows go from mark to mark, Enter presses.

import { showTip, unpin } from "./tips.js";

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
const bound = new WeakSet();
const charts = new WeakMap();

// `place` holds the chart; `press(datum)` is what Enter does.
export function bindDots(place, view, press) {
  const items = [...told(view.scenegraph().root)];
  const held = charts.get(place);
  const at = held && place.contains(document.activeElement) ? held.at : 0;
  charts.set(place, { items, at: Math.min(at, Math.max(items.length - 1, 0)), press });
  items.forEach((item, number) => {
    const node = item._svg;
    node.__item = item;
    node.setAttribute("role", "img");
    node.setAttribute("aria-label", said(item.tooltip));
    node.setAttribute("tabindex", number === charts.get(place).at ? "0" : "-1");
  });
  for (const group of place.querySelectorAll("g[aria-roledescription$='mark container']:empty")) {
    for (const name of ["role", "aria-roledescription"]) group.removeAttribute(name); // nothing is drawn, nothing is named
  }
  if (bound.has(place)) return;
  bound.add(place);
  place.addEventListener("keydown", (event) => pressed(event, place));
  place.addEventListener("focusin", (event) => event.target.__item && reached(event.target, place));
  place.addEventListener("focusout", () => unpin());
}

// Marks with something to say that are drawn on their own, in reading order; not what only lies under another.
function* told(item) {
  for (const group of item.items ?? []) {
    if (group.items) yield* told(group);
    else if (group.tooltip && group._svg && group.opacity !== 0 && group.mark.aria !== false) yield group;
  }
}

const said = (tooltip) => (typeof tooltip === "object" ? Object.entries(tooltip).filter(([, text]) => text !== "" && text != null).map(([name, text]) => `${name} ${text}`).join(", ") : String(tooltip));

// By a key or by a press of the pointer: arrows go on from there.
function reached(node, place) {
  const chart = charts.get(place);
  chart.items[chart.at]?._svg.setAttribute("tabindex", "-1");
  chart.at = chart.items.indexOf(node.__item);
  node.setAttribute("tabindex", "0");
  tell(node);
}

function tell(node) {
  const box = node.getBoundingClientRect();
  showTip({ clientX: box.right, clientY: box.bottom }, node.__item.tooltip);
}

function pressed(event, place) {
  const chart = charts.get(place);
  if (!chart.items.length || !event.target.__item) return;
  if (event.key in STEPS) {
    chart.items[(chart.at + STEPS[event.key] + chart.items.length) % chart.items.length]._svg.focus();
  } else if (event.key === "Enter" || event.key === " ") chart.press?.(chart.items[chart.at].datum);
  else return;
  event.preventDefault();
}
