"""guidellm: the tables of its console, and its JSON report. A benchmark of a sweep is a record.

Its ITL is (last token - first token) / (output tokens - 1) of a request, which others call TPOT; its TPOT is the whole
request over all its output tokens, the first included (guidellm docs, guides/metrics.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.figures import amount, spread, text, whole
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.units import to_base
from rooflight.values.recorded import Measurements, Record, Recorded, Spread, Stated

_MS = to_base(1, "ms")
# A column's group in any of the console's tables, and the field and unit that it is; a group spans Mdn and p95, or
# Mdn and Mean. Versions 0.4 and later; earlier ones name the groups in one line.
_GROUPS = {
    "input tok": ("isl", 1.0), "output tok": ("osl", 1.0), "request latency": ("request_s", 1.0),
    "ttft": ("ttft_s", _MS), "itl": ("itl_s", _MS), "tpot": ("tpot_with_first_s", _MS),
    "concurrency": ("in_flight", 1.0), "input tokens": ("input_tokens_per_s", 1.0),
    "output tokens": ("output_tokens_per_s", 1.0), "total tokens": ("total_tokens_per_s", 1.0),
    "per sec": ("requests_per_s", 1.0),
}  # fmt: skip
_TIMES = ("request_s", "ttft_s", "itl_s", "tpot_with_first_s")
_PLACES = {"mdn": "p50", "mean": "mean", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
# The JSON report's metrics: of 0.2 and later.
_METRICS = {
    "request_latency": ("request_s", 1.0), "time_to_first_token_ms": ("ttft_s", _MS),
    "inter_token_latency_ms": ("itl_s", _MS), "time_per_output_token_ms": ("tpot_with_first_s", _MS),
}  # fmt: skip
_RATES = {
    "requests_per_second": "requests_per_s", "request_concurrency": "in_flight",
    "output_tokens_per_second": "output_tokens_per_s", "tokens_per_second": "total_tokens_per_s",
    "prompt_tokens_per_second": "input_tokens_per_s", "prompt_token_count": "isl", "output_token_count": "osl",
}  # fmt: skip
_NOTE = (
    "guidellm's TPOT counts the first token in, its ITL is the time per later token that others call TPOT: "
    "they are read as tpot_with_first_s and as tpot_s"
)
_LACKS = ("which accelerator ran",)
_TITLE = re.compile(r"Request Latency Statistics|Server Throughput Statistics|Request Token Statistics")


def _looks(head: Head) -> bool:
    if head.json:
        return "benchmarks" in head.keys and bool({"time_to_first_token_ms", "inter_token_latency_ms"} & head.keys)
    return "Benchmark" in head.text and "| Strategy" in head.text and _TITLE.search(head.text) is not None


def _read(source: Source) -> Recorded:
    found = list(_reports(source.document) if source.head.json else _tables(source.text))
    if not found:
        raise BadConfig("the report has no benchmark", where=source.name, got="none", want="guidellm's results")
    return Recorded(
        file=source.name, format=FORMAT.name, tool="guidellm", records=tuple(found), lacks=_LACKS, notes=(_NOTE,)
    )  # fmt: skip


def _tables(printed: str) -> Iterator[Record]:
    """The rows of all tables, those of one place in their table joined: each lists the benchmarks in their order."""
    rows: list[tuple[str, dict[str, dict[str, float]]]] = []
    heads: list[list[str]] = []
    place = 0
    for line in printed.splitlines():
        if _TITLE.search(line):
            heads, place = [], 0
        elif (cells := _cells(line)) is not None and not set(line) <= set("|=- +"):
            if cells[0].lower() in ("benchmark", "strategy", ""):
                heads.append(cells)
            elif heads:
                if place == len(rows):
                    rows.append((cells[0], {}))
                values = _placed(heads, line)
                for name, parts in values.items():
                    rows[place][1].setdefault(name, {}).update(parts)
                place += 1
    return (_record(name, parts, number, [one for one, _ in rows]) for number, (name, parts) in enumerate(rows))


def _cells(line: str) -> list[str] | None:
    parts = line.strip()
    if not parts.startswith("|") or not parts.endswith("|") or len(parts) < 3:
        return None
    return [one.strip() for one in parts[1:-1].split("|")]


def _placed(heads: Sequence[Sequence[str]], line: str) -> dict[str, dict[str, float]]:
    """A row's numbers by field and place. A head's cell reaches over as many columns as bars follow it."""
    groups = _spanned(heads[0])
    units = _spanned(heads[1]) if len(heads) > 2 else groups
    places = _spanned(heads[-1])
    found: dict[str, dict[str, float]] = {}
    group = ""
    for column, cell in enumerate(_cells(line) or ()):
        group = groups.get(column, group)
        named = units.get(column, "").lower()
        if named == "per stream iter":  # chunks, not requests
            continue
        key = named if named in ("concurrency", "per sec") and group.lower() == "requests" else group.lower()
        field = _GROUPS.get(key)
        where = _PLACES.get(places.get(column, "").lower())
        value = amount(cell)
        if field is not None and value is not None:
            found.setdefault(field[0], {})[where or "mean"] = value * field[1]
    return found


def _spanned(head: Sequence[str]) -> dict[int, str]:
    """Columns by number with the name over them; `||` behind a name makes it reach one further."""
    found: dict[int, str] = {}
    name = ""
    for column, cell in enumerate(head):
        name = cell or name
        found[column] = name
    return found


def _record(name: str, parts: Mapping[str, Mapping[str, float]], number: int, names: Sequence[str]) -> Record:
    times: dict[str, Any] = {field: Spread(**parts[field]) for field in _TIMES if field in parts}
    plain: dict[str, Any] = {
        field: values.get("mean", values.get("p50")) for field, values in parts.items() if field not in _TIMES
    }  # fmt: skip
    if "itl_s" in times:
        times["tpot_s"] = times["itl_s"]
    together = name == "concurrent" and plain.get("in_flight") is not None
    stated = Stated(
        concurrency=round(plain["in_flight"] or 1) if together else 1 if name == "synchronous" else None,
        isl=plain.get("isl"), osl=plain.get("osl"),
    )  # fmt: skip
    label = f"{name} {number + 1}" if names.count(name) > 1 else name
    return Record(name=label, stated=stated, measured=Measurements(**times, **plain))


def _reports(document: Any) -> Iterator[Record]:
    benchmarks = document.get("benchmarks") if isinstance(document, Mapping) else None
    for number, one in enumerate(benchmarks if isinstance(benchmarks, list) else ()):
        metrics = _part(one, "metrics")
        if not metrics:
            continue
        times: dict[str, Any] = {}
        for theirs, (field, unit) in _METRICS.items():
            times[field] = _successful(metrics, theirs, unit)
        times["tpot_s"] = times["itl_s"]
        plain: dict[str, Any] = {field: _mean(metrics, theirs) for theirs, field in _RATES.items()}
        strategy = _part(_part(one, "args"), "strategy") or _part(_part(one, "config"), "strategy")
        made = _part(_part(one, "run_stats"), "requests_made") or _part(metrics, "request_totals")
        kind = text(strategy.get("type_")) or f"benchmark {number + 1}"
        streams = whole(strategy.get("streams"))
        stated = Stated(
            model=text(_part(_part(document, "args"), "").get("model")) or text(_part(one, "args").get("model")),
            concurrency=1 if kind == "synchronous" else streams,
            request_rate=amount(strategy.get("rate")),
        )
        yield Record(
            name=f"{kind} {number + 1}",
            stated=stated,
            measured=Measurements(
                requests=whole(made.get("successful")), failed=whole(made.get("errored")),
                duration_s=amount(one.get("duration")), **times, **plain,
            ),
        )  # fmt: skip


def _part(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _successful(metrics: Mapping[str, Any], name: str, unit: float) -> Spread | None:
    parts = _part(_part(metrics, name), "successful")
    more = _part(parts, "percentiles")
    named = {"mean": parts.get("mean"), "p50": parts.get("median"), "low": parts.get("min"), "high": parts.get("max")}
    named |= {place: more.get(place, parts.get(place)) for place in ("p90", "p95", "p99")}
    return spread(named, unit)


def _mean(metrics: Mapping[str, Any], name: str) -> float | None:
    return amount(_part(_part(metrics, name), "successful").get("mean"))


FORMAT = Format(name="guidellm", words="guidellm's tables or its JSON report", looks=_looks, read=_read)
