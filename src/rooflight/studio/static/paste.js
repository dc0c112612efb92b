// A config.json or a GGUF file of one's own: pasted, dropped or chosen. A config is parsed here, and read by the server in
// memory; a GGUF file's header stays on this page, as short as the server gives it back.

import { ask, Refused } from "./api.js";
import { saidOf, showProblems } from "./controls.js";
import { byId, inBase64 } from "./dom.js";
import { isMachine } from "./machine.js";

const MOST_BYTES = 4 << 20;
const MOST_HEADER_BYTES = 18 << 20;
const MOST_PART_BYTES = 256 << 10;

function read(text, change) {
  if (text.length > MOST_BYTES) return refuse("That is more than 4 MiB, too much for a config.json.");
  let config;
  try {
    config = JSON.parse(text);
  } catch (error) {
    return refuse(`That is not JSON: ${error.message}`);
  }
  if (config === null || typeof config !== "object" || Array.isArray(config)) return refuse("A config.json is an object: { … }.");
  return change({ config, gguf: null });
}

// Of a GGUF file its first bytes go to the server, which gives back what of its header says the shape and the weights. Of a
// split one the first part has the vocabulary, so the others' beginnings are short.
async function readGguf(files, change) {
  const [first, ...others] = [...files].sort((one, other) => one.name.localeCompare(other.name));
  const front = async (file, most) => ({ name: (file.name || "model.gguf").slice(-200), data: await inBase64(file.slice(0, most)) });
  try {
    const body = await front(first, MOST_HEADER_BYTES - others.length * MOST_PART_BYTES);
    body.others = await Promise.all(others.map((file) => front(file, MOST_PART_BYTES)));
    change({ gguf: await ask("/api/gguf", body), config: null });
  } catch (error) {
    refuse(error instanceof Refused ? error.problems.map(saidOf).join(" ") : "The studio's server does not answer, or is busy.", "gguf");
  }
}

const refuse = (what, field = "config") => showProblems([{ field, what }]);

const GGUF = /\.gguf$/i;
const CONFIG = /(^|[-_.])config\.json$/i;

// `takeMachine(file)` gets a dropped machine's file, `takeRecorded(files)` all that the server is to tell by content.
// Returns what takes a config's file.
export function bindPaste(change, takeMachine, takeRecorded) {
  const area = byId("config");
  const take = async (file) => {
    if (!file) return;
    byId("paste").open = true;
    area.value = file.size > MOST_BYTES ? "" : await file.text();
    if (file.size > MOST_BYTES) refuse("That file is more than 4 MiB, too much for a config.json.");
    else read(area.value, change);
  };
  byId("use-config").addEventListener("click", () => read(area.value, change));
  const takeGguf = (files) => {
    if (!files.length) return;
    byId("paste").open = true;
    readGguf(files, change);
  };
  byId("config-file").addEventListener("change", (event) => take(event.target.files[0]));
  byId("gguf").addEventListener("change", (event) => takeGguf([...event.target.files]));
  const zone = document.body;
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("dropping"); });
  zone.addEventListener("dragleave", (event) => event.relatedTarget || zone.classList.remove("dropping"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("dropping");
    const others = [];
    takeGguf([...event.dataTransfer.files].filter((file) => GGUF.test(file.name)));
    for (const file of event.dataTransfer.files) {
      if (GGUF.test(file.name)) continue;
      if (CONFIG.test(file.name)) take(file);
      else if (isMachine(file.name)) takeMachine(file);
      else others.push(file);
    }
    takeRecorded(others);
  });
  return take;
}
