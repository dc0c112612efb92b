// Vega views. The roofline's is made once for a width and a colour scheme; after that only its rows change.

import { get } from "./api.js";
import { bindDots } from "./dots.js";
import { byId } from "./dom.js";
import { tipHandler } from "./tips.js";

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const views = new Map();

export const isDark = () => dark.matches;
// The server places labels by width, in steps of 40 px. To ask for it makes the browser lay the page out.
let wide = null;
new ResizeObserver(() => { wide = null; }).observe(byId("chart-roofline"));
const width = () => (wide ??= Math.max(320, Math.floor(byId("chart-roofline").clientWidth / 40) * 40));

const ERRORS_ONLY = 1;

// As tall as the window leaves room for beside the sentence and the sliders.
const heightNow = () => Math.round(Math.min(460, Math.max(220, window.innerHeight * (window.innerWidth < 700 ? 0.36 : 0.44))) / 20) * 20;

async function make(datasets, onPick) {
  const look = lookNow();
  const spec = await get(`/api/chart?${look}`);
  const rows = {};
  for (const name of Object.keys(spec.datasets)) {
    spec.datasets[name] = datasets[name] ?? spec.datasets[name];
    rows[name] = JSON.stringify(spec.datasets[name]);
  }
  const made = await embed("roofline", spec, onPick);
  return { ...made, look, rows };
}

export const lookNow = () => `width=${width()}&height=${heightNow()}&dark=${isDark()}`;

const placeOf = (kind) => byId(`chart-${kind}`).querySelector(".view");

async function embed(kind, spec, onPick) {
  const options = { ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: tipHandler, logLevel: ERRORS_ONLY };
  const made = await window.vegaEmbed(placeOf(kind), spec, options);
  made.view.addEventListener("click", (event, item) => item?.datum && onPick?.(item.datum));
  return { view: made.view, finalize: made.finalize, onPick };
}

function named(kind, words, one) {
  placeOf(kind).setAttribute("role", "group");
  placeOf(kind).setAttribute("aria-label", words);
  bindDots(placeOf(kind), one.view, one.onPick);
}

// Draws a document that has its rows. `onPick(datum)` hears of a press on a mark.
export async function drawWhole(kind, spec, words, onPick) {
  const place = placeOf(kind);
  place.style.minHeight = `${place.clientHeight}px`; // what stands below keeps its place
  views.get(kind)?.finalize();
  const one = await embed(kind, spec, onPick);
  views.set(kind, one);
  place.style.minHeight = "";
  named(kind, words, one);
}

export function clearView(kind) {
  views.get(kind)?.finalize();
  views.delete(kind);
  byId(`chart-${kind}`)?.querySelector(".view").replaceChildren();
}

// Draws rows that changed into the roofline; makes the view first where there is none for this width, height and scheme.
export async function drawRoofline(datasets, words, onPick) {
  let one = views.get("roofline");
  if (!one || one.look !== lookNow()) {
    const fresh = await make(datasets, onPick);
    one?.finalize();
    views.set("roofline", (one = fresh));
  }
  for (const [name, before] of Object.entries(one.rows)) {
    const now = JSON.stringify(datasets[name]) ?? before;
    if (now !== before) one.view.data(name, datasets[name]);
    one.rows[name] = now;
  }
  await one.view.runAsync();
  named("roofline", words, one);
  return one.view;
}

export const viewOf = (kind) => views.get(kind)?.view;

// Calls back when a redraw for another width or scheme is due.
export function onNewLook(redraw) {
  let timer;
  const later = () => { clearTimeout(timer); timer = setTimeout(redraw, 120); };
  dark.addEventListener("change", later);
  window.addEventListener("resize", later);
}
