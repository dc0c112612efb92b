"""Where a batch sweep turns: ridge crossing, knee, KV limit. Found by halving, not by scanning."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve import phases
from rooflight.serve.memory import largest_batch, room_told
from rooflight.serve.room import room
from rooflight.values.steptime import BINDING, StepTime
from rooflight.values.sweep import Landmarks

LARGEST_BATCH = 1 << 20
# The knee: doubling the batch there gains less than half of a doubling.
KNEE_GAIN = 1.5


def landmarks(sc: Scenario) -> Landmarks:
    """The landmarks of one deployment at its own context."""
    one = room(msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, batch=1)))

    def step(batch: int) -> StepTime:
        return phases.decode(sc, batch=batch, bounds_only=True).time

    def past_ridge(batch: int) -> bool:
        time = step(batch)
        return bool(time.work.flop / time.work.moved_bytes >= (phases.ridge(sc, time) or 0.0))

    def computes(batch: int) -> bool:
        return BINDING[step(batch).bound] == "compute"

    def flattens(batch: int) -> bool:
        return bool(2 * step(batch).roofline_s < KNEE_GAIN * step(2 * batch).roofline_s)

    def prefill_computes(isl: int) -> bool:
        return BINDING[phases.prefill(alone, isl=isl, prompts=1, bounds_only=True).time.bound] == "compute"

    alone = msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, cached_prefix=0))
    return Landmarks(
        **sc.placed,
        isl=int(sc.workload.text_tokens),
        osl=int(sc.workload.osl),
        context=context_tokens(sc.workload),
        ridge_batch=None if sc.unrated else _first(past_ridge),
        compute_batch=None if sc.unrated else _first(computes),
        knee_batch=None if sc.unrated else _first(flattens),
        kv_limit=int(largest_batch(sc, one)) if room_told(sc) else None,
        compute_isl=None if sc.unrated else _first(prefill_computes),
        rated=not sc.unrated,
    )


def _first(holds: Callable[[int], bool]) -> int | None:
    """The batch from which on a condition holds; None if it does not at LARGEST_BATCH.

    The last power of two at which it fails is found first: with experts a condition can hold at a few tokens,
    fail while they wake more experts, and hold again.
    """
    high = LARGEST_BATCH
    if not holds(high):
        return None
    while high > 1 and holds(high // 2):
        high //= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
