"""AIPerf and its predecessor GenAI-Perf: the table of the console, the JSON and the CSV export.

Their inter-token latency is (request latency - TTFT) / (output tokens - 1) of a request, which others call TPOT
(docs.nvidia.com/aiperf, reference/ai-perf-metrics-reference).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.figures import amount, spread, text, whole
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.units import to_base
from rooflight.values.recorded import Measurements, Record, Recorded, Stated

_MS = to_base(1, "ms")
_US = to_base(1, "us")
_NS = 1e-9
_UNITS = {"ms": _MS, "s": 1.0, "sec": 1.0, "us": _US, "ns": _NS}
# Metrics by their name without case, blanks or what is in brackets, and the field: AIPerf 0.1 to 0.14, GenAI-Perf
# 0.0.3 to 0.0.16 (its JSON has the names of the console with underscores).
_TIMES = {
    "time to first token": "ttft_s", "inter token latency": "itl_s", "request latency": "request_s",
}  # fmt: skip
_MEANS = {
    "input sequence length": "isl", "output sequence length": "osl", "num input token": "isl",
    "num output token": "osl", "output token throughput": "output_tokens_per_s",
    "output token throughput per user": "output_tokens_per_s_per_user", "request throughput": "requests_per_s",
    "total token throughput": "total_tokens_per_s", "benchmark duration": "duration_s",
}  # fmt: skip
_COUNTS = {"request count": "requests", "error request count": "failed"}
_PLACES = {
    "avg": "mean", "mean": "mean", "min": "low", "max": "high", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99",
}  # fmt: skip
_BARS = re.compile(r"[│┃|]")
_BRACKETS = re.compile(r"\(([^)]*)\)")
_OPTION = re.compile(r"--(concurrency|request-rate|request-count|concurrency-range|model|m|num-prompts)[ =]+(\S+)")
_MODEL = re.compile(r"(?:^|\s)-m[ =]+(\S+)")
_DURATION = re.compile(r"Benchmark Duration: ([\d.,]+) sec")
_TPOT = "its inter-token latency is the time per later token of a request: read as tpot_s too"
_LACKS = ("which accelerator ran",)

Values = dict[str, dict[str, Any]]


def _looks(head: Head) -> bool:
    if head.json:
        metrics = {"time_to_first_token", "request_throughput", "request_latency"}
        return len(metrics & head.keys) >= 2 and {"unit", "avg"} <= head.keys
    titled = "LLM Metrics" in head.text and ("AIPerf" in head.text or "GenAI-Perf" in head.text)
    return titled or head.text.lstrip().startswith(("Metric,avg,", "Metric,min,", '"Metric"'))


def _read(source: Source) -> Recorded:
    printed = source.text
    values: Values = {}
    stated: dict[str, Any] = {}
    notes = [_TPOT]
    if source.head.json:
        values, stated = _exported(source.document), _configured(source.document)
    elif printed.lstrip().startswith(("Metric", '"Metric"')):
        values = _listed(printed)
    else:
        values, stated = _tabled(printed), _commanded(printed)
        duration = _DURATION.search(printed)
        if duration is not None:
            values.setdefault("benchmark duration", {"unit": "sec", "avg": duration[1]})
    measured = _measured(values)
    if measured == Measurements():
        raise BadConfig("no metric is in it", where=source.name, got="none", want="a table of LLM metrics")
    limit = stated.get("concurrency")
    in_flight = _little(measured)
    if limit and in_flight and not 0.5 * limit <= in_flight <= 1.5 * limit:
        notes.append(
            f"its command keeps {limit} requests in flight, its figures make {in_flight:.1f} (requests a second x "
            "request latency): command and table do not belong together, and the command is left out"
        )
        stated = {name: value for name, value in stated.items() if name == "model"}
    tool = "AIPerf" if "AIPerf" in printed[: 1 << 20] or "aiperf" in printed[: 1 << 16].lower() else "GenAI-Perf"
    return Recorded(
        file=source.name, format=FORMAT.name, tool=tool, notes=tuple(notes), lacks=_LACKS,
        records=(Record(stated=Stated(**stated), measured=measured),),
    )  # fmt: skip


def _little(measured: Measurements) -> float | None:
    """Requests in flight by Little's law."""
    time_s = measured.request_s.mean if measured.request_s else None
    return None if None in (measured.requests_per_s, time_s) else (measured.requests_per_s or 0) * (time_s or 0)


def _measured(values: Values) -> Measurements:
    times: dict[str, Any] = {}
    for name, field in _TIMES.items():
        parts = values.get(name, {})
        unit = _UNITS.get(str(parts.get("unit", "ms")).lower(), _MS)
        times[field] = spread({place: parts.get(theirs) for theirs, place in _places(parts)}, unit)
    times["tpot_s"] = times["itl_s"]
    plain: dict[str, Any] = {
        field: found for name, field in _MEANS.items() if (found := _mean(values, name)) is not None
    }
    counts: dict[str, Any] = {field: whole(values.get(name, {}).get("avg")) for name, field in _COUNTS.items()}
    return Measurements(**times, **plain, **counts)


def _places(parts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    return ((theirs, place) for theirs, place in _PLACES.items() if theirs in parts)


def _mean(values: Values, name: str) -> float | None:
    return amount(values.get(name, {}).get("avg"))


def _named(name: str) -> tuple[str, str]:
    """A metric's name alone, and what stands in brackets behind it."""
    unit = _BRACKETS.search(name)
    plain = " ".join(_BRACKETS.sub(" ", name).replace("_", " ").replace("-", " ").lower().split())
    return plain, unit[1].strip() if unit else ""


def _tabled(printed: str) -> Values:
    """The rows of a table drawn with bars: its head names the columns."""
    found: Values = {}
    heads: list[str] = []
    for line in printed.splitlines():
        cells = [one.strip() for one in _BARS.split(line)[1:-1]]
        if len(cells) < 2:
            continue
        if cells[0] in ("Metric", "Statistic"):
            heads = [one.lower() for one in cells]
        elif heads and cells[0]:
            name, unit = _named(cells[0])
            parts = dict(zip(heads[1:], cells[1:], strict=False))
            if any(parts.values()):
                found.setdefault(name, {"unit": unit} | parts)
    return found


def _listed(printed: str) -> Values:
    """Sections of the CSV: a head that starts with Metric, then a row a metric."""
    found: Values = {}
    heads: list[str] = []
    for row in csv.reader(printed.splitlines()):
        if not row:
            continue
        if row[0].strip() == "Metric":
            heads = [one.strip().lower() for one in row]
            continue
        name, unit = _named(row[0])
        parts = dict(zip(heads[1:], (one.strip() for one in row[1:]), strict=False))
        if "value" in parts:
            parts["avg"] = parts.pop("value")
        found.setdefault(name, {"unit": unit} | parts)
    return found


def _exported(document: Any) -> Values:
    """The JSON's metrics: {"unit", "avg", "p50" ...} by name."""
    within = document if isinstance(document, Mapping) else {}
    within = within.get("records", within) if isinstance(within.get("records"), Mapping) else within
    return {
        _named(name)[0]: dict(parts) for name, parts in within.items() if isinstance(parts, Mapping) and "avg" in parts
    }  # fmt: skip


def _configured(document: Any) -> dict[str, Any]:
    """What the JSON's configuration says of the load."""
    config = document.get("input_config") if isinstance(document, Mapping) else None
    config = config if isinstance(config, Mapping) else {}
    endpoint, load = _part(config, "endpoint"), _part(config, "loadgen")
    names = endpoint.get("model_names", config.get("model_names", config.get("model")))
    model = text(names[0]) if isinstance(names, list) and names else text(names)
    stimulus = _part(_part(config, "perf_analyzer"), "stimulus")
    found = {
        "model": model,
        "concurrency": whole(load.get("concurrency", stimulus.get("concurrency", config.get("concurrency")))),
        "request_rate": amount(load.get("request_rate", stimulus.get("request_rate", config.get("request_rate")))),
        "num_prompts": whole(load.get("request_count", config.get("request_count"))),
    }
    return {name: value for name, value in found.items() if value}


def _part(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _commanded(printed: str) -> dict[str, Any]:
    """What the command says of the load, where it stands in front of its table."""
    given = {name: value.strip("'\"\\") for name, value in _OPTION.findall(printed)}
    model = given.get("model") or (short[1] if (short := _MODEL.search(printed)) else None)
    limit = given.get("concurrency", given.get("concurrency-range"))
    found = {
        "model": text((model or "").strip("'\"")), "concurrency": whole(limit),
        "request_rate": amount(given.get("request-rate")),
        "num_prompts": whole(given.get("request-count", given.get("num-prompts"))),
    }  # fmt: skip
    return {name: value for name, value in found.items() if value}


FORMAT = Format(name="aiperf", words="AIPerf's and GenAI-Perf's table, JSON or CSV", looks=_looks, read=_read)
