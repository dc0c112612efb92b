"""Fewer points of a curve, such that the lines drawn between them pass every point closely (log-log)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

# A drawn line stays within this share of every point.
CLOSE = 0.01
# Of it, so that rounding does not pass it.
_WITHIN = math.log(1 + CLOSE) * 0.98


def kept(x: Sequence[float], columns: Sequence[Sequence[float | None]], always: Sequence[int] = ()) -> list[int]:
    """The places to draw, in order, of points whose columns may have gaps (None).

    Between two neighbours the straight line on logarithmic axes stays within CLOSE of each column's points, and a gap
    begins and ends where it does (Ramer 1972, Douglas and Peucker 1973, with the distance taken along y).
    always      places that are among them
    """
    last = len(x) - 1
    logs = [[None if value is None or value <= 0 else math.log(value) for value in column] for column in columns]
    across = [math.log(max(value, 1e-300)) for value in x]
    chosen = {0, last, *always} if x else set()
    for column in logs:
        for place in range(1, len(x)):
            if (column[place] is None) != (column[place - 1] is None):
                chosen |= {place - 1, place}
    ends = sorted(chosen)
    todo = list(pairwise(ends))
    while todo:
        first, other = todo.pop()
        far = max(
            (
                (_off(across, column, first, other, place), place)
                for column in logs
                for place in range(first + 1, other)
            ),
            default=(0.0, first),
        )
        if far[0] > _WITHIN:
            chosen.add(far[1])
            todo += [(first, far[1]), (far[1], other)]
    return sorted(chosen)


def _off(across: list[float], column: list[float | None], first: int, other: int, place: int) -> float:
    """How far a point is from the line between two others, in logs."""
    here, low, high = column[place], column[first], column[other]
    if here is None or low is None or high is None:
        return 0.0
    share = (across[place] - across[first]) / (across[other] - across[first])
    return abs(here - (low + share * (high - low)))
