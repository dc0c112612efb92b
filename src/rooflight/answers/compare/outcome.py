"""What a deployment makes of a mix: its run, its phases, shares and speed-ups, as the documented answer has them."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from rooflight.answers.compare.contenders import Contender
from rooflight.answers.pair import times_as_good
from rooflight.numeric import maximum
from rooflight.roofline.rates import ridges
from rooflight.scenario.definite import Scenario
from rooflight.scenario.pools import prompts_on
from rooflight.serve import formulas, phases
from rooflight.serve.phases import PhaseTime, main_format
from rooflight.serve.schedule import scheduled, whole
from rooflight.span import Span
from rooflight.values.comparison import Compared, Equal, Fit, Hardware, PhasePart, Whole
from rooflight.values.mix import Mix
from rooflight.values.run import WholeRun
from rooflight.values.steptime import BINDING


class Step(NamedTuple):
    """A step that a token of every sequence comes from, and its part of it; of drafted tokens a verify step."""

    phase: PhaseTime
    span: Span


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """A contender that has times: its run, and the steps it is made of.

    decode          None where memory cannot hold all sequences of the batch at once, or nothing is put out
    inside          sequences that are in the engine at once; fewer than the batch there
    prompts         that one prefill step stands for: at least one a replica, for one without would stand idle
    """

    one: Contender
    sc: Scenario
    mix: Mix
    run: WholeRun
    prefill: PhaseTime
    decode: Step | None
    inside: float
    prompts: float

    @property
    def span(self) -> Span:
        """Machine seconds of a request: one over the requests a second."""
        return machine_s(self.run)

    @property
    def prefill_s(self) -> Span:
        """Machine seconds of a request's prompt in steps of prompts alone."""
        return self.prefill.span.plain() / self.prompts

    @property
    def decode_s(self) -> Span:
        """Machine seconds of a request's decode steps, each shared by all that are in it, without prompts beside."""
        step = self.decode or decode_step(self.sc, self.mix, self.inside)
        return step.span.each(lambda step_s: formulas.machine_s(step_s, self.steps, self.inside))

    @property
    def steps(self) -> float:
        """Decode steps of a request."""
        return float(formulas.decode_steps(self.mix.osl))


def timed_of(one: Contender, sc: Scenario, mix: Mix) -> Timed:
    """The contender's times on its scenario at the mix's mean lengths."""
    run = whole(sc, users=one.users)
    batch = float(sc.workload.batch)
    inside = batch if one.whole else maximum(batch - run.waiting, 1.0)
    prompts = maximum(float(sc.workload.prefill_batch), float(sc.layout.dp))
    return Timed(
        one=one, sc=sc, mix=mix, run=run, prefill=phases.prefill(sc), inside=inside, prompts=prompts,
        decode=decode_step(sc, mix, sc.workload.batch) if one.whole and mix.osl else None,
    )  # fmt: skip


def decode_step(sc: Scenario, mix: Mix, sequences: float) -> Step:
    """The step in which so many decode, as analyze has it; of a log's requests at their steps' mean context."""
    if sc.workload.draft_tokens:
        phase, span = phases.token(sc, batch=sequences)
        return Step(phase, span.plain())
    phase = phases.decode(sc, batch=sequences, context=None if mix.source is None else mix.context)
    return Step(phase, phase.span.plain())


def machine_s(run: WholeRun) -> Span:
    """Seconds for which a request keeps the deployment busy."""
    return run.requests_per_s.rate(1)


def per_user(run: WholeRun) -> Span:
    """Seconds a user waits for a token, of a request without decode steps for its end."""
    return run.request_s if run.tpot_s is None else run.tpot_s


def _ratio(before: Span, after: Span) -> Span | None:
    """How much faster; None where a phase takes no time."""
    return times_as_good(before, after, less=True) if after.ceiling else None


def compared_of(one: Contender, mix: Mix, timed: Timed | None, baseline: Timed | None, equal: Equal | None) -> Compared:
    """A row of the answer; of one without a compute peak its decode steps alone."""
    sc, held = one.scenario, one.held
    layout = sc.layout if sc else one.deployment
    memory = None
    if held is not None:
        memory = Fit(
            weights_bytes=held.weights_bytes, kv_bytes=held.kv_bytes, reserve_bytes=held.reserve_bytes,
            usable_bytes=held.usable_bytes, max_batch=held.max_batch,
        )  # fmt: skip
    parts: dict[str, Any] = {"batch": None, "run": None, "hardware": None, "prefill": None, "decode": None}
    if timed and baseline:
        parts = {
            "batch": int(timed.sc.workload.batch), "run": timed.run, "hardware": _hardware(timed, baseline),
            "prefill": _prefill(timed, baseline), "decode": _decode(timed, baseline),
        }  # fmt: skip
    elif one.decodes and one.run is not None:
        parts |= {
            "batch": int(one.run.workload.batch), "run": scheduled(one.run, users=one.users),
            "decode": _decode_alone(one.run, mix, baseline) if one.whole and mix.osl else None,
        }  # fmt: skip
    return Compared(
        label=one.label,
        accelerator=one.card.id,
        devices=one.count,
        tp=layout.tp or one.count,
        pp=layout.pp,
        ep=layout.ep,
        dp=layout.dp,
        weights=_weights(one),
        kv_cache=sc.numbers.kv if sc else (one.deployment.kv_cache or "bf16"),
        engine=one.deployment.engine,
        fits=held.fits if held is not None else False,
        memory=memory,
        request=_whole(timed, baseline) if timed and baseline else None,
        equal_at=equal,
        **parts,
    )


def _weights(one: Contender) -> str:
    """The format the weights are kept in, as far as it is known."""
    return one.scenario.weights if one.scenario else one.deployment.weights or "as the config says"


def _hardware(timed: Timed, baseline: Timed) -> Hardware:
    form, flop, memory = _rates(timed)
    _, base_flop, base_memory = _rates(baseline)
    one = timed.one
    sizes = [None if card.memory_bytes is None else card.memory_bytes * count for card, count in one.cards]
    return Hardware(
        format=form,
        flop_per_s=flop,
        memory_bytes_per_s=memory,
        memory_bytes=None if None in sizes else sum(size for size in sizes if size is not None),
        tdp_w=one.tdp_w,
        price_usd_per_hour=one.price_usd_per_hour,
        flop_ratio=flop / base_flop,
        memory_ratio=memory / base_memory,
    )


def _rates(timed: Timed) -> tuple[str, float, float]:
    """(format most of the prefill runs in, its peak, memory bandwidth) of all devices that have them."""
    sc = timed.sc
    form = main_format(prompts_on(sc), timed.prefill.time)
    bandwidths = [sc.rates.memory_bytes_per_s, prompts_on(sc).rates.memory_bytes_per_s]
    kinds = [(card, rate, count) for (card, count), rate in zip(timed.one.cards, bandwidths, strict=False)]
    flop = sum(ridges(card).get(form, 0.0) * rate * count for card, rate, count in kinds)
    return form, flop, sum(rate * count for _, rate, count in kinds)


def _prefill(timed: Timed, baseline: Timed) -> PhasePart:
    phase = timed.prefill
    return PhasePart(
        time_s=timed.prefill_s,
        step_s=phase.span.plain(),
        tokens_per_s=phase.span.plain().rate(float(phase.tokens)),
        bound=BINDING[int(phase.time.bound)],
        share=_prompts_share(timed),
        speed_up=_ratio(baseline.prefill_s, timed.prefill_s),
    )


def _decode(timed: Timed, baseline: Timed) -> PhasePart | None:
    if timed.decode is None:
        return None
    phase, step = timed.decode
    return PhasePart(
        time_s=timed.decode_s,
        step_s=step,
        tokens_per_s=step.rate(float(phase.tokens if phase.users is None else phase.users)),
        bound=BINDING[int(phase.time.bound)],
        share=_prompts_share(timed).each(lambda share: 1 - share if timed.steps else 0.0),
        speed_up=_ratio(baseline.decode_s, timed.decode_s),
    )


def _decode_alone(sc: Scenario, mix: Mix, baseline: Timed | None) -> PhasePart:
    """Decode steps of a deployment whose prompts cannot be told."""
    sequences = float(sc.workload.batch)
    step = decode_step(sc, mix, sequences).span
    steps = float(formulas.decode_steps(mix.osl))
    time = step.each(lambda step_s: formulas.machine_s(step_s, steps, sequences))
    return PhasePart(
        time_s=time, step_s=step, tokens_per_s=step.rate(sequences),
        bound=BINDING[int(phases.decode(sc, bounds_only=True).time.bound)], share=None,
        speed_up=None if baseline is None else _ratio(baseline.decode_s, time),
    )  # fmt: skip


def _prompts_share(timed: Timed) -> Span:
    """The prompts' share of a request's machine time: the run's own as expected, else that of the phases."""
    prompts, steps = timed.prefill_s, timed.decode_s
    parts = prompts.over(prompts + steps)
    share = timed.run.prefill_share
    return parts if share is None else msgspec.structs.replace(parts, expected=float(share))


def _whole(timed: Timed, baseline: Timed) -> Whole:
    run, span = timed.run, timed.span
    output = run.output_tokens_per_s
    watts, price = timed.one.tdp_w, timed.one.price_usd_per_hour
    return Whole(
        time_s=span,
        overlapped_s=span.ceiling,
        requests_per_s=run.requests_per_s,
        output_tokens_per_s=output,
        output_tokens_per_s_per_accelerator=run.output_tokens_per_s_per_accelerator,
        output_tokens_per_s_per_user=run.output_tokens_per_s_per_user,
        tokens_per_usd=None if price is None else output.each(lambda each: formulas.tokens_per_usd(each, price)),
        tokens_per_joule=None if watts is None else output.each(lambda each: formulas.tokens_per_joule(each, watts)),
        speed_up=_ratio(baseline.span, span),
    )
