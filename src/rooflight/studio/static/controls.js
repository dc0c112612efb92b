// The form: what it shows follows the question, and every change of it makes a new one.

import { byId, element, fill, write } from "./dom.js";
import { count, significant } from "./format.js";
import { showMachine } from "./machine.js";
import { bindMore, culprit, showMore } from "./more.js";
import { factors, logSlider, octaves } from "./sliders.js";

const COMMON_WEIGHTS = ["bf16", "fp8", "int4-g128", "w8a8-int8", "nvfp4", "mxfp4"];
const COMMON_CACHES = ["bf16", "fp8", "int8", "nvfp4"];
// Field: how far its slider reaches, and its steps an octave; it begins at the least that its number box takes.
const SLIDERS = { isl: [1 << 20, 4], osl: [1 << 17, 4] };

// Fields of the page as a whole, not of the scenario in focus.
const GOALS = ["tpot_slo_ms", "ttft_slo_ms"];

// `change(fields, everywhere)` is called with the fields of the question that the user has just set, in all scenarios or
// in that in focus; `changePage` with the page's.
export function makeControls(choices, change, changePage) {
  const show = {};
  listNames("models", choices.models.map((id) => ({ id })));
  listNames("accelerators", choices.accelerators);
  for (const [field, [most, perOctave]] of Object.entries(SLIDERS)) {
    const least = Number(byId(field).min);
    const spoken = (value) => count(value);
    const set = (value) => (Number.isInteger(value) ? change({ [field]: value }, byId("work-together").checked) : fieldError(field, "a whole number"));
    show[field] = logSlider(byId(`${field}-slider`), byId(field), octaves(least, most, perOctave), spoken, set);
  }
  for (const field of ["bandwidth_times", "peak_times"]) {
    const spoken = (value) => `${significant(value)} times`;
    const set = (value) => (value > 0 ? change({ [field]: value }) : fieldError(field, "a number above 0"));
    show[field] = logSlider(byId(`${field}-slider`), byId(field), factors(8, 8), spoken, set);
  }
  formats(byId("weights"), "model’s own", COMMON_WEIGHTS, choices.weights.map((form) => form.id));
  formats(byId("kv_cache"), "bf16", COMMON_CACHES.slice(1), choices.kv_cache);
  listNames("formats", choices.weights);
  bindSimple(change);
  bindMore(change, fieldError);
  bindOn(change);
  for (const field of GOALS) number(field, Number.isFinite, "milliseconds above 0, or nothing", changePage);
  return (question, page) => showQuestion(question, page, show);
}

function listNames(id, entries) {
  fill(byId(id), ...entries.map((one) => element("option", { value: one.id, label: one.name })));
}

function formats(select, first, common, all) {
  const option = (id) => element("option", { value: id }, id);
  const rest = all.filter((id) => !common.includes(id));
  fill(select, element("option", { value: "" }, first), ...common.map(option),
    element("optgroup", { label: "all formats" }, ...rest.map(option)));
}

function bindSimple(change) {
  for (const field of ["weights", "kv_cache"]) {
    byId(field).addEventListener("change", (event) => change({ [field]: event.target.value || null }));
  }
  byId("attention").addEventListener("change", (event) => change({ attention: event.target.value }));
  byId("ignore_capacity").addEventListener("change", (event) => change({ ignore_capacity: event.target.checked }));
  byId("model").addEventListener("change", (event) => {
    const name = event.target.value.trim();
    if (name) change({ model: name, config: null, gguf: null });
  });
  number("tp", Number.isInteger, "a whole number from 1", change);
  number("usd_per_hour", Number.isFinite, "a number above 0", change);
  byId("reset-roof").addEventListener("click", () => change({ bandwidth_times: 1, peak_times: 1 }));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
}

// A number that may be left out.
function number(field, holds, want, change) {
  byId(field).addEventListener("change", (event) => {
    const text = event.target.value.trim();
    if (text === "" && !event.target.validity.badInput) change({ [field]: null });
    else if (holds(Number(text)) && Number(text) > 0) change({ [field]: Number(text) });
    else fieldError(field, want);
  });
}

// A machine goes by its name with a count in front: 4xh100-sxm.
function parted(on) {
  const [, count, name] = /^(?:(\d+)\s*[x×]\s*)?(.*)$/is.exec(on.trim());
  return [count ?? "", name];
}

function bindOn(change) {
  const set = () => {
    const [before, name] = parted(byId("on").value);
    const count = before || byId("count").value.trim();
    if (!name) return fieldError("on", "a card's name, such as h200-sxm");
    return change({ on: count && !name.includes("+") ? `${count}x${name}` : name });
  };
  byId("on").addEventListener("change", set);
  byId("count").addEventListener("change", set);
  byId("name").addEventListener("input", (event) => change({ name: event.target.value }));
}

function showQuestion(question, page, show) {
  for (const field of Object.keys(show)) show[field](question[field]);
  for (const field of ["weights", "kv_cache"]) setSelect(byId(field), question[field] ?? "");
  write(byId("attention"), question.attention);
  byId("ignore_capacity").checked = question.ignore_capacity;
  const [count, name] = parted(question.on);
  const texts = { name: question.name, count, on: name, tp: question.tp ?? "", usd_per_hour: question.usd_per_hour ?? "", model: question.config || question.gguf ? "" : question.model };
  for (const field of GOALS) texts[field] = page[field] ?? "";
  for (const [field, text] of Object.entries(texts)) {
    if (document.activeElement !== byId(field)) write(byId(field), text);
  }
  byId("model").placeholder = question.gguf ? question.gguf.name : question.config ? "your config.json" : "";
  byId("reset-roof").hidden = question.bandwidth_times === 1 && question.peak_times === 1;
  byId("what-if-card").textContent = question.on;
  showMore(question);
  showMachine(question, page);
}

function setSelect(select, value) {
  if (![...select.options].some((option) => option.value === value)) select.append(element("option", { value }, value));
  write(select, value);
}

// --- what is wrong, beside the field that caused it -----------------------------------------------------------------

// Text that is no value never gets to be part of the page's state: main.js says so above what stays of the last one.
export function fieldError(field, want) {
  const label = document.querySelector(`label[for="${field}"]`)?.firstChild.textContent.trim() ?? field;
  const detail = { field, what: `This needs ${want}.`, headline: `the field ${label} needs ${want}.` };
  document.dispatchEvent(new CustomEvent("unread", { detail }));
}

export function clearProblems() {
  for (const place of document.querySelectorAll(".error:not(#recorded-error, #view-error)")) place.textContent = "";
  for (const input of document.querySelectorAll("[aria-invalid]:not(#recorded)")) input.removeAttribute("aria-invalid");
}

export function saidOf(problem) {
  const parts = [problem.what, problem.want && `Wanted: ${problem.want}.`, problem.try && `Try: ${problem.try}.`];
  return parts.filter(Boolean).join(" ").slice(0, 600);
}

export function showProblems(problems) {
  clearProblems();
  for (const problem of problems) {
    const field = culprit(problem);
    const place = byId(`${field}-error`) ?? byId("general-error");
    place.textContent = saidOf(problem);
    const input = byId(field);
    input?.setAttribute?.("aria-invalid", "true");
    const folded = place.closest("details");
    if (folded) folded.open = true;
    if (folded?.classList.contains("more")) place.scrollIntoView({ block: "nearest" });
  }
}
