"""The draft steps of a cycle of speculative decoding: which there are before a verify step, and how many."""

from __future__ import annotations

from rooflight.numeric import Number, maximum, minimum
from rooflight.scenario.definite import Scenario


def draft_steps(sc: Scenario, drafted: Number) -> tuple[tuple[Scenario, Number], ...]:
    """What `drafted` tokens of every sequence take, one step each: scenarios of such steps, and how many of each.

    Nothing where what drafts is not named.
    """
    one = sc.draft
    if one is None:
        return ()
    if one.first is one.steps:
        return ((one.steps, drafted),)
    return ((one.first, minimum(drafted, 1)), (one.steps, maximum(drafted - 1, 0)))
