"""Series of a scrape sorted to what they are of: a replica of an engine, an accelerator, a slice of one."""

from __future__ import annotations

import functools
import math
from typing import Literal, NamedTuple

import msgspec

from rooflight.ingest.recorded.monitoring.aliases import DEVICES, ENGINES, STARTED, Metric, Source
from rooflight.ingest.recorded.monitoring.histograms import Histogram
from rooflight.values.scraped import Scrape, Series

Part = Literal["value", "sum", "count", "bucket"]
# Labels that tell replicas of an engine apart; all others of a series (finished_reason, source, dp_rank ...) are added
# up. Those behind "engine" are put there by Prometheus, Kubernetes or Ray.
_IDENTITY = (
    "engine", "instance", "namespace", "pod", "container", "service", "job", "node", "hostname", "Hostname",
    "deployment", "replica", "NodeAddress",
)  # fmt: skip
_WHERE = ("instance", "pod", "hostname", "Hostname", "node", "NodeAddress", "replica")
_MODEL = ("model_name", "model", "name")
# Ranks that report the same of one scheduler: the first counts.
_SAME = ("tp_rank", "pp_rank", "moe_ep_rank", "engine_type")


class Named(NamedTuple):
    """What a full name is: its source's metric, how new this of its names is (0: the newest), which part."""

    source: Source
    metric: Metric
    age: int
    part: Part


class Replica(msgspec.Struct, kw_only=True):
    """One replica of an engine as a scrape has it, each metric under its field. info: how it is set up, in words."""

    engine: str
    subject: str
    model: str | None = None
    gauges: dict[str, float]
    counters: dict[str, float]
    histograms: dict[str, Histogram]
    info: dict[str, str] = {}
    started_s: float | None = None
    time_s: float | None = None


@functools.cache
def names() -> dict[str, tuple[Named, ...]]:
    """Every full name that is known, with what it means. A name may serve several fields, told by a label."""
    found: dict[str, tuple[Named, ...]] = {}
    for source in (*ENGINES, *DEVICES):
        for metric in source.metrics:
            for age, name in enumerate(metric.names):
                for prefix in source.prefixes:
                    for full, part in _spelled(f"{prefix}{name}", metric):
                        found[full] = (*found.get(full, ()), Named(source, metric, age, part))
    return found


def _spelled(name: str, metric: Metric) -> tuple[tuple[str, Part], ...]:
    if metric.kind == "histogram":
        return ((f"{name}_sum", "sum"), (f"{name}_count", "count"), (f"{name}_bucket", "bucket"))
    if metric.kind == "counter":
        return ((f"{name}_total", "value"), (name, "value"))
    return ((name, "value"),)


def asked() -> list[str]:
    """The names to ask a server for: all that are known, and those that histograms have as native ones."""
    table = names()
    native = {name.removesuffix("_sum") for name, found in table.items() if any(one.part == "sum" for one in found)}
    return sorted({*table, *native})


def known(name: str) -> bool:
    """Whether a name is in a table."""
    return name in names() or name == STARTED


def engines(scrape: Scrape) -> tuple[Replica, ...]:
    """The replicas of engines that a scrape tells of."""
    groups: dict[tuple[str, ...], dict[str | None, list[tuple[Named, Series]]]] = {}
    started = [one.value for one in scrape.series if one.name == STARTED and math.isfinite(one.value)]
    table = names()
    told: dict[int, tuple[tuple[str, ...], str | None]] = {}  # by the labels, which many series share
    for series in scrape.series:
        for named in table.get(series.name, ()):
            if named.source.devices or not _meant(named.metric, series):
                continue
            labels = series.labels
            who = told.get(id(labels))
            if who is None:
                identity = tuple(f"{key}={labels[key]}" for key in _IDENTITY if key in labels)
                who = told[id(labels)] = identity, next((labels[key] for key in _MODEL if labels.get(key)), None)
            groups.setdefault((named.source.name, *who[0]), {}).setdefault(who[1], []).append((named, series))
    found: list[Replica] = []
    for models in groups.values():
        unnamed = models.pop(None, [])
        for model, rows in models.items() or ((None, []),):
            replica = _replica(model, [*rows, *unnamed], alone=len(models) < 2)
            replica.started_s = started[0] if len(started) == 1 else None
            replica.time_s = scrape.time_s
            found.append(replica)
    return tuple(found)


def _meant(metric: Metric, series: Series) -> bool:
    if not 0 <= series.value < math.inf:
        return False
    return metric.kind == "info" or metric.where is None or series.labels.get(metric.where[0]) == metric.where[1]


def _replica(model: str | None, rows: list[tuple[Named, Series]], *, alone: bool) -> Replica:
    """Its series as one value a field, of the newest name that a field has here."""
    labels, source = rows[0][1].labels, rows[0][0].source
    newest: dict[str, int] = {}
    for named, _ in rows:
        field = named.metric.field
        newest[field] = min(newest.get(field, named.age), named.age)
    fields: dict[str, list[tuple[Named, Series]]] = {}
    for named, series in rows:
        if named.age == newest[named.metric.field]:
            fields.setdefault(named.metric.field, []).append((named, series))
    replica = Replica(
        engine=source.name, subject=_subject(source, labels, None if alone else model), model=model,
        gauges={}, counters={}, histograms={},
    )  # fmt: skip
    for field, pairs in fields.items():
        metric = pairs[0][0].metric
        if metric.kind == "histogram":
            replica.histograms[field] = _histogram(pairs)
        elif metric.kind == "info":
            replica.info = pairs[0][1].labels
            product = _product(metric, pairs)
            if product is not None:
                replica.gauges[field] = product
        else:
            values = _different([series for _, series in pairs])
            total = sum(values) if metric.over == "sum" else sum(values) / len(values)
            (replica.counters if metric.kind == "counter" else replica.gauges)[field] = total
    return replica


def _subject(source: Source, labels: dict[str, str], model: str | None) -> str:
    """As "vllm engine 1 at 10.0.0.7:8000": what it is called wherever the same is seen again."""
    words = [source.name]
    if model is not None:
        words.append(model)
    if labels.get("engine"):
        words.append(f"engine {labels['engine']}")
    where = next((labels[key] for key in _WHERE if labels.get(key)), None)
    return " ".join([*words, *([f"at {where}"] if where else [])])


def _different(rows: list[Series]) -> list[float]:
    """Values of series that differ in more than the rank that reports them."""
    found: dict[tuple[tuple[str, str], ...], float] = {}
    for series in rows:
        key = tuple(sorted((name, value) for name, value in series.labels.items() if name not in _SAME))
        found.setdefault(key, series.value)
    return list(found.values())


def _product(metric: Metric, pairs: list[tuple[Named, Series]]) -> float | None:
    """Of the two labels that an info metric states, such as blocks and their size."""
    for _, series in pairs:
        try:
            first, second = (float(series.labels[key]) for key in metric.where or ())
        except (KeyError, ValueError):
            continue
        if math.isfinite(first * second) and first * second > 0:
            return first * second
    return None


def _histogram(pairs: list[tuple[Named, Series]]) -> Histogram:
    total = count = 0.0
    buckets: dict[float, float] = {}
    for named, series in pairs:
        if named.part == "sum":
            total += series.value
        elif named.part == "count":
            count += series.value
        else:
            try:
                bound = float(series.labels["le"])
            except (KeyError, ValueError):
                continue
            if not math.isnan(bound):
                buckets[bound] = buckets.get(bound, 0.0) + series.value
    return Histogram(total=total, count=count, buckets=tuple(sorted(buckets.items())))
