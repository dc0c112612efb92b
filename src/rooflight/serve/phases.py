"""The phases of a scenario: which step each one is, how it falls on the layout, and what it takes."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rooflight.numeric import Number, is_plain
from rooflight.roofline.rates import hardware_format
from rooflight.roofline.step import step_time
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.values.model import Attention
from rooflight.values.steptime import StepTime
from rooflight.values.work import Operator, Work
from rooflight.work import step as steps
from rooflight.work.layout import Layout, Share, share_out

# A stretch of decode steps counts as straight where its middle is this close to the line (relative).
STRAIGHT_TOLERANCE = 1e-6
# Decode steps of a request that are evaluated at most before stretches are taken as straight all the same.
MOST_STEPS = 400


class PhaseTime(msgspec.Struct, frozen=True, kw_only=True):
    """A step of the whole deployment; every number may be an array.

    time        of one pass of one replica; its times are wall times of the step
    work        of all devices
    passes      micro-batches of one replica
    replicas    that have a pass to run
    tokens      the step yields (prefill: prompt tokens it covers)
    users       sequences that each get a token per step; None in prefill
    """

    time: StepTime
    work: Work
    passes: Number
    replicas: Number
    tokens: Number
    users: Number | None

    def copies(self, op: Operator, layout: Layout) -> Number:
        """Devices x passes that run an operator; experts that replicas pool run on idle replicas' devices too."""
        pooled = layout.pooled > 1 and op.name.startswith("expert_")
        return self.passes * (layout.dp if pooled else self.replicas) * layout.tp


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
    step = steps.verify(sequences=share.sequences, context=context_tokens(load), draft_tokens=load.draft_tokens)
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


def prefill(
    sc: Scenario, *, isl: Number | None = None, prompts: Number | None = None, cached_prefix: Number | None = None
) -> PhaseTime:
    """The prefill of prefill_batch prompts; in a pipeline the passes (or chunks of one) overlap on the stages."""
    load = sc.workload
    isl = load.isl if isl is None else isl
    prompts = load.prefill_batch if prompts is None else prompts
    cached_prefix = load.cached_prefix if cached_prefix is None else cached_prefix
    share = share_out(prompts, sc.layout)
    step = steps.prefill(sequences=share.sequences, isl=isl, cached_prefix=cached_prefix)
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
    sc: Scenario,
    step: steps.Step,
    share: Share,
    *,
    tokens: Number,
    users: Number | None,
    overlap: Number = 1,
    fill: Number = 1,
) -> PhaseTime:
    layout = sc.layout
    step = msgspec.structs.replace(step, busy=share.replicas / layout.dp)
    ops = steps.operators(sc.model, step, layout, sc.numbers)
    time = step_time(ops, sc.rates, stages=layout.pp, overlap=overlap, fill=fill)
    phase = PhaseTime(
        time=time,
        work=time.work * (share.passes * share.replicas * layout.tp),
        passes=share.passes,
        replicas=share.replicas,
        tokens=tokens,
        users=users,
    )
    if layout.pooled == 1:
        return phase
    work = Work()
    for op in ops:
        work = work + op.work * (op.count * phase.copies(op, layout))
    return msgspec.structs.replace(phase, work=work)


Times = tuple[float, float]


def decode_total_s(sc: Scenario) -> Times:
    """(ceiling, roofline) seconds of all decode steps of a request: contexts isl .. isl + osl - 2.

    Times are straight lines of the context between kinks (a bound changes, a window fills). Chunked attention starts
    anew at each chunk: there the sum over whole chunks is one over chunks of sums within them.
    """
    if not is_plain(sc.workload.isl, sc.workload.osl) or sc.workload.osl < 2:
        return 0.0, 0.0
    first, end = int(sc.workload.isl), int(sc.workload.isl + sc.workload.osl - 1)

    def step(context: int) -> Times:
        time = decode(sc, context=context).time
        return time.ceiling_s, time.roofline_s

    mixers = [layer.mixer for layer in sc.model.layers if isinstance(layer.mixer, Attention)]
    size = min((mixer.reach.chunk for mixer in mixers if mixer.reach.chunk), default=0)
    if size == 0 or end - first <= size:
        return straight_sum(step, first, end)
    start, stop = -(-first // size), end // size
    whole = straight_sum(lambda chunk: straight_sum(step, chunk * size, (chunk + 1) * size), start, stop)
    return _added(straight_sum(step, first, start * size), whole, straight_sum(step, stop * size, end))


def straight_sum(of: Callable[[int], Times], first: int, end: int) -> Times:
    """The sum of a pair of functions over first .. end - 1: a stretch whose middle lies on the line between its ends
    is summed as one, others are halved."""
    seen: dict[int, Times] = {}

    def at(place: int) -> Times:
        if place not in seen:
            seen[place] = of(place)
        return seen[place]

    def stretch(low: int, high: int) -> Times:
        count, middle = high - low + 1, (low + high) // 2
        (a0, a1), (b0, b1) = at(low), at(high)
        if count <= 2:
            return (a0 + b0) / 2 * count, (a1 + b1) / 2 * count
        share = (middle - low) / (high - low)
        line = (a0 + (b0 - a0) * share, a1 + (b1 - a1) * share)
        straight = all(abs(y - on) <= STRAIGHT_TOLERANCE * on for y, on in zip(at(middle), line, strict=True))
        if straight or len(seen) > MOST_STEPS:
            return (a0 + b0) / 2 * count, (a1 + b1) / 2 * count
        return _added(stretch(low, middle), stretch(middle + 1, high))

    return stretch(first, end - 1) if end > first else (0.0, 0.0)


def _added(*parts: Times) -> Times:
    return sum(part[0] for part in parts), sum(part[1] for part in parts)
