"""A sweep with what it assumes, and its goals, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rooflight.scenario.basis import basis_of
from rooflight.scenario.definite import Scenario
from rooflight.serve.landmarks import LARGEST_BATCH
from rooflight.serve.sweep import SweepPoints
from rooflight.units import round_significant, scaled, several
from rooflight.values.accelerator import devices_named
from rooflight.values.sweep import Goal
from rooflight.words.basis import basis_clause, behind
from rooflight.words.notes import worded


class Sweep(SweepPoints):
    """A sweep as callers get it. `to_dict()` is the documented JSON, `chart()` its picture, `records()` its rows."""

    brief = ("model", "phase", "axes", "points")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Of all scenarios, each once; what an axis varies is not assumed."""
        return worded(self.assumed)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Of all scenarios, each once; and of axes that change nothing in this phase."""
        return worded(self.warned)

    @property
    def model(self) -> str:
        """The model's id."""
        return self.scenarios[0].checkpoint.id

    @property
    def ignore_capacity(self) -> bool:
        """Whether rows of what does not fit have times all the same."""
        return self.scenarios[0].deployment.ignore_capacity

    def goals(self) -> tuple[Goal, ...]:
        """The most requests in flight that keep the goals, a deployment and a pair of lengths each. Raises BadInput."""
        return tuple(msgspec.structs.replace(one, reason=_reason(one)) for one in super().goals())


def told(found: SweepPoints) -> Sweep:
    """The same points; nothing is computed."""
    return Sweep(found.scenarios, found.grid, found.phase, found.axes, schedule=found.schedule, wanted=found.wanted)


def _reason(goal: Goal) -> str | None:
    """Why there is no batch that keeps a goal, or no largest one."""
    if "capacity" in goal.missed:
        return "not one sequence of that length fits"
    if goal.missed:
        one, said = goal.expected, []
        if "ttft" in goal.missed and one.ttft_s is not None:
            said.append(f"{scaled(one.ttft_s, 's')} to its first token")
        if "tpot" in goal.missed and one.tpot_s is not None:
            said.append(f"{scaled(one.tpot_s, 's')} a token")
        return f"one request alone takes {' and '.join(said)}"
    if goal.expected.batch == LARGEST_BATCH:
        return f"kept with {LARGEST_BATCH:,} requests in flight, the most that are tried"
    return None


def goal_answer(model: str, goals: tuple[Goal, ...], scenarios: Sequence[Scenario]) -> str:
    """The first deployment of the sweep that keeps its goal, or that none does; and what that rests on."""
    best = next((one for one in goals if one.expected.batch is not None), None)
    one = best or goals[0]
    where = devices_named(one.accelerator, one.devices)
    swept = next((sc for sc in scenarios if sc.accelerator.id == one.accelerator), None)
    rests = "" if swept is None else behind(basis_clause(basis_of(swept), swept.deployment.engine))
    slo = within(one)
    lengths = f"{several(one.isl, 'token')} in and {one.osl:,} out"
    if best is None:
        others = " (nor does any other)" if len(goals) > 1 else ""
        return f"{model} on {where} does not keep {slo} at {lengths}{others}: {one.reason}{rests}."
    kept = best.expected
    most = f"at most {kept.batch:,}" if kept.batch != LARGEST_BATCH else "any number of"
    return (
        f"{model} on {where} keeps {slo} with {most} requests of {lengths} in flight as expected: "
        f"{round_significant(kept.requests_per_s or 0)} requests/s, "
        f"{round_significant(kept.output_tokens_per_s or 0)} output tok/s{rests}."
    )


def within(goal: Goal) -> str:
    """What is wanted: TTFT within 1 s and TPOT within 40 ms."""
    wanted = ("TTFT", goal.ttft_slo_s), ("TPOT", goal.tpot_slo_s)
    return " and ".join(f"{name} within {scaled(most, 's')}" for name, most in wanted if most is not None)


def goals_answer(goals: Mapping[str, Goal]) -> str:
    """One goal on several deployments, by what they are called: which of them keeps it, with how many requests."""
    kept, missed = [], []
    for name, one in goals.items():
        batch = one.expected.batch
        if batch is None:
            missed.append(f"{name} does not: {one.reason}")
        else:
            kept.append(f"{name} with " + (f"at most {batch:,}" if batch != LARGEST_BATCH else "any number of"))
    first = next(iter(goals.values()))
    said = [f"As expected, {within(first)} is kept by {', '.join(kept)} requests in flight" if kept else ""]
    said += [f"As expected, nothing keeps {within(first)}" if not kept else "", *missed]
    return f"{'; '.join(part for part in said if part)}."
