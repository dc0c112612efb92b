"""A sweep's points: a block of a grid, as arrays that broadcast against each other."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.values.steptime import StepTime
from rooflight.values.work import Work


class SweepBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Points that share a deployment. Arrays broadcast to `shape`; a point that does not fit keeps its row.

    accelerator, devices, tp, pp, ep, dp, weights, kv_cache     the same for all points of the block
    phase           "decode" or "prefill"
    batch, prefill_batch, isl, osl, context    whole numbers or arrays of them, as floats (context None in prefill)
    time            wall times of the step
    expected_s      the expected wall time, with low_s and high_s its interval
    tokens          the step yields, all sequences
    work            of the step, all devices
    fits            bool array; max_batch int array: sequences that fit at that length
    """

    accelerator: str
    devices: int
    tp: int
    pp: int
    ep: int
    dp: int
    weights: str
    kv_cache: str
    phase: str
    shape: tuple[int, ...]
    batch: Any
    prefill_batch: Any
    isl: Any
    osl: Any
    context: Any
    time: StepTime
    expected_s: Any
    low_s: Any
    high_s: Any
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


class Landmarks(msgspec.Struct, frozen=True, kw_only=True):
    """Where a batch sweep of one deployment turns; None where it does not below 2^20 sequences.

    ridge_batch     the smallest batch whose decode step reaches the ridge point's intensity
    compute_batch   the smallest batch at which compute is the largest ceiling
    knee_batch      from here doubling the batch gains less than half of it (roofline throughput)
    kv_limit        the largest batch whose KV cache fits
    compute_isl     the shortest single prompt whose prefill is compute-bound; None if none below 2^20 is
    """

    accelerator: str
    devices: int
    tp: int
    pp: int
    ep: int
    dp: int
    weights: str
    kv_cache: str
    isl: int
    osl: int
    context: int
    ridge_batch: int | None
    compute_batch: int | None
    knee_batch: int | None
    kv_limit: int
    compute_isl: int | None
