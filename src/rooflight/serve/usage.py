"""How much of its machine's datasheet rates a run uses."""

from __future__ import annotations

import msgspec

from rooflight.numeric import Number, maximum, minimum, where
from rooflight.roofline.links import link_seconds
from rooflight.scenario.definite import Scenario
from rooflight.serve.drafted import draft_steps
from rooflight.serve.replica import NO_STEPS, Replica
from rooflight.serve.steady import Steady
from rooflight.values.run import Utilization
from rooflight.values.steptime import StepTime


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of each resource at datasheet rates, in a second of a run."""

    compute: Number
    memory: Number
    link: Number

    def __add__(self, other: Used) -> Used:
        return Used(
            compute=self.compute + other.compute, memory=self.memory + other.memory, link=self.link + other.link
        )

    def times(self, times: Number) -> Used:
        """So many times as much."""
        return Used(compute=self.compute * times, memory=self.memory * times, link=self.link * times)

    def shares(self) -> Utilization:
        """As the JSON has it."""
        return Utilization(compute=self.compute, memory=self.memory, link=self.link)


def used(one: Replica, found: Steady | None, *, per_s: Number = 0.0, together: bool = False) -> Used:
    """Of a steady state, or of requests that finish `per_s` a second: alone, or all of the pass together.

    A request takes N / d of the steps that d sequences share, and what its prompt adds to them; the first of a pass
    has its prompt to itself.
    """
    stages = one.sc.layout.pp
    steps = where(one.steps > NO_STEPS, one.steps, 0.0)
    if found is None:
        sequences = one.users if together else 1
        tokens = minimum(one.prompt * sequences, one.budget)
        quiet = (_of(one.sc, one.bounds(sequences, None)) + _drafting(one, sequences)).times(steps / sequences)
        whole = quiet + _of(one.sc, one.bounds(None, tokens)).times(one.prompt / tokens)
        return whole.times(per_s * one.passes / stages)
    rows, tokens, _ = found.step
    bare = _of(one.sc, one.bounds(rows, None))
    beside = (_of(one.sc, one.bounds(rows, tokens)) + bare.times(-1)).times(one.prompt / tokens)
    first = minimum(one.prompt, one.budget)
    lone = _of(one.sc, one.bounds(None, first)).times(one.prompt / first)
    share = 1 / found.inside
    whole = (bare + _drafting(one, rows)).times(steps / rows) + beside.times(1 - share) + lone.times(share)
    return whole.times(found.per_s * one.passes / stages)


def _drafting(one: Replica, sequences: Number) -> Used:
    """The steps of a named draft before a verify step; its prompts are left out."""
    found = Used(compute=0.0, memory=0.0, link=0.0)
    for sc, count in draft_steps(one.sc, one.drafted):
        found = found + _of(sc, one.draft_bounds(sc, sequences, None)).times(count)
    return found


def _of(sc: Scenario, time: StepTime) -> Used:
    rates, work = sc.rates, time.work
    compute: Number = 0.0
    near: Number = 0.0
    far: Number = 0.0
    for op, _, _ in time.timed:
        within, across = link_seconds(op, rates.links, fastest=False)
        near, far = near + within * op.count, far + across * op.count
        flop = op.work.flop
        if not isinstance(flop, int | float) or flop:
            compute = compute + flop * op.count / rates.peak(op.compute)
    memory = work.moved_bytes / rates.memory_bytes_per_s
    return Used(compute=compute, memory=memory, link=maximum(near, far))
