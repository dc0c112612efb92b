"""The same question elsewhere: as a rooflight command, and as flags of `vllm serve`."""

from __future__ import annotations

import shlex

from rooflight.studio.question import PASTED, Question

# Our format -> vLLM's --quantization where it quantises on the fly; others come with the checkpoint.
_VLLM_WEIGHTS = {"fp8": "fp8", "nf4": "bitsandbytes"}
_VLLM_CACHES = {"fp8": "fp8"}


def rooflight(question: Question, model: str) -> str:
    """The command line that gives the same answer for the card in focus, or compares them over the batch."""
    pasted = question.config is not None
    words = ["rooflight", "analyze", "config.json" if pasted else model, "--on", question.cards[question.shown]]
    flags = (
        ("--tp", question.tp, 1),
        ("--weights", question.weights, None),
        ("--kv-cache", question.kv_cache, None),
        ("--attention", question.attention, "flash"),
        ("--batch", question.batch, 1),
        ("--isl", question.isl, 1024),
        ("--osl", question.osl, 256),
        ("--context", question.context, None),
    )
    for flag, value, default in flags:
        if value != default:
            words += [flag, str(value)]
    if question.ignore_capacity:
        words.append("--ignore-capacity")
    return shlex.join(words)


def vllm(question: Question, model: str) -> str:
    """Flags of `vllm serve` for this deployment; formats that come with a checkpoint need that checkpoint."""
    name = "/path/to/model" if question.config is not None or model == PASTED else model
    longest = question.isl + question.osl if question.context is None else question.context + 1
    words = ["vllm", "serve", name]
    if question.tp > 1:
        words += ["--tensor-parallel-size", str(question.tp)]
    if question.weights in _VLLM_WEIGHTS:
        words += ["--quantization", _VLLM_WEIGHTS[question.weights]]
    if question.kv_cache in _VLLM_CACHES:
        words += ["--kv-cache-dtype", _VLLM_CACHES[question.kv_cache]]
    words += ["--max-model-len", str(longest), "--max-num-seqs", str(question.batch)]
    return shlex.join(words)
