"""The table of runs of a page: a line a scenario beside the page's goals, and what the one in focus gains."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rooflight.answers.pair import pair
from rooflight.show import figures
from rooflight.show.figures import Line
from rooflight.studio.answered import Answered
from rooflight.studio.page import Page


class RunTable(msgspec.Struct, frozen=True, kw_only=True):
    """heads: above the cells; lines: of each scenario; gained: of the one in focus over the first, None where it is the
    first, or one of the two does not fit."""

    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    gained: Line | None


def run_table(page: Page, found: Sequence[Answered]) -> RunTable:
    """The table of the page's scenarios, answered."""
    goals = page.goals
    return RunTable(
        heads=figures.heads(one.question.usd_per_hour for one in found),
        lines=tuple(one.line(goals) for one in found),
        gained=_gain(found[0], found[page.shown]),
    )


def _gain(first: Answered, focus: Answered) -> Line | None:
    if focus is first or not (_runs(first) and _runs(focus)):
        return None
    assert first.scenario is not None
    assert focus.scenario is not None
    return figures.gain(first.side, focus.side, pair(first.scenario, focus.scenario))


def _runs(one: Answered) -> bool:
    return one.analysis is not None and one.analysis.run is not None
