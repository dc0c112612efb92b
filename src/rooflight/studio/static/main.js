// The page: up to four scenarios, one picture. While a picture is on its way the newest state waits; the last good
// picture stays, marked as such, until a better one comes.

import { ask, get, Refused, Unreachable } from "./api.js";
import { drawRoofline, lookNow, onNewLook } from "./charts.js";
import { clearProblems, makeControls, saidOf, showProblems } from "./controls.js";
import { Diagnosis } from "./diagnosis.js";
import { bindDials, showDials } from "./dials.js";
import { byId, element, fill, toast } from "./dom.js";
import { showFigures } from "./figures.js";
import { RoofHandles } from "./handles.js";
import { bindMachine } from "./machine.js";
import { Operators } from "./operators.js";
import { bindPaste } from "./paste.js";
import { Scenarios } from "./scenarios.js";
import { bindSharing, configsIn, hashOf, showLeft } from "./share.js";
import { bindTips } from "./tips.js";
import { Views } from "./views.js";

const RETRY_MS = [500, 1000, 2000, 4000];
const ADDRESS_MS = 250;
// Steps of a slider by its arrow keys that are so near each other are one edit.
const SAME_EDIT_MS = 1000;
const APART = Symbol("an edit of its own");

let page;
let picture;
let showForm;
let dials;
let diagnosis;
let busy = false;
let dirty = false;
let failures = 0;
let drawn = 0;
let preset = null;
let presets = [];
let addressTimer;
let pushing = false;
let left = null;
let editing = { edit: null, at: 0, ended: true };
let unread = null;

const focused = () => page.scenarios[page.focus];
const operators = new Operators(() => later());
const handles = new RoofHandles((fields) => change(fields));
const scenarios = new Scenarios(() => page, (fields) => changePage(fields, APART));
const makeScenario = (name, fields) => scenarios.make({ ...focused(), ...fields, name });
const views = new Views(() => page, makeScenario, () => {
  leave();
  later();
}, () => showLeft(page, views.texts), () => operators.draw());

// Sets fields of the scenario in focus, or of all.
function change(fields, everywhere = false) {
  const changed = page.scenarios.map((one, place) => (everywhere || place === page.focus ? { ...one, ...fields } : one));
  changePage({ scenarios: changed }, `${Object.keys(fields)} of ${everywhere ? "all" : page.focus}`);
}

// `edit`: what is edited. Back takes back one edit: a slider's drag is one, and what a box goes through while it is typed in.
function changePage(fields, edit = String(Object.keys(fields))) {
  if (edit === APART || edit !== editing.edit || (editing.ended && performance.now() - editing.at > SAME_EDIT_MS)) leave();
  editing = { edit, at: performance.now(), ended: false };
  unread = null;
  page = { ...page, ...fields };
  showState();
  refresh();
}

function showState() {
  showForm(focused(), page);
  showDials(dials, focused(), page, picture?.analysis.workload.context);
  byId("levels").checked = page.levels;
  if (picture && picture.labels.length === page.scenarios.length) scenarios.show(picture.labels);
}

async function refresh() {
  dirty = true;
  if (busy) return;
  busy = true;
  document.documentElement.dataset.busy = "true";
  while (dirty) {
    dirty = false;
    await once(page);
  }
  busy = false;
  document.documentElement.dataset.busy = "false";
}

async function once(asked) {
  try {
    const found = await ask(`/api/picture?${lookNow()}`, asked);
    picture = found;
    answered();
    await show(found, asked);
    tellSaid(Object.entries(found.problems).map(([place, one]) => `${found.labels[place].letter}: ${saidOf(one)}`)); // the form shows the one in focus
    if (unread) outdated(unread);
    diagnosis.follow(asked.scenarios[asked.focus]);
    views.follow();
    document.documentElement.dataset.drawn = String((drawn += 1));
  } catch (error) {
    if (error instanceof Refused) refused(error.problems);
    else if (error instanceof Unreachable) await unanswered();
    else throw error;
  }
}

function refused(problems) {
  answered();
  outdated(problems[0], problems);
  scenarios.show(page.scenarios.map((one, place) => ({ letter: "ABCD"[place], name: one.name || one.on })));
  later();
}

// What is shown is not the answer to what the page asks now.
function outdated(first, problems = [first]) {
  showProblems(problems);
  byId("headline").textContent = `No answer: ${first.headline ?? first.what}`;
  byId("caveat").hidden = !picture;
  byId("caveat").textContent = "What you see below is the answer to the state before.";
  byId("standing").hidden = true;
  showOffers([]);
  byId("result").dataset.stale = String(Boolean(picture));
}

function answered() {
  failures = 0;
  byId("status").hidden = true;
  byId("result").dataset.stale = "false";
  clearProblems();
}

async function unanswered() {
  byId("status").hidden = false;
  byId("status").textContent = "The studio's server does not answer. What you see is the last answer; trying again …";
  await new Promise((resolve) => setTimeout(resolve, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]));
  failures += 1;
  dirty = true;
}

async function show(found, asked) {
  const { analysis } = found;
  byId("headline").textContent = found.headline;
  byId("caveat").hidden = !found.caveat;
  byId("caveat").textContent = found.caveat;
  byId("standing").hidden = !found.standing;
  byId("standing").textContent = found.standing;
  showOffers(found.offers);
  byId("answer").textContent = found.answer;
  byId("told").hidden = !found.told.length;
  fill(byId("told"), ...found.told.map((text) => element("li", {}, text)));
  scenarios.show(found.labels);
  showFigures(found);
  operators.show(analysis, asked.scenarios[found.shown]);
  byId("roofline-words").textContent = found.caption;
  byId("roofline-read").textContent = found.read;
  byId("intensity-words").hidden = !found.intensity;
  byId("intensity-words").textContent = found.intensity?.text ?? "";
  showDials(dials, focused(), page, analysis.workload.context);
  handles.place(await drawRoofline(found.datasets, `Roofline. ${found.headline} ${found.caption}`, pickDot), found.roof, asked.scenarios[found.shown]);
  for (const [name, text] of Object.entries(found.commands)) {
    byId(`command-${name}`).textContent = text;
    byId(`command-${name}`).closest(".command").hidden = !text;
  }
  const said = [...analysis.warnings, ...analysis.assumptions];
  fill(byId("assumptions"), ...said.map((text) => element("li", {}, text)));
  byId("assumed-count").textContent = `${said.length} points`;
  document.title = `${analysis.model.id.split("/").pop()} on ${found.labels[found.shown].name} · rooflight studio`;
  later();
}

// What would hold a scenario that does not fit: a press makes a scenario of it.
function showOffers(offers) {
  byId("offers").hidden = !offers.length;
  fill(byId("offers"), element("span", {}, "Make a scenario of it with:"), ...offers.map((one) => element("button", { type: "button",
    "aria-label": `Make a scenario: ${one.name}`, onclick: () => makeScenario(one.name, one.fields) }, one.name)));
}

// A dot of an operator opens its explanation.
function pickDot(datum) {
  const name = datum.mark && datum.name?.replace(/ x \d+$/, "");
  if (!name || !["decode", "prefill"].includes(datum.phase)) return;
  views.open("time");
  operators.pick(datum.phase, name);
}

// --- the address ----------------------------------------------------------------------------------------------------

function later() {
  clearTimeout(addressTimer);
  document.documentElement.dataset.address = "due";
  addressTimer = setTimeout(writeAddress, ADDRESS_MS);
}

async function writeAddress() {
  if (busy) return; // the answer writes it
  if (picture) await addressed();
  document.documentElement.dataset.address = "written";
}

async function addressed() {
  const parts = [picture.query];
  if (operators.phase !== "decode") parts.push(`ph=${operators.phase}`);
  if (operators.open) parts.push(`op=${encodeURIComponent(operators.open)}`);
  if (views.name !== views.first) parts.push(`view=${views.name}`);
  if (preset !== null) parts.push(`q=${preset}`);
  const address = `?${parts.join("&")}${await hashOf(page.scenarios)}`;
  const push = pushing && (address !== location.search + location.hash || page !== left.page);
  pushing = false;
  keep(push, stateNow(), address);
  showLeft(page, views.texts);
}

const stateNow = () => ({ page, preset, view: views.name, phase: operators.phase, operator: operators.open });

// The next address is a step of its own; what is here now is what Back returns to, also where its address is still due:
// then it has the address before, until it is returned to.
function leave() {
  const now = stateNow();
  editing = { edit: null, at: 0, ended: true };
  if (picture && !(pushing && left.page === now.page && left.view === now.view)) keep(pushing, now, location.search + location.hash);
  left = now;
  pushing = true;
}

// The state goes with the address, for Back; a browser that cannot hold so much of it reads the address again.
function keep(push, state, address) {
  const write = (held) => (push ? history.pushState(held, "", address) : history.replaceState(held, "", address));
  try {
    write(state);
  } catch {
    write(null);
  }
}

// The page of an address; of one that the server does not read, the page that opens without.
async function pageOf(search) {
  try {
    return await get(`/api/page?q=${encodeURIComponent(search.replace(/^\?/, ""))}`);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { ...(await get("/api/page")), said: [`the address cannot be read: ${error.message}`] };
  }
}

async function readAddress(search, hash) {
  const { page: found, said } = await pageOf(search);
  const view = new URLSearchParams(search);
  operators.phase = view.get("ph") === "prefill" ? "prefill" : "decode";
  operators.open = view.get("op");
  views.open(view.get("view") ?? views.first, true);
  const configs = await configsIn(hash, found.scenarios.length);
  page = { ...found, scenarios: found.scenarios.map((one, place) => ({ ...one, config: configs[place] })), samples: page?.samples ?? null };
  const number = view.get("q");
  preset = number !== null && presets[Number(number)] ? Number(number) : null;
  return said;
}

const tellSaid = (said) => said.length && showProblems([{ field: null, what: said.join("; ") }]);

// Another state whole: a preset, or one that Back returns to.
async function take(read) {
  let said;
  try {
    said = await read();
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    pushing = false;
    toast("The studio's server does not answer: nothing was changed.");
    return;
  }
  showState();
  showLook();
  await refresh();
  tellSaid(said);
}

function openPreset(number, search) {
  return take(async () => {
    leave();
    const said = await readAddress(search, "");
    preset = number;
    toast("Back returns to what was here.");
    return said;
  });
}

function goBack(event) {
  clearTimeout(addressTimer);
  pushing = false;
  editing = { edit: null, at: 0, ended: true };
  return take(async () => {
    if (!event.state?.page) return readAddress(location.search, location.hash);
    page = event.state.page;
    preset = event.state.preset;
    operators.phase = event.state.phase;
    operators.open = event.state.operator;
    views.open(event.state.view, true);
    return [];
  });
}

function showLook() {
  const one = presets[preset];
  byId("look").hidden = !one;
  if (one) fill(byId("look"), element("strong", {}, one.name), ` ${one.look}`, element("button", { type: "button", "aria-label": "Close", onclick: () => { preset = null; showLook(); later(); } }, "×"));
  for (const link of document.querySelectorAll("[data-preset]")) {
    if (Number(link.dataset.preset) === preset) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

// --- the beginning --------------------------------------------------------------------------------------------------

function bindFiles() {
  const takeField = bindMachine(() => page, change, changePage);
  const takeTold = (field, file) => {
    if (views.knows(field)) views.give(field, file);
    else if (field === "config") takeConfig(file);
    else takeField(field, file);
  };
  diagnosis = new Diagnosis(focused, takeTold, () => views.open("recorded"));
  const takeOthers = async (files) => {
    if (files.length === 1 && await views.drop(files[0])) return;
    diagnosis.take(files);
  };
  const takeConfig = bindPaste(change, (file) => takeField("machine", file), takeOthers);
}

async function start() {
  const [choices, asked] = await Promise.all([get("/api/choices"), get("/api/presets")]);
  presets = asked;
  const said = await readAddress(location.search, location.hash); // before anything is bound: it may have to be tried again
  showForm = makeControls(choices, change, (fields) => changePage(fields));
  dials = bindDials(choices.batches, change, (intensity) => changePage({ intensity }));
  bindFiles();
  showState();
  showLook();
  bindSharing(() => page, writeAddress);
  document.addEventListener("unread", (event) => outdated((unread = event.detail)));
  byId("levels").addEventListener("change", (event) => changePage({ levels: event.target.checked }));
  bindTips(byId("chart-roofline"));
  for (const link of document.querySelectorAll("[data-preset]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      openPreset(Number(link.dataset.preset), new URL(link.href).search);
    });
  }
  window.addEventListener("popstate", goBack);
  for (const end of ["change", "pointerup"]) document.addEventListener(end, () => (editing.ended = true), true);
  onNewLook(() => {
    refresh();
    diagnosis.redraw();
  });
  await refresh();
  tellSaid(said);
  if (views.name !== "recorded" && !views.waits) await views.again();
  document.documentElement.dataset.ready = "true";
}

async function startWhenAnswered() {
  try {
    await start();
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    await unanswered();
    await startWhenAnswered();
  }
}

startWhenAnswered();
