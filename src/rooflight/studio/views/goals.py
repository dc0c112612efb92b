"""Goals of the page on the mix of a comparison: as many requests in flight as keep them, for each scenario."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rooflight.answers.compare.contenders import Contender
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve.apart import is_apart
from rooflight.serve.goals import Wanted, goals
from rooflight.serve.metrics import all_devices
from rooflight.show import numbers
from rooflight.show.blocks import Table
from rooflight.studio.kept import Kept as KeptValues
from rooflight.studio.kept import digest
from rooflight.values.mix import Mix
from rooflight.values.sweep import Goal

_goals: KeptValues[Goal] = KeptValues(256)


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a scenario keeps the goals.

    sc      with as many requests in flight as keep them; where they arrive at a rate, as they do
    goal    None where nothing runs that could keep them
    batch   those requests; None where no number of them keeps the goals
    """

    label: str
    sc: Scenario
    goal: Goal | None
    batch: int | None


def said(goals: Wanted) -> str:
    """The goals in words."""
    parts = (("a token", goals.tpot_s), ("the first token", goals.ttft_s))
    return " and ".join(f"{what} within {numbers.seconds(most)}" for what, most in parts if most is not None)


def kept(one: Contender, sc: Scenario, key: str, mix: Mix, goals: Wanted) -> Kept:
    """Of a scenario that was run on a mix the most requests in flight that keep the goals. key: what it is, but for its
    batch."""
    if one.run is None or sc.unrated or not one.answers:
        return Kept(label=one.label, sc=sc, goal=None, batch=None)
    run, key = one.run, digest([key, msgspec.to_builtins(mix), msgspec.to_builtins(goals)])
    goal = _goals.get_or_make(key, lambda: _goal(run, goals))
    batch = goal.expected.batch
    own = sc if batch is None or sc.workload.request_rate is not None else changed(sc, batch=batch)
    return Kept(label=one.label, sc=own, goal=goal, batch=batch)


def _goal(run: Scenario, wanted: Wanted) -> Goal:
    schedule = run.deployment.schedule or ("apart" if is_apart(run) else "served")
    return goals(run, wanted, schedule, {})[0]


def table(found: Sequence[Kept], goals: Wanted) -> Table:
    """What each scenario gets with as many requests as keep the goals; and how many do at the slow end of the times."""
    heads = (
        "scenario", "requests\nat once", "TTFT", "TPOT", "requests\na second", "output\ntok/s", "each\naccelerator",
        "at once, at\nthe slow end",
    )  # fmt: skip
    return Table(
        title=f"Most requests at once that keep {said(goals)}, as expected:",
        heads=heads, left=("scenario",), rows=tuple(_cells(one, len(heads)) for one in found),
    )  # fmt: skip


def _cells(one: Kept, count: int) -> tuple[str, ...]:
    if one.goal is None or one.batch is None:
        return (one.label, missed(one), *[""] * (count - 2))
    best, rate = one.goal.expected, one.goal.expected.output_tokens_per_s
    each = None if rate is None else rate / all_devices(one.sc)
    return (
        one.label, numbers.count(one.batch), _seconds(best.ttft_s), _seconds(best.tpot_s),
        numbers.plain(best.requests_per_s), numbers.plain(rate), numbers.plain(each),
        "none" if one.goal.slow.batch is None else numbers.count(one.goal.slow.batch),
    )  # fmt: skip


def missed(one: Kept) -> str:
    """Why no number of requests keeps the goals."""
    if one.goal is None or "capacity" in one.goal.missed:
        return "does not run"
    return "none"


def _seconds(value: float | None) -> str:
    return "" if value is None else numbers.seconds(value)
