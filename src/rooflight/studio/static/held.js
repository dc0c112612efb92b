// "Before": a state that is held while the question goes on changing. Only what differs is sent.

import { byId } from "./dom.js";

const FIELDS = ["model", "weights", "kv_cache", "attention", "tp", "batch", "isl", "osl", "context"];
// A blank is the library's default; as something that was before it needs a name.
const BLANK = { weights: "auto", kv_cache: "auto", context: -1 };

export class Held {
  constructor(current, change) {
    this.state = null;
    byId("hold").addEventListener("click", () => {
      this.state = this.of(current());
      this.show();
      change({});
    });
    byId("let-go").addEventListener("click", () => {
      this.state = null;
      this.show();
      change({});
    });
  }

  of(question) {
    return Object.fromEntries(FIELDS.map((field) => [field, question[field] ?? BLANK[field] ?? null]));
  }

  // What of the held state differs from a question; null where nothing is held or nothing differs.
  against(question) {
    if (!this.state) return null;
    const now = this.of(question);
    const different = FIELDS.filter((field) => this.state[field] !== now[field]);
    return different.length ? Object.fromEntries(different.map((field) => [field, this.state[field]])) : null;
  }

  // The held state that a question read from an address speaks of.
  take(question) {
    const before = Object.entries(question.before ?? {}).filter(([, value]) => value !== null);
    this.state = before.length ? { ...this.of(question), ...Object.fromEntries(before) } : null;
    this.show();
  }

  show() {
    byId("let-go").hidden = !this.state;
    byId("held").textContent = this.state
      ? "Held. Change something: arrows lead from before to now."
      : "Hold this state, then change something: arrows show the way.";
  }
}
