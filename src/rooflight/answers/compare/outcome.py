"""What a deployment makes of a mix: seconds, rates, shares and speed-ups, as the documented answer has them."""

from __future__ import annotations

import msgspec

from rooflight.answers.compare.contenders import Contender
from rooflight.roofline.rates import ridges
from rooflight.scenario.definite import Scenario
from rooflight.serve import formulas
from rooflight.serve import mix as mixes
from rooflight.serve.phases import main_format
from rooflight.span import Span
from rooflight.values.comparison import Compared, Equal, Fit, Hardware, PhasePart, Whole
from rooflight.values.mix import Mix
from rooflight.values.steptime import BOUNDS


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """A contender with the parts of its request."""

    one: Contender
    sc: Scenario
    prefill: mixes.Part
    decode: mixes.Part

    @property
    def span(self) -> Span:
        """Machine seconds of a request, phases one after the other."""
        return self.prefill.span.plain() + self.decode.span.plain()

    def seconds(self, basis: str) -> float:
        """Machine seconds of a request at the ceiling, the roofline, or as expected."""
        return float(getattr(self.span, basis))


def rate(amount: float, seconds: Span) -> Span:
    """An amount per second of a time. Zero of something in no time is zero."""
    return seconds.rate(amount) if amount else Span.same(0.0)


def _ratio(before: Span, after: Span) -> Span | None:
    """How much faster; None where a phase takes no time."""
    return before.over(after) if after.ceiling else None


def compared_of(one: Contender, timed: Timed | None, baseline: Timed | None, mix: Mix, equal: Equal | None) -> Compared:
    """A row of the answer."""
    sc, held = one.scenario, one.held
    layout = sc.layout if sc else one.deployment
    memory = None
    if held is not None:
        memory = Fit(
            weights_bytes=held.weights_bytes, kv_bytes=held.kv_bytes, reserve_bytes=held.reserve_bytes,
            usable_bytes=held.usable_bytes, max_batch=held.max_batch,
        )  # fmt: skip
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
        fits=held is not None and held.fits,
        batch=int(timed.sc.workload.batch) if timed else None,
        hardware=_hardware(timed, baseline) if timed and baseline else None,
        memory=memory,
        prefill=_phase(timed, "prefill", baseline, mix) if timed and baseline else None,
        decode=_phase(timed, "decode", baseline, mix) if timed and baseline else None,
        request=_whole(timed, baseline, mix) if timed and baseline else None,
        equal_at=equal,
    )


def _weights(one: Contender) -> str:
    """The format the weights are kept in, as far as it is known."""
    return one.scenario.weights if one.scenario else one.deployment.weights or "as the config says"


def _hardware(timed: Timed, baseline: Timed) -> Hardware:
    form, flop, memory = _rates(timed)
    _, base_flop, base_memory = _rates(baseline)
    card, count = timed.sc.accelerator, timed.sc.layout.devices
    return Hardware(
        format=form,
        flop_per_s=flop,
        memory_bytes_per_s=memory,
        memory_bytes=None if card.memory_bytes is None else card.memory_bytes * count,
        tdp_w=None if card.tdp_w is None else card.tdp_w * count,
        price_usd_per_hour=timed.one.price_usd_per_hour,
        flop_ratio=flop / base_flop,
        memory_ratio=memory / base_memory,
    )


def _rates(timed: Timed) -> tuple[str, float, float]:
    """(format most of the prefill runs in, its peak, memory bandwidth) of all devices."""
    sc = timed.sc
    form = main_format(sc, timed.prefill.time.time)
    bandwidth = sc.rates.memory_bytes_per_s
    return form, ridges(sc.accelerator)[form] * bandwidth * sc.layout.devices, bandwidth * sc.layout.devices


def _phase(timed: Timed, name: str, baseline: Timed, mix: Mix) -> PhasePart:
    part: mixes.Part = getattr(timed, name)
    before: mixes.Part = getattr(baseline, name)
    step, span = part.step.plain(), part.span.plain()
    tokens = float(timed.sc.workload.batch) if name == "decode" else mixes.prompts_together(timed.sc) * mix.isl
    return PhasePart(
        time_s=span,
        step_s=step,
        tokens_per_s=rate(tokens, step),
        bound=BOUNDS[int(part.bound)],
        share=span.over(timed.span),
        speed_up=_ratio(before.span.plain(), span),
    )


def _whole(timed: Timed, baseline: Timed, mix: Mix) -> Whole:
    span, devices = timed.span, timed.sc.layout.devices
    output = rate(mix.osl, span)
    tdp, price = timed.sc.accelerator.tdp_w, timed.one.price_usd_per_hour
    watts = None if tdp is None else tdp * devices
    parts = (timed.prefill, timed.decode)
    compute, memory, link = (
        sum(float(part.of_request(getattr(part, name))) for part in parts)
        for name in ("compute_s", "memory_s", "link_s")
    )
    read = float(timed.prefill.of_request(timed.prefill.weights_s))
    return Whole(
        time_s=span,
        overlapped_s=float(formulas.overlapped_s(compute_s=compute, memory_s=memory, weights_s=read, link_s=link)),
        requests_per_s=rate(1, span),
        output_tokens_per_s=output,
        output_tokens_per_s_per_accelerator=output * (1 / devices),
        output_tokens_per_s_per_user=output * (1 / float(timed.sc.workload.batch)),
        tokens_per_usd=None if price is None else output.each(lambda each: formulas.tokens_per_usd(each, price)),
        tokens_per_joule=None if tdp is None else output.each(lambda each: formulas.tokens_per_joule(each, watts)),
        speed_up=_ratio(baseline.span, timed.span),
    )
