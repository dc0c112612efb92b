"""What the command line in front of a printed result says of the server and of the load."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rooflight.ingest.recorded.bench.documents import count, name, number
from rooflight.ingest.recorded.bench.serving import engine as engine_of
from rooflight.values.recorded import Measurements, Stated

# Flags by field. vLLM's, and SGLang's behind them; https://docs.vllm.ai/en/latest/cli/serve.html,
# https://docs.sglang.ai/advanced_features/server_arguments.html
_COUNTS: Mapping[str, tuple[str, ...]] = {
    "tp": ("--tensor-parallel-size", "-tp", "--tp", "--tp-size"),
    "pp": ("--pipeline-parallel-size", "-pp", "--pp", "--pp-size"),
    "dp": ("--data-parallel-size", "-dp", "--dp", "--dp-size"),
    "ep": ("--expert-parallel-size", "--ep", "--ep-size"),
    "context_tokens": ("--max-model-len", "--context-length"),
    "max_num_seqs": ("--max-num-seqs", "--max-running-requests"),
    "max_num_batched_tokens": ("--max-num-batched-tokens", "--chunked-prefill-size"),
    "num_prompts": ("--num-prompts",),
    "concurrency": ("--max-concurrency",),
    "isl": ("--random-input-len", "--random-input"),
    "osl": ("--random-output-len", "--random-output"),
}
_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "memory_share": ("--gpu-memory-utilization",),
    "request_rate": ("--request-rate",),
}
_NAMES: Mapping[str, tuple[str, ...]] = {
    "model": ("--model", "--model-path"),
    "kv_cache": ("--kv-cache-dtype",),
}
# Arguments as Python prints them: Namespace(backend='vllm', model='...', max_concurrency=16).
_PRINTED = {"model": "model", "max_concurrency": "concurrency", "num_prompts": "num_prompts", "backend": "engine"}
_NAMESPACE = re.compile(r"\b(model|max_concurrency|num_prompts|backend)='?([^',)\s]{1,200})")
_ENGINES = {
    "vllm": re.compile(r"\bvllm serve\b|\bvllm\.entrypoints\b"),
    "sglang": re.compile(r"\bsglang\.launch_server\b"),
}
_SERVE = re.compile(r"\bvllm serve\s+([^\s-][^\s]{0,199})")
_LONGEST = 1 << 16
# More requests in flight than a load generator allows, by so much, are not of that command.
_OVER = 1.1


def said(text: str, measured: Measurements) -> tuple[Stated, tuple[str, ...]]:
    """How it ran by the commands in a text; a flag with two values in it says nothing.

    A command whose concurrency the results contradict is not theirs: of the load it says nothing then.
    """
    text = text[-_LONGEST:]
    found: dict[str, Any] = {field: count(_only(text, flags)) for field, flags in _COUNTS.items()}
    found |= {field: number(_only(text, flags)) or None for field, flags in _NUMBERS.items()}
    found |= {field: name(_only(text, flags)) for field, flags in _NAMES.items()}
    cache = (found["kv_cache"] or "").lower()
    found["kv_cache"] = "fp8" if cache.startswith("fp8") else None
    engines = [engine for engine, pattern in _ENGINES.items() if pattern.search(text)]
    found["engine"] = engines[0] if len(engines) == 1 else None
    for key, field in _PRINTED.items():
        values = {one[2] for one in _NAMESPACE.finditer(text) if one[1] == key}
        if found[field] is None and len(values) == 1:
            value = values.pop()
            found[field] = {"model": name, "engine": engine_of}.get(field, count)(value)
    served = {one[1] for one in _SERVE.finditer(text)}
    if found["model"] is None and len(served) == 1:
        found["model"] = name(served.pop())
    if found["tp"] is not None and (found["dp"] is None or found["engine"] != "sglang"):
        found["gpus"] = found["tp"] * (found["pp"] or 1) * (found["dp"] or 1)
    return _of_the_load(found, measured)


def _of_the_load(found: dict[str, Any], measured: Measurements) -> tuple[Stated, tuple[str, ...]]:
    many, most = measured.in_flight, found["concurrency"]
    prompts, done = found["num_prompts"], measured.requests
    over = many is not None and most is not None and many > _OVER * most
    other = prompts is not None and done is not None and done + (measured.failed or 0) != prompts
    if not over and not other:
        return Stated(**found), ()
    load = dict.fromkeys(("concurrency", "request_rate", "num_prompts", "isl", "osl"))
    return Stated(**(found | load)), ("the command in front of a result is not the one that made it",)


def _only(text: str, flags: tuple[str, ...]) -> str | None:
    """The value of a flag, None where it has none or several."""
    names = "|".join(re.escape(flag) for flag in flags)
    values = {one[1].strip("'\"") for one in re.finditer(rf"(?<!\S)(?:{names})(?:=|\s+)([^\s\\]{{1,200}})", text)}
    return values.pop() if len(values) == 1 else None
