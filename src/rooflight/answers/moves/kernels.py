"""Moves of kernels: element-wise operators fused into their neighbours."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.answers.moves.option import Asked, Option, move, option
from rooflight.answers.moves.outcome import assembled, each, outcome
from rooflight.catalog.calibration import engine_named
from rooflight.roofline.expected_step import parts, step_s
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.expected import expert_layers, setting
from rooflight.serve.phases import PhaseTime
from rooflight.units import scaled
from rooflight.values.moves import Dot, Outcome
from rooflight.values.work import Operator
from rooflight.work import step as steps


@move("fusion", alone=True)
def fusion(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Norms, activation functions and rotary embedding inside the products and attention beside them."""
    decode = phases.decode(sc)
    spared = sum(row.operator.count for row in decode.time.operators if _fusible(row.operator))
    moved = phases.prefill(sc).time.operators
    held = sum(row.operator.work.moved_bytes * row.operator.count for row in moved if _fusible(row.operator))
    yield option(
        "element-wise kernels fused",
        f"spares {spared:,} kernels of a decode step and {scaled(held, 'B')} of activations in a prefill; the ceiling "
        "has them fused already",
        "kernels of one's own, or a compiler", lambda: changed(sc), judged=_fused,
        assumed=("fused into their neighbours without slowing them",),
    )  # fmt: skip


def _fusible(op: Operator) -> bool:
    return op.kind == "elementwise" and op.name != "embedding"


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
    engine = engine_named(sc.deployment.engine, sc.accelerator.family)
    ops = tuple(row.operator for row in phase.time.operators)

    def seconds(kept: tuple[Operator, ...]) -> float:
        part = parts(kept, setting(sc, steps.total(kept).moved_bytes))
        return float(step_s(part, engine, sequences=1, expert_layers=expert_layers(sc)))

    return seconds(tuple(op for op in ops if not _fusible(op))) / seconds(ops)


def _less(dot: Dot, share: float) -> Dot:
    """What is expected shrinks, down to the ceiling."""
    ceiling = dot.time_s.ceiling
    times = each(lambda name: ceiling if name == "ceiling" else max(getattr(dot.time_s, name) * share, ceiling))
    return msgspec.structs.replace(dot, time_s=times)
