"""Steps of engines, by the marks that they leave in a profile."""

from __future__ import annotations

import re

import msgspec

# How much a mark says: all of a step, that an engine's step ran, that a profiler's did.
FULL, BARE, PROFILERS = 0, 1, 2

_NUMBER = r"(\d{1,12})"
# vLLM since 0.13 (v1/worker/gpu_worker.py, annotate_profile): requests (tokens) of both kinds. In the longer form q are
# tokens computed, k those that they attend to, themselves included, summed over the sequences.
_SUMS = rf"sq{_NUMBER}sk{_NUMBER}sqsq\d+sqsk\d+"
_VLLM_SUMS = re.compile(rf"execute_\d+_context_{_NUMBER}\({_SUMS}\)_generation_{_NUMBER}\({_SUMS}\)")
_VLLM = re.compile(rf"execute_context_{_NUMBER}\({_NUMBER}\)_generation_{_NUMBER}\({_NUMBER}\)")
_VLLM_SHORT = re.compile(rf"execute_context_{_NUMBER}_generation_{_NUMBER}\b")
# SGLang (srt/model_executor/model_runner.py, _build_step_span_name): step[EXTEND bs=2 toks=107]
_SGLANG = re.compile(rf"step\[(\w+) bs={_NUMBER}(?: toks={_NUMBER})?[^\]]*\]")
# TensorRT-LLM (_torch/pyexecutor/py_executor.py), its tokens since 1.1; executeStep is its C++ runtime's
_TRTLLM = re.compile(
    rf"(?:_forward_step|executeStep)\b.*?: {_NUMBER} ctx reqs, (?:{_NUMBER} ctx tokens, )?{_NUMBER} gen"
)
_BARE = re.compile(r"(?:execute_model|execute_new_\d+_cached_\d+|model_forward|run_batch|gpu_model_runner: forward)\b")
_PROFILER = re.compile(r"ProfilerStep#\d+")
_LONGEST = 400


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """What the name of a mark says of its step.

    rank    FULL, BARE or PROFILERS; phase, batch, tokens, context, prompts, prompt_context as values.recorded.StepSeen
            has them
    """

    rank: int
    phase: str | None = None
    batch: float | None = None
    tokens: float | None = None
    context: float | None = None
    prompts: float | None = None
    prompt_context: float | None = None


def mark(name: str) -> Mark | None:
    """The step that a mark is of, None where it is none: mark("step[DECODE bs=32]").batch == 32.

    Check: execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785) -> decode of 32 sequences,
    each with (32785 - 32) / 32 = 1023.53 tokens cached before the one that it computes.
    """
    name = name[:_LONGEST]
    if found := _VLLM_SUMS.search(name):
        prompts, prompt_q, prompt_k, decoding, decode_q, decode_k = map(int, found.groups())
        before = max(prompt_k - prompt_q, 0) / prompts if prompts else None
        context = max(decode_k - decode_q, 0) / decoding if decoding else before
        return _full(prompts, prompt_q, decoding, context, before)
    if found := _VLLM.search(name):
        prompts, prompt_q, decoding, _ = map(int, found.groups())
        return _full(prompts, prompt_q, decoding)
    if found := _VLLM_SHORT.search(name):
        return Mark(rank=BARE, phase=_full(int(found[1]), None, int(found[2])).phase)
    if found := _TRTLLM.search(name):
        tokens = None if found[2] is None else int(found[2])
        return _full(int(found[1]), tokens, int(found[3]))
    if found := _SGLANG.search(name):
        return _sglang(found[1].upper(), int(found[2]), None if found[3] is None else int(found[3]))
    if _BARE.search(name):
        return Mark(rank=BARE)
    return Mark(rank=PROFILERS) if _PROFILER.match(name) else None


def _full(
    prompts: int, tokens: int | None, decoding: int, context: float | None = None, before: float | None = None
) -> Mark:
    phase = "mixed" if prompts and decoding else "prefill" if prompts else "decode" if decoding else None
    return Mark(
        rank=FULL,
        phase=phase,
        batch=float(decoding) if decoding else None,
        tokens=None if tokens is None or not prompts else float(tokens),
        context=context,
        prompts=float(prompts) if prompts else None,
        prompt_context=before,
    )


def _sglang(mode: str, sequences: int, tokens: int | None) -> Mark:
    """By its forward mode, whose sequences decode in all but EXTEND; a mixed batch does not say how many of them."""
    if mode in ("EXTEND", "PREFILL", "DLLM_EXTEND"):
        return Mark(
            rank=FULL,
            phase="prefill",
            tokens=None if tokens is None else float(tokens),
            prompts=float(sequences) if sequences else None,
        )
    if mode in ("MIXED", "SPLIT_PREFILL"):
        return Mark(rank=FULL, phase="mixed", tokens=None if tokens is None else float(tokens))
    if mode in ("DECODE", "TARGET_VERIFY", "DRAFT_EXTEND", "DRAFT_EXTEND_V2"):
        return Mark(rank=FULL, phase="decode", batch=float(sequences))
    return Mark(rank=BARE)
