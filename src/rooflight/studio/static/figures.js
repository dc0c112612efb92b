// The table of figures: a line a card, and one for the state before.

import { byId, element, fill } from "./dom.js";
import { amount, boundBy, count, plain, seconds } from "./format.js";

const HEAD = ["card", "decode step", "tok/s, all", "tok/s, each", "decode is", "prefill", "prefill is", "at most fit"];

const bound = (name) => element("span", { class: "bound", "data-bound": name }, name === "capacity" ? "does not fit" : boundBy(name));

function cell(label, main, small, kind = "") {
  return element("td", { "data-label": label, class: kind }, main ?? "", small ? element("small", {}, small) : null);
}

function interval(span, write) {
  if (span?.expected == null) return null;
  return `expected ${write(span.expected)}`;
}

const place = (phase) => `${plain(phase.intensity_flop_per_byte)} / ${phase.ridge_flop_per_byte == null ? "?" : plain(phase.ridge_flop_per_byte)} FLOP/byte`;

function row(name, analysis, hue, focus) {
  const title = element("th", { scope: "row" }, hue ? element("span", { class: "swatch", "data-hue": hue, "aria-hidden": "true" }) : null, name);
  const held = analysis.memory.max_batch;
  const most = cell(HEAD[7], held === null ? "not known" : count(held), "sequences");
  const silent = analysis.phases?.prefill && analysis.workload.osl === 0;
  if (!analysis.phases?.decode && !silent) {
    const needs = `needs ${amount(analysis.memory.needed_bytes, "B")}`;
    return element("tr", { class: focus ? "focus" : "" }, title, element("td", { colspan: 6, "data-label": "memory" }, bound("capacity"), element("small", {}, needs)), most);
  }
  const { decode, prefill } = analysis.phases;
  // without a compute peak nothing is known of prompts
  const ofPrompt = [
    prefill ? cell(HEAD[5], seconds(prefill.time_s.ceiling), interval(prefill.time_s, seconds)) : cell(HEAD[5], "not known", "no compute peak is published"),
    prefill ? cell(HEAD[6], bound(prefill.bound), place(prefill)) : cell(HEAD[6], "", null, "blank"),
  ];
  if (silent) {
    const none = element("td", { colspan: 4, "data-label": "decode" }, element("small", {}, "no token is put out"));
    return element("tr", { class: focus ? "focus" : "" }, title, none, ...ofPrompt, most);
  }
  return element("tr", { class: focus ? "focus" : "" }, title,
    cell(HEAD[1], seconds(decode.time_s.ceiling), interval(decode.time_s, seconds)),
    cell(HEAD[2], plain(decode.tokens_per_s.ceiling), interval(decode.tokens_per_s, plain)),
    cell(HEAD[3], plain(decode.tokens_per_s_per_user.ceiling), interval(decode.tokens_per_s_per_user, plain)),
    cell(HEAD[4], bound(decode.bound), place(decode)),
    ...ofPrompt,
    most);
}

const troubled = (card) => element("tr", {}, element("th", { scope: "row" }, card.on), element("td", { colspan: 7, class: "trouble" }, card.problem.what));

function gains(before, after) {
  if (!before.phases?.decode || !after.phases?.decode) return null;
  const gain = (phase) => (before.phases[phase] && after.phases[phase] ? before.phases[phase].time_s.ceiling / after.phases[phase].time_s.ceiling : null);
  const words = (value) => (value === null ? null : Math.abs(value - 1) < 0.005 ? "the same" : `${plain(value)} ×`);
  const known = after.memory.max_batch !== null && before.memory.max_batch !== null;
  const room = known ? after.memory.max_batch / Math.max(before.memory.max_batch, 1) : null;
  const cells = [words(gain("decode")), null, null, null, words(gain("prefill")), null, room === null ? null : `${plain(room)} ×`];
  return element("tr", { class: "gain" }, element("th", { scope: "row" }, "gain"), ...cells.map((text, place) => cell(HEAD[place + 1], text ?? "", null, text ? "" : "blank")));
}

export function showFigures(picture, question) {
  const several = picture.cards.length > 1;
  const lines = picture.cards.map((card, place) => (card.analysis
    ? row(deployed(card.analysis), card.analysis, several ? place + 1 : 0, several && place === picture.shown)
    : troubled(card)));
  const now = picture.cards[picture.shown].analysis;
  if (picture.before) lines.push(row(question.before ? `before${difference(picture.before, now)}` : "as built", picture.before, 0, false), gains(picture.before, now));
  fill(byId("figures"),
    element("caption", {}, captionOf(picture.cards)),
    element("thead", {}, element("tr", {}, ...HEAD.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...lines.filter(Boolean)));
}

// Of a measured machine a ceiling is no physics; beside other cards both are said.
function captionOf(cards) {
  const seen = cards.map((card) => card.analysis?.accelerator).filter((card) => card?.measured);
  const printed = cards.length > seen.length;
  const parts = [printed && "At the ceiling: the shortest times physics allows.",
    seen.length && `${printed ? `Of ${seen[0].id}, as measured, t` : "T"}he times of the fastest seen here, ${seen[0].measured.date.slice(0, 10)}.`,
    "Below: what a well-run engine gets."];
  return parts.filter(Boolean).join(" ");
}

const deployed = (analysis) => (analysis.accelerator.count === 1 ? analysis.accelerator.id : `${analysis.accelerator.count} × ${analysis.accelerator.id}`);

function difference(before, now) {
  const said = [];
  if (before.model.id !== now.model.id) said.push(before.model.id.split("/").pop());
  for (const part of ["weights", "kv_cache", "attention"]) {
    if (before.deployment[part] !== now.deployment[part]) said.push(before.deployment[part]);
  }
  for (const part of ["batch", "isl", "osl"]) {
    if (before.workload[part] !== now.workload[part]) said.push(`${part} ${count(before.workload[part])}`);
  }
  return said.length ? `: ${said.join(", ")}` : "";
}
