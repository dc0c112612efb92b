// The sliders under the picture: batch, context, and the intensity of any workload.

import { byId } from "./dom.js";
import { count, significant } from "./format.js";
import { fieldError } from "./controls.js";
import { logSlider, octaves } from "./sliders.js";

// How far contexts reach, and their steps an octave; they begin at the least that their number box takes.
const CONTEXTS = [1 << 20, 4];
const INTENSITIES = Array.from({ length: 8 * 14 + 1 }, (_, step) => Number((2 ** (step / 8 - 2)).toPrecision(3)));

// `batches` are the stops of that slider; `change(fields, everywhere)` sets fields of the scenario in focus, or of all; `place(intensity)` sets the page's.
export function bindDials(batches, change, place) {
  const everywhere = () => byId("together").checked;
  const show = {};
  for (const [field, values] of [["batch", batches], ["context", octaves(Number(byId("context").min), ...CONTEXTS)]]) {
    const set = (value) => (Number.isInteger(value) ? change({ [field]: value }, everywhere()) : fieldError(field, "a whole number"));
    show[field] = logSlider(byId(`${field}-slider`), byId(field), values, count, set);
  }
  const told = (value) => (value == null || value === "" ? "none" : `${significant(Number(value))} FLOP a byte`);
  const take = (value) => {
    if (byId("intensity").value.trim() === "") place(null);
    else if (value > 0) place(value);
    else fieldError("intensity", "a number above 0, or nothing");
  };
  show.intensity = logSlider(byId("intensity-slider"), byId("intensity"), INTENSITIES, told, take);
  byId("context-auto").addEventListener("change", (event) => {
    change({ context: event.target.checked ? null : Number(byId("context").value) }, everywhere());
  });
  return show;
}

// `context` is that of the answer, where the question leaves it to the library.
export function showDials(show, question, page, context) {
  show.batch(question.batch);
  if (question.context !== null || context != null) show.context(question.context ?? context);
  byId("context-auto").checked = question.context === null;
  show.intensity(page.intensity ?? "");
}
