"""The phases of a scenario: which step each one is, how it falls on the layout, and what it takes."""

from __future__ import annotations

import msgspec

from rooflight.catalog.engines import engine_facts
from rooflight.numeric import Number, is_plain, maximum
from rooflight.roofline.engine import Expected
from rooflight.roofline.rates import hardware_format, ridges
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve.apart import is_apart, pools
from rooflight.serve.drafted import draft_steps
from rooflight.serve.expected import expected, expected_prefill
from rooflight.serve.formulas import tokens_per_verify
from rooflight.span import Span
from rooflight.values.steptime import Parts, StepTime
from rooflight.values.work import Operator, Work
from rooflight.work import step as steps
from rooflight.work.layout import Layout, Share, share_out


class PhaseTime(msgspec.Struct, frozen=True, kw_only=True):
    """A step of the whole deployment; every number may be an array.

    time        of one pass of one replica; its times are wall times of the step
    fitted      what the engine's fit says of it; None where only bounds were asked for
    work        of all devices
    passes      micro-batches of one replica
    replicas    that have a pass to run
    layout      of all devices that take part: of workers apart those of the phase
    tokens      the step yields (prefill: prompt tokens it covers)
    users       sequences that each get a token per step; None in prefill
    """

    time: StepTime
    fitted: Expected | None
    work: Work
    passes: Number
    replicas: Number
    layout: Layout
    tokens: Number
    users: Number | None

    @property
    def span(self) -> Span:
        """Wall seconds of the step, in their order."""
        return spanned(self.time, self.expected)

    @property
    def expected(self) -> Expected:
        """What the engine's fit says of it by itself. Raises TypeError of a phase that is bounds alone."""
        if self.fitted is None:
            raise TypeError("a phase of bounds alone has nothing to expect")
        return self.fitted

    @property
    def own_work(self) -> Work:
        """Of the devices alone, without what a host does beside them."""
        there: Work | None = self.time.host_work
        return self.work if there is None else self.work + there * (-1 * self.passes * self.replicas)

    def copies(self, op: Operator) -> Number:
        """Devices x passes that run an operator; experts that replicas pool run on idle replicas' devices too."""
        layout = self.layout
        pooled = layout.pooled > 1 and op.name.startswith("expert_")
        return self.passes * (layout.dp if pooled else self.replicas) * layout.tp


def spanned(time: StepTime, found: Expected) -> Span:
    """What is expected of a step, or of another quantity with the same bounds, in its order."""
    return Span.of_time(
        ceiling=time.ceiling_s, roofline=time.roofline_s, expected=found.seconds, low=found.low, high=found.high
    )


def decode(
    sc: Scenario, *, batch: Number | None = None, context: Number | None = None, bounds_only: bool = False
) -> PhaseTime:
    """One decode step of all sequences. Micro-batches fill the pipeline, so a step is one pass's time."""
    sc = _workers(sc)
    batch = sc.workload.batch if batch is None else batch
    context = context_tokens(sc.workload) if context is None else context
    share = share_out(batch, sc.layout)
    step = steps.decode(sequences=share.sequences, context=context, source=sc.source_tokens)
    time, part = _timed(sc, step, share, bounds_only=bounds_only)
    found = None if part is None else expected(sc, part, sequences=share.sequences)
    return _phase(sc, time, found, share, tokens=batch, users=batch)


def verify(sc: Scenario, *, batch: Number | None = None, bounds_only: bool = False) -> PhaseTime:
    """One verify step: draft_tokens + 1 positions a sequence; tokens if all were accepted."""
    sc = _workers(sc)
    load = sc.workload
    batch = load.batch if batch is None else batch
    share = share_out(batch, sc.layout)
    step = steps.verify(
        sequences=share.sequences, context=context_tokens(load), draft_tokens=load.draft_tokens,
        source=sc.source_tokens,
    )  # fmt: skip
    made = tokens_per_verify(draft_tokens=load.draft_tokens, acceptance=load.acceptance)
    tokens = batch * (load.draft_tokens + 1)
    return _beside(sc, step, share, bounds_only, made=made, tokens=tokens, users=batch)


def token(sc: Scenario, *, batch: Number | None = None) -> tuple[PhaseTime, Span]:
    """The step that a token of every sequence comes from, and its part of it: a decode step; with drafts a verify step.

    Drafting comes before a verify step, which yields several tokens; a ceiling has it for nothing where what drafts is
    not named.
    """
    load = sc.workload
    if not load.draft_tokens:
        phase = decode(sc, batch=batch)
        return phase, phase.span
    phase = verify(sc, batch=batch)
    return phase, (phase.span + drafting(sc, batch=batch)) / tokens_per_verify(
        draft_tokens=load.draft_tokens, acceptance=load.acceptance
    )


def drafting(sc: Scenario, *, batch: Number | None = None) -> Span:
    """What drafting before a verify step takes: the steps of a named draft, else a share of a decode step."""
    load = sc.workload
    steps = drafts(sc, batch=batch)
    if steps:
        total = Span.same(0.0)
        for one, count in steps:
            total = total + one.span * count
        return total
    free: Span = msgspec.structs.replace(decode(sc, batch=1).span * (load.draft_tokens * load.draft_share), ceiling=0.0)
    return free


def draft(sc: Scenario, *, bounds_only: bool = False) -> PhaseTime:
    """A step of a named draft; of several kinds the last that there is."""
    return [one for one, count in drafts(sc, bounds_only=bounds_only) if count][-1]


def drafts(
    sc: Scenario, *, batch: Number | None = None, bounds_only: bool = False
) -> tuple[tuple[PhaseTime, Number], ...]:
    """The steps of a named draft before a verify step, a token of every sequence each, and how many of each there are.

    Nothing where what drafts is not named.
    """
    load = sc.workload
    batch = load.batch if batch is None else batch
    context = context_tokens(load)
    workers = _decode_workers(sc)
    return tuple(
        (decode(_replicas(one, workers), batch=batch, context=context, bounds_only=bounds_only), count)
        for one, count in draft_steps(sc, load.draft_tokens)
    )


def mixed(sc: Scenario, *, bounds_only: bool = False) -> PhaseTime:
    """A decode step with a chunk of a newcomer's prompt beside it, half of that prompt cached already."""
    sc = _workers(sc)
    load = sc.workload
    share = share_out(load.batch, sc.layout)
    step = steps.mixed(
        sequences=share.sequences,
        context=context_tokens(load),
        chunk_tokens=load.chunk_tokens,
        chunk_context=load.isl // 2,
        source=sc.source_tokens,
        media=load.chunk_tokens / (load.isl - load.cached_prefix),
    )
    return _beside(sc, step, share, bounds_only, tokens=load.batch, users=load.batch)


def _beside(
    sc: Scenario, step: steps.Step, share: Share, bounds_only: bool, *, made: Number = 1, tokens: Number, users: Number
) -> PhaseTime:
    """A step that is more than decode; what is expected of it has the interval of a decode step.

    made    tokens that a sequence gets out of it
    """
    time, part = _timed(sc, step, share, bounds_only=bounds_only)
    found = None if part is None else expected(sc, part, sequences=share.sequences * made)
    return _phase(sc, time, found, share, tokens=tokens, users=users)


def prefill(
    sc: Scenario,
    *,
    isl: Number | None = None,
    prompts: Number | None = None,
    cached_prefix: Number | None = None,
    bounds_only: bool = False,
) -> PhaseTime:
    """The prefill of prefill_batch prompts; in a pipeline the passes (or chunks of one) overlap on the stages."""
    sc = _workers(sc, prefill=True)
    load = sc.workload
    isl = load.isl if isl is None else isl
    prompts = load.prefill_batch if prompts is None else prompts
    cached_prefix = load.cached_prefix if cached_prefix is None else cached_prefix
    share = share_out(prompts, sc.layout)
    ends = steps.prompt_ends(sc.model, load.osl)
    step = steps.prefill(sequences=share.sequences, isl=isl, cached_prefix=cached_prefix, ends=ends)
    overlap, fill = share.passes / sc.layout.pp, prompt_fill(sc, share.passes, isl - cached_prefix)
    time, part = _timed(sc, step, share, overlap=overlap, fill=fill, bounds_only=bounds_only)
    found = None if part is None else expected_prefill(sc, part, sequences=share.sequences, fill=fill)
    return _phase(sc, time, found, share, tokens=prompts * isl, users=None)


def prompt_fill(sc: Scenario, passes: Number, tokens: Number) -> Number:
    """Passes' worth of time that prompts of so many tokens take: pieces of them fill the stages, and drain.

    = (n + stages - 1) / stages / pieces, n being passes x pieces. Check: one prompt on 4 stages takes 1 pass whole, and
    (16 + 3) / 4 / 16 = 0.297 in 16 pieces.
    """
    facts, stages = engine_facts().get(sc.engine.id), sc.layout.pp
    if stages == 1 or facts is None or facts.piece_tokens is None:
        return (passes + stages - 1) / stages
    pieces = maximum(tokens / facts.piece_tokens, 1)
    return (passes * pieces + stages - 1) / stages / pieces


def _workers(sc: Scenario, *, prefill: bool = False) -> Scenario:
    """The scenario on all workers of the phase's kind, as replicas, where they are apart; else as it is."""
    if not is_apart(sc):
        return sc
    both = pools(sc)
    return _replicas(*((both.prefill, both.prefill_workers) if prefill else (both.decode, both.decode_workers)))


def _decode_workers(sc: Scenario) -> int:
    """Workers that decode and draft; one where they are not apart."""
    return pools(sc).decode_workers if is_apart(sc) else 1


def _replicas(one: Scenario, count: int) -> Scenario:
    """So many workers laid out alike, as replicas of one scenario."""
    if count == 1:
        return one
    layout = msgspec.structs.replace(one.layout, dp=one.layout.dp * count)
    steps = one.plans.steps(one.model, layout, one.numbers, one.rates, one.fits)
    return msgspec.structs.replace(one, layout=layout, steps=steps)


def main_format(sc: Scenario, time: StepTime) -> str:
    """The hardware format that most of a step's FLOP run in (by their totals, if there are many points)."""
    sums: dict[str, float] = {}
    for op, _, _ in time.timed:
        flop = op.work.flop * op.count
        if not is_plain(flop):
            flop = flop.mean()
        if flop:
            used = hardware_format(sc.accelerator, op.compute)
            sums[used] = sums.get(used, 0.0) + flop
    return max(sums, key=lambda name: sums[name], default="bf16")


def ridge(sc: Scenario, time: StepTime) -> float | None:
    """The ridge point in FLOP/byte of the format that most of a step's FLOP run in; None where it has no peak."""
    return ridges(sc.accelerator).get(main_format(sc, time))


def _busy(step: steps.Step, share: Share, layout: Layout) -> steps.Step:
    """The step where some replicas may have nothing to do."""
    return msgspec.structs.replace(step, busy=share.replicas / layout.dp)


def _timed(
    sc: Scenario, step: steps.Step, share: Share, *, overlap: Number = 1, fill: Number = 1, bounds_only: bool
) -> tuple[StepTime, Parts | None]:
    """Bounds of a step, and the parts of what is expected: those of a step in which all replicas are busy."""
    real = _busy(step, share, sc.layout)
    alike = sc.layout.dp == 1 or (real.busy == 1 if is_plain(real.busy) else bool((real.busy == 1).all()))
    # a prompt's passes are in `fill`
    passes = share.passes if is_plain(fill) and fill == 1 else 1
    time = sc.steps.time(real, overlap=overlap, fill=fill, passes=passes, bounds_only=bounds_only or not alike)
    return time, time.parts if alike or bounds_only else sc.steps.parts(step)


def _phase(
    sc: Scenario, time: StepTime, found: Expected | None, share: Share, *, tokens: Number, users: Number | None
) -> PhaseTime:
    layout = sc.layout
    phase = PhaseTime(
        time=time,
        fitted=found,
        work=_work(time, share.passes * share.replicas, layout.tp),
        passes=share.passes,
        replicas=share.replicas,
        layout=layout,
        tokens=tokens,
        users=users,
    )
    if layout.pooled == 1:
        return phase
    work = Work()
    for op, _, _ in time.timed:
        work = work + op.work * (op.count * phase.copies(op))
    return msgspec.structs.replace(phase, work=work)


def _work(time: StepTime, passes: Number, devices: int) -> Work:
    """Of all devices, and of the host beside them."""
    work: Work = time.work * (passes * devices)
    there: Work | None = None if time.host_work is None else time.host_work * passes
    return work if there is None else work + there


def link_level(sc: Scenario, time: StepTime) -> str | None:
    """The slower level of links at the ceiling: "within" a domain, or what is across; None where nothing is sent."""
    links = sc.rates.links
    if links is None or not time.link_s:
        return None
    return links.far if time.network_s >= time.link_s else "within"
