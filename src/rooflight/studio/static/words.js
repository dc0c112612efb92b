// A sentence or two above each chart: what to see in it.

import { amount, count, percent, plain, resource, seconds } from "./format.js";

export function chartWords(picture, analysis) {
  const marks = picture.landmarks;
  return {
    roofline: rooflineWords(analysis, marks),
    batch: batchWords(analysis, marks),
    users: `The price of batching: each sequence waits for the others. ${HERE}`,
    traffic: trafficWords(analysis),
    memory: memoryWords(analysis),
  };
}

const HERE = "The upright line is the batch you chose.";

function rooflineWords(analysis, marks) {
  if (analysis.phases?.prefill && analysis.workload.osl === 0) return "No token is put out: the prompt is all there is.";
  if (!analysis.phases?.decode) return "No time can be given for what does not fit; the roofs are the card's all the same.";
  const { decode } = analysis.phases;
  if (decode.ridge_flop_per_byte == null) {
    const does = `Decode does ${plain(decode.intensity_flop_per_byte)} FLOP for each byte it moves.`;
    return `${does} No compute peak of ${analysis.accelerator.id} is published: no roof, no ridge point, and prompts cannot be told.`;
  }
  const side = decode.intensity_flop_per_byte < decode.ridge_flop_per_byte ? "left of" : "right of";
  const start = `Decode does ${plain(decode.intensity_flop_per_byte)} FLOP for each byte it moves, ${side} the ridge point at ${plain(decode.ridge_flop_per_byte)}.`;
  const split = Object.entries(decode.split).sort((a, b) => b[1] - a[1]).filter(([, share]) => share >= 0.005);
  const sheet = analysis.accelerator.measured?.datasheet;
  const printed = sheet?.ceilings_s.decode == null ? "" : ` By the datasheet of ${sheet.id}${sheet.whole ? "" : ", of which a part is here"}, a step would take ${seconds(sheet.ceilings_s.decode)} at best.`;
  const spent = `${printed} Its time is bound by ${split.map(([name, share]) => `${resource(name)} ${percent(share)}`).join(", ")}.`;
  if (!marks) return start + spent;
  if (marks.ridge_batch === null) return `${start} At ${count(marks.context)} tokens of context no batch reaches it, since every sequence brings its own cache.${spent}`;
  const beyond = marks.kv_limit !== null && marks.ridge_batch > marks.kv_limit ? `, though only ${count(marks.kv_limit)} fit` : "";
  return `${start} A batch of ${count(marks.ridge_batch)} reaches it${beyond}.${spent}`;
}

function batchWords(analysis, marks) {
  const most = analysis.memory.max_batch;
  const room = most ? ` At most ${count(most)} sequences fit on ${analysis.accelerator.id}.` : "";
  if (!marks?.knee_batch) return `Tokens per second of all sequences together.${room} ${HERE}`;
  return `From a batch of ${count(marks.knee_batch)} on, doubling it gains less than half.${room} ${HERE}`;
}

function trafficWords(analysis) {
  const moved = analysis.phases?.decode?.bytes;
  if (!moved) return analysis.phases?.prefill ? "No step decodes." : "Nothing runs, so nothing moves.";
  const cache = (moved.kv_read + moved.kv_write) / moved.total;
  return `A decode step moves ${amount(moved.total, "B")} through memory: weights ${percent(moved.weights / moved.total)}, cache ${percent(cache)}.`;
}

function memoryWords(analysis) {
  const held = analysis.memory;
  const used = held.needed_bytes;
  if (held.allowed_bytes === null) return `It takes ${amount(used, "B")}; no source has the card's memory size.`;
  const left = held.kv_tokens ? ` The cache has room for ${count(held.kv_tokens)} tokens in all.` : "";
  const verdict = held.fits ? "It fits" : "It does not fit";
  const there = held.host ? ` On the host lie ${amount(held.host.weights_bytes + held.host.kv_bytes, "B")}, read at ${amount(held.host.memory_bytes_per_s, "B/s")}.` : "";
  return `${verdict}: ${amount(used, "B")} of ${amount(held.allowed_bytes, "B")}, a sequence keeps ${amount(held.kv_bytes_per_sequence, "B")} of cache.${left}${there}`;
}
