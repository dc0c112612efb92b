// Recorded files: chosen or dropped, read here as bytes, and shown as the server tells them. This page alone keeps them,
// to ask again for another look; no address carries them. Whatever they say is set as text.

import { ask, Refused } from "./api.js";
import { clearView, drawWhole, isDark } from "./charts.js";
import { saidOf } from "./controls.js";
import { blockOf } from "./blocks.js";
import { byId, copy, element, fill, inBase64 } from "./dom.js";

const MOST_BYTES = 16 << 20;
const MOST_FILES = 16;
// Of the page's question, what files may be put under.
const PARTS = ["model", "config", "gguf", "on", "machine", "tp", "weights", "kv_cache"];
const PLACES = ["verdict", "tables", "next", "sources"];

const packed = async (file) => ({ name: file.name || "a file", data: await inBase64(file) });

export class Diagnosis {
  // `takeOther(field, file)` gets a file that is no recording: a config or samples; `opened()` shows this part.
  constructor(current, takeOther, opened) {
    Object.assign(this, { current, takeOther, opened, files: [], number: 0, taken: false, key: "" });
    byId("recorded").addEventListener("change", (event) => this.take([...event.target.files], true));
    byId("under").addEventListener("change", () => this.again());
    byId("forget-recorded").addEventListener("click", () => {
      this.forget();
      byId("recorded").focus();
    });
  }

  async take(files, chosen) {
    if (!files.length) return;
    this.forget(chosen);
    this.opened();
    byId("viewtabs").scrollIntoView({ block: "start" });
    if (files.length > MOST_FILES) return this.refuse(`No more than ${MOST_FILES} files at once.`);
    if (files.reduce((sum, file) => sum + file.size, 0) > MOST_BYTES) return this.refuse("That is more than 16 MiB, too much for this page: pack it with gzip, or ask rooflight diagnose.");
    this.files = files;
    return this.again();
  }

  // For another width or scheme.
  redraw() {
    if (this.look !== lookNow().join()) this.again();
  }

  // What is kept is asked again.
  async again() {
    if (!this.files.length) return;
    const number = (this.number += 1);
    const question = this.current();
    this.key = keyOf(question);
    this.look = lookNow().join();
    this.busy(true);
    try {
      const files = await Promise.all(this.files.map(packed));
      const body = { files, question, under: byId("under").value, width: lookNow()[0], dark: lookNow()[1] };
      const found = await ask("/api/diagnose", body);
      if (number === this.number) await this.show(found);
    } catch (error) {
      if (number === this.number) {
        const refused = error instanceof Refused;
        this.refuse(refused ? error.problems.map(saidOf).join(" ") : "The studio's server does not answer, or is busy. Choose the files again in a moment.");
      }
    }
    if (number === this.number) this.busy(false);
  }

  // Another model or card on the page is another roof for files that name none.
  follow(question) {
    if (this.taken && keyOf(question) !== this.key) this.again();
  }

  async show(found) {
    const others = found.elsewhere.map((one) => [one.field, this.files[one.file]]);
    this.files = this.files.filter((_, place) => !found.elsewhere.some((one) => one.file === place));
    for (const [field, file] of others) this.takeOther(field, file);
    if (!found.diagnosis) return this.forget();
    this.refuse("");
    this.taken = Boolean(found.taken);
    byId("forget-recorded").hidden = false;
    byId("diagnosis-answer").textContent = found.diagnosis.answer;
    byId("diagnosis-taken").textContent = found.taken;
    for (const name of ["verdict", "tables", "sources"]) fill(byId(`diagnosis-${name}`), ...found[name].map((one) => blockOf(one)));
    fill(byId("diagnosis-next"), ...(found.next.length ? [element("div", {}, element("h3", {}, "Next"), element("ul", {}, ...found.next.map(step)))] : []));
    byId("diagnosis-figure").hidden = !found.chart;
    if (!found.chart) return clearView("diagnosis");
    byId("diagnosis-words").textContent = found.chart.notes.join(" ");
    return drawWhole("diagnosis", found.chart.spec, found.chart.title);
  }

  forget(chosen) {
    this.number += 1;
    this.files = [];
    this.taken = false;
    this.busy(false);
    this.refuse("");
    if (!chosen) byId("recorded").value = "";
    this.clear();
  }

  refuse(what) {
    byId("recorded-error").textContent = what;
    if (!what) return byId("recorded").removeAttribute("aria-invalid");
    this.clear();
    return byId("recorded").setAttribute("aria-invalid", "true");
  }

  clear() {
    byId("forget-recorded").hidden = !this.files.length;
    for (const name of ["answer", "taken", ...PLACES]) fill(byId(`diagnosis-${name}`));
    byId("diagnosis-figure").hidden = true;
    clearView("diagnosis");
  }

  busy(is) {
    byId("diagnosis").dataset.busy = String(is);
    byId("recorded-status").textContent = is ? "Reading …" : "";
  }
}

const lookNow = () => [Math.max(320, byId("recorded-hint").clientWidth), isDark()];
const keyOf = (question) => JSON.stringify(PARTS.map((name) => question[name]));

function step(one) {
  const press = () => copy(one.command, "Copied");
  return element("li", {}, one.text, one.command && element("div", { class: "command" },
    element("code", { tabindex: 0 }, one.command), element("button", { type: "button", "aria-label": `Copy: ${one.text}`, onclick: press }, "Copy")));
}
