"""Which deployment gives the most of an objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rooflight.answers.compare.crossings import weight
from rooflight.answers.compare.outcome import Timed
from rooflight.values.comparison import Compared


class Ranked(msgspec.Struct, frozen=True):
    """A deployment with how much of the objective it gives, as expected and at its ceilings."""

    expected: float
    ceiling: float
    one: Compared


def ranking(compared: Sequence[Compared], timed: Mapping[str, Timed], objective: str) -> list[Ranked]:
    """Those with times by what they give of the objective as expected, the most first, of equals the first named.

    Requests stand in for output tokens, so that a mix without output is ranked too.
    """
    known = []
    for one in compared:
        found = timed.get(one.label)
        factor = weight(found.one, objective) if found else None
        if found is not None and factor is not None:
            expected, ceiling = (1 / (factor * found.seconds(basis)) for basis in ("expected", "ceiling"))
            known.append(Ranked(expected, ceiling, one))
    return sorted(known, key=lambda place: -place.expected)
