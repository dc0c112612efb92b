"""Moves of kernels: element-wise operators fused into their neighbours."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.answers.moves.option import Asked, Option, move, option
from rooflight.answers.moves.outcome import dot, outcome
from rooflight.roofline.engine import step_s
from rooflight.roofline.step import evaluated, is_fusible
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.phases import PhaseTime
from rooflight.values.moves import Dot, Outcome
from rooflight.values.steptime import Parts
from rooflight.values.work import Operator


@move("fusion", alone=True)
def fusion(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Norms, activation functions and rotary embedding inside the products and attention beside them."""
    spared, held = (
        [row.operator for row in phase.time.operators if is_fusible(row.operator)]
        for phase in (phases.decode(sc), phases.prefill(sc))
    )
    kernels = sum(op.count for op in spared)
    yield option(sc, kernels, sum(op.work.moved_bytes * op.count for op in held), judged=_fused)


def _fused(sc: Scenario, asked: Asked) -> Outcome:
    prefill, decode = (_less(sc, phase) for phase in (phases.prefill(sc), phases.decode(sc)))
    return outcome(sc, asked.price(sc), prefill=prefill, decode=decode)


def _less(sc: Scenario, phase: PhaseTime) -> Dot:
    """All but the ceiling shrinks, down to it."""
    one, share = dot(sc, phase), _share(sc, phase)
    ceiling = one.time_s.ceiling
    return msgspec.structs.replace(one, time_s=one.time_s.each(lambda seconds: max(seconds * share, ceiling)))


def _share(sc: Scenario, phase: PhaseTime) -> float:
    """Expected time without the fusible operators over that with them."""
    ops = tuple(row.operator for row in phase.time.operators)

    def parts(kept: tuple[Operator, ...]) -> Parts:
        one = evaluated(kept, sc.rates, sc.fits, stages=sc.layout.pp, expert_devices=sc.layout.ep)
        return one.parts or Parts()

    def seconds(part: Parts) -> float:
        return float(step_s(part, sc.engine, sequences=1, expert_layers=sc.expert_layers))

    # Of a step with idle replicas only the bounds are known; what is expected of it is another step's.
    whole = phase.time.parts or parts(ops)
    return seconds(parts(tuple(op for op in ops if not is_fusible(op)))) / seconds(whole)
