"""A timed kernel beside its ceiling, its roofline and what is expected of it; and why it stays below its roof."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from rooflight.errors import MissingFact
from rooflight.roofline.expected_step import Setting, operator_s
from rooflight.roofline.rates import Rates, hardware_format
from rooflight.roofline.step import evaluated, kernel_ceiling_s
from rooflight.values.calibration import Calibration
from rooflight.values.kernels import Job, KernelTime, Why
from rooflight.values.sample import Sample
from rooflight.values.work import Operator

# From that share of what bandwidth and arithmetic allow on, a kernel is said to reach its roof.
REACHED = 0.8
# A launch that takes that share of a kernel's time is what it waits for.
_MOSTLY = 0.5
# So many launches of work are little: filling and draining the device counts beside it.
_FEW_LAUNCHES = 10
# Arithmetic of that many times the bytes' time is no matter of bandwidth any more.
_NEAR = 2.0
# Rows and columns that matrix units and their libraries' tiles come in.
_TILE = 64


def beside(job: Job, op: Operator, sample: Sample, rates: Rates, fits: Calibration | None) -> KernelTime:
    """The kernel with its times. op: the operator as it ran, whose sizes may be whole where the job's are means.

    Nothing of it lies in a cache but what a ceiling credits: weights and caches came from memory.
    """
    once = replace(op, count=1)
    seen = evaluated((once,), rates)
    _, roofline_s, terms = seen.timed[0]
    median = sample.time_s.median if sample.time_s else 0.0
    named = {"compute": terms.compute, "memory": terms.memory, "launch": terms.launch}
    expected = None if fits is None else _expected_s(once, Setting(rates=rates, calibration=fits))
    work = op.work
    return KernelTime(
        phase=job.phase, operator=job.operator.name, per_step=job.per_step, sample=sample,
        bound=max(named, key=lambda name: named[name]),
        intensity_flop_per_byte=float(work.flop / work.moved_bytes),
        compute_s=float(terms.compute), memory_s=float(terms.memory), launch_s=float(terms.launch),
        ceiling_s=float(kernel_ceiling_s(once, rates)), roofline_s=float(roofline_s), expected_s=expected,
        of_roof=float(max(terms.compute, terms.memory)) / median,
        flop_per_s=float(work.flop) / median, bytes_per_s=float(work.moved_bytes) / median,
    )  # fmt: skip


def _expected_s(op: Operator, at: Setting) -> float | None:
    """By the fits; None where a machine's tables have nothing of its format."""
    try:
        return float(operator_s(op, at))
    except MissingFact:
        return None


def of_steps(found: Iterable[KernelTime]) -> dict[tuple[str, float], float]:
    """Share of their roofs that the kernels of a step reach together, by phase and its sequences or tokens.

    Each counts as often as the step runs it, so by its time; one that was timed in an earlier step is missing in it.
    """
    needed: dict[tuple[str, float], float] = {}
    taken: dict[tuple[str, float], float] = {}
    for one in found:
        step = one.phase, (one.sample.isl if one.phase == "prefill" else one.sample.batch) or 0.0
        needed[step] = needed.get(step, 0.0) + one.per_step * one.of_roof * one.median_s
        taken[step] = taken.get(step, 0.0) + one.per_step * one.median_s
    return {step: needed[step] / taken[step] for step in taken}


def explained(found: Iterable[KernelTime], rates: Rates) -> tuple[KernelTime, ...]:
    """Each with why it stays below its roof, as far as the others and the machine's rates tell."""
    kernels = tuple(found)
    alone = {_matrix(one): one.bytes_per_s for one in kernels if _tokens(one) == 1}
    known = (replace(one, alone_bytes_per_s=alone.get(_matrix(one))) if _tokens(one) else one for one in kernels)
    return tuple(replace(one, why=why(one, rates)) for one in known)


def why(one: KernelTime, rates: Rates) -> Why | None:
    """What keeps a kernel from its roof; None where it reaches it."""
    if one.of_roof >= REACHED:
        return None
    if one.launch_s >= _MOSTLY * one.median_s:
        return "launch"
    if one.sample.flop and not has_path(one.sample.compute, rates):
        return "format"
    if min(one.compute_s, one.memory_s) > 0 and one.compute_s + one.memory_s >= REACHED * one.median_s:
        return "ridge"
    few = one.alone_bytes_per_s is not None and _tokens(one) != 1 and one.compute_s < _NEAR * one.memory_s
    if few and one.bytes_per_s < REACHED * (one.alone_bytes_per_s or 0.0):
        return "rows"
    if max(one.compute_s, one.memory_s) < _FEW_LAUNCHES * one.launch_s:
        return "small"
    if one.compute_s <= one.memory_s:
        return "memory"
    if (_tokens(one) or _TILE) < _TILE:
        return "rows"
    return "tail" if _odd_sizes(one) else "arithmetic"


def has_path(form: str | None, rates: Rates) -> bool:
    """Whether products in the format have a peak of their own that is worth using."""
    return form is None or hardware_format(rates.accelerator, form) == form


def _tokens(one: KernelTime) -> float | None:
    """Rows of a product; None of other kernels."""
    shape = one.sample.shape or {}
    return shape.get("tokens") if "inputs" in shape else None


def _matrix(one: KernelTime) -> tuple[object, ...]:
    shape = one.sample.shape or {}
    return shape.get("inputs"), shape.get("outputs"), shape.get("matrices"), one.sample.format


def _odd_sizes(one: KernelTime) -> bool:
    return any(
        size % _TILE for name, size in (one.sample.shape or {}).items() if name in ("tokens", "inputs", "outputs")
    )
