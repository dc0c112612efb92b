// Vega views. A view is made once for a width and a colour scheme; after that only its rows change.

import { get } from "./api.js";
import { byId } from "./dom.js";
import { tipHandler } from "./tips.js";

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const views = new Map();

export const isDark = () => dark.matches;
// The server places labels by width, in steps of 40 px.
export const widthOf = (kind) => Math.max(320, Math.floor(byId(`chart-${kind}`).clientWidth / 40) * 40);

const ERRORS_ONLY = 1;

async function make(kind, datasets, several, onPick) {
  const spec = await get(`/api/chart?kind=${kind}&width=${widthOf(kind)}&several=${several}&dark=${isDark()}`);
  for (const name of Object.keys(spec.datasets)) spec.datasets[name] = datasets[name] ?? spec.datasets[name];
  const { view, finalize } = await embed(kind, spec);
  view.addEventListener("click", (event, item) => item?.datum && onPick?.(kind, item.datum));
  return { view, finalize, several, width: widthOf(kind), dark: isDark(), names: Object.keys(spec.datasets) };
}

const placeOf = (kind) => byId(`chart-${kind}`).querySelector(".view");

async function embed(kind, spec) {
  const options = { ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: tipHandler, logLevel: ERRORS_ONLY };
  const made = await window.vegaEmbed(placeOf(kind), spec, options);
  placeOf(kind).querySelector("svg")?.setAttribute("aria-hidden", "true");
  return made;
}

function name(kind, words) {
  placeOf(kind).setAttribute("role", "img");
  placeOf(kind).setAttribute("aria-label", words);
}

// Draws a document that has its rows.
export async function drawWhole(kind, spec, words) {
  clearView(kind);
  views.set(kind, await embed(kind, spec));
  name(kind, words);
}

export function clearView(kind) {
  views.get(kind)?.finalize();
  views.delete(kind);
  placeOf(kind).replaceChildren();
}

// Draws rows into a chart; makes the view first where there is none for this width, scheme and number of cards.
// With the tag of the last time, only the mark at the question's own batch is new.
export async function draw(kind, datasets, { words, several, tag, onPick }) {
  let one = views.get(kind);
  if (!one || one.width !== widthOf(kind) || one.dark !== isDark() || one.several !== several) {
    const fresh = await make(kind, datasets, several, onPick);
    one?.finalize();
    views.set(kind, (one = fresh));
  }
  const known = tag && one.tag === tag;
  for (const name of known ? ["here"] : one.names) {
    if (name in datasets) one.view.data(name, datasets[name]);
  }
  one.tag = tag;
  await one.view.runAsync();
  name(kind, words);
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
