// The operators of a phase; pressing one shows why it lands where it does, with the arithmetic written out.

import { ask, Refused } from "./api.js";
import { byId, element, fill } from "./dom.js";
import { amount, boundBy, percent, plain, resource, seconds } from "./format.js";

const HEAD = ["operator", "runs", "FLOP", "bytes", "FLOP/byte", "bound by", "time", "share"];

export class Operators {
  constructor(changed) {
    this.phase = "decode";
    this.open = null;
    this.changed = changed;
    this.explained = null;
    for (const button of document.querySelectorAll("[data-phase]")) {
      button.addEventListener("click", () => this.pick(button.dataset.phase, null));
    }
  }

  pick(phase, name) {
    this.phase = phase;
    this.open = name;
    this.explained = null;
    this.draw();
    this.changed();
    if (name) this.explain();
  }

  show(analysis, question) {
    this.analysis = analysis;
    this.question = question;
    this.draw();
    if (this.open) this.explain();
  }

  // Where nobody sees it, it waits.
  draw() {
    if (byId("operators-panel").hidden) return;
    for (const button of document.querySelectorAll("[data-phase]")) {
      button.setAttribute("aria-pressed", String(button.dataset.phase === this.phase));
    }
    const had = document.activeElement?.closest?.("#operators button")?.dataset.operator;
    const rows = numbered(this.analysis?.phases?.[this.phase]?.operators ?? []);
    const body = rows.flatMap((one) => (one.key === this.open ? [this.row(one), this.explanation()] : [this.row(one)]));
    const nothing = element("tr", {}, element("td", { colspan: HEAD.length }, this.analysis?.phases?.decode ? "Nothing is known of it: no compute peak is published." : "It does not fit, so nothing runs."));
    fill(byId("operators"),
      element("thead", {}, element("tr", {}, ...HEAD.map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...(body.length ? body : [nothing])));
    if (had !== undefined) byId("operators").querySelector(`[data-operator="${CSS.escape(had)}"]`)?.focus();
  }

  row(one) {
    const open = one.key === this.open;
    const press = () => this.pick(this.phase, open ? null : one.key);
    const share = element("span", { class: "share" }, element("i", { "data-bound": one.bound, "aria-hidden": "true" }), percent(one.share));
    share.firstChild.style.width = `${Math.max(1, one.share * 110)}px`;
    return element("tr", { class: open ? "open" : "" },
      element("th", { scope: "row" }, element("button", { type: "button", "data-operator": one.key, "aria-expanded": String(open), onclick: press }, one.name)),
      ...[String(one.count), one.flop ? amount(one.flop, "FLOP") : "", one.bytes ? amount(one.bytes, "B") : "", plain(one.flop ? one.intensity_flop_per_byte : null)].map((text, place) => element("td", { "data-label": HEAD[place + 1] }, text)),
      element("td", { "data-label": HEAD[5] }, element("span", { class: "bound", "data-bound": one.bound }, resource(one.bound))),
      element("td", { "data-label": HEAD[6] }, seconds(one.time_s)),
      element("td", { "data-label": HEAD[7] }, share));
  }

  async explain() {
    const query = new URLSearchParams({ phase: this.phase, operator: this.open });
    const asked = this.open;
    try {
      const found = await ask(`/api/explain?${query}`, this.question);
      if (asked !== this.open) return;
      this.explained = found;
    } catch (error) {
      if (!(error instanceof Refused)) return;  // the main loop says that nobody answers
      this.open = null;
    }
    this.draw();
  }

  explanation() {
    const one = this.explained;
    const cell = element("td", { colspan: HEAD.length, class: "explanation" });
    if (one) {
      cell.append(
        element("p", {}, element("strong", {}, one.name), ` is ${one.about}. One run on one device:`),
        element("dl", { class: "sums" }, ...one.lines.flatMap(sum)),
        element("p", { class: "why" }, element("span", { class: "bound", "data-bound": one.bound }, boundBy(one.bound)), ` ${one.why}`));
    } else cell.append("Working it out …");
    return element("tr", { class: "explained" }, cell);
  }
}

// A key each: the second row called norm is norm#2.
function numbered(rows) {
  const seen = {};
  return rows.map((one) => {
    seen[one.name] = (seen[one.name] ?? 0) + 1;
    return { ...one, key: seen[one.name] === 1 ? one.name : `${one.name}#${seen[one.name]}` };
  });
}

function sum(line) {
  const longest = line.sign === "max";
  const terms = line.terms.map((term) => term.text).join(longest ? ", " : ` ${line.sign} `);
  const left = terms && longest ? `the longest of ${terms}` : terms;
  return [element("dt", {}, line.what), element("dd", {}, left ? `${left} = ` : "", element("b", {}, line.text))];
}
