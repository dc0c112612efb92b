"""inference-perf (Kubernetes SIG): the lifecycle metrics of a stage, or what its Prometheus said of it, in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.figures import amount, spread, whole
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.values.recorded import Measurements, Record, Recorded, Spread, Stated

# Spread's names by inference-perf's: github.com/kubernetes-sigs/inference-perf, inference_perf/reportgen/base.py
_PARTS = {
    "mean": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99", "low": "min", "high": "max",
}  # fmt: skip
# Where a time stands: under successes.latency of a lifecycle report, beside the counts in one of Prometheus.
_TIMES = {
    "request_s": "request_latency", "ttft_s": "time_to_first_token", "tpot_s": "time_per_output_token",
    "itl_s": "inter_token_latency", "tpot_with_first_s": "normalized_time_per_output_token",
}  # fmt: skip
_LACKS = ("which model and which accelerator ran",)


def _looks(head: Head) -> bool:
    return head.json and {"load_summary", "successes"} <= head.keys


def _read(source: Source) -> Recorded:
    whole_report = source.document
    load, done = _part(whole_report, "load_summary"), _part(whole_report, "successes")
    if not done:
        raise BadConfig(
            "no request of the stage ended well", where=source.name, got="no successes", want="latencies of requests"
        )
    failed = _part(whole_report, "failures")
    # Prometheus's means are over the whole server's life in its window, under the same names
    lifecycle = "latency" in done
    latency = _part(done, "latency") if lifecycle else done
    through = _part(done, "throughput")
    times: dict[str, Any] = {name: _spread(latency, key) for name, key in _TIMES.items()}
    measured = Measurements(
        duration_s=amount(load.get("send_duration")),
        requests=whole(done.get("count")),
        failed=whole(failed.get("count")),
        arrivals_per_s=amount(load.get("achieved_rate")),
        requests_per_s=amount(through.get("requests_per_sec", done.get("rate"))),
        input_tokens_per_s=amount(through.get("input_tokens_per_sec", _part(done, "prompt_len").get("rate"))),
        output_tokens_per_s=amount(through.get("output_tokens_per_sec", _part(done, "output_len").get("rate"))),
        total_tokens_per_s=amount(through.get("total_tokens_per_sec")),
        isl=amount(_part(done, "prompt_len").get("mean")),
        osl=amount(_part(done, "output_len").get("mean")),
        **times,
    )
    stated = Stated(request_rate=amount(load.get("requested_rate")), num_prompts=whole(load.get("count")))
    notes = ["the duration is that of sending requests: the last ones end later"] if measured.duration_s else []
    if not lifecycle:
        notes.append("values are those that the server's Prometheus gave for the stage")
    return Recorded(
        file=source.name, format=FORMAT.name, tool="inference-perf", lacks=_LACKS,
        records=(Record(stated=stated, measured=measured),), notes=tuple(notes),
    )  # fmt: skip


def _part(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _spread(latency: Mapping[str, Any], key: str) -> Spread | None:
    parts = _part(latency, key)
    return spread({name: parts.get(theirs) for name, theirs in _PARTS.items()}, 1.0)


FORMAT = Format(
    name="inference-perf", words="inference-perf's metrics of a stage (JSON)", looks=_looks, read=_read
)  # fmt: skip
