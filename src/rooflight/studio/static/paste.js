// A config.json of one's own: pasted, dropped or chosen. It is parsed here, and read by the server in memory.

import { byId } from "./dom.js";
import { showProblems } from "./controls.js";
import { isMachine } from "./machine.js";

const MOST_BYTES = 4 << 20;

function read(text, change) {
  if (text.length > MOST_BYTES) return refuse("That is more than 4 MiB, too much for a config.json.");
  let config;
  try {
    config = JSON.parse(text);
  } catch (error) {
    return refuse(`That is not JSON: ${error.message}`);
  }
  if (config === null || typeof config !== "object" || Array.isArray(config)) return refuse("A config.json is an object: { … }.");
  return change({ config });
}

const refuse = (what) => showProblems([{ field: "config", what }]);

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
  byId("config-file").addEventListener("change", (event) => take(event.target.files[0]));
  const zone = document.body;
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("dropping"); });
  zone.addEventListener("dragleave", (event) => event.relatedTarget || zone.classList.remove("dropping"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("dropping");
    const others = [];
    for (const file of event.dataTransfer.files) {
      if (CONFIG.test(file.name)) take(file);
      else if (isMachine(file.name)) takeMachine(file);
      else others.push(file);
    }
    takeRecorded(others);
  });
  return take;
}
