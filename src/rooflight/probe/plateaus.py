"""Plateaus in a curve of rates by working set: cache levels, as far as they show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import msgspec

# Neighbouring plateaus whose rates are closer than this are one.
_APART = 1.2
# What a further plateau must explain, in log units a point: noise alone is not worth one.
_WORTH = 0.25
_MOST = 5


class Plateau(msgspec.Struct, frozen=True):
    """Points first to last (included) of a curve that have one rate."""

    first: int
    last: int
    rate: float


def plateaus(rates: Sequence[float]) -> tuple[Plateau, ...]:
    """The steps of a curve that goes down with the working set, from the smallest set on.

    Absolute distances of logarithms from a step's median, the least sum of them for 1, 2 ... steps; a further step must
    take away _WORTH. Steps closer than _APART are joined. Ends of a step that are further than that from it, and one
    point between two others, are slopes, no plateaus.
    """
    if not rates:
        return ()
    logs = [math.log(rate) for rate in rates]
    cuts = _cuts(logs)
    found = [_plateau(rates, first, last) for first, last in cuts]
    joined = [found[0]]
    for one in found[1:]:
        if joined[-1].rate / one.rate < _APART:
            joined[-1] = _plateau(rates, joined[-1].first, one.last)
        else:
            joined.append(one)
    found = [_trimmed(rates, one) for one in joined]
    ends = (0, len(rates) - 1)
    return tuple(one for one in found if one.last > one.first or one.first in ends)


def _trimmed(rates: Sequence[float], one: Plateau) -> Plateau:
    """Without the points at its ends that do not have its rate."""
    on_it = [
        i for i in range(one.first, one.last + 1) if one.rate / _APART <= rates[i] <= one.rate * _APART
    ] or [one.first]  # fmt: skip
    return _plateau(rates, on_it[0], on_it[-1])


def _plateau(rates: Sequence[float], first: int, last: int) -> Plateau:
    return Plateau(first, last, median(rates[first : last + 1]))


def _cuts(logs: Sequence[float]) -> list[tuple[int, int]]:
    """First and last point of each step."""
    count = len(logs)
    cost = {(first, last): _apart(logs[first : last + 1]) for first in range(count) for last in range(first, count)}
    # best[last]: the least cost of the points up to `last` in so many steps, and those steps
    best = [(cost[0, last], [(0, last)]) for last in range(count)]
    kept = best[-1]
    for _ in range(1, _MOST):
        best = [
            min(
                ((best[cut - 1][0] + cost[cut, last] + _WORTH, [*best[cut - 1][1], (cut, last)])
                 for cut in range(1, last + 1)),
                default=(math.inf, []), key=lambda one: one[0],
            )
            for last in range(count)
        ]  # fmt: skip
        kept = min(kept, best[-1], key=lambda one: one[0])
    return kept[1]


def _apart(logs: Sequence[float]) -> float:
    middle = median(logs)
    return sum(abs(one - middle) for one in logs)
