// Handles on the roof: drag the slope for another bandwidth, the flat for another peak. Arrow keys do the same.

import { byId } from "./dom.js";
import { amount } from "./format.js";

const LEAST = 0.1;
const MOST = 10;
const KEY_STEP = 2 ** (1 / 8);
const bounded = (times) => Number(Math.min(MOST, Math.max(LEAST, times)).toPrecision(3));

export class RoofHandles {
  constructor(change) {
    this.change = change;
    this.bind(byId("drag-bandwidth"), "bandwidth_times", (x, y) => y / x / this.bandwidth);
    this.bind(byId("drag-peak"), "peak_times", (x, y) => y / this.peak);
  }

  // Rates of one device of the card as built, times the devices: what the chart's axes are in.
  place(view, analysis, question) {
    const usable = question.cards.length === 1 && !question.before;
    for (const id of ["drag-bandwidth", "drag-peak"]) byId(id).hidden = !usable;
    this.times = { bandwidth_times: question.bandwidth_times, peak_times: question.peak_times };
    const card = analysis.accelerator;
    const decode = analysis.phases?.decode;
    const peak = decode ? decode.ridge_flop_per_byte * card.memory_bytes_per_s : Object.values(card.peak_flop_per_s)[0];
    this.say(card, peak);
    if (!usable) return;
    this.view = view;
    this.bandwidth = (card.memory_bytes_per_s * card.count) / question.bandwidth_times;
    this.peak = (peak * card.count) / question.peak_times;
    this.put(peak * card.count, card.memory_bytes_per_s * card.count);
  }

  put(peak, bandwidth) {
    const [x, y] = [this.view.scale("x"), this.view.scale("y")];
    const [left, right] = x.domain();
    const [bottom] = y.domain();
    const ridge = peak / bandwidth;
    const low = Math.max(left, bottom / bandwidth);
    const slope = low * (ridge / low) ** 0.5;
    this.move(byId("drag-bandwidth"), x(slope), y(slope * bandwidth));
    this.move(byId("drag-peak"), x(right) - 14, y(peak));
  }

  // Px of the plot's corner in the chart's element.
  corner() {
    const [left, top] = this.view.origin();
    const padding = this.view.padding();
    return [left + padding.left, top + padding.top];
  }

  move(handle, x, y) {
    const [left, top] = this.corner();
    handle.style.left = `${left + x}px`;
    handle.style.top = `${top + y}px`;
  }

  say(card, peak) {
    const told = { "drag-bandwidth": ["bandwidth_times", amount(card.memory_bytes_per_s, "B/s")], "drag-peak": ["peak_times", amount(peak, "FLOP/s")] };
    for (const [id, [field, text]] of Object.entries(told)) {
      byId(id).setAttribute("aria-valuenow", this.times[field]);
      byId(id).setAttribute("aria-valuetext", `${this.times[field]} times, ${text}`);
      byId(id).title = `${text}, ${this.times[field]} × as built. Drag, or use the arrow keys.`;
      byId(`${field}-value`).textContent = `${text}, ${this.times[field]} × as built`;
    }
  }

  bind(handle, field, timesAt) {
    handle.addEventListener("pointerdown", (event) => {
      handle.setPointerCapture(event.pointerId);
      handle.classList.add("dragged");
    });
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      const frame = byId("chart-roofline").querySelector("svg").getBoundingClientRect();
      const [left, top] = this.corner();
      const x = this.view.scale("x").invert(event.clientX - frame.left - left);
      const y = this.view.scale("y").invert(event.clientY - frame.top - top);
      this.change({ [field]: bounded(timesAt(x, y)) });
    });
    const drop = () => handle.classList.remove("dragged");
    handle.addEventListener("pointerup", drop);
    handle.addEventListener("pointercancel", drop);
    handle.addEventListener("keydown", (event) => {
      const up = ["ArrowUp", "ArrowRight", "PageUp"].includes(event.key);
      const down = ["ArrowDown", "ArrowLeft", "PageDown"].includes(event.key);
      if (event.key === "Home") this.change({ [field]: 1 });
      else if (up || down) this.change({ [field]: bounded(this.times[field] * (up ? KEY_STEP : 1 / KEY_STEP)) });
      else return;
      event.preventDefault();
    });
  }
}
