"""A sweep's points: a block of a grid, as arrays that broadcast against each other."""

from __future__ import annotations

from typing import Any

from rooflight.span import Span
from rooflight.values.placed import Placed
from rooflight.values.steptime import StepTime
from rooflight.values.work import Work


class SweepBlock(Placed, frozen=True, kw_only=True):
    """Points that share a deployment. Arrays broadcast to `shape`; a point that does not fit keeps its row.

    phase           "decode" or "prefill"
    batch, prefill_batch, isl, osl, context    whole numbers or arrays of them, as floats (context None in prefill)
    time            what each resource takes of the step
    span            wall seconds of the step
    tokens          the step yields, all sequences
    work            of the step, all devices
    fits            bool array; max_batch int array: sequences that fit at that length
    """

    phase: str
    shape: tuple[int, ...]
    batch: Any
    prefill_batch: Any
    isl: Any
    osl: Any
    context: Any
    time: StepTime
    span: Span
    tokens: Any
    work: Work
    ridge_flop_per_byte: float
    fits: Any
    max_batch: Any

    @property
    def points(self) -> int:
        """How many points the block holds."""
        count = 1
        for size in self.shape:
            count *= size
        return count


class Landmarks(Placed, frozen=True, kw_only=True):
    """Where a batch sweep of one deployment turns; None where it does not below 2^20 sequences.

    ridge_batch     the smallest batch whose decode step reaches the ridge point's intensity
    compute_batch   the smallest batch at which compute is the largest ceiling
    knee_batch      from here doubling the batch gains less than half of it (roofline throughput)
    kv_limit        the largest batch whose KV cache fits
    compute_isl     the shortest single prompt whose prefill is compute-bound; None if none below 2^20 is
    """

    isl: int
    osl: int
    context: int
    ridge_batch: int | None
    compute_batch: int | None
    knee_batch: int | None
    kv_limit: int
    compute_isl: int | None
