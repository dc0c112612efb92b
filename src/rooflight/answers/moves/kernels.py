"""Moves of kernels: element-wise operators fused into their neighbours."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.answers.moves.option import Asked, Option, move, option
from rooflight.answers.moves.outcome import assembled, outcome
from rooflight.roofline.engine import step_s
from rooflight.roofline.step import evaluated, is_fusible
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.phases import PhaseTime
from rooflight.units import scaled
from rooflight.values.moves import Dot, Outcome
from rooflight.values.steptime import Parts
from rooflight.values.work import Operator


@move("fusion", alone=True)
def fusion(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Norms, activation functions and rotary embedding inside the products and attention beside them."""
    decode = phases.decode(sc)
    spared = sum(row.operator.count for row in decode.time.operators if is_fusible(row.operator))
    moved = phases.prefill(sc).time.operators
    held = sum(row.operator.work.moved_bytes * row.operator.count for row in moved if is_fusible(row.operator))
    yield option(
        "element-wise kernels fused",
        f"spares {spared:,} kernels of a decode step and {scaled(held, 'B')} of activations in a prefill; the ceiling "
        "has them fused already",
        "kernels of one's own, or a compiler", lambda: changed(sc), judged=_fused,
        assumed=("fused into their neighbours without slowing them",),
    )  # fmt: skip


def _fused(sc: Scenario, asked: Asked) -> Outcome:
    plain = outcome(sc, asked.price(sc))
    return assembled(
        sc,
        prefill=_less(plain.prefill, _share(sc, phases.prefill(sc))),
        decode=_less(plain.decode, _share(sc, phases.decode(sc))),
        max_batch=plain.max_batch,
        fits=plain.fits,
        usd_per_hour=asked.price(sc),
    )


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


def _less(dot: Dot, share: float) -> Dot:
    """All but the ceiling shrinks, down to it."""
    ceiling = dot.time_s.ceiling
    return msgspec.structs.replace(dot, time_s=dot.time_s.each(lambda seconds: max(seconds * share, ceiling)))
