"""The figures of a diagnosis as metrics: `rooflight exporter` publishes them, docs/exporter.md lists them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, get_args

import msgspec

from rooflight.values.diagnosis import Bound, Diagnosis, Regime

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

BOUNDS: tuple[str, ...] = get_args(Bound)
_SURE = {"low": 1, "medium": 2, "high": 3}
# A subject whose last row ended so long before the newest one is gone, unless its rows are of longer times.
_GONE_S = 120.0
# Values of a regime by name, and their metric: base units, Prometheus's spelling.
FIGURES = {
    "gpu_util": ("rooflight_gpu_utilization_ratio", "Share of time in which some kernel ran."),
    "sm_active": ("rooflight_sm_active_ratio", "Share of the multiprocessors' time with work."),
    "tensor_active": ("rooflight_tensor_active_ratio", "Share of time in which the tensor cores worked."),
    "dram_active": ("rooflight_dram_active_ratio", "Share of time in which the device memory moved data."),
    "bytes_per_s": ("rooflight_memory_bytes_per_second", "Bytes that a device's memory moves a second."),
    "mbu": ("rooflight_mbu_ratio", "Memory bandwidth utilization: bytes moved over what the datasheet allows."),
    "mfu": ("rooflight_mfu_ratio", "Model FLOP utilization: arithmetic over what the datasheet allows."),
    "of_ceiling": ("rooflight_ceiling_ratio", "Speed of a token over the fastest that physics allows."),
    "of_expected": ("rooflight_expected_ratio", "Speed of a token over that of a well-run engine."),
    "output_tokens_per_s": ("rooflight_output_tokens_per_second", "Tokens generated a second."),
    "expected_output_tokens_per_s": (
        "rooflight_expected_output_tokens_per_second",
        "Tokens a second that a well-run engine generates with as many requests.",
    ),
    "tpot_s": ("rooflight_tpot_seconds", "Time per output token after the first."),
    "expected_tpot_s": ("rooflight_expected_tpot_seconds", "The same of a well-run engine with as many requests."),
    "running": ("rooflight_running_requests", "Requests that run."),
    "waiting": ("rooflight_waiting_requests", "Requests that wait."),
    "kv_usage": ("rooflight_kv_usage_ratio", "Share of the KV pool that is taken."),
    "power_w": ("rooflight_power_watts", "Power that a device draws."),
}


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """One reading of the sources: the diagnosis, None where they could not be read, and when (seconds since 1970)."""

    diagnosis: Diagnosis | None
    time_s: float
    took_s: float


def metrics(last: Read | None, good: Read | None) -> Iterator[Metric]:
    """Of the last reading, and of the last one that succeeded. Each subject's newest row of regimes counts."""
    from prometheus_client.core import GaugeMetricFamily

    up = GaugeMetricFamily("rooflight_up", "Whether the sources could be read the last time.")
    up.add_metric((), float(last is not None and last.diagnosis is not None))
    yield up
    if good is None or good.diagnosis is None:
        return
    read = GaugeMetricFamily("rooflight_last_read_timestamp_seconds", "When they were last read.")
    read.add_metric((), good.time_s)
    yield read
    took = GaugeMetricFamily("rooflight_read_duration_seconds", "How long reading and judging took.")
    took.add_metric((), good.took_s)
    yield took
    if last is not good:  # old figures would look like new ones
        return
    yield from _of(good.diagnosis)


def _of(found: Diagnosis) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    bound = GaugeMetricFamily(
        "rooflight_bound", "1 for the ceiling that binds the deployment, 0 for the others.", labels=("bound",)
    )
    for name in BOUNDS:
        bound.add_metric((name,), float(found.bound == name))
    yield bound
    sure = GaugeMetricFamily(
        "rooflight_confidence", "How sure that is: 1 low, 2 medium, 3 high, 0 where none is named."
    )
    sure.add_metric((), 0.0 if found.bound is None else float(_SURE[found.confidence]))
    yield sure
    rows = _newest(found.regimes)
    each = GaugeMetricFamily(
        "rooflight_subject_bound", "The same of one accelerator or replica.", labels=("subject", "bound")
    )
    for row in rows:
        for name in BOUNDS:
            each.add_metric((row.subject, name), float(row.bound == name))
    yield each
    for name, (metric, words) in FIGURES.items():
        family = GaugeMetricFamily(metric, words, labels=("subject",))
        for row in rows:
            if name in row.values:
                family.add_metric((row.subject,), row.values[name])
        if family.samples:
            yield family


def _newest(rows: Sequence[Regime]) -> list[Regime]:
    """The last row of each subject that was seen to the end: of one that went nothing is so any more."""
    found: dict[str, Regime] = {}
    for row in rows:
        before = found.get(row.subject)
        if before is None or (row.start or "") >= (before.start or ""):
            found[row.subject] = row
    ends = {subject: end for subject, row in found.items() if (end := _end_s(row)) is not None}
    last = max(ends.values(), default=0.0)
    return [
        row
        for subject, row in found.items()
        if last - ends.get(subject, last) <= max(_GONE_S, 2 * (row.seconds or 0.0))
    ]


def _end_s(row: Regime) -> float | None:
    try:
        return datetime.fromisoformat(row.start or "").timestamp() + (row.seconds or 0.0)
    except (ValueError, OverflowError):
        return None
