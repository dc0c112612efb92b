"""MLPerf's loadgen summary (mlperf_log_summary.txt): times in nanoseconds, one query of all samples when offline."""

from __future__ import annotations

import re
from typing import Any

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.figures import amount, spread, text, whole
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.values.recorded import Measurements, Record, Recorded, Spread, Stated

_NS_PER_S = 1e9
_LINE = re.compile(r"^\s*([A-Za-z0-9][\w .%/()-]*?)\s*:\s*(.+?)\s*$", re.MULTILINE)
# The end of a line's name in the file, and the field: github.com/mlcommons/inference, loadgen/results.cc (v4 to v5.1).
_TIMES = {
    "latency (ns)": "request_s", "first token latency (ns)": "ttft_s", "time to output token (ns)": "tpot_s",
}  # fmt: skip
_PLACES = {
    "mean": "mean", "50.00 percentile": "p50", "90.00 percentile": "p90", "95.00 percentile": "p95",
    "99.00 percentile": "p99", "min": "low", "max": "high",
}  # fmt: skip
_OFFLINE = "offline, all samples are one query: its latencies are of the whole batch, and none is the time of a token"
_LACKS = ("which model and which accelerators ran", "lengths of prompts")


def _looks(head: Head) -> bool:
    return "MLPerf Results Summary" in head.text


def _read(source: Source) -> Recorded:
    values = {name.strip().lower(): value for name, value in _LINE.findall(source.text)}
    scenario = text(values.get("scenario"))
    if scenario is None:
        raise BadConfig(
            "the summary names no scenario", where=source.name, got="none", want="a line `Scenario : Server`"
        )
    rate = _first(values, "completed samples per second", "samples per second")
    tokens = _first(values, "completed tokens per second", "tokens per second")
    batch = whole(values.get("samples_per_query"))
    times: dict[str, Any] = {field: _time(values, ending) for ending, field in _TIMES.items()}
    notes = [f"scenario {scenario}; result {values.get('result is', 'not said')[:40]}"]
    offline = scenario.lower() == "offline"
    if offline:
        times = dict.fromkeys(times)
        notes.append(_OFFLINE)
    measured = Measurements(
        requests_per_s=rate, output_tokens_per_s=tokens, osl=tokens / rate if tokens and rate else None,
        duration_s=_seconds(values.get("max latency (ns)")) if offline else None, **times,
    )  # fmt: skip
    target = amount(values.get("target_qps"))
    stated = Stated(
        request_rate=target if scenario.lower() == "server" else None,
        concurrency=1 if scenario.lower() == "singlestream" else None, num_prompts=batch if offline else None,
        phase=None,
    )  # fmt: skip
    return Recorded(
        file=source.name, format=FORMAT.name, tool="MLPerf loadgen", lacks=_LACKS, notes=tuple(notes),
        records=(Record(name=scenario, stated=stated, measured=measured),),
    )  # fmt: skip


def _first(values: dict[str, str], *names: str) -> float | None:
    return next((found for name in names if (found := amount(values.get(name))) is not None), None)


def _seconds(nanoseconds: str | None) -> float | None:
    found = amount(nanoseconds)
    return None if found is None else found / _NS_PER_S


def _time(values: dict[str, str], ending: str) -> Spread | None:
    return spread({place: values.get(f"{name} {ending}") for name, place in _PLACES.items()}, 1 / _NS_PER_S)


FORMAT = Format(name="mlperf", words="MLPerf's loadgen summary", looks=_looks, read=_read)
