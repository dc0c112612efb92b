"""Where along an axis another resource begins to bind: between points that differ, found by halving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

CAPACITY = "capacity"


class Turn(msgspec.Struct, frozen=True):
    """From x on `bound` binds; capacity from the last that fits on, which is what landmarks call the KV limit."""

    x: int
    bound: str | None


def turns(points: Sequence[tuple[int, str | None]], bound_at: Callable[[int], str | None]) -> tuple[Turn, ...]:
    """The turns between points whose bound is known, in their order; bound_at: of a place between them.

    Of two points with the same bound it is taken to be the same between them. Check: memory at 4 and compute at 8,
    where 5 and 6 are memory's too -> compute from 7 on.
    """
    found: list[Turn] = []
    for (low, before), (high, after) in pairwise(points):
        start, bound = low, before
        while bound != after:
            first, last, new = start, high, after
            while last - first > 1:
                middle = (first + last) // 2
                here = bound_at(middle)
                first, last, new = (middle, last, new) if here == bound else (first, middle, here)
            start, bound = last, new
            found.append(Turn(start - 1 if bound == CAPACITY else start, bound))
    return tuple(found)
