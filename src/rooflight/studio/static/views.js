// The views below the first screen. Which there are, and what they say, is the server's to know: here their words, charts
// and tables are set, and what a press on one of them does.

import { ask, Refused } from "./api.js";
import { blockOf } from "./blocks.js";
import { clearView, drawWhole, isDark } from "./charts.js";
import { saidOf } from "./controls.js";
import { byId, element, fill } from "./dom.js";

const PAUSE_MS = 120;
// How far below the window the first view may be when it is asked for.
const NEAR_PX = 200;
const MOST_BYTES = 3 << 20; // as it goes to the server beside the page's state
const RECORDED = "recorded";

export class Views {
  // `page()` gives the page's state, `act(name, fields)` makes a scenario, `turned()` hears of another view before it opens
  // and `opened()` after, `wrote()` of another text for one.
  constructor(page, act, turned, wrote, opened) {
    Object.assign(this, { page, act, turned, wrote, opened, number: 0, charts: [], options: {}, texts: {}, asked: "" });
    this.tabs = [...byId("viewtabs").querySelectorAll("[role='tab']")];
    for (const tab of this.tabs) tab.addEventListener("click", () => this.open(tab.dataset.view));
    byId("viewtabs").addEventListener("keydown", (event) => this.step(event));
    new IntersectionObserver((seen) => this.came(seen.at(-1)), { rootMargin: `${NEAR_PX}px` }).observe(byId("views"));
  }

  // The first view waits for a reader who comes near it; one that was opened is always asked for.
  get waits() {
    return !this.asked && this.name === this.first && !this.near;
  }

  came({ isIntersecting, boundingClientRect }) {
    this.near = isIntersecting || boundingClientRect.top < 0;
    if (this.page()) this.follow();
  }

  get first() {
    return this.tabs[0].dataset.view;
  }

  step(event) {
    const places = { ArrowRight: 1, ArrowLeft: -1, Home: -this.tabs.length, End: this.tabs.length };
    if (!(event.key in places)) return;
    event.preventDefault();
    const now = this.tabs.findIndex((tab) => tab.dataset.view === this.name);
    const far = Math.abs(places[event.key]) > 1;
    const next = far ? (places[event.key] > 0 ? this.tabs.length - 1 : 0) : (now + places[event.key] + this.tabs.length) % this.tabs.length;
    this.open(this.tabs[next].dataset.view);
    this.tabs[next].focus();
  }

  knows(name) {
    return this.tabs.some((tab) => tab.dataset.view === name);
  }

  open(name, quiet = false) {
    if (!quiet) this.turned();
    const before = this.name;
    this.name = this.knows(name) ? name : this.first;
    for (const tab of this.tabs) {
      const here = tab.dataset.view === this.name;
      tab.setAttribute("aria-selected", String(here));
      tab.tabIndex = here ? 0 : -1;
    }
    byId("view-panel").setAttribute("aria-labelledby", `tab-${this.name}`);
    byId("diagnosis").hidden = this.name !== RECORDED;
    byId("operators-panel").hidden = this.name !== "time";
    this.opened();
    if (before !== this.name) {
      this.stop();
      this.clear();
    }
    if (!quiet && this.name !== RECORDED) this.again();
  }

  // Another state of the page: the open view follows, once it rests.
  follow() {
    clearTimeout(this.timer);
    if (this.name === RECORDED || this.waits) return this.stop();
    if (this.asked === this.question()) return this.stop();
    byId("view-panel").dataset.busy = "due";
    this.timer = setTimeout(() => this.again(), PAUSE_MS);
  }

  question() {
    const body = { page: this.page(), width: widthNow(), dark: isDark(), option: this.options[this.name] ?? "", text: this.texts[this.name] ?? "" };
    return JSON.stringify([this.name, body]);
  }

  async again() {
    clearTimeout(this.timer);
    const number = (this.number += 1);
    const name = this.name;
    const asked = this.question();
    byId("view-panel").dataset.busy = "true";
    byId("view-status").textContent = this.found ? "" : "Asking …";
    try {
      const found = await ask(`/api/view/${name}`, JSON.parse(asked)[1]);
      if (number !== this.number) return;
      if (found.elsewhere) return this.pass(name, found.elsewhere);
      byId("view-error").textContent = "";
      this.asked = asked;
      await this.show(found);
    } catch (error) {
      if (number !== this.number) return;
      this.clear();
      byId("view-error").textContent = error instanceof Refused ? error.problems.map(saidOf).join(" ") : "The studio's server does not answer, or is busy.";
      if (!(error instanceof Refused)) this.timer = setTimeout(() => this.again(), 2000);
    }
    byId("view-status").textContent = "";
    byId("view-panel").dataset.busy = "false";
    byId("view-panel").dataset.shown = String(number);
  }

  // A text that came to one view and is for another.
  pass(name, other) {
    this.texts[other] = this.texts[name];
    this.texts[name] = "";
    this.wrote();
    this.open(other);
  }

  async show(found) {
    this.found = found;
    byId("view-answer").textContent = found.answer;
    this.showOptions(found);
    const kinds = found.charts.map((chart, place) => `view-${place}`);
    for (const kind of this.charts.filter((one) => !kinds.includes(one))) clearView(kind);
    if (this.charts.join() !== kinds.join()) {
      fill(byId("view-charts"), ...kinds.map((kind) => element("figure", {},
        element("figcaption", {}), element("div", { class: "chart", id: `chart-${kind}` }, element("div", { class: "view" })), element("p", { class: "reading" }))));
      this.charts = kinds;
    }
    await Promise.all(found.charts.map((chart, place) => {
      const figure = byId("view-charts").children[place];
      figure.querySelector("figcaption").textContent = found.charts.length > 1 || chart.title !== found.answer ? chart.title : "";
      figure.querySelector(".reading").textContent = chart.notes.join(" ");
      return drawWhole(kinds[place], chart.spec, chart.title, (datum) => datum.act != null && this.make(found.acts[datum.act]));
    }));
    fill(byId("view-blocks"), ...found.blocks.map((one, place) => blockOf(one, (row) => this.button(place, row))));
  }

  button(table, row) {
    const one = this.found.acts.find((act) => act.table === table && act.row === row);
    return one ? element("button", { type: "button", onclick: () => this.make(one), "aria-label": `Make a scenario: ${one.name}` }, "Make a scenario") : null;
  }

  make(one) {
    if (one) this.act(one.name, one.fields);
  }

  // What may be chosen or written for the view; kept while the page is open.
  showOptions({ choices, wanted }) {
    const place = byId("view-options");
    place.hidden = !choices.length && !wanted;
    const of = [this.name, ...choices.map((one) => one.option)].join();
    if (place.dataset.of === of) return;
    place.dataset.of = of;
    const select = choices.length ? element("label", {}, "Show ", element("select", { id: "view-option", onchange: (event) => this.choose(event.target.value) },
      ...choices.map((one) => element("option", { value: one.option, selected: one.option === this.options[this.name] }, one.words)))) : null;
    fill(place, select, wanted ? this.writing(wanted) : null);
  }

  writing(wanted) {
    const area = element("textarea", { id: "view-text", rows: 3, spellcheck: "false", placeholder: wanted.placeholder, "aria-describedby": "view-text-hint" });
    area.value = (this.texts[this.name] ?? "").slice(0, 20000);
    const use = () => this.write(area.value);
    area.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && use());
    const chosen = (event) => this.take(event.target.files[0]);
    return element("div", { class: "field" }, element("label", { for: "view-text" }, wanted.label), area,
      element("div", { class: "row" },
        element("button", { type: "button", onclick: use }, "Use it"),
        element("label", { class: "file" }, "Choose a file", element("input", { type: "file", accept: wanted.accept, onchange: chosen })),
        element("button", { type: "button", onclick: () => { area.value = ""; use(); } }, "Forget it")),
      element("p", { class: "hint", id: "view-text-hint" }, wanted.hint));
  }

  choose(option) {
    this.options[this.name] = option;
    this.again();
  }

  write(text) {
    this.texts[this.name] = text;
    this.wrote();
    this.again();
  }

  // A dropped file for the open view; true where it wants one of that kind.
  async drop(file) {
    const endings = this.found?.wanted?.accept.split(",") ?? [];
    if (!file || !endings.some((ending) => file.name.toLowerCase().endsWith(ending))) return false;
    return this.take(file);
  }

  async take(file) {
    if (!file) return false;
    if (file.size > MOST_BYTES) {
      byId("view-error").textContent = "That file is more than 3 MiB, too much for this page: ask rooflight on the command line.";
      return true;
    }
    const text = await file.text();
    const area = byId("view-text");
    if (area) area.value = text.slice(0, 20000);
    this.write(text);
    return true;
  }

  // What is on its way, or due, is of another state or another view.
  stop() {
    clearTimeout(this.timer);
    this.number += 1;
    byId("view-status").textContent = "";
    byId("view-panel").dataset.busy = "false";
  }

  // A file that the server told is for a view.
  async give(name, file) {
    this.open(name, true);
    this.turned();
    await this.take(file);
  }

  clear() {
    this.asked = "";
    this.found = null;
    for (const kind of this.charts) clearView(kind);
    this.charts = [];
    byId("view-options").dataset.of = "";
    byId("view-options").hidden = true;
    byId("view-answer").textContent = "";
    byId("view-error").textContent = "";
    fill(byId("view-charts"));
    fill(byId("view-blocks"));
  }
}

const widthNow = () => Math.max(320, byId("view-charts").clientWidth);
