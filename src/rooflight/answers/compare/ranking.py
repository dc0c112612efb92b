"""Which deployment gives the most of an objective, and which cannot be told from the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rooflight.answers.compare.crossings import weight
from rooflight.answers.compare.outcome import Timed, per_user
from rooflight.span import Span
from rooflight.values.comparison import Compared


class Ranked(msgspec.Struct, frozen=True):
    """A deployment with how much of the objective it gives, as expected with its interval and at its ceilings.

    user_s      expected seconds that a user waits for a token
    """

    amount: Span
    user_s: float
    one: Compared

    @property
    def expected(self) -> float:
        """What it is ranked by."""
        return self.amount.expected

    @property
    def ceiling(self) -> float:
        """The most that any engine gets."""
        return self.amount.ceiling

    def reaches(self, best: Ranked) -> bool:
        """Whether its expected interval reaches into that of a better one."""
        high, low = self.amount.high, best.amount.low
        return high is None or low is None or high >= low


def ranking(compared: Sequence[Compared], timed: Mapping[str, Timed], objective: str) -> list[Ranked]:
    """Those with times by what they give of the objective as expected, the most first, of equals the first named.

    Requests stand in for output tokens, so that a mix without output is ranked too. Where requests arrive at a rate
    all finish as many: equals to four digits stand by what their users wait.
    """
    known = []
    for one in compared:
        found = timed.get(one.label)
        factor = weight(found.one, objective) if found else None
        if found is not None and factor is not None:
            user = per_user(found.run)
            seconds = user if objective == "latency" else found.span
            known.append(Ranked((seconds * factor).rate(1), user.expected, one))
    if any(found.sc.workload.request_rate is not None for found in timed.values()):
        return sorted(known, key=lambda place: (-float(f"{place.expected:.4g}"), place.user_s))
    return sorted(known, key=lambda place: -place.expected)


def too_close(ranked: Sequence[Ranked]) -> tuple[str, ...]:
    """Those whose expected intervals reach into the best one's."""
    return tuple(place.one.label for place in ranked[1:] if place.reaches(ranked[0]))
