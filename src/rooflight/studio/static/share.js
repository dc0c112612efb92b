// What leaves the page: its address, files, command lines. A pasted config travels behind the # of the address.

import { file, Refused } from "./api.js";
import { byId, copy, download, toast } from "./dom.js";
import { isDark } from "./charts.js";

const LONGEST_HASH = 6000;

const bytesOf = async (stream) => new Uint8Array(await new Response(stream).arrayBuffer());

async function packed(config) {
  const stream = new Blob([JSON.stringify(config)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return btoa(String.fromCharCode(...await bytesOf(stream))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(text) {
  const raw = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

// The part of the address for pasted configs, a part a scenario; long ones stay in this tab's own store.
export async function hashOf(scenarios) {
  const parts = [];
  for (const [place, { config }] of scenarios.entries()) {
    sessionStorage.removeItem(keyOf(place));
    if (!config) continue;
    const text = await packed(config);
    const short = text.length <= LONGEST_HASH / scenarios.length;
    if (!short) sessionStorage.setItem(keyOf(place), JSON.stringify(config));
    parts.push(`${keyOf(place)}=${short ? text : HERE}`);
  }
  return parts.length ? `#${parts.join("&")}` : "";
}

const HERE = "here";
const keyOf = (place) => (place ? `config${place + 1}` : "config");

// The configs of so many scenarios; null where there is none.
export async function configsIn(hash, scenarios) {
  const parts = new URLSearchParams(hash.slice(1));
  return Promise.all(Array.from({ length: scenarios }, (_, place) => configIn(parts.get(keyOf(place)), keyOf(place))));
}

async function configIn(text, key) {
  if (!text) return null;
  try {
    return text === HERE ? JSON.parse(sessionStorage.getItem(key)) : await unpacked(text);
  } catch {
    toast("The config in this address cannot be read.");
    return null;
  }
}

// What of the page no link carries, each as a reader knows it. `texts`: what was written or dropped for a view, by its name.
const LEFT = [
  ["the machine’s file", (page) => page.scenarios.some((one) => one.machine)],
  ["the GGUF header", (page) => page.scenarios.some((one) => one.gguf)],
  ["the timed kernels", (page) => page.samples],
  ["your mix of requests", (page, texts) => texts.compare],
  ["what you check", (page, texts) => texts.check],
  ["a config this long", () => location.hash.includes(`=${HERE}`)],
];

// Says beside the button what the link leaves out.
export function showLeft(page, texts) {
  const left = LEFT.filter(([, has]) => has(page, texts)).map(([words]) => words);
  byId("link-leaves").hidden = !left.length;
  byId("link-leaves").textContent = left.length ? `A link does not carry ${left.join(", ")}.` : "";
}

// `current()` gives the page's state, `written()` its address where that is still due.
export function bindSharing(current, written) {
  byId("copy-link").addEventListener("click", async () => {
    await written();
    const left = byId("link-leaves").textContent;
    copy(location.href, left ? `Link copied. ${left}` : "Link copied");
  });
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => copy(byId(button.dataset.copy).textContent, "Copied"));
  }
  for (const button of document.querySelectorAll("[data-form]")) {
    button.addEventListener("click", () => save(button.dataset.form, current()));
  }
  document.addEventListener("click", (event) => {
    if (!byId("export").contains(event.target)) byId("export").open = false;
  });
  byId("export").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    byId("export").open = false;
    byId("export").querySelector("summary").focus();
  });
}

async function save(form, question) {
  byId("export").open = false;
  if (form === "html") toast("Writing the page, which takes some seconds …", true);
  try {
    download(`rooflight.${form}`, await file(`/api/export?form=${form}&dark=${isDark()}`, question));
    toast(`Written: rooflight.${form}`);
  } catch (error) {
    toast(error instanceof Refused ? error.message : "The server does not answer.");
  }
}
