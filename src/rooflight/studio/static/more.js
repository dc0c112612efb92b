// The folded groups: fields that most questions leave as they are. An empty one has its default, and each group says how
// many of its fields are set.

import { byId, write } from "./dom.js";

const controls = () => document.querySelectorAll("[data-more]");

const READ = {
  check: (input) => [input.checked],
  select: (input) => [input.value || null],
  text: (input) => [input.value.trim() || null],
  real: (input) => number(input, (value) => Number.isFinite(value), "a number"),
  number: (input) => number(input, Number.isInteger, "a whole number"),
};

// A value alone, or null and what is wanted.
function number(input, holds, wanted) {
  if (input.value.trim() === "" && !input.validity.badInput) return [null];
  const value = Number(input.value);
  return holds(value) && input.value.trim() !== "" ? [value] : [null, wanted];
}

const defaultOf = (input) => JSON.parse(input.dataset.default);

// `change(fields)` sets fields of the question; `refuse(field, want)` says what is wrong with one.
export function bindMore(change, refuse) {
  for (const input of controls()) {
    input.addEventListener("change", () => {
      const [value, wanted] = READ[input.dataset.more](input);
      if (wanted) refuse(input.id, wanted);
      else change({ [input.id]: value ?? defaultOf(input) });
    });
  }
}

const isSet = (input) => (input.dataset.more === "check" ? input.checked !== defaultOf(input) : input.value.trim() !== "");

// Of the folded fields that a problem names, the one that is set: the reader is told at what they wrote.
export function culprit(problem) {
  const own = byId(problem.field);
  if (!own?.dataset.more || isSet(own)) return problem.field;
  const named = (problem.where ?? "").split(", ").map(byId);
  return named.find((input) => input?.dataset.more && isSet(input))?.id ?? problem.field;
}

export function showMore(question) {
  for (const group of document.querySelectorAll("details.more")) {
    let set = 0;
    for (const input of group.querySelectorAll("[data-more]")) {
      const value = question[input.id] ?? null;
      const plain = value === defaultOf(input);
      set += plain ? 0 : 1;
      if (input.dataset.more === "check") input.checked = value === true;
      else if (document.activeElement !== input) write(input, plain ? "" : value);
    }
    byId(`${group.id}-set`).textContent = set ? `${set} set` : "";
  }
}
