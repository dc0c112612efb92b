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
    this.bind(byId("drag-bandwidth"), "bandwidth_times", (x, y) => y / x);
    this.bind(byId("drag-peak"), "peak_times", (_, y) => y);
  }

  // Rates of one device of the card as built, times the devices: what the chart's axes are in.
  place(view, analysis, question) {
    const usable = question.cards.length === 1 && !question.before;
    for (const id of ["drag-bandwidth", "drag-peak"]) byId(id).hidden = !usable;
    this.times = { bandwidth_times: question.bandwidth_times, peak_times: question.peak_times };
    const card = analysis.accelerator;
    const decode = analysis.phases?.decode ?? analysis.intensities?.decode;
    const peak = decode?.ridge_flop_per_byte ? decode.ridge_flop_per_byte * card.memory_bytes_per_s : undefined;
    if (peak === undefined) byId("drag-peak").hidden = true; // no flat to drag
    this.say(card, peak);
    if (!usable) return;
    this.view = view;
    this.put(peak === undefined ? undefined : peak * card.count, card.memory_bytes_per_s * card.count);
  }

  put(peak, bandwidth) {
    const [x, y] = [this.view.scale("x"), this.view.scale("y")];
    const [left, right] = x.domain();
    const [bottom, top] = y.domain();
    const end = peak === undefined ? Math.min(right, top / bandwidth) : peak / bandwidth;
    const low = Math.max(left, bottom / bandwidth);
    const slope = low * (end / low) ** 0.5;
    this.move(byId("drag-bandwidth"), x(slope), y(slope * bandwidth));
    if (peak !== undefined) this.move(byId("drag-peak"), x(right) - 14, y(peak));
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
    const told = { "drag-bandwidth": ["bandwidth_times", amount(card.memory_bytes_per_s, "B/s")], "drag-peak": ["peak_times", peak === undefined ? "not known" : amount(peak, "FLOP/s")] };
    for (const [id, [field, text]] of Object.entries(told)) {
      byId(id).setAttribute("aria-valuenow", this.times[field]);
      byId(id).setAttribute("aria-valuetext", `${this.times[field]} times, ${text}`);
      byId(id).title = `${text}, ${this.times[field]} × as built. Drag, or use the arrow keys.`;
      byId(`${field}-value`).textContent = `${text}, ${this.times[field]} × as built`;
    }
  }

  set(field, times) {
    this.times = { ...this.times, [field]: bounded(times) };
    this.change({ [field]: this.times[field] });
  }

  // `roofAt` is what a point of the plot says of the roof: its bandwidth, or its peak.
  bind(handle, field, roofAt) {
    // Axes, and words above the chart, move with the roof: a drag is measured on the plot as it began.
    let drag;
    const ratio = (event) => {
      return roofAt(drag.x.invert(event.clientX - drag.left), drag.y.invert(event.clientY - drag.top));
    };
    handle.addEventListener("pointerdown", (event) => {
      handle.setPointerCapture(event.pointerId);
      handle.classList.add("dragged");
      const frame = byId("chart-roofline").querySelector("svg").getBoundingClientRect();
      const [left, top] = this.corner();
      drag = { x: this.view.scale("x").copy(), y: this.view.scale("y").copy(), left: frame.left + left, top: frame.top + top, times: this.times[field] };
      drag.start = ratio(event);
    });
    handle.addEventListener("pointermove", (event) => {
      if (handle.hasPointerCapture(event.pointerId)) this.set(field, (drag.times * ratio(event)) / drag.start);
    });
    const drop = () => handle.classList.remove("dragged");
    handle.addEventListener("pointerup", drop);
    handle.addEventListener("pointercancel", drop);
    handle.addEventListener("keydown", (event) => {
      const up = ["ArrowUp", "ArrowRight", "PageUp"].includes(event.key);
      const down = ["ArrowDown", "ArrowLeft", "PageDown"].includes(event.key);
      if (event.key === "Home") this.set(field, 1);
      else if (up || down) this.set(field, this.times[field] * (up ? KEY_STEP : 1 / KEY_STEP));
      else return;
      event.preventDefault();
    });
  }
}
