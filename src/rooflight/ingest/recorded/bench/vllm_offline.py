"""`vllm bench latency` and `vllm bench throughput` (benchmark_latency.py, benchmark_throughput.py): --output-json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rooflight.ingest.recorded.bench.documents import amount, count, documents, keys_of
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.values.recorded import Measurements, Record, Recorded, Spread, Stated

_LATENCY = frozenset(("avg_latency", "percentiles"))
_THROUGHPUT = frozenset(("elapsed_time", "num_requests", "total_num_tokens"))
_UNKNOWN = ("the batch, and the tokens in and out of each sequence",)
_APART = ("tokens in and tokens out apart",)


def _looks(head: Head) -> bool:
    found = keys_of(head)
    return found >= _LATENCY or found >= _THROUGHPUT


def _read(source: Source) -> Recorded:
    found, notes = documents(source)
    records: list[Record] = []
    lacks: tuple[str, ...] = ()
    for one in found:
        if one.values.keys() >= _THROUGHPUT:
            records.append(_throughput(one.values, one.line))
            lacks += _APART
        elif "avg_latency" in one.values:
            records.append(_latency(one.values, one.line))
            lacks += _UNKNOWN
    return Recorded(
        file=source.name, format="", tool="vllm bench", records=tuple(records), lacks=tuple(dict.fromkeys(lacks)),
        notes=notes,
    )  # fmt: skip


def _latency(values: Mapping[str, Any], line: int | None) -> Record:
    """Seconds that a batch takes, prefill and all output, over its repetitions."""
    places = values.get("percentiles")
    at = places if isinstance(places, dict) else {}
    runs = values.get("latencies")
    seen = [one for one in map(amount, runs if isinstance(runs, list) else ()) if one]
    times = Spread(
        mean=amount(values.get("avg_latency")), p50=amount(at.get("50")), p90=amount(at.get("90")),
        p99=amount(at.get("99")), low=min(seen, default=None), high=max(seen, default=None),
    )  # fmt: skip
    return Record(name="latency", stated=Stated(engine="vllm"), measured=Measurements(request_s=times), line=line)


def _throughput(values: Mapping[str, Any], line: int | None) -> Record:
    """A number of requests handed over at once; tokens_per_second counts prompts and output together."""
    requests = count(values.get("num_requests"))
    return Record(
        name="throughput",
        stated=Stated(engine="vllm", num_prompts=requests),
        measured=Measurements(
            duration_s=amount(values.get("elapsed_time")), requests=requests,
            requests_per_s=amount(values.get("requests_per_second")),
            total_tokens_per_s=amount(values.get("tokens_per_second")),
        ),
        line=line,
    )  # fmt: skip


FORMAT = Format(
    name="vllm-bench-offline", words="results of vllm bench latency and throughput", looks=_looks, read=_read
)
