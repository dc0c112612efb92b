"""Accelerators in a scrape: DCGM's exporter, those of nvidia-smi and of AMD, Triton's own gauges."""

from __future__ import annotations

from typing import Any

from rooflight.ingest.recorded.monitoring.aliases import reasons
from rooflight.ingest.recorded.monitoring.replicas import Named, names
from rooflight.ingest.recorded.monitoring.totals import clock
from rooflight.units import to_base
from rooflight.values.recorded import Watched
from rooflight.values.scraped import Scrape, Series

# What DCGM writes where it has no value (dcgm_structs.h: DCGM_INT32_BLANK, DCGM_FP64_BLANK, DCGM_INT64_BLANK and the
# few numbers after each, which say why).
_INT32_BLANK = range(0x7FFFFFF0, 0x80000000)
_FP64_BLANK = 2.0**47
_INDEX = ("gpu", "gpu_id", "index")
_UUID = ("UUID", "uuid", "gpu_uuid", "serial_number")
_HOST = ("Hostname", "hostname", "instance", "node")
_NAME = ("modelName", "model_name", "card_model", "name")
_ADDED = {"pcie_bytes_per_s": ("pcie_tx", "pcie_rx"), "nvlink_bytes_per_s": ("nvlink_tx", "nvlink_rx")}
_MOST = 100.0

_Key = tuple[str, ...]
_Row = tuple[Named, Series, float]


def devices(scrape: Scrape, notes: list[str]) -> tuple[Watched, ...]:
    """What a scrape says of each accelerator, and of each slice of one, at its moment."""
    rows: dict[_Key, list[_Row]] = {}
    about: dict[str, dict[str, str]] = {}  # of a uuid
    blank = 0
    for series in scrape.series:
        for named in names().get(series.name, ()):
            where = named.metric.where
            if not named.source.devices or (where and series.labels.get(where[0]) != where[1]):
                continue
            if named.metric.field == "info":
                about[_first(series.labels, _UUID) or ""] = series.labels
            elif not _there(series.value):
                blank += 1
            elif "nvlink" not in series.labels:  # of one link
                rows.setdefault(_key(series.labels), []).append((named, series, series.value))
    percent = _in_percent([row for group in rows.values() for row in group])
    found = [_watched(group, percent, about, scrape.time_s) for group in rows.values()]
    if blank:
        notes.append(f"blank values of accelerators, which are not zeros, are left out: {blank:,}")
    if any(one.mig for one in found):
        notes.append("power and clocks of a MIG slice are those of its whole accelerator")
    return tuple(found)


def _there(value: float) -> bool:
    return 0 <= value < _FP64_BLANK and not (value.is_integer() and int(value) in _INT32_BLANK)


def _key(labels: dict[str, str]) -> _Key:
    """What tells one accelerator or slice from another."""
    return (
        _first(labels, _UUID) or _first(labels, _INDEX) or labels.get("device", ""), _first(labels, _HOST) or "",
        labels.get("GPU_I_ID", ""), _partition(labels),
    )  # fmt: skip


def _partition(labels: dict[str, str]) -> str:
    """Of an AMD accelerator that is divided (not SPX, its whole)."""
    divided = labels.get("gpu_compute_partition_type", "spx").lower() not in ("spx", "")
    return labels.get("gpu_partition_id", "") if divided else ""


def _first(labels: dict[str, str], keys: tuple[str, ...]) -> str | None:
    return next((labels[key] for key in keys if labels.get(key)), None)


def _in_percent(rows: list[_Row]) -> set[str]:
    """Fields of shares that somebody exports in percent: one of their values is above 1."""
    return {named.metric.field for named, _, value in rows if named.metric.unit == "share" and 1 < value <= _MOST}


def _watched(rows: list[_Row], percent: set[str], about: dict[str, dict[str, str]], time_s: float | None) -> Watched:
    values: dict[str, float] = {}
    ages: dict[str, int] = {}
    flags: dict[str, bool] = {}
    masks: list[int] = []
    for named, _, value in rows:
        field = named.metric.field
        if named.metric.kind == "flag":
            flags[field] = flags.get(field, False) or value > 0
        elif named.metric.kind == "bits":
            masks.append(int(value))
        elif named.age < ages.get(field, named.age + 1):
            # a shared accelerator comes once a pod, each time with the same value
            ages[field], values[field] = named.age, _base(value, named.metric.unit, field in percent)
    labels = rows[0][1].labels
    known = labels | {key: value for key, value in about.get(_first(labels, _UUID) or "", {}).items() if value}
    made: dict[str, Any] = {name: value for name, value in values.items() if name in Watched.__struct_fields__}
    if "memory_total_bytes" not in made and {"memory_used_bytes", "memory_free_bytes"} <= values.keys():
        parts = ("memory_used_bytes", "memory_free_bytes", "memory_reserved_bytes")
        made["memory_total_bytes"] = sum(values.get(name, 0.0) for name in parts)
    for name, (sent, received) in _ADDED.items():
        if {sent, received} <= values.keys():
            made[name] = values[sent] + values[received]
    if masks:
        made["throttled"] = reasons(masks[0])
    elif flags:
        made["throttled"] = tuple(name for name, on in flags.items() if on)
    return Watched(
        subject=_subject(known), kind="device", start=clock(time_s), device=_first(known, _NAME),
        mig=labels.get("GPU_I_PROFILE"), **made,
    )  # fmt: skip


def _base(value: float, unit: str, percent: bool) -> float:
    if unit == "%" or percent:
        return value / _MOST
    return value if unit in ("", "share") else to_base(value, unit)


def _subject(labels: dict[str, str]) -> str:
    """As "gpu 0 / mig 3 at node-1": by its index where that is said, else by its identifier."""
    which = _first(labels, _INDEX) or _first(labels, _UUID) or labels.get("device", "")
    words = f"gpu {which}".rstrip()
    if labels.get("GPU_I_ID"):
        words += f" / mig {labels['GPU_I_ID']}"
    elif _partition(labels):
        words += f" / partition {_partition(labels)}"
    where = _first(labels, _HOST)
    return f"{words} at {where}" if where else words
