"""A model's own kernels as they were timed, each beside what its roofs allow."""

from __future__ import annotations

from typing import Literal

import msgspec

from rooflight.values.accelerator import Accelerator
from rooflight.values.sample import MachineState, Sample
from rooflight.values.shown import Part, Shown
from rooflight.values.work import Operator

Phase = Literal["decode", "prefill", "product"]
# Why a kernel stays below its roof:
#   launch      its time is mostly the call's own cost
#   format      the device has no fast path for the format
#   ridge       bytes and arithmetic take turns: both together are its time
#   rows        few rows: the same matrix streams faster with one, or they fill part of a tile
#   small       so little work that starting and ending it counts
#   tail        sizes that the units' tiles do not divide
#   memory, arithmetic      none of these: it reaches that share of the bandwidth, or of the peak
Why = Literal["launch", "format", "ridge", "rows", "small", "tail", "memory", "arithmetic"]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """An operator to be timed: of a decode step of `tokens` sequences, or of a prompt of so many tokens.

    per_step    how often it runs in the step
    context     tokens cached before a decode step; None elsewhere
    """

    phase: Phase
    operator: Operator
    tokens: int
    per_step: int = 1
    context: float | None = None


class KernelTime(Part, msgspec.Struct, frozen=True, kw_only=True):
    """One kernel, once: what was measured, and its three times.

    per_step            how often it runs in the step it is of
    bound               of its terms at the machine's rates the largest
    compute_s, memory_s, launch_s   those terms
    ceiling_s           caches credited, fastest rates; roofline_s: the largest term
    expected_s          by the fits; None where there are none
    of_roof             share of the speed that arithmetic and bandwidth allow it: over 1 where caches served it
    flop_per_s, bytes_per_s         of the median
    alone_bytes_per_s   of the same matrix with one row, where that was timed
    why, because        it stays below its roof; None where it reaches it
    """

    brief = ("phase", "operator", "of_roof", "why")

    phase: Phase
    operator: str
    per_step: int
    sample: Sample
    bound: str
    intensity_flop_per_byte: float
    compute_s: float
    memory_s: float
    launch_s: float
    ceiling_s: float
    roofline_s: float
    expected_s: float | None = None
    of_roof: float
    flop_per_s: float
    bytes_per_s: float
    alone_bytes_per_s: float | None = None
    why: Why | None = None
    because: str | None = None

    @property
    def median_s(self) -> float:
        """Of its runs."""
        return 0.0 if self.sample.time_s is None else self.sample.time_s.median


class Kernels(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """What measure_kernels answers.

    model       its id; None: a product of given sizes
    on          the machine whose roofs they stand under, launch_s a call's cost there; device: what they ran on
    weights     the format of the weights
    complete    False where time or an interrupt ended it; interrupted: by whoever asked
    left_out    what was not timed, and why
    """

    brief = ("model", "device", "kernels")

    answer: str = ""
    model: str | None
    on: Accelerator
    launch_s: float
    cache_bytes: float
    device: str
    weights: str
    tp: int = 1
    machine: MachineState
    complete: bool
    interrupted: bool = False
    kernels: tuple[KernelTime, ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def samples(self) -> tuple[Sample, ...]:
        """What was measured, without what it is set beside."""
        return tuple(one.sample for one in self.kernels)

    def faster_than_seen(self) -> tuple[KernelTime, ...]:
        """Kernels faster than their ceiling."""
        return tuple(one for one in self.kernels if one.median_s < one.ceiling_s)
