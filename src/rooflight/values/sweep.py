"""A sweep's points: a block of a grid, as arrays that broadcast against each other."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.span import Span
from rooflight.values.placed import Placed
from rooflight.values.run import Run
from rooflight.values.shown import Brief, Part
from rooflight.values.steptime import StepTime
from rooflight.values.work import Work


class SweepBlock(Brief, Placed, frozen=True, kw_only=True):
    """Points that share a deployment. Arrays broadcast to `shape`; a point that does not fit keeps its row.

    phase           "decode" or "prefill"
    batch, prefill_batch, isl, osl, context    whole numbers or arrays of them, as floats (context None in prefill)
    time            what each resource takes of the step
    span            wall seconds of the step
    tokens          the step yields, all sequences
    work            of the step, all devices
    unrated         no compute peak is known: compute counts for nothing, prompts cannot be told
    fits            bool array; max_batch int array: sequences that fit at that length
    """

    brief = ("accelerator", "devices", "phase", "shape")

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
    ridge_flop_per_byte: float | None
    unrated: bool
    fits: Any
    max_batch: Any

    @property
    def known(self) -> bool:
        """Whether the times of its points are: prompts need a compute peak."""
        return not (self.unrated and self.phase == "prefill")

    @property
    def points(self) -> int:
        """How many points the block holds."""
        count = 1
        for size in self.shape:
            count *= size
        return count


class RunBlock(Brief, Placed, frozen=True, kw_only=True):
    """Runs that share a deployment and a schedule. Arrays broadcast to `shape`; what holds no sequence keeps its row.

    devices         of all workers where prefill and decode are apart
    batch, isl, osl whole numbers or arrays of them, as floats
    run             every number of it may be an array; no number where a request has no second token
    fits            bool array: the whole batch at once; holds: at least one sequence, so that there is a run
    max_batch       int array: sequences that fit at that length
    """

    brief = ("accelerator", "devices", "schedule", "shape")

    schedule: str
    shape: tuple[int, ...]
    batch: Any
    isl: Any
    osl: Any
    run: Run
    fits: Any
    holds: Any
    max_batch: Any

    @property
    def points(self) -> int:
        """How many runs the block holds."""
        count = 1
        for size in self.shape:
            count *= size
        return count


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The most requests in flight at which a goal is kept, and what the run gives there.

    batch           None: one request alone misses the goal, or none fits; then the rates are None too
    ttft_s, tpot_s  there, of one request alone where batch is None; tpot_s None where one token is generated
    """

    batch: int | None
    requests_per_s: float | None
    output_tokens_per_s: float | None
    ttft_s: float | None
    tpot_s: float | None


class Goal(Part, Placed, frozen=True, kw_only=True):
    """A goal for TTFT, TPOT or both on one deployment at one pair of lengths.

    expected        by what is expected; slow: by the slow ends of the intervals, rates included
    missed          goals that one request alone misses as expected ("ttft", "tpot"), or "capacity"
    hit_rate        the least share of a prompt that must be cached for the TTFT goal, with hit_batch requests in
                    flight; None where all of it is not enough, or no such goal was asked for
    reason          why there is no batch, or why there is no largest one; None else
    """

    brief = ("accelerator", "devices", "isl", "osl", "ttft_slo_s", "tpot_slo_s", "expected", "slow")

    schedule: str
    isl: int
    osl: int
    ttft_slo_s: float | None
    tpot_slo_s: float | None
    expected: Kept
    slow: Kept
    missed: tuple[str, ...]
    hit_batch: int
    hit_rate: float | None
    reason: str | None = None


class Landmarks(Part, Placed, frozen=True, kw_only=True):
    """Where a batch sweep of one deployment turns; None where it does not below 2^20 sequences.

    ridge_batch     the smallest batch whose decode step reaches the ridge point's intensity
    compute_batch   the smallest batch at which compute is the largest ceiling
    knee_batch      from here doubling the batch gains less than half of it (roofline throughput)
    kv_limit        the largest batch whose KV cache fits; null where no source has the memory's size
    compute_isl     the shortest single prompt whose prefill is compute-bound; None if none below 2^20 is
    rated           whether the compute peak is known; without it all but kv_limit are None
    """

    brief = (
        "accelerator",
        "devices",
        "context",
        "ridge_batch",
        "compute_batch",
        "knee_batch",
        "kv_limit",
        "compute_isl",
    )

    isl: int
    osl: int
    context: float
    ridge_batch: int | None
    compute_batch: int | None
    knee_batch: int | None
    kv_limit: int | None
    compute_isl: int | None
    rated: bool = True
