"""Moves of kernels: element-wise operators fused into their neighbours."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.answers.moves.option import Asked, Option, move, option
from rooflight.answers.outcome import outcome
from rooflight.roofline.step import is_fusible
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.values.moves import Outcome


@move("fusion", alone=True)
def fusion(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Norms, activation functions and rotary embedding inside the products and attention beside them."""
    prompts = phases.prefill(sc)
    spared, held = (
        [op for op, _, _ in phase.time.timed if is_fusible(op)]
        for phase in (phases.decode(sc) if sc.workload.osl else prompts, prompts)
    )
    kernels = sum(op.count for op in spared)
    yield option(sc, kernels, sum(op.work.moved_bytes * op.count for op in held), judged=_fused)


def _fused(sc: Scenario, asked: Asked) -> Outcome:
    fused = msgspec.structs.replace(sc, steps=sc.steps.fused())
    return outcome(fused, asked.price(sc), decode_alone=asked.decode_alone)
