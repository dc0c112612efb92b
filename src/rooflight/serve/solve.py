"""How many sequences decode in a steady state: those that wait for their first token and those that decode are all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from rooflight.numeric import Number, where

Point = TypeVar("Point")
# The answer holds to this share of the users, in so many steps at most (two or three are usual).
_PRECISION = 1e-6
_MOST_ITERATIONS = 40
# Most of those in flight decode.
_USUAL_SHARE = 0.93


def solved(
    at: Callable[[Number], Point],
    waits: Callable[[Point], Number],
    users: Number,
    most: Number,
    share: Number = _USUAL_SHARE,
) -> tuple[Number, Point]:
    """D of D (1 + waits) = users, or `most` where it is not reached, and what `at` says there: by regula falsi.

    at      of so many decoding sequences; waits: seconds to the first token over those of all decode steps, from that
    share   of the users that the search begins at

    At D = users the left side is never below, for nobody waits less than nothing. An end that stays counts less, so
    that the next guess passes the root (Anderson and Bjoerck 1973). Of arrays each point stops by itself, so that it is
    what it would be alone.
    """
    reached = most >= users
    best = where(reached, share * users, most)
    point = at(best)
    wait = waits(point)
    off = best * (1 + wait) - users
    above = off > 0
    low, low_off = where(above, 0.0 * most, best), where(above, -1.0 * users, off)
    high, high_off = where(above, best, most), where(above, off, users * wait)
    going = (abs(off) > _PRECISION * users) & (above | reached)
    was_below = off < 0
    for _ in range(_MOST_ITERATIONS):
        if not _any(going):
            break
        guess = low - low_off * (high - low) / where(going, high_off - low_off, 1.0)
        best = where(going, guess, best)
        point = at(best)
        off = best * (1 + waits(point)) - users
        below = off < 0
        end = where(below, low_off, high_off)
        stays = where(below == was_below, 1 - off / where(end == 0, 1.0, end), 1.0)
        stays = where(stays > 0, stays, 0.5)
        low, low_off, high, high_off = (
            where(below, best, low), where(below, off, low_off * stays),
            where(below, high, best), where(below, high_off * stays, off),
        )  # fmt: skip
        was_below, going = below, going & (abs(off) > _PRECISION * users)
    return best, point


def crossing(of: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Where a rising function reaches a target that lies between its values at two numbers; plain numbers alone."""
    low_off, high_off = of(low) - target, of(high) - target
    was_below, place = False, high
    for _ in range(_MOST_ITERATIONS):
        if high_off <= 0:
            break
        place = low - low_off * (high - low) / (high_off - low_off)
        off = of(place) - target
        if abs(off) <= _PRECISION * target / 100:
            break
        below = off < 0
        if below:
            low, low_off, high_off = place, off, high_off / (2 if was_below else 1)
        else:
            high, high_off, low_off = place, off, low_off / (1 if was_below else 2)
        was_below = below
    return place


def _any(condition: Number) -> bool:
    return condition if isinstance(condition, bool) else bool(condition.any())
