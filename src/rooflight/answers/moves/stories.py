"""Usual wrong beliefs about inference, each answered with the numbers of the situation at hand where it matches."""

from __future__ import annotations

from collections.abc import Callable

from rooflight.answers.moves.option import Asked
from rooflight.answers.moves.outcome import outcome
from rooflight.answers.moves.serving import pays_up_to
from rooflight.roofline.formulas import crossover_batch
from rooflight.roofline.rates import ridges
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve import phases
from rooflight.units import round_significant, scaled
from rooflight.values.moves import Outcome, Story
from rooflight.work import count, formulas
from rooflight.work.storage import element_bytes

Teller = Callable[[Scenario, Outcome, Asked], str | None]
TELLERS: dict[str, Teller] = {}


def story(name: str) -> Callable[[Teller], Teller]:
    """Register the answer to a belief; the function returns None where the situation does not invite it."""

    def register(teller: Teller) -> Teller:
        TELLERS[name] = teller
        return teller

    return register


def stories(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Story, ...]:
    """The beliefs this situation invites, answered."""
    told = ((name, teller(sc, before, asked)) for name, teller in TELLERS.items())
    return tuple(Story(name=name, words=words) for name, words in told if words is not None)


@story("more FLOP/s for a bandwidth problem")
def flops(sc: Scenario, before: Outcome, asked: Asked) -> str | None:
    """Decode far below the ridge."""
    one = before.decode
    if one.bound != "memory" or one.intensity_flop_per_byte > one.ridge_flop_per_byte / 4:
        return None
    return (
        f"decode does {round_significant(one.intensity_flop_per_byte)} FLOP for each byte, and {sc.accelerator.id} "
        f"needs {round_significant(one.ridge_flop_per_byte)} to be busy: arithmetic takes "
        f"{scaled(one.terms_s['compute'], 's')} of a step, memory {scaled(one.terms_s['memory'], 's')}. "
        "More FLOP/s change the first"
    )


@story("FP8 weights make decode twice as fast")
def narrow_weights(sc: Scenario, before: Outcome, asked: Asked) -> str | None:
    """Bytes that are not weights."""
    one = before.decode
    wide = sc.numbers.weights is None or sc.numbers.weights.bits == 16
    if one.bound != "memory" or one.weights > 0.8 or not wide or sc.model.quantization:
        return None
    most = 1 / (1 - one.weights / 2)
    return (
        f"weights are {one.weights:.0%} of the bytes of a step, the KV cache is {one.kv:.0%}: halving the weights "
        f"gives {most:.2f}x at most; the cache has a format of its own (--kv-cache fp8)"
    )


@story("INT4 weights help at any batch")
def weight_only(sc: Scenario, before: Outcome, asked: Asked) -> str | None:
    """Weight-only formats above the batch where arithmetic takes over."""
    ridge = ridges(sc.accelerator).get("bf16") or ridges(sc.accelerator).get("fp16")
    form = sc.numbers.weights
    routed = any(layer.experts is not None for layer in sc.model.layers)
    if ridge is None or routed or (form is not None and form.activations is not None):
        return None
    bits = 8 * element_bytes("int4-g128" if form is None else form.id)
    turn = crossover_batch(ridge_flop_per_byte=ridge, bits=bits)
    if sc.workload.batch <= turn:
        return None
    return (
        f"weights of {bits:g} bits that multiply in 16 leave the memory roof at batch {turn:.0f} on "
        f"{sc.accelerator.id} (its ridge x bits / 16): at batch {sc.workload.batch:,} the linear layers wait for "
        "arithmetic, which a weight-only format leaves as it is, and unpacking costs on top"
    )


@story("tensor parallelism divides the time")
def all_reduce(sc: Scenario, before: Outcome, asked: Asked) -> str | None:
    """Collectives, launches and the host do not shrink with the devices."""
    tp = sc.layout.tp
    if tp == 1 or tp % 2:
        return None
    now = phases.decode(sc).expected
    half = phases.decode(changed(sc, tp=tp // 2, ignore_capacity=True)).expected
    if half.seconds > 1.5 * now.seconds:
        return None
    return (
        f"from tp {tp // 2} to {tp} a decode step goes from {scaled(half.seconds, 's')} to "
        f"{scaled(now.seconds, 's')} as "
        f"expected, {half.seconds / now.seconds:.2f}x for twice the accelerators: {scaled(now.link_s, 's')} of it are "
        f"collectives and {scaled(now.host, 's')} the host, which cutting finer does not divide"
    )


@story("a small model is easy to run fast")
def small(sc: Scenario, before: Outcome, asked: Asked) -> str | None:
    """Launches and the host take more than the bytes."""
    one = before.decode
    found = phases.decode(sc).expected
    floor = one.terms_s["launch"]
    if found.host + floor < 0.5 * found.seconds:
        return None
    return (
        f"its bytes take {scaled(one.terms_s['memory'], 's')} a step, but a well-run engine takes "
        f"{scaled(one.time_s.expected, 's')}: launching its kernels takes {scaled(floor, 's')} at the least, "
        f"and the host {scaled(found.host, 's')} between steps. A larger batch is nearly free here; "
        "narrower weights gain little"
    )


@story("a profile of one prompt shows what to optimise")
def prefill_profiled(sc: Scenario, before: Outcome, asked: Asked) -> str | None:
    """Prefill and decode bound by different things, decode most of the time."""
    load = sc.workload
    decoding = (load.osl - 1) * before.decode.time_s.expected / load.batch
    share = 1 - decoding * before.tokens_per_s.expected / load.osl
    if before.prefill.bound == before.decode.bound or share > 0.3:
        return None
    return (
        f"prefill is {before.prefill.bound}-bound and {share:.0%} of the machine's time; the rest is decode, which is "
        f"{before.decode.bound}-bound: what helps the one does little for the other"
    )


@story("a smaller batch makes each user fast")
def shrinking(sc: Scenario, before: Outcome, asked: Asked) -> str | None:
    """Steps that hardly shorten when sequences leave."""
    if sc.workload.batch < 4 or before.decode.bound != "memory":
        return None
    half = outcome(changed(sc, batch=sc.workload.batch // 2))
    step = 1 - half.decode.time_s.expected / before.decode.time_s.expected
    lost = 1 - half.tokens_per_s.expected / before.tokens_per_s.expected
    if step > lost / 1.5:
        return None
    return (
        f"half the batch, {sc.workload.batch // 2:,}, shortens a step by {step:.0%} and costs {lost:.0%} of the "
        "tokens: a step streams the same weights for fewer sequences"
    )


@story("a mixture of experts costs its active parameters")
def active(sc: Scenario, before: Outcome, asked: Asked) -> str | None:
    """Experts that a batch touches, far more than one token does."""
    experts = next((layer.experts for layer in sc.model.layers if layer.experts is not None), None)
    batch = sc.workload.batch
    if experts is None or batch == 1:
        return None
    touched = formulas.touched_experts(experts=experts.count, chosen=experts.chosen, tokens=batch)
    return (
        f"one token takes {experts.chosen} of {experts.count} experts, but {batch:,} tokens touch "
        f"{touched / experts.count:.0%} of them in a step (routed uniformly): that many weights are read, not "
        f"the active {scaled(count.active_parameters(sc.model), '')} parameters'"
    )


@story("the weights are what decode reads")
def cache_read(sc: Scenario, before: Outcome, asked: Asked) -> str | None:
    """A KV cache that weighs as much as the weights."""
    one = before.decode
    if one.bound != "memory" or one.kv < 0.3:
        return None
    alone = one.terms_s["memory"] * (1 - one.kv)
    return (
        f"at {context_tokens(sc.workload):,} tokens of context and batch {sc.workload.batch:,} the KV cache is "
        f"{one.kv:.0%} of the bytes of a step: {scaled(one.terms_s['memory'], 's')} at best, where the weights alone "
        f"would say {scaled(alone, 's')}"
    )


@story("a faster interconnect")
def interconnect(sc: Scenario, before: Outcome, asked: Asked) -> str | None:
    """Links that are not what binds."""
    if sc.accelerator.link is None:
        return None
    one = before.decode
    if sc.layout.devices == 1:
        return None
    share = one.terms_s["link"] / one.time_s.ceiling
    if one.bound == "link" or share > 0.25:
        return None
    return (
        f"the bytes over {sc.accelerator.link.name} take {scaled(one.terms_s['link'], 's')} of a decode step whose "
        f"ceiling is {scaled(one.time_s.ceiling, 's')} ({one.bound}): twice the link's bandwidth leaves that as it is"
    )


@story("speculative decoding always pays")
def speculation(sc: Scenario, before: Outcome, asked: Asked) -> str | None:
    """Verifying costs arithmetic once the batch is large."""
    if sc.workload.batch < 8 and not sc.workload.draft_tokens:
        return None
    last = pays_up_to(sc, asked)
    if last is None or sc.workload.batch * 4 < last:
        return None
    if last == 0:
        return (
            f"with {asked.draft_tokens} tokens drafted and {asked.acceptance:.0%} accepted it does not pay at any "
            "batch: too few are accepted for what drafting and verifying take"
        )
    return (
        f"with {asked.draft_tokens} tokens drafted and {asked.acceptance:.0%} accepted it pays up to about batch "
        f"{last:,}; this is batch {sc.workload.batch:,}, where verifying {asked.draft_tokens + 1} positions "
        "a sequence takes arithmetic that decode alone leaves idle"
    )


@story("GPU utilisation of 100 % is efficiency")
def utilisation(sc: Scenario, before: Outcome, asked: Asked) -> str | None:
    """A busy device that hardly computes."""
    one = before.decode
    time = phases.decode(sc, bounds_only=True).time
    peak = sc.rates.peak(phases.main_format(sc, time))
    used = time.work.flop / one.time_s.expected / peak
    if used > 0.1:
        return None
    moved = one.terms_s["memory"] / one.time_s.expected
    return (
        "a monitor says 100 % while any kernel runs; expected here are "
        f"{used:.1%} of the arithmetic (MFU) and {moved:.0%} of the bandwidth (MBU), and the second is what counts"
    )
