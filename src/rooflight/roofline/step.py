"""Operators on a machine: the time of each, of the step, and the ceiling nothing real may beat."""

from __future__ import annotations

import msgspec

from rooflight.affine import elements, like
from rooflight.numeric import Number, is_plain, largest_of, maximum
from rooflight.roofline import formulas
from rooflight.roofline.expected_step import Setting, cached_share, operator_parts
from rooflight.roofline.links import link_seconds
from rooflight.roofline.rates import Rates, no_peak, unrated
from rooflight.values.calibration import Calibration
from rooflight.values.steptime import Parts, StepTime, Terms
from rooflight.values.work import Operator, Work
from rooflight.work.step import total

# The parts of what is expected that operators have.
TIMED = ("body", "floors", "fp4_floors", "link", "experts", "unit_bytes", "unshared", "repeated", "launches")


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """Operators evaluated on a machine, once through all pipeline stages; may hold arrays.

    work            of one device
    compute_s       at the fastest rates
    near_s, far_s   of its collectives within a domain of the link and across, zero latency
    weight_bytes    that every pass reads, with routing at its narrowest
    other_bytes     what else a ceiling counts: cache, and activations that cannot stay on chip
    timed           (operator, seconds of all its runs, terms of one)
    roofline_s      the sum of those seconds
    parts           what is expected; None where only bounds were asked for
    """

    work: Work
    compute_s: Number
    near_s: Number
    far_s: Number
    weight_bytes: Number
    other_bytes: Number
    timed: tuple[tuple[Operator, Number, Terms], ...]
    roofline_s: Number
    parts: Parts | None


def evaluated(
    operators: tuple[Operator, ...],
    rates: Rates,
    fits: Calibration | None = None,
    *,
    stages: int = 1,
    expert_devices: int = 1,
) -> Pass:
    """One pass of `operators`: bounds, and with `fits` what is expected, each operator looked at once.

    stages          devices it runs through in turn (their caches add up)
    expert_devices  that share the routed experts
    """
    work = total(operators)
    at = None
    if fits is not None:
        cached = cached_share(work.moved_bytes, rates.cache_bytes * stages)
        at = Setting(rates=rates, calibration=fits, cached=cached, expert_devices=expert_devices)
    timed = []
    compute: Number = 0
    near: Number = 0.0
    far: Number = 0.0
    roofline: Number = 0
    fusible: Number = 0
    expected: dict[str, Number] = dict.fromkeys(TIMED, 0.0)
    for op in operators:
        terms = _terms(op, rates)
        seconds = formulas.largest(terms.compute, terms.memory, terms.link, terms.launch) * op.count
        seconds = like(work.moved_bytes, seconds)
        timed.append((op, seconds, terms))
        roofline = roofline + seconds
        if _nonzero(op.work.flop):
            compute = compute + op.work.flop * op.count / rates.fastest(op.compute)
        if _nonzero(op.work.link_bytes):
            within, across = link_seconds(op, rates.links, fastest=True)
            near, far = near + within * op.count, far + across * op.count
        if is_fusible(op):
            fusible = fusible + op.work.activation_bytes * op.count
        if at is not None:
            for part, amount in operator_parts(op, at):
                expected[part] = expected[part] + amount
    return Pass(
        work=work,
        compute_s=compute,
        near_s=near,
        far_s=far,
        weight_bytes=work.weight_bytes - work.avoidable_bytes,
        other_bytes=work.moved_bytes - work.weight_bytes - fusible,
        timed=tuple(timed),
        roofline_s=roofline,
        parts=None if at is None else _parts(expected, at),
    )


def _parts(expected: dict[str, Number], at: Setting) -> Parts:
    amounts = expected | {"unit_bytes": expected["unit_bytes"] / at.compute_units}
    return Parts(**{name: elements(amount) for name, amount in amounts.items()})


def step_time(
    one: Pass, rates: Rates, *, stages: int = 1, overlap: Number = 1, fill: Number = 1, part: bool = False
) -> StepTime:
    """Times of a step made of such passes.

    overlap     share of the pass's compute, activations and link traffic that one stage cannot hand to another
                (1 but in a pipelined prefill, whose passes or chunks run on all stages at once)
    fill        how many times the roofline time of a pass the whole step takes (pipeline fill and drain)
    part        of a step that others complete: it may take no time at all

    Raises MissingFact where neither bytes nor a peak bound it.
    """
    streamed = one.weight_bytes + one.other_bytes * overlap
    moved = streamed - formulas.step_cache_credit(streamed, rates.cache_bytes * stages)
    compute, memory = one.compute_s * overlap, formulas.memory_s(moved, rates.fast_memory_bytes_per_s)
    far = one.far_s * overlap
    link = maximum(one.near_s * overlap, far)  # both levels at once: the slower one counts
    launch = formulas.launch_s(one.work.launches, rates.launch_s)
    ceiling = formulas.largest(compute, memory, link)
    if not part and _some_zero(ceiling):
        missing = unrated(rates.accelerator, (op.compute for op, _, _ in one.timed if _nonzero(op.work.flop)))
        if missing:
            raise no_peak(rates.accelerator, missing, "a step whose bytes may all lie in its caches")
    return StepTime(
        work=one.work,
        streamed_bytes=elements(streamed),
        compute_s=elements(compute),
        memory_s=elements(memory),
        link_s=elements(link),
        network_s=elements(far),
        launch_s=elements(launch),
        ceiling_s=elements(ceiling),
        # the sum is never below the largest term but for the last bit of a float
        roofline_s=maximum(elements(one.roofline_s * fill), elements(ceiling)),
        bound=largest_of(compute, memory, link, launch)[1],
        timed=one.timed,
        fill=fill,
        overlap=overlap,
        parts=one.parts,
    )


def _some_zero(value: Number) -> bool:
    return bool(value == 0) if is_plain(value) else bool((elements(value) == 0).any())


def is_fusible(op: Operator) -> bool:
    """Whether only an element-wise kernel moves its activations (norms, activation functions, rotary, sorting).

    A ceiling leaves them out: fused into their neighbours, as good engines do, they never reach memory. The rows that
    the embedding looks up stay.
    """
    return op.kind == "elementwise" and op.name != "embedding"


def _terms(op: Operator, rates: Rates) -> Terms:
    """Of one run, without cache credit."""
    work = op.work
    return Terms(
        work.flop / rates.peak(op.compute) if _nonzero(work.flop) else 0.0,
        work.moved_bytes / rates.memory_bytes_per_s,
        maximum(*link_seconds(op, rates.links, fastest=False)),
        work.launches * rates.launch_s,
    )


def _nonzero(flop: Number) -> bool:
    """False only for a plain zero: such an operator needs no compute roof."""
    return not isinstance(flop, int | float) or flop != 0


def kernel_ceiling_s(op: Operator, rates: Rates) -> Number:
    """The shortest time one lone run of an operator can take: caches credited in full, fastest rates, no launch."""
    moved = op.work.moved_bytes - op.work.avoidable_bytes
    moved = moved - formulas.kernel_cache_credit(moved, rates.cache_bytes)
    compute = op.work.flop / rates.fastest(op.compute) if _nonzero(op.work.flop) else 0.0
    link = maximum(*link_seconds(op, rates.links, fastest=True))
    return formulas.largest(compute, moved / rates.fast_memory_bytes_per_s, link)
