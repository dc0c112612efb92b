"""Rows of monitoring that are of one time: a device's counters with the queue of the engine that it runs."""

from __future__ import annotations

import datetime
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from statistics import fmean
from typing import Any

import msgspec
from msgspec.structs import replace

from rooflight.answers.diagnose.watched.thresholds import limit
from rooflight.values.recorded import Recorded, Span, Watched

# What a device says and an engine does not, and the other way round.
_OF_DEVICE = (
    "gpu_util", "memory_util", "engine_active", "sm_active", "sm_occupancy", "tensor_active", "dram_active", "power_w",
    "power_limit_w", "sm_clock_hz", "max_sm_clock_hz", "memory_clock_hz", "max_memory_clock_hz", "temperature_c",
    "nvlink_bytes_per_s", "pcie_bytes_per_s",
)  # fmt: skip
_OF_ENGINE = (
    "engine", "running", "waiting", "swapped", "kv_usage", "kv_tokens", "preemptions", "requests",
    "prompt_tokens_per_s", "output_tokens_per_s", "requests_per_s", "isl", "osl", "step_tokens", "prefix_hit",
    "acceptance", "max_num_seqs", "ttft_s", "tpot_s", "itl_s", "request_s", "queue_s", "prefill_s", "decode_s",
)  # fmt: skip

# Of an engine, what is of a moment in any scrape.
_GAUGES = frozenset({"engine", "running", "waiting", "swapped", "kv_usage", "kv_tokens", "max_num_seqs"})


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A row with what is known of the other kind at its time.

    row         with the fields of both kinds
    queue_span  of the engine's values (None: none known)
    ever        fields of the engine that are of all the time since its start, which are weaker evidence
    devices     accelerators that the engine runs on, as far as they were watched with it
    replicas    engines that were watched in all
    """

    row: Watched
    queue_span: Span | None = None
    ever: frozenset[str] = frozenset()
    devices: int = 1
    replicas: int = 1


def together(files: Sequence[Recorded], cap: int | None = None) -> tuple[Seen, ...]:
    """Every row of monitoring, by subject and time. cap: of requests that run, as the user states it.

    Devices and an engine are joined where there is one engine, by the nearest time; with several nobody says which
    device is whose. Slices of a MIG device are joined only where there is one.
    """
    cap = cap or _cap(files)
    rows = [[_finite(row) for row in file.watched] for file in files]
    devices = sorted((row for some in rows for row in some if row.kind == "device"), key=_order)
    engines = [one for some in rows for one in _engines_of(some, cap)]
    replicas = len({one.row.subject for one in engines})
    slices = any(row.mig is not None for row in devices)
    joins = replicas == 1 and devices and (not slices or len({row.subject for row in devices}) == 1)
    found = [*_devices(devices, engines), *_engines(engines, devices)] if joins else [
        *(Seen(row=row) for row in devices), *engines
    ]  # fmt: skip
    return tuple(replace(one, replicas=replicas) for one in sorted(found, key=lambda one: _order(one.row)))


def _engines_of(watched: Sequence[Watched], cap: int | None) -> Iterator[Seen]:
    """Engines of a file, each with its cap: a scrape's gauges with its counters, which are of all the time before.

    Those counters are left out where there is more than one scrape: what lies between says more.
    """
    rows = [row if row.max_num_seqs is not None else replace(row, max_num_seqs=cap) for row in watched]
    for subject in sorted({row.subject for row in rows if row.kind == "engine"}):
        own = [row for row in rows if row.subject == subject and row.kind == "engine"]
        ever = [row for row in own if row.span == "lifetime"]
        now = [row for row in own if row.span != "lifetime"]
        if len(now) == 1 and len(ever) == 1 and now[0].span == "moment":
            blank = [
                name for name in _OF_ENGINE if getattr(now[0], name) is None and getattr(ever[0], name) is not None
            ]
            yield Seen(row=_with(now[0], ever[0], blank), queue_span="moment", ever=frozenset(blank) - _GAUGES)
            continue
        for row in now or ever:
            names = frozenset(_OF_ENGINE) - _GAUGES if row.span == "lifetime" else frozenset()
            yield Seen(row=row, queue_span=row.span, ever=names)


def _finite(row: Watched) -> Watched:
    """The row without numbers that are none: NaN and infinity are what exporters write for nothing."""
    names = (*_OF_DEVICE, *_OF_ENGINE, "seconds")
    odd = [name for name in names if isinstance(one := getattr(row, name), float) and not isfinite(one)]
    return replace(row, **dict.fromkeys(odd)) if odd else row


def _cap(files: Iterable[Recorded]) -> int | None:
    """The limit that the other files state of the engine, where they agree."""
    said = {record.stated.max_num_seqs for file in files for record in file.records} - {None}
    return said.pop() if len(said) == 1 else None


def busy(row: Watched) -> float | None:
    """The share of time with a kernel on the device: the profiler's where there is one."""
    return row.gpu_util if row.engine_active is None else row.engine_active


def _devices(devices: Sequence[Watched], engines: Sequence[Seen]) -> Iterator[Seen]:
    """Devices with the engine beside; one without load is not the engine's while another has some."""
    at = _Times([one.row for one in engines])
    loaded = _loaded(devices)
    for row in devices:
        place = at.nearest(row)
        if place is None or (loaded and row.subject not in loaded):
            yield Seen(row=row)
            continue
        one = engines[place]
        yield replace(one, row=_with(row, one.row, _OF_ENGINE), devices=max(1, len(loaded)))


def _engines(engines: Sequence[Seen], devices: Sequence[Watched]) -> Iterator[Seen]:
    """The engine with the mean of its devices."""
    loaded = _loaded(devices)
    own: dict[str, list[Watched]] = {}
    for row in devices:
        if not loaded or row.subject in loaded:
            own.setdefault(row.subject, []).append(row)
    times = [(rows, _Times(rows)) for rows in own.values()]
    for one in engines:
        near = [rows[place] for rows, at in times if (place := at.nearest(one.row)) is not None]
        yield replace(one, row=replace(one.row, **_means(near)) if near else one.row, devices=max(1, len(near)))


def _loaded(devices: Sequence[Watched]) -> set[str]:
    """Devices that had a load at any time; none: nobody says."""
    return {row.subject for row in devices if (busy(row) or 0.0) > limit("idle")}


def _means(rows: Sequence[Watched]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _OF_DEVICE:
        values = [value for row in rows if (value := getattr(row, name)) is not None]
        if len(values) == len(rows):
            found[name] = fmean(values)
    reasons = [row.throttled for row in rows if row.throttled is not None]
    if reasons:
        found["throttled"] = tuple(sorted({name for some in reasons for name in some}))
    return found


def _with(row: Watched, other: Watched, names: Iterable[str]) -> Watched:
    joined: Watched = replace(row, **{name: getattr(other, name) for name in names})
    return joined


class _Times:
    """Rows, to find the place of that of a time."""

    def __init__(self, rows: Sequence[Watched]) -> None:
        timed = [(when, place) for place, row in enumerate(rows) if (when := middle_s(row)) is not None]
        self._rows, self._timed = rows, sorted(timed)
        self._at = [when for when, _ in self._timed]

    def nearest(self, row: Watched) -> int | None:
        """Of the row of that time; where either has no clock, of the only one there is."""
        when = middle_s(row)
        if when is None or not self._timed:
            return 0 if len(self._rows) == 1 else None
        place = bisect(self._at, when)
        at, found = min(self._timed[max(place - 1, 0) : place + 1], key=lambda one: abs(one[0] - when))
        reach = limit("same_time_s") + ((row.seconds or 0.0) + (self._rows[found].seconds or 0.0)) / 2
        return found if abs(at - when) <= reach else None


def middle_s(row: Watched) -> float | None:
    """The middle of a row's time, in seconds; None without a clock."""
    if row.start is None:
        return None
    try:
        start = datetime.datetime.fromisoformat(row.start)
    except ValueError:
        return None
    if start.tzinfo is None:
        start = start.replace(tzinfo=datetime.UTC)
    return start.timestamp() + (row.seconds or 0.0) / 2


def _order(row: Watched) -> tuple[Any, ...]:
    """By subject and time; what is left decides ties, so that the order of files never does."""
    when = middle_s(row)
    return row.subject, when is not None, when or 0.0, row.kind, row.span, msgspec.json.encode(row)
