"""The family of vLLM's benchmark_serving.py: SGLang's bench_serving and InferenceX's copy say the same by other names.

The text that they print and the JSON that they save both end here, as one mapping of names to values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.bench.documents import amount, count, first, name, number
from rooflight.ingest.recorded.source import Source
from rooflight.units import to_base
from rooflight.values.recorded import Measurements, Record, Recorded, Spread, Stated

# Names by field. vLLM: benchmarks/benchmark_serving.py at v0.3.0 ("request_inthroughput", "total_input"), v0.6.0
# ("total_token_throughput"), vllm/benchmarks/serve.py at v0.11.0 ("max_concurrent_requests", "failed");
# https://github.com/vllm-project/vllm. SGLang: python/sglang/bench_serving.py ("concurrency" is the sum of request
# times over the duration) and bench_offline_throughput.py ("successful_requests", "total_latency",
# "total_throughput"); https://github.com/sgl-project/sglang
AMOUNTS: Mapping[str, tuple[str, ...]] = {
    "duration_s": ("duration", "total_latency"),
    "requests_per_s": ("request_throughput", "request_inthroughput"),
    "input_tokens": ("total_input_tokens", "total_input"),
    "output_tokens": ("total_output_tokens", "total_output"),
    "input_tokens_per_s": ("input_throughput",),
    "output_tokens_per_s": ("output_throughput",),
    "total_tokens_per_s": ("total_token_throughput", "total_throughput"),
    "in_flight": ("concurrency",),
    "peak_in_flight": ("max_concurrent_requests",),
}
COUNTS: Mapping[str, tuple[str, ...]] = {
    "requests": ("completed", "successful_requests"),
    "failed": ("failed", "failed_requests"),
}
# Times by field: vLLM "e2el", SGLang "e2e_latency".
TIMES: Mapping[str, tuple[str, ...]] = {
    "ttft_s": ("ttft",),
    "tpot_s": ("tpot",),
    "itl_s": ("itl",),
    "request_s": ("e2el", "e2e_latency"),
}
# In milliseconds; InferenceX's aggregation (utils/process_result.py) divides them by 1000 and drops the suffix.
_UNITS = {"_ms": "ms", "": "s"}
_PARTS: Mapping[str, tuple[str, ...]] = {
    "mean": ("mean", "avg"), "p50": ("median", "p50"), "p90": ("p90",), "p95": ("p95",), "p99": ("p99",),
    "low": ("min",), "high": ("max",),
}  # fmt: skip
# vLLM's `--metadata KEY=VALUE` puts its own keys beside the others; SGLang's server_info has the server's arguments.
LAYOUT: Mapping[str, tuple[str, ...]] = {
    "tp": ("tp", "tp_size", "tensor_parallel_size"),
    "pp": ("pp", "pp_size", "pipeline_parallel_size"),
    "dp": ("dp", "dp_size", "data_parallel_size"),
    "ep": ("ep", "ep_size", "expert_parallel_size"),
    "gpus": ("gpus", "num_gpus"),
}
# What the client calls the engine that it talks to; "openai" may be any.
_ENGINES = {
    "vllm": "vllm", "sglang": "sglang", "tgi": "tgi", "tensorrt-llm": "tensorrt-llm", "trt": "tensorrt-llm",
    "lmdeploy": "lmdeploy", "llama.cpp": "llama.cpp",
}  # fmt: skip
_PERCENT = 0.01
_NOTHING = Measurements()
LITTLE = "the number in flight is requests a second times the mean time of a request (Little's law)"
_ZERO = "times of 0 are not taken for measured: the endpoint may not stream"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a result measured, and what was odd about it."""

    measured: Measurements
    notes: tuple[str, ...] = ()


def measured(values: Mapping[str, Any]) -> Found:
    """The measurements of one result, by the names of AMOUNTS, COUNTS and TIMES."""
    notes: list[str] = []
    requests = _whole(first(values, COUNTS["requests"]))
    failed = _whole(first(values, COUNTS["failed"]))
    if requests == 0:
        duration = amount(first(values, AMOUNTS["duration_s"]))
        return Found(
            measured=Measurements(requests=0, failed=failed, duration_s=duration), notes=("no request succeeded",)
        )
    found: dict[str, Any] = {field: amount(first(values, keys)) for field, keys in AMOUNTS.items()}
    zero = False
    for field, names in TIMES.items():
        found[field] = spread(values, names)
        zero |= found[field] is None and any(number(values.get(f"mean_{one}_ms")) == 0 for one in names)
    if zero:
        notes.append(_ZERO)
    if failed:
        notes.append(f"{failed:,} requests failed: the times are of those that did not")
    for lengths, tokens in (("isl", "input_tokens"), ("osl", "output_tokens")):
        if requests and found[tokens] is not None:
            found[lengths] = found[tokens] / requests
    if found["request_s"] is None:
        found["request_s"] = _of_each(values.get("latencies"))
    whole, rate = found["request_s"], found["requests_per_s"]
    if requests and found["duration_s"]:
        rate = requests / found["duration_s"]  # printed rates are rounded to hundredths
    if found["in_flight"] is None and whole is not None and whole.mean is not None and rate is not None:
        found["in_flight"] = rate * whole.mean
        notes.append(LITTLE)
    return Found(
        measured=Measurements(requests=requests, failed=failed, acceptance=_acceptance(values), **found),
        notes=tuple(notes),
    )


def _of_each(times: object) -> Spread | None:
    """How the seconds of single requests, which --save-detailed keeps, are distributed; a failed one has 0."""
    import numpy as np

    known = [one for one in map(amount, times if isinstance(times, list) else ()) if one]
    if not known:
        return None
    p50, p90, p95, p99 = map(float, np.percentile(known, (50, 90, 95, 99)))
    mean = float(np.mean(known))
    return Spread(mean=mean, p50=p50, p90=p90, p95=p95, p99=p99, low=min(known), high=max(known))


def _whole(value: object) -> int | None:
    """A number of requests, which may be none."""
    return 0 if number(value) == 0 else count(value)


def _acceptance(values: Mapping[str, Any]) -> float | None:
    """vllm bench serve since v0.11: in percent."""
    share = amount(values.get("spec_decode_acceptance_rate"))
    return None if share is None else share * _PERCENT


def spread(values: Mapping[str, Any], names: tuple[str, ...]) -> Spread | None:
    """How a time is distributed, under `mean_ttft_ms` and the like or in `percentiles_ttft_ms`; None: not said."""
    found: dict[str, float] = {}
    for one in names:
        for suffix, unit in _UNITS.items():
            listed = _listed(values.get(f"percentiles_{one}{suffix}"))
            for part, stems in _PARTS.items():
                value = amount(first(values, tuple(f"{stem}_{one}{suffix}" for stem in stems)))
                value = listed.get(part) if value is None else value
                if value:
                    found.setdefault(part, to_base(value, unit))
            if number(values.get(f"mean_{one}{suffix}")) == 0:
                return None
    return Spread(**found) if found else None


def _listed(pairs: object) -> dict[str, float]:
    """Percentiles as a list of pairs, or as a mapping: {"p99": ...}."""
    items = list(pairs.items()) if isinstance(pairs, dict) else pairs if isinstance(pairs, list) else []
    found: dict[str, float] = {}
    for one in items:
        if isinstance(one, list | tuple) and len(one) == 2:
            place, value = number(str(one[0]).lower().removeprefix("p")), amount(one[1])
            if place is not None and value is not None:
                found[f"p{place:g}"] = value
    return {part: found[part] for part in _PARTS if part in found}


def stated(values: Mapping[str, Any]) -> Stated:
    """How a load was made, by the names of vLLM's and SGLang's files."""
    rate = number(values.get("request_rate"))
    drafts, drafted = amount(values.get("spec_decode_num_drafts")), amount(values.get("spec_decode_draft_tokens"))
    length = number(values.get("accept_length"))
    speculative = True if drafts or (length is not None and length > 1) else None
    return Stated(
        model=name(first(values, ("model_id", "model"))),
        engine=engine(values.get("backend")),
        concurrency=count(values.get("max_concurrency")),
        request_rate=rate if rate else None,
        num_prompts=count(values.get("num_prompts")),
        speculative=speculative,
        draft_tokens=count(round(drafted / drafts)) if drafts and drafted else None,
        **layout(values),
    )


def layout(values: Mapping[str, Any]) -> dict[str, Any]:
    """Degrees of parallelism that are stated, by field."""
    return {field: count(first(values, keys)) for field, keys in LAYOUT.items()}


def engine(backend: object) -> str | None:
    """The engine that a client's backend speaks of, None where it may be any."""
    said = (name(backend) or "").lower()
    return next((known for start, known in _ENGINES.items() if said.startswith(start)), None)


def results(source: Source, records: Sequence[Record], notes: Iterable[str], tool: str) -> Recorded:
    """A file's records as it is read; objects that hold no result are left out. Raises BadConfig where all are such."""
    found = tuple(one for one in records if one.measured != _NOTHING)
    if not found:
        got = f"{len(records):,} objects without a time or a rate"
        raise BadConfig(f"{source.name} holds no results", where=source.name, got=got, want="a benchmark's results")
    left = len(records) - len(found)
    told = [*notes, *([f"{left:,} objects without a time or a rate are left out"] if left else [])]
    return Recorded(file=source.name, format="", tool=tool, records=found, notes=tuple(dict.fromkeys(told)))


def titled(one: Stated) -> str:
    """What tells a run from the others of its file."""
    parts = [f"concurrency {one.concurrency:,}"] if one.concurrency is not None else []
    parts += [f"{one.request_rate:g} requests/s"] if one.request_rate is not None else []
    parts += [f"batch {one.batch:,}"] if one.batch is not None else []
    parts += [f"{one.isl:g} in"] if one.isl is not None else []
    parts += [f"{one.osl:g} out"] if one.osl is not None else []
    return ", ".join(parts)
