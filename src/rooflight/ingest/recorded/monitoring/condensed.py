"""Long recordings, a row a second and accelerator, as means over stretches: nobody reads a table of a day's seconds."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec.structs import replace

from rooflight.values.recorded import Watched

# Rows of one subject that stay as they are.
_MOST = 600
# What such recordings have of accelerators.
_MEANS = (
    "gpu_util", "memory_util", "engine_active", "sm_active", "sm_occupancy", "tensor_active", "dram_active",
    "fp16_active", "fp32_active", "memory_used_bytes", "memory_total_bytes", "power_w", "power_limit_w", "sm_clock_hz",
    "max_sm_clock_hz", "memory_clock_hz", "max_memory_clock_hz", "temperature_c", "nvlink_bytes_per_s",
    "pcie_bytes_per_s",
)  # fmt: skip


def condensed(watched: tuple[Watched, ...], most: int = _MOST) -> tuple[Watched, ...]:
    """Moments in their order; of a subject with more than `most` the means of equally many that follow each other."""
    groups: dict[str, list[Watched]] = {}
    for one in watched:
        groups.setdefault(one.subject, []).append(one)
    if all(len(group) <= most for group in groups.values()):
        return watched
    found: list[Watched] = []
    for group in groups.values():
        size = -(-len(group) // most)
        found += [_mean(group[at : at + size], group[at + size : at + size + 1]) for at in range(0, len(group), size)]
    return tuple(found)


def _mean(rows: list[Watched], after: list[Watched]) -> Watched:
    """The mean of rows that have a value; reasons of lowered clocks are those that any of them had."""
    first = rows[0]
    if len(rows) == 1:
        return first
    values: dict[str, Any] = {}
    for name in _MEANS:
        given = [value for one in rows if (value := getattr(one, name)) is not None]
        if given:
            values[name] = sum(given) / len(given)
    reasons = [one.throttled for one in rows if one.throttled is not None]
    if reasons:
        values["throttled"] = tuple(dict.fromkeys(reason for one in reasons for reason in one))
    return replace(first, span="interval", seconds=_seconds(first, (after or rows[-1:])[0]), **values)


def _seconds(first: Watched, last: Watched) -> float | None:
    if first.start is None or last.start is None:
        return None
    try:
        found = (datetime.fromisoformat(last.start) - datetime.fromisoformat(first.start)).total_seconds()
    except (ValueError, TypeError):
        return None
    return found if found > 0 else None
