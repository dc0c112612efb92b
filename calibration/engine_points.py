"""One judged measurement of one quantity, as the accuracy page and the goals count them, and groups of these.

A row that three fits did not see (a fifth of the operating points left out, its model, its card) is three points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from engine_first import FirstJudged
from engine_intervals import ends
from engine_report import Judged
from engine_rows import Row
from engine_shares import on_family

# How a point was left out of the fit; "asked": it was not, the library was asked as anybody would ask it.
POINTS, MODELS, CARDS, ASKED = "points", "models", "cards", "asked"
HELD_OUT = (POINTS, MODELS, CARDS)
PHASES = ("TPOT", "TTFT", "request", "decode", "prefill", "end to end")
# Rows of the newest file, by their source in `id`.
NEWEST_SOURCE, NEWEST_TABLE = "m2", "measured2.csv"
# Slices of fewer rows say little.
LEAST = 50
LOADS = ("1", "2 to 16", "above 16", "not stated")


class Point(NamedTuple):
    """What a row was expected to be: expected over measured time, whether that is inside the interval, high over low.

    backend     the engine as the row spells it; weights: as it says; load: sequences at once
    ratio       nan where the row cannot be judged, or has no batch; verdict: of rows as asked
    note        what its source says of it
    """

    how: str
    id: str
    table: str
    engine: str
    backend: str
    family: str
    accelerator: str
    model: str
    weights: str
    phase: str
    load: str
    routed: bool
    ratio: float
    inside: bool
    width: float
    apart: bool = False
    verdict: str = ""
    note: str = ""

    @property
    def slice_key(self) -> tuple[str, ...]:
        """Engine, card family, weights, phase, load."""
        return (self.engine, self.family, self.weights, self.phase, self.load)

    @property
    def error(self) -> float:
        return abs(self.ratio - 1)

    @property
    def times_off(self) -> float:
        """How many times too much or too little was expected."""
        return max(self.ratio, 1 / self.ratio)


class Summed(NamedTuple):
    """Points in numbers: nan where there are none."""

    rows: int
    median: float
    mean: float
    bias: float
    coverage: float
    width: float


def summed(found: Sequence[Point]) -> Summed:
    """Median and mean of |expected / measured - 1|, median of its sign kept, share inside, median of high over low."""
    if not found:
        return Summed(0, *[math.nan] * 5)
    ratio = np.array([one.ratio for one in found])
    error = np.abs(ratio - 1)
    return Summed(
        len(found), float(np.median(error)), float(error.mean()), float(np.median(ratio - 1)),
        float(np.mean([one.inside for one in found])), float(np.median([one.width for one in found])),
    )  # fmt: skip


def grouped(found: Iterable[Point], key: Callable[[Point], Any]) -> dict[Any, list[Point]]:
    """Points by key."""
    groups: dict[Any, list[Point]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one)
    return groups


def load_of(batch: float | None) -> str:
    """The load of so many sequences at once."""
    if batch is None:
        return "not stated"
    return "1" if batch <= 1 else "2 to 16" if batch <= 16 else "above 16"


def note_of(raw: Mapping[str, str]) -> str:
    """Where a row is from, and what is said of it there."""
    return f"{raw.get('source', '')} {raw.get('note', '')}"


def phase_of(phase: str, metric: str) -> str:
    """What a row is a measurement of."""
    if phase == "e2e_server":
        return {"tpot_ms": "TPOT", "ttft_ms": "TTFT"}.get(metric, "request")
    if phase == "e2e_offline":
        return "prefill" if metric == "ttft_ms" else "end to end"
    return phase


def held_points(judged: Sequence[Judged], first: Sequence[FirstJudged]) -> list[Point]:
    """Every row that a fit was judged by without having seen it."""
    return [*_steps(judged), *_firsts(first)]


def _steps(judged: Sequence[Judged]) -> Iterator[Point]:
    for group in judged:
        if not group.key[1]:  # all families together: their rows are in the families' own
            continue
        for how, ratios in zip(HELD_OUT, group.out, strict=True):
            wider = group.entry["unseen_card"] if how == CARDS else 1.0
            for row, ratio in zip(group.rows, ratios, strict=True):
                low, high = interval_of(row, group.entry)
                yield from _point(how, row, _phase(row), float(ratio), low / wider, high * wider)
        if group.whole is None:
            continue
        for how, ratios in zip(HELD_OUT, group.whole, strict=True):
            wider = group.entry["unseen_card"] if how == CARDS else 1.0
            for row, ratio in zip(group.rows, ratios, strict=True):
                low, high = _ends(row, group.entry, "run_")
                yield from _point(how, row, "request", float(ratio), low / wider, high * wider)


def _firsts(first: Sequence[FirstJudged]) -> Iterator[Point]:
    for group in first:
        if group.engine not in {on_family(row.engine, row.family) for row in group.rows}:
            continue  # of all families together: their runs are in the families' own
        for how, ratios in ((POINTS, group.fifths), (MODELS, group.models)):
            for row, ratio in zip(group.rows, ratios, strict=True):
                low, high = _numbers(group.entry, "moe_first_" if row.routed else "first_", row)
                yield from _point(how, row, "TTFT", float(ratio), low, high)


def interval_of(row: Row, entry: dict[str, Any]) -> tuple[float, float]:
    """The interval of what a row measured, as factors on its expected time."""
    if row.what.startswith("prefill") and "prefill_low" in entry:
        return entry["prefill_low"], entry["prefill_high"]
    return _ends(row, entry, "run_" if row.whole else "")


def _ends(row: Row, entry: dict[str, Any], kind: str) -> tuple[float, float]:
    name = ("moe_" if row.routed else "") + kind
    if f"{name}low" not in entry:
        return _ends(row, entry, "")
    return _numbers(entry, name, row)


def _numbers(entry: dict[str, Any], kind: str, row: Row) -> tuple[float, float]:
    low, high = ends(entry, kind, row.requests)
    return float(low), float(high)


def _phase(row: Row) -> str:
    return phase_of(*row.what.split(" ", 1))


def _point(how: str, row: Row, phase: str, ratio: float, low: float, high: float) -> Iterator[Point]:
    """The point of a row; none where too little was left to fit."""
    if not math.isfinite(ratio):
        return
    newest = row.source == NEWEST_SOURCE
    yield Point(
        how=how, id=row.id, table=NEWEST_TABLE if newest else "served" if row.served else "offline", engine=row.engine,
        backend=row.raw[0]["engine"], family=row.family, accelerator=row.accelerator, model=row.model,
        weights=row.weights or "as published", phase=phase, load=load_of(row.batch), routed=row.routed, ratio=ratio,
        inside=low <= 1 / ratio <= high, width=high / low, note=note_of(row.raw[0]),
    )  # fmt: skip
