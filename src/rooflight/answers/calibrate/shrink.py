"""The arithmetic of your own calibration: rows pull factors away from 1 by as much as they outweigh what was known.

A row's y is the logarithm of its measured time over the expected one. It is taken for

    y = sum of slope x (shift of the accelerator + shift of the model there) + what is left

and each of the three parts has a share of the variance that the engine's interval stands for. So one row moves a
factor half of the way, many rows all of it; the rows' own spread takes the place of the assumed rest as they grow.
Everything is linear and normal in logarithms: a Bayesian regression, whose sums stand here.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import msgspec
import numpy as np

from rooflight.values.own import QUANTITIES, SHIFTED

# Of the squared errors of our expected times, in units of the engines' own intervals, so much is common to an engine on
# an accelerator, to a model there, and to neither. Ours, 2026-11-29: calibration/own_shares.py on 6,765 rows finds 0.40
# and 0.22 (steps, measured), 0.35 and 0.11 (prefill), 0.39 and 0.15 (requests), 0.22 and 0.32 (steps, served), 0.11 and
# 0.14 (first tokens): in the mean 0.29 and 0.19.
BETWEEN, MODELS, WITHIN = 0.3, 0.2, 0.5
# Of a normal error eight of ten lie within so many standard deviations.
EIGHT_OF_TEN = 1.2816
# Repeated runs differ by 1.6 % in the median (docs/accuracy.md), which is 0.6745 standard deviations of a normal error.
MEDIAN = 0.6745
NOISE = 0.016 / MEDIAN
# Rows' worth of what was assumed of the rest, beside the rows' own spread.
PRIOR_ROWS = 4
# From so many runs of a quantity on, rows further than so many usual deviations from most count for less, found in so
# many rounds. Huber's constant: 95 % as efficient where errors are normal.
_MANY_RUNS, _HUBER, _ROUNDS = 5, 1.345, 4
# The median row may be so many times as far off, and by as much as repeated runs differ.
_FAIR = 1.1
# Twice a standard deviation is beyond what an interval of eight of ten lets one expect of the median.
_SURPRISE = 2
# Above so many runs the rest of all rows stands for that of all but one.
_FEW_RUNS = 24


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A row: what it is of, how far off it is, and what that would move.

    quantity    one of QUANTITIES, the one that it measures
    run         rows of one run are left out together
    y           log of measured over expected time
    slopes      of the expected time (in logarithms) by each of SHIFTED
    """

    model: str
    quantity: str
    run: str
    y: float
    slopes: tuple[float, float, float]


class Known(msgspec.Struct, frozen=True):
    """Standard deviations that the engine's intervals stand for, by quantity."""

    step: float
    prefill: float
    first: float
    request: float

    def variance(self, quantity: str) -> float:
        """Of one quantity."""
        deviation: float = max(getattr(self, quantity), NOISE)
        return deviation * deviation


def surprised(rows: Sequence[Seen], known: Known) -> Known:
    """What is known, wider where the median run of a quantity is more than _SURPRISE deviations off.

    So far off the interval said too little, and one run does not say where the next will be. Check: 0.9 off where 0.3
    was known, 3 deviations, makes 0.3 x 3 / 2 = 0.45.
    """
    found = {}
    for name in QUANTITIES:
        off = [abs(y) for group in _by_model(rows, name) for y in group]
        deviation = math.sqrt(known.variance(name))
        found[name] = max(deviation, statistics.median(off) / _SURPRISE) if off else deviation
    return Known(**found)


class Fitted(msgspec.Struct, frozen=True, kw_only=True):
    """What rows say: means and covariances of the shifts.

    active      of SHIFTED, those that may shift
    places      of (model, quantity) in the vectors; model "": the accelerator's own
    rest        variance of what is left, by quantity
    """

    active: tuple[str, ...]
    places: dict[tuple[str, str], int]
    mean: Any
    covariance: Any
    rest: dict[str, float]
    known: Known

    def direction(self, model: str, slopes: Mapping[str, float]) -> tuple[Any, float]:
        """A direction in the vectors, and the variance of the parts that no row has a place for."""
        found, more = np.zeros(len(self.mean)), 0.0
        for name in self.active:
            slope = slopes.get(name, 0.0)
            found[self.places["", name]] += slope
            place = self.places.get((model, name)) if model else None
            if place is not None:
                found[place] += slope
            else:
                more += slope * slope * MODELS * self.known.variance(name)
        return found, more

    def shift(self, model: str, slopes: Mapping[str, float]) -> tuple[float, float]:
        """(mean, variance) of the shift of a row with such slopes."""
        along, more = self.direction(model, slopes)
        return float(along @ self.mean), float(along @ self.covariance @ along) + more


def fitted(rows: Sequence[Seen], known: Known, active: Sequence[str]) -> Fitted:
    """The shifts that rows make likely. Several rows of one run and quantity count as one.

    Check, one row of a step, interval of 0.3 standard deviations, y = 0.2: with its model (0.3 + 0.2) x 0.2 = 0.1, for
    other models 0.3 x 0.2 = 0.06.
    """
    return _solved(_trusted(rows, known, active), known, active)


def _trusted(rows: Sequence[Seen], known: Known, active: Sequence[str]) -> _Sums:
    """The sums, with rows that lie far from most of their quantity counting for less (Huber's weights)."""
    rest = rest_of(rows, known, active)
    sums = _sums(rows, known, active, rest, np.ones(len(rows)))
    many = {name for name in QUANTITIES if len({row.run for row in rows if row.quantity == name}) >= _MANY_RUNS}
    for _ in range(_ROUNDS if many and active else 0):
        off = np.abs(sums.ys - sums.along @ _solved(sums, known, active).mean)
        trust = np.ones(len(rows))
        for name in many:
            mine = np.array([row.quantity == name for row in rows])
            usual = max(float(np.median(off[mine])) / MEDIAN, NOISE)
            trust[mine] = np.minimum(1, _HUBER * usual / np.maximum(off[mine], NOISE))
        sums = _sums(rows, known, active, rest, trust)
    return sums


class _Sums(msgspec.Struct, frozen=True, kw_only=True):
    """A regression before it is solved: where each shift stands, each row's slopes, weight and part of the sums."""

    places: dict[tuple[str, str], int]
    rest: dict[str, float]
    along: Any
    weights: Any
    ys: Any
    precision: Any
    moments: Any


def _sums(rows: Sequence[Seen], known: Known, active: Sequence[str], rest: Mapping[str, float], trust: Any) -> _Sums:
    models = dict.fromkeys(row.model for row in rows)
    names = [(model, name) for model in ("", *models) for name in active]
    places = {name: number for number, name in enumerate(names)}
    along = np.zeros((len(rows), len(places)))
    picked = [(number, name) for number, name in enumerate(SHIFTED) if name in active]
    for place, row in enumerate(rows):
        for number, name in picked:
            along[place, places["", name]] = along[place, places[row.model, name]] = row.slopes[number]
    times = _times(rows)
    weights = trust / np.array([rest[row.quantity] * times[row.run, row.quantity] for row in rows])
    ys = np.array([row.y for row in rows])
    before = np.diag([1 / ((MODELS if model else BETWEEN) * known.variance(name)) for model, name in names])
    weighted = along * weights[:, None]
    return _Sums(
        places=places, rest=dict(rest), along=along, weights=weights, ys=ys,
        precision=before.reshape(len(places), len(places)) + along.T @ weighted, moments=weighted.T @ ys,
    )  # fmt: skip


def _solved(sums: _Sums, known: Known, active: Sequence[str], out: Sequence[int] = ()) -> Fitted:
    """The shifts of a regression, rows `out` left out of it."""
    precision, moments = sums.precision, sums.moments
    if len(out):
        along = sums.along[out]
        weighted = along * sums.weights[out, None]
        precision, moments = precision - along.T @ weighted, moments - weighted.T @ sums.ys[out]
    covariance = np.linalg.inv(precision)
    return Fitted(
        active=tuple(active), places=sums.places, mean=covariance @ moments, covariance=covariance, rest=sums.rest,
        known=known,
    )  # fmt: skip


def rest_of(rows: Sequence[Seen], known: Known, active: Sequence[str]) -> dict[str, float]:
    """The variance of what shifts leave, by quantity: what is assumed of it, for PRIOR_ROWS rows, and the rows' own.

    = (PRIOR_ROWS x WITHIN x variance + sum (y - the model's mean)^2) / (PRIOR_ROWS + rows - models), NOISE^2 at least.
    Where the quantity may not shift: (PRIOR_ROWS x variance + sum y^2) / (PRIOR_ROWS + rows).
    """
    found = {}
    for name in QUANTITIES:
        shifts = name in active or (name == "request" and bool(active))
        assumed = known.variance(name) * (WITHIN if shifts else 1.0)
        squares, free = 0.0, 0
        for group in _by_model(rows, name):
            mean = sum(group) / len(group) if shifts else 0.0
            squares += sum((y - mean) ** 2 for y in group)
            free += len(group) - shifts
        found[name] = max((PRIOR_ROWS * assumed + squares) / (PRIOR_ROWS + free), NOISE * NOISE)
    return found


def _by_model(rows: Iterable[Seen], quantity: str) -> list[list[float]]:
    """The ys of one quantity, each model's apart; of several in one run the mean."""
    runs: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.quantity == quantity:
            runs[row.model][row.run].append(row.y)
    return [[sum(ys) / len(ys) for ys in by_run.values()] for by_run in runs.values()]


def _times(rows: Iterable[Seen]) -> dict[tuple[str, str], int]:
    """How many rows of a run are of one quantity."""
    found: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows:
        found[row.run, row.quantity] += 1
    return found


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """A row predicted by the other runs: the shift they make, and the variance of what it may be."""

    shift: float
    variance: float


def leaving_out(rows: Sequence[Seen], known: Known, active: Sequence[str]) -> list[Left]:
    """Each row by factors from the other runs. There must be two runs."""
    runs: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        runs[row.run].append(place)
    whole = _trusted(rows, known, active) if len(runs) > _FEW_RUNS else None
    found: dict[int, Left] = {}
    for places in runs.values():
        if whole is not None:
            one = _solved(whole, known, active, places)
        else:
            out = {*places}
            one = fitted([row for place, row in enumerate(rows) if place not in out], known, active)
        for place in places:
            row = rows[place]
            shift, variance = one.shift(row.model, dict(zip(SHIFTED, row.slopes, strict=True)))
            found[place] = Left(shift=shift, variance=variance + one.rest[row.quantity])
    return [found[place] for place in range(len(rows))]


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """Which factors help, leaving one out, and what each row is then; None where there is one run alone."""

    active: tuple[str, ...]
    left: list[Left] | None


def chosen(rows: Sequence[Seen], known: Known) -> Chosen:
    """The factors with which rows that are left out are nearest in the mean, and the median row no further off.

    The mean alone would shift all for the few that are far off. Of sets that are alike the largest counts. One run
    alone says nothing of the sort: all that it shows may shift, by as little as one row moves it.
    """
    shown = shows(rows)
    if len({row.run for row in rows}) < 2:
        return Chosen(active=shown, left=None)
    tried = [
        Chosen(active=active, left=leaving_out(rows, known, active))
        for count in range(len(shown), -1, -1)
        for active in combinations(shown, count)
    ]

    def each(one: Chosen) -> list[float]:
        return [abs(row.y - there.shift) for row, there in zip(rows, one.left or (), strict=True)]

    plain = statistics.median(each(tried[-1]))
    fair = [one for one in tried if statistics.median(each(one)) <= plain * _FAIR + NOISE or one is tried[-1]]
    # a hundredth of a percent is no difference
    return min(fair, key=lambda one: round(statistics.fmean(each(one)), 4))


def shows(rows: Iterable[Seen]) -> tuple[str, ...]:
    """What rows can shift: what they measure, and of whole requests all that moves them.

    A first token hangs on prefills too, but which part of it is late it does not say, so it shifts first tokens alone.
    """
    found = set()
    for row in rows:
        moved = [name for name, slope in zip(SHIFTED, row.slopes, strict=True) if abs(slope) > NOISE]
        found |= {*moved} if row.quantity == "request" else {row.quantity} & {*moved}
    return tuple(name for name in SHIFTED if name in found)


def ends(variance: float) -> tuple[float, float]:
    """The interval that holds eight of ten, as factors. Check: 0.09 -> 0.681 and 1.469."""
    wide = EIGHT_OF_TEN * math.sqrt(variance)
    return math.exp(-wide), math.exp(wide)
