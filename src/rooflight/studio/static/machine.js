// A machine as it was measured: its file and its samples, chosen or dropped. They are read here as text, go to the
// server with each question, and are kept by this page alone: no address carries them.

import { byId } from "./dom.js";
import { showProblems } from "./controls.js";

const MACHINE = "your machine";
// Field: the ending of its file, and the most bytes of it that the server takes.
const FILES = { machine: [".toml", 1 << 20], samples: [".jsonl", 2 << 20] };

export const isMachine = (name) => name.toLowerCase().endsWith(FILES.machine[0]);

// `change(fields)` sets fields of the scenario in focus, `changePage(fields)` those of the page.
export function bindMachine(page, change, changePage) {
  const take = async (field, file) => {
    if (!file) return;
    byId("measured").open = true;
    const [ending, most] = FILES[field];
    if (file.size > most) {
      showProblems([{ field, what: `That file is more than ${most >> 20} MiB, too much for a ${ending} file.` }]);
      return;
    }
    const text = await file.text();
    if (field === "samples") changePage({ samples: text });
    else change({ machine: text, on: MACHINE });
  };
  for (const field of Object.keys(FILES)) {
    byId(field).addEventListener("change", (event) => take(field, event.target.files[0]));
  }
  byId("forget-machine").addEventListener("click", () => {
    for (const field of Object.keys(FILES)) byId(field).value = "";
    const without = (one) => ({ ...one, machine: null, on: one.on.endsWith(MACHINE) ? "h100-sxm" : one.on });
    changePage({ samples: null, scenarios: page().scenarios.map(without) });
    byId("machine").focus();
  });
  return take;
}

export function showMachine(question, page) {
  byId("forget-machine").hidden = !question.machine && !page.samples;
}
