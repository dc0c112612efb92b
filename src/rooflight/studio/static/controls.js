// The form: what it shows follows the question, and every change of it makes a new one.

import { byId, element, fill } from "./dom.js";
import { count, significant } from "./format.js";
import { showMachine } from "./machine.js";
import { bindMore, culprit, showMore } from "./more.js";
import { factors, logSlider, octaves } from "./sliders.js";

const MOST_CARDS = 4;
const COMMON_WEIGHTS = ["bf16", "fp8", "int4-g128", "w8a8-int8", "nvfp4", "mxfp4"];
const COMMON_CACHES = ["bf16", "fp8", "int8", "nvfp4"];
// Field: how far its slider reaches, and its steps an octave; it begins at the least that its number box takes.
const SLIDERS = { batch: [4096, 8], isl: [1 << 20, 4], osl: [1 << 17, 4], context: [1 << 20, 4] };

// `change(fields)` is called with the fields of the question that the user has just set.
export function makeControls(choices, change) {
  const show = {};
  listNames("models", choices.models.map((id) => ({ id })));
  listNames("accelerators", choices.accelerators);
  for (const [field, [most, perOctave]] of Object.entries(SLIDERS)) {
    const least = Number(byId(field).min);
    const spoken = (value) => count(value);
    const set = (value) => (Number.isInteger(value) ? change({ [field]: value }) : fieldError(field, "a whole number"));
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
  const cards = bindCards(change);
  return (question) => showQuestion(question, show, cards);
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
    if (name) change({ model: name, config: null });
  });
  byId("tp").addEventListener("input", (event) => {
    const value = Number(event.target.value);
    if (Number.isInteger(value) && value > 0) change({ tp: value });
    else fieldError("tp", "a whole number from 1");
  });
  byId("context-auto").addEventListener("change", (event) => {
    change({ context: event.target.checked ? null : Number(byId("context").value) });
  });
  byId("reset-roof").addEventListener("click", () => change({ bandwidth_times: 1, peak_times: 1 }));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
}

function bindCards(change) {
  let current = [];
  const add = () => {
    const name = byId("add-card").value.trim();
    if (!name) return fieldError("cards", "a card's name, such as h200-sxm");
    if (current.length >= MOST_CARDS) return fieldError("cards", `no more than ${MOST_CARDS} cards at once`);
    const unknown = current.length === 1 && byId("add-card").hasAttribute("aria-invalid");
    byId("add-card").value = "";
    return change({ cards: unknown ? [name] : [...current, name] });
  };
  byId("add").addEventListener("click", add);
  byId("add-card").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); add(); }
  });
  const remove = (place, focus) => {
    const cards = current.filter((_, other) => other !== place);
    change({ cards, focus: focus > place || focus >= cards.length ? Math.max(focus - 1, 0) : focus });
    byId("add-card").focus();
  };
  return (question) => {
    if (current.join() === question.cards.join() && byId("cards").dataset.focus === String(question.focus)) return;
    current = [...question.cards];
    byId("cards").dataset.focus = question.focus;
    const had = document.activeElement?.closest?.("#cards button")?.dataset.card;
    fill(byId("cards"), ...current.map((name, place) => element("li", { "data-hue": current.length > 1 ? place + 1 : 0 },
      element("button", { type: "button", class: "pick", "data-card": place, "aria-pressed": String(place === question.focus),
        title: "Show its operators and its roof", onclick: () => change({ focus: place }) },
        element("span", { class: "swatch", "aria-hidden": "true" }), name),
      current.length > 1 ? element("button", { type: "button", class: "remove", "aria-label": `Remove ${name}`,
        onclick: () => remove(place, question.focus) }, "×") : null)));
    if (had !== undefined) byId("cards").querySelector(`[data-card="${had}"]`)?.focus();
  };
}

function showQuestion(question, show, cards) {
  const auto = question.context === null;
  const values = { ...question, context: auto ? question.isl + Math.floor(question.osl / 2) : question.context };
  for (const field of Object.keys(show)) show[field](values[field]);
  byId("context-auto").checked = auto;
  for (const field of ["weights", "kv_cache"]) setSelect(byId(field), question[field] ?? "");
  byId("attention").value = question.attention;
  byId("ignore_capacity").checked = question.ignore_capacity;
  if (document.activeElement !== byId("tp")) byId("tp").value = question.tp;
  if (document.activeElement !== byId("model")) byId("model").value = question.config ? "" : question.model;
  byId("model").placeholder = question.config ? "your config.json" : "";
  byId("reset-roof").hidden = question.bandwidth_times === 1 && question.peak_times === 1;
  byId("what-if-card").textContent = question.cards[question.focus] ?? "the card";
  cards(question);
  showMore(question);
  showMachine(question);
}

function setSelect(select, value) {
  if (![...select.options].some((option) => option.value === value)) select.append(element("option", { value }, value));
  select.value = value;
}

// --- what is wrong, beside the field that caused it -----------------------------------------------------------------

export function fieldError(field, want) {
  showProblems([{ field, what: `This needs ${want}.` }]);
}

export function clearProblems() {
  for (const place of document.querySelectorAll(".error:not(#recorded-error)")) place.textContent = "";
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
    const input = byId(field === "cards" ? "add-card" : field);
    input?.setAttribute?.("aria-invalid", "true");
    const folded = place.closest("details");
    if (folded) folded.open = true;
    if (folded?.classList.contains("more")) place.scrollIntoView({ block: "nearest" });
  }
}
