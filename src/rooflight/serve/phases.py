"""The phases of a scenario: which step each one is, how it falls on the layout, and what it takes."""

from __future__ import annotations

import msgspec

from rooflight.numeric import Number, is_plain
from rooflight.roofline.rates import hardware_format
from rooflight.roofline.step import step_time
from rooflight.serve.scenario import Scenario, context_tokens
from rooflight.spec.steptime import StepTime
from rooflight.work import step as steps
from rooflight.work.layout import Share, share_out


# A stretch of decode steps counts as straight where its middle is this close to the line (relative).
STRAIGHT_TOLERANCE = 1e-6


class PhaseTime(msgspec.Struct, frozen=True, kw_only=True):
    """A step of the whole deployment; every number may be an array.

    time        of one pass of one replica; its times are wall times of the step
    passes      replicas x micro-batches that run: what sums a device's work over the deployment
    tokens      the step yields (prefill: prompt tokens it covers)
    users       sequences that each get a token per step; None in prefill
    """

    time: StepTime
    passes: Number
    tokens: Number
    users: Number | None


def decode(sc: Scenario, *, batch: Number | None = None, context: Number | None = None) -> PhaseTime:
    """One decode step of all sequences. Micro-batches fill the pipeline, so a step is one pass's time."""
    batch = sc.workload.batch if batch is None else batch
    context = context_tokens(sc.workload) if context is None else context
    share = share_out(batch, sc.layout)
    step = steps.decode(sequences=share.sequences, context=context)
    return _phase(sc, step, share, tokens=batch, users=batch)


def verify(sc: Scenario) -> PhaseTime:
    """One verify step: draft_tokens + 1 positions a sequence; tokens if all were accepted."""
    load = sc.workload
    share = share_out(load.batch, sc.layout)
    step = steps.verify(
        sequences=share.sequences, context=context_tokens(load), draft_tokens=load.draft_tokens
    )
    return _phase(sc, step, share, tokens=load.batch * (load.draft_tokens + 1), users=load.batch)


def mixed(sc: Scenario) -> PhaseTime:
    """A decode step with a chunk of a newcomer's prompt beside it, half of that prompt cached already."""
    load = sc.workload
    share = share_out(load.batch, sc.layout)
    step = steps.mixed(
        sequences=share.sequences,
        context=context_tokens(load),
        chunk_tokens=load.chunk_tokens,
        chunk_context=load.isl // 2,
    )
    return _phase(sc, step, share, tokens=load.batch, users=load.batch)


def prefill(sc: Scenario, *, isl: Number | None = None, prompts: Number | None = None) -> PhaseTime:
    """The prefill of prefill_batch prompts; in a pipeline the passes (or chunks of one) overlap on the stages."""
    load = sc.workload
    isl = load.isl if isl is None else isl
    prompts = load.prefill_batch if prompts is None else prompts
    share = share_out(prompts, sc.layout)
    step = steps.prefill(sequences=share.sequences, isl=isl, cached_prefix=load.cached_prefix)
    stages = sc.layout.pp
    return _phase(
        sc, step, share, tokens=prompts * isl, users=None,
        overlap=share.passes / stages, fill=(share.passes + stages - 1) / stages,
    )  # fmt: skip


def main_format(sc: Scenario, time: StepTime) -> str:
    """The hardware format that most of a step's FLOP run in (by their totals, if there are many points)."""
    sums: dict[str, float] = {}
    for row in time.operators:
        flop = row.operator.work.flop
        if not is_plain(flop):
            flop = flop.sum() / flop.size
        if flop:
            used = hardware_format(sc.accelerator, row.operator.compute)
            sums[used] = sums.get(used, 0.0) + flop * row.operator.count
    return max(sums, key=lambda name: sums[name], default="bf16")


def _phase(
    sc: Scenario, step: steps.Step, share: Share, *, tokens: Number, users: Number | None, overlap: Number = 1, fill: Number = 1
) -> PhaseTime:
    ops = steps.operators(sc.model, step, sc.layout, sc.numbers)
    time = step_time(ops, sc.rates, stages=sc.layout.pp, overlap=overlap, fill=fill)
    return PhaseTime(time=time, passes=share.passes * share.replicas, tokens=tokens, users=users)


def decode_total_s(sc: Scenario) -> tuple[float, float]:
    """(ceiling, roofline) seconds of all decode steps of a request: contexts isl .. isl + osl - 2.

    Times are straight lines of the context between kinks (a bound changes, a window fills), so a stretch whose
    middle lies on the line between its ends is summed as one; others are halved.
    """
    first, steps_left = sc.workload.isl, sc.workload.osl - 1
    if not is_plain(first, steps_left) or steps_left < 1:
        return 0.0, 0.0
    seen: dict[int, tuple[float, float]] = {}

    def at(context: int) -> tuple[float, float]:
        if context not in seen:
            time = decode(sc, context=context).time
            seen[context] = (time.ceiling_s, time.roofline_s)
        return seen[context]

    def stretch(low: int, high: int) -> tuple[float, float]:
        middle, count = (low + high) // 2, high - low + 1
        mean = tuple((a + b) / 2 for a, b in zip(at(low), at(high), strict=True))
        if count <= 2:
            return mean[0] * count, mean[1] * count
        share = (middle - low) / (high - low)
        line = tuple(a + (b - a) * share for a, b in zip(at(low), at(high), strict=True))
        if all(abs(seen_s - on) <= STRAIGHT_TOLERANCE * on for seen_s, on in zip(at(middle), line, strict=True)) or len(seen) > 64:
            return mean[0] * count, mean[1] * count
        left, right = stretch(low, middle), stretch(middle + 1, high)
        return left[0] + right[0], left[1] + right[1]

    return stretch(int(first), int(first + steps_left - 1))
