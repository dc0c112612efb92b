"""Operators on a machine: the time of each, of the step, and the ceiling nothing real may beat."""

from __future__ import annotations

from rooflight.numeric import Number, index_of_largest, maximum
from rooflight.roofline import formulas
from rooflight.roofline.rates import Rates
from rooflight.values.steptime import OperatorTime, StepTime
from rooflight.values.work import Operator
from rooflight.work.step import total


def step_time(
    operators: tuple[Operator, ...], rates: Rates, *, stages: int = 1, overlap: Number = 1, fill: Number = 1
) -> StepTime:
    """Times of a pass of `operators` through all pipeline stages.

    stages      devices one pass runs through in turn (their caches add up)
    overlap     share of the pass's compute, activations and link traffic that one stage cannot hand to another
                (1 but in a pipelined prefill, whose passes or chunks run on all stages at once)
    fill        how many times the roofline time of a pass the whole step takes (pipeline fill and drain)
    """
    timed = tuple(_operator_terms(op, rates) for op in operators)
    pass_s = sum(terms[0] for terms in timed)
    work = total(operators)
    compute = sum(op.work.flop * op.count / rates.fastest(op.compute) for op in operators if _nonzero(op.work.flop))
    rest = work.moved_bytes - work.weight_bytes - fusible_bytes(operators)
    moved = work.weight_bytes - work.avoidable_bytes + rest * overlap
    moved = moved - formulas.step_cache_credit(moved, rates.cache_bytes * stages)
    compute, memory = compute * overlap, formulas.memory_s(moved, rates.memory_bytes_per_s)
    link = 0.0 if rates.link_bytes_per_s is None else work.link_bytes * overlap / rates.link_bytes_per_s
    launch = formulas.launch_s(work.launches, rates.launch_s)
    ceiling = formulas.largest(compute, memory, link)
    return StepTime(
        work=work,
        compute_s=compute,
        memory_s=memory,
        link_s=link,
        launch_s=launch,
        ceiling_s=ceiling,
        # the sum is never below the largest term but for the last bit of a float
        roofline_s=maximum(pass_s * fill, ceiling),
        bound=index_of_largest((compute, memory, link, launch)),
        operators=tuple(
            OperatorTime(operator=op, time_s=seconds * fill, bound=bound, share=seconds / pass_s)
            for op, (seconds, bound) in zip(operators, timed, strict=True)
        ),
    )


def fusible_bytes(operators: tuple[Operator, ...]) -> Number:
    """Activations that only element-wise kernels move (norms, activation functions, rotary, sorting).

    A ceiling leaves them out: fused into their neighbours, as good engines do, they never reach memory. The rows that
    the embedding looks up stay.
    """
    fused = (op for op in operators if op.kind == "elementwise" and op.name != "embedding")
    return sum(op.work.activation_bytes * op.count for op in fused)


def _operator_terms(op: Operator, rates: Rates) -> tuple[Number, Number]:
    """(seconds of all its runs, which term is largest) at datasheet rates, without cache credit."""
    compute = op.work.flop / rates.peak(op.compute) if _nonzero(op.work.flop) else 0.0
    memory = op.work.moved_bytes / rates.memory_bytes_per_s
    link = 0.0 if rates.link_bytes_per_s is None else op.work.link_bytes / rates.link_bytes_per_s
    launch = op.work.launches * rates.launch_s
    seconds = formulas.largest(compute, memory, link, launch)
    return seconds * op.count, index_of_largest((compute, memory, link, launch))


def _nonzero(flop: Number) -> bool:
    """False only for a plain zero: such an operator needs no compute roof."""
    return not isinstance(flop, int | float) or flop != 0


def kernel_ceiling_s(op: Operator, rates: Rates) -> Number:
    """The shortest time one lone run of an operator can take: caches credited in full, fastest rates, no launch."""
    moved = op.work.moved_bytes - op.work.avoidable_bytes
    moved = moved - formulas.kernel_cache_credit(moved, rates.cache_bytes)
    compute = op.work.flop / rates.fastest(op.compute) if _nonzero(op.work.flop) else 0.0
    link = 0.0 if rates.link_bytes_per_s is None else op.work.link_bytes / rates.link_bytes_per_s
    return formulas.largest(compute, moved / rates.memory_bytes_per_s, link)
