// What leaves the page: its address, files, command lines. A pasted config travels behind the # of the address.

import { file, Refused } from "./api.js";
import { byId, copy, download, toast } from "./dom.js";
import { isDark } from "./charts.js";

const LONGEST_HASH = 6000;
const STORED = "rooflight-config";

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

// The part of the address for a pasted config; a long one stays in this tab's own store.
export async function hashOf(config) {
  sessionStorage.removeItem(STORED);
  if (!config) return "";
  const text = await packed(config);
  if (text.length <= LONGEST_HASH) return `#config=${text}`;
  sessionStorage.setItem(STORED, JSON.stringify(config));
  return "#config=here";
}

export async function configIn(hash) {
  const text = new URLSearchParams(hash.slice(1)).get("config");
  if (!text) return null;
  try {
    return text === "here" ? JSON.parse(sessionStorage.getItem(STORED)) : await unpacked(text);
  } catch {
    toast("The config in this address cannot be read.");
    return null;
  }
}

export function bindSharing(current) {
  byId("copy-link").addEventListener("click", () => {
    const kept = location.hash === "#config=here" ? "; your config is too long for it" : "";
    copy(location.href, `Link copied${kept}`);
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
  try {
    download(`rooflight.${form}`, await file(`/api/export?form=${form}&dark=${isDark()}`, question));
  } catch (error) {
    toast(error instanceof Refused ? error.message : "The server does not answer.");
  }
  byId("export").open = false;
}
