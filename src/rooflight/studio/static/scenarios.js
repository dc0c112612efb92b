// The scenarios above the picture: which is in focus, more of them, fewer.

import { byId, element, fill } from "./dom.js";

const MOST = 4;

// `page()` gives the page's state, `change(fields, told)` changes it.
export class Scenarios {
  constructor(page, change) {
    Object.assign(this, { page, change });
    byId("add-scenario").addEventListener("click", () => {
      const { scenarios, focus } = page();
      this.add({ ...scenarios[focus], name: "" });
      byId("model").closest("form").querySelector("#name").focus();
    });
  }

  // A further scenario, in focus; where there is no place, it takes that of the last.
  add(scenario) {
    const kept = this.page().scenarios.slice(0, MOST - 1);
    this.change({ scenarios: [...kept, scenario], focus: kept.length });
  }

  // One of the page's own suggestions, from anywhere on it: the reader goes to it once it is there.
  make(scenario) {
    this.made = true;
    this.add(scenario);
  }

  remove(place) {
    const { scenarios, focus } = this.page();
    const left = scenarios.filter((_, other) => other !== place);
    this.change({ scenarios: left, focus: Math.max(0, Math.min(focus > place ? focus - 1 : focus, left.length - 1)) });
    byId("scenarios").querySelector("[aria-pressed='true']")?.focus();
  }

  show(labels) {
    const { scenarios, focus } = this.page();
    const had = document.activeElement?.closest?.("#scenarios button");
    const again = had && `[data-place="${had.dataset.place}"].${had.classList[0]}`;
    fill(byId("scenarios"), ...labels.slice(0, scenarios.length).map((label, place) => element("li", { "data-hue": place + 1 },
      element("button", { type: "button", class: "pick", "data-place": place, "aria-pressed": String(place === focus), onclick: () => this.change({ focus: place }) },
        element("span", { class: "swatch", "aria-hidden": "true" }), element("b", {}, label.letter), ` ${label.name}`),
      scenarios.length > 1 ? element("button", { type: "button", class: "remove", "data-place": place, "aria-label": `Remove ${label.letter}, ${label.name}`, onclick: () => this.remove(place) }, "×") : null)));
    if (had) (byId("scenarios").querySelector(again) ?? byId("scenarios").querySelector("[aria-pressed='true']"))?.focus();
    if (this.made) byId("scenarios").querySelector("[aria-pressed='true']")?.focus();
    this.made = false;
    byId("add-scenario").hidden = scenarios.length >= MOST;
    for (const id of ["together-label", "work-together-label"]) byId(id).hidden = scenarios.length < 2;
    byId("focus-letter").textContent = labels[focus]?.letter ?? "";
  }
}
