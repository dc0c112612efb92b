// The tooltip of the charts: follows the pointer, and stays where it was clicked until it is closed.

import { element, fill } from "./dom.js";

const tip = element("div", { class: "tip", hidden: true });
document.body.append(tip);
let pinned = false;

export function showTip(event, value) {
  const rows = Object.entries(typeof value === "object" ? value : { "": value }).filter(([, text]) => text != null && text !== "");
  fill(tip,
    pinned ? element("button", { type: "button", "aria-label": "Close", onclick: unpin }, "×") : null,
    element("dl", {}, ...rows.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, String(text))])));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, window.innerWidth - width - 8);
  const top = event.clientY + 14 + height > window.innerHeight ? event.clientY - height - 10 : event.clientY + 14;
  tip.style.left = `${Math.max(8, left) + window.scrollX}px`;
  tip.style.top = `${Math.max(8, top) + window.scrollY}px`;
}

export function unpin() {
  pinned = false;
  tip.classList.remove("pinned");
  tip.hidden = true;
}

// What Vega calls when the pointer enters or leaves a mark.
export function tipHandler(handler, event, item, value) {
  if (pinned) return;
  if (value == null || value === "") tip.hidden = true;
  else showTip(event, value);
}

export function bindTips(chart) {
  chart.addEventListener("click", (event) => {
    if (tip.hidden || pinned) return;
    pinned = true;
    tip.classList.add("pinned");
    const close = element("button", { type: "button", "aria-label": "Close", onclick: unpin }, "×");
    tip.prepend(close);
    event.stopPropagation();
  });
}

document.addEventListener("keydown", (event) => event.key === "Escape" && unpin());
document.addEventListener("click", (event) => pinned && !tip.contains(event.target) && unpin());
