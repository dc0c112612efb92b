// The page: one question, one picture. While a picture is on its way the newest question waits; the last good picture
// stays until a better one comes.

import { ask, get, Refused, Unreachable } from "./api.js";
import { draw, isDark, onNewLook, widthOf } from "./charts.js";
import { Diagnosis } from "./diagnosis.js";
import { bindMachine } from "./machine.js";
import { bindPaste } from "./paste.js";
import { clearProblems, makeControls, showProblems } from "./controls.js";
import { byId, element, fill } from "./dom.js";
import { showFigures } from "./figures.js";
import { chartWords } from "./words.js";
import { RoofHandles } from "./handles.js";
import { Held } from "./held.js";
import { Operators } from "./operators.js";
import { bindSharing, configIn, hashOf } from "./share.js";
import { bindTips } from "./tips.js";

const RETRY_MS = [500, 1000, 2000, 4000];
const ADDRESS_MS = 250;

let question;
let picture;
let showForm;
let diagnosis;
let busy = false;
let dirty = false;
let failures = 0;
let drawn = 0;
let preset = null;
let addressTimer;

const held = new Held(() => question, (fields) => change(fields));
const operators = new Operators(() => later());
const handles = new RoofHandles((fields) => change(fields));

function change(fields) {
  question = { ...question, ...fields };
  question = { ...question, before: held.against(question) };
  if ("cards" in fields || "focus" in fields) question = { ...question, bandwidth_times: 1, peak_times: 1 };
  showForm(question);
  refresh();
}

async function refresh() {
  dirty = true;
  if (busy) return;
  busy = true;
  document.documentElement.dataset.busy = "true";
  while (dirty) {
    dirty = false;
    await once(question);
  }
  busy = false;
  document.documentElement.dataset.busy = "false";
}

async function once(asked) {
  try {
    const found = await ask(`/api/picture?width=${widthOf("roofline")}&small=${widthOf("batch")}&dark=${isDark()}&levels=${byId("levels").checked}`, asked);
    picture = found;
    answered();
    await show(found, asked);
    const troubles = found.cards.filter((card) => card.problem).map((card) => card.problem);
    if (troubles.length) showProblems(troubles);
    diagnosis.follow(asked);
    document.documentElement.dataset.drawn = String((drawn += 1));
    if (!found.landmarks && !dirty) await findLandmarks(asked);
  } catch (error) {
    if (error instanceof Refused) {
      answered();
      showProblems(error.problems);
      // an address that cannot be answered has no picture before it to keep
      if (!picture) byId("answer").textContent = `No answer: ${error.problems[0].what}`;
    } else if (error instanceof Unreachable) {
      await unanswered();
    } else throw error;
  }
}

async function findLandmarks(asked) {
  await ask("/api/landmarks", asked).catch(() => null);
  dirty = dirty || asked === question;
}

function answered() {
  failures = 0;
  byId("status").hidden = true;
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
  const analysis = found.cards[found.shown].analysis;
  byId("answer").textContent = found.answer;
  byId("told").hidden = !found.told.length;
  fill(byId("told"), ...found.told.map((text) => element("li", {}, text)));
  showFigures(found, asked);
  operators.show(analysis, asked);
  const words = chartWords(found, analysis);
  const several = found.cards.filter((card) => card.analysis).length > 1;
  await Promise.all(Object.entries(found.datasets).map(async ([kind, rows]) => {
    byId(`${kind}-words`).textContent = words[kind];
    const along = kind === "batch" || kind === "users";
    const view = await draw(kind, rows, { words: words[kind], several: several && along, tag: along && found.along, onPick: pickDot });
    if (kind === "roofline") handles.place(view, analysis, asked);
  }));
  for (const [name, text] of Object.entries(found.commands)) byId(`command-${name}`).textContent = text;
  const said = [...analysis.warnings, ...analysis.assumptions];
  fill(byId("assumptions"), ...said.map((text) => element("li", {}, text)));
  byId("assumed-count").textContent = `${said.length} points`;
  document.title = `${analysis.model.id.split("/").pop()} on ${analysis.accelerator.id} · rooflight studio`;
  later();
}

// A dot of an operator opens its explanation.
function pickDot(kind, datum) {
  const name = datum.mark && datum.name?.replace(/ x \d+$/, "");
  if (name && ["decode", "prefill"].includes(datum.phase)) operators.pick(datum.phase, name);
}

// --- the address ----------------------------------------------------------------------------------------------------

function later() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(writeAddress, ADDRESS_MS);
}

async function writeAddress() {
  if (!picture) return;
  const parts = [picture.query];
  if (operators.phase !== "decode") parts.push(`ph=${operators.phase}`);
  if (operators.open) parts.push(`op=${encodeURIComponent(operators.open)}`);
  if (byId("levels").checked) parts.push("lv=1");
  if (preset !== null) parts.push(`q=${preset}`);
  history.replaceState(null, "", `?${parts.join("&")}${await hashOf(question.config)}`);
}

async function readAddress(search, hash) {
  const { question: found, said } = await get(`/api/question?q=${encodeURIComponent(search.replace(/^\?/, ""))}`);
  const view = new URLSearchParams(search);
  operators.phase = view.get("ph") === "prefill" ? "prefill" : "decode";
  operators.open = view.get("op");
  byId("levels").checked = view.get("lv") === "1";
  question = { ...found, config: await configIn(hash), machine: question?.machine ?? null, samples: question?.samples ?? null };
  held.take(question);
  if (said.length) showProblems([{ field: null, what: said.join("; ") }]);
  return said;
}

async function openPreset(number, search) {
  const said = await readAddress(search, "");
  preset = number;
  showForm(question);
  showLook();
  await refresh();
  if (said.length) showProblems([{ field: null, what: said.join("; ") }]);
}

let presets = [];
function showLook() {
  const one = presets[preset];
  byId("look").hidden = !one;
  if (one) fill(byId("look"), element("strong", {}, one.name), ` ${one.look}`, element("button", { type: "button", "aria-label": "Close", onclick: () => { preset = null; showLook(); later(); } }, "×"));
  for (const link of document.querySelectorAll("[data-preset]")) {
    if (Number(link.dataset.preset) === preset) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

async function start() {
  const [choices, asked] = [await get("/api/choices"), await get("/api/presets")];
  presets = asked;
  showForm = makeControls(choices, change);
  const said = await readAddress(location.search, location.hash);
  const number = new URLSearchParams(location.search).get("q");
  preset = number !== null && presets[Number(number)] ? Number(number) : null;
  showForm(question);
  showLook();
  const takeField = bindMachine(() => question, change);
  diagnosis = new Diagnosis(() => question, (field, file) => (field === "config" ? takeConfig(file) : takeField(field, file)));
  const takeConfig = bindPaste(change, (file) => takeField("machine", file), (files) => diagnosis.take(files));
  bindSharing(() => question);
  byId("levels").addEventListener("change", refresh);
  bindTips(byId("chart-roofline"));
  for (const link of document.querySelectorAll("[data-preset]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      openPreset(Number(link.dataset.preset), new URL(link.href).search);
    });
  }
  onNewLook(() => {
    refresh();
    diagnosis.redraw();
  });
  await refresh();
  if (said.length) showProblems([{ field: null, what: said.join("; ") }]);
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
