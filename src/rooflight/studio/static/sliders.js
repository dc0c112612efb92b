// A logarithmic slider with a number box: both say the same number, each can be used by keyboard.

import { write } from "./dom.js";

export const octaves = (least, most, perOctave) => {
  const values = new Set([least]);
  const first = Math.max(least, 1);
  for (let step = 0; first * 2 ** (step / perOctave) <= most * 1.0001; step += 1) {
    values.add(Math.round(first * 2 ** (step / perOctave)));
  }
  return [...values.add(most)].sort((a, b) => a - b);
};

export const factors = (most, perOctave) => {
  const reach = Math.round(Math.log2(most) * perOctave);
  return Array.from({ length: 2 * reach + 1 }, (_, place) => Number((2 ** ((place - reach) / perOctave)).toPrecision(3)));
};

function nearest(values, value) {
  let best = 0;
  values.forEach((one, place) => {
    if (Math.abs(one - value) < Math.abs(values[best] - value)) best = place;
  });
  return best;
}

// Ties a range input and a number input together; `changed(value)` hears of every new number, NaN if it is none.
export function logSlider(range, box, values, spoken, changed) {
  Object.assign(range, { min: 0, max: values.length - 1, step: 1 });
  const show = (value) => {
    write(range, nearest(values, value));
    range.setAttribute("aria-valuetext", spoken(value));
    range.style.setProperty("--filled", `${(100 * range.value) / (values.length - 1)}%`);
  };
  range.addEventListener("input", () => {
    const value = values[range.value];
    box.value = value;
    show(value);
    changed(value);
  });
  box.addEventListener("input", () => {
    const value = box.value.trim() === "" ? NaN : Number(box.value);
    if (Number.isFinite(value)) show(value);
    changed(value);
  });
  return (value) => {
    if (document.activeElement !== box) write(box, value);
    show(value);
  };
}
