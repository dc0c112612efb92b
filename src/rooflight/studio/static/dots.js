// By keyboard a chart is one stop: arrows go along a line and from line to line, Home and End to its ends, Enter presses.
// A ring stands around the point in question, with the tooltip's words; a screen reader has them as the ring's name.

import { element } from "./dom.js";
import { showTip, unpin } from "./tips.js";
import { anyTold, placeOf, step, walkOf } from "./walk.js";

const charts = new WeakMap();

// `place` holds the chart; `press(datum)` is what Enter does. Called whenever it was drawn again: the walk is read when
// somebody walks.
export function bindDots(place, view, press) {
  const chart = charts.get(place) ?? made(place);
  if (chart.view !== view) {
    view.addEventListener("click", (event, item) => item?.tooltip && pressed(chart, item));
    for (const group of place.querySelectorAll(".root > g > g > g:not(.role-axis)")) group.setAttribute("aria-hidden", "true"); // the ring tells of marks
  }
  Object.assign(chart, { view, press: press ?? null, walk: null });
  chart.frame.hidden = !anyTold(view);
  if (chart.ring === document.activeElement) tell(chart);
}

function made(place) {
  const chart = { place, at: [0, 0] };
  chart.ring = ringOf(chart);
  chart.frame = element("div", { class: "walk", role: "application", "aria-label": "The points of the chart, by arrow keys" }, chart.ring);
  place.after(chart.frame);
  charts.set(place, chart);
  return chart;
}

const ringOf = (chart) => element("div", {
  class: "ring", role: "img", tabindex: 0, "aria-label": "Points",
  onkeydown: (event) => keyed(event, chart),
  onfocus: () => tell(chart),
  onblur: (event) => chart.frame.contains(event.relatedTarget) || unpin(),
});

// The stop in question of the chart as it is drawn now.
function current(chart) {
  chart.walk ??= walkOf(chart.view);
  const series = Math.min(chart.at[0], chart.walk.length - 1);
  chart.at = [series, Math.min(chart.at[1], (chart.walk[series]?.length ?? 1) - 1)];
  return chart.walk[series]?.[chart.at[1]];
}

function tell(chart) {
  const stop = current(chart);
  if (!stop) return;
  put(chart, chart.ring, stop);
  const box = chart.ring.getBoundingClientRect();
  showTip({ clientX: box.right, clientY: box.bottom }, stop.tooltip);
}

function put(chart, ring, stop) {
  const [left, top] = chart.view.origin();
  const padding = chart.view.padding();
  const { x, y, width, height } = stop.box;
  ring.setAttribute("aria-label", stop.said);
  ring.classList.toggle("round", stop.round);
  ring.style.left = `${left + padding.left + x - width / 2}px`;
  ring.style.top = `${top + padding.top + y - height / 2}px`;
  ring.style.width = `${width}px`;
  ring.style.height = `${height}px`;
}

function keyed(event, chart) {
  const stop = current(chart);
  if (!stop || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "Enter" || event.key === " ") chart.press?.(stop.datum);
  else {
    const to = step(chart.walk, chart.at, event.key);
    if (!to) return;
    go(chart, to);
  }
  event.preventDefault();
}

// Another ring has the focus: what a screen reader reads out is what came into focus.
function go(chart, to, options) {
  chart.at = to;
  const [before, ring] = [chart.ring, ringOf(chart)];
  put(chart, ring, current(chart));
  chart.ring = ring;
  chart.frame.append(ring);
  ring.focus(options);
  before.remove();
}

// Arrows go on from what was pressed.
function pressed(chart, item) {
  chart.walk ??= walkOf(chart.view);
  const to = placeOf(chart.walk, item);
  if (!to) return;
  unpin();
  go(chart, to, { preventScroll: true });
}
