"""Usual wrong beliefs about inference, each looked for in the situation at hand; words.stories answers them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from rooflight.answers.moves.option import Asked
from rooflight.answers.moves.serving import draft_of, pays_up_to
from rooflight.answers.outcome import outcome
from rooflight.roofline.formulas import crossover_batch
from rooflight.roofline.links import NETWORK
from rooflight.roofline.rates import ridges
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve import phases
from rooflight.values.moves import Dot, Outcome
from rooflight.values.note import Note
from rooflight.work import count, formulas
from rooflight.work.layout import crossing
from rooflight.work.storage import element_bytes

# The numbers that answer a belief; None where the situation does not invite it.
Teller = Callable[[Scenario, Outcome, Asked], tuple[Any, ...] | None]
TELLERS: dict[str, Teller] = {}


def story(name: str, *, needs_peak: bool = False) -> Callable[[Teller], Teller]:
    """Register the numbers that answer a belief, in the order that its words take; some hang on the compute peak."""

    def register(teller: Teller) -> Teller:
        TELLERS[name] = _rated(teller) if needs_peak else teller
        return teller

    return register


def _rated(teller: Teller) -> Teller:
    """The teller where the accelerator has the peaks that it needs."""

    @functools.wraps(teller)
    def told(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Any, ...] | None:
        return None if sc.unrated else teller(sc, before, asked)

    return told


def decoded(one: Outcome) -> Dot:
    """The decode step of an outcome that has one. Raises TypeError."""
    if one.decode is None:
        raise TypeError("nothing is decoded where nothing is put out")
    return one.decode


def stories(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Note, ...]:
    """The beliefs this situation invites, answered: they are of decode, so none where nothing is put out."""
    if before.decode is None:
        return ()
    told = ((name, teller(sc, before, asked)) for name, teller in TELLERS.items())
    return tuple(Note(key=name, value=numbers) for name, numbers in told if numbers is not None)


@story("more-flop", needs_peak=True)
def more_flop(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Any, ...] | None:
    """Decode far below the ridge."""
    one = decoded(before)
    ridge = one.ridge_flop_per_byte or 0.0
    if one.bound != "memory" or one.intensity_flop_per_byte > ridge / 4:
        return None
    places = one.intensity_flop_per_byte, ridge
    return (sc.accelerator.id, *places, one.terms_s["compute"], one.terms_s["memory"])


@story("narrow-weights")
def narrow_weights(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Any, ...] | None:
    """Bytes that are not weights."""
    one = decoded(before)
    wide = sc.replaced is None or sc.replaced.bits == 16
    if one.bound != "memory" or one.weights > 0.8 or not wide or sc.checkpoint.quantization:
        return None
    return one.weights, one.kv, 1 / (1 - one.weights / 2)


@story("weight-only", needs_peak=True)
def weight_only(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Any, ...] | None:
    """Weight-only formats above the batch where arithmetic takes over."""
    ridge = ridges(sc.accelerator).get("bf16") or ridges(sc.accelerator).get("fp16")
    form = sc.replaced
    routed = any(layer.experts is not None for layer in sc.model.layers)
    if ridge is None or routed or (form is not None and form.activations is not None):
        return None
    bits = 8 * element_bytes("int4-g128" if form is None else form.id)
    turn = crossover_batch(ridge_flop_per_byte=ridge, bits=bits)
    return None if sc.workload.batch <= turn else (bits, turn, sc.accelerator.id, sc.workload.batch)


@story("tensor-parallelism")
def tensor_parallelism(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Any, ...] | None:
    """Collectives, launches and the host do not shrink with the devices."""
    tp = sc.layout.tp
    if tp == 1 or tp % 2:
        return None
    now = phases.decode(sc).expected
    ep = sc.layout.ep // 2 if sc.layout.ep == tp else sc.layout.ep
    half = phases.decode(changed(sc, tp=tp // 2, ep=max(ep, 1), ignore_capacity=True)).expected
    times = half.seconds / now.seconds
    return None if half.seconds > 1.5 * now.seconds else (tp, half.seconds, now.seconds, times, now.link_s, now.host)


@story("small-model")
def small_model(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Any, ...] | None:
    """Launches and the host take more than the bytes."""
    one = decoded(before)
    found = phases.decode(sc).expected
    floor = one.terms_s["launch"]
    if found.host + floor < 0.5 * found.seconds:
        return None
    return one.terms_s["memory"], one.time_s.expected, floor, found.host


@story("one-profile", needs_peak=True)
def one_profile(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Any, ...] | None:
    """Prefill and decode bound by different things, decode most of the time."""
    share = before.run.prefill_share or 0.0
    if before.prefill is None or before.prefill.bound == decoded(before).bound or share > 0.3:
        return None
    return before.prefill.bound, share, decoded(before).bound


@story("smaller-batch", needs_peak=True)
def smaller_batch(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Any, ...] | None:
    """Steps that hardly shorten when sequences leave."""
    if sc.workload.batch < 4 or decoded(before).bound != "memory":
        return None
    half = outcome(changed(sc, batch=sc.workload.batch // 2))
    step = 1 - decoded(half).time_s.expected / decoded(before).time_s.expected
    lost = 1 - half.rate.expected / before.rate.expected
    return None if step > lost / 1.5 else (half.batch, step, lost)


@story("active-parameters")
def active_parameters(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Any, ...] | None:
    """Experts that a batch touches, far more than one token does."""
    experts = next((layer.experts for layer in sc.model.layers if layer.experts is not None), None)
    batch = sc.workload.batch
    if experts is None or batch == 1:
        return None
    touched = formulas.touched_experts(experts=experts.count, chosen=experts.chosen, tokens=batch)
    return experts.chosen, experts.count, batch, touched / experts.count, count.active_parameters(sc.model)


@story("cache-read")
def cache_read(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Any, ...] | None:
    """A KV cache that weighs as much as the weights."""
    one = decoded(before)
    if one.bound != "memory" or one.kv < 0.3:
        return None
    memory_s = one.terms_s["memory"]
    return context_tokens(sc.workload), sc.workload.batch, one.kv, memory_s, memory_s * (1 - one.kv)


@story("interconnect")
def interconnect(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Any, ...] | None:
    """Links that are not what binds."""
    link, one = sc.accelerator.link, decoded(before)
    if link is None or sc.layout.devices == 1:
        return None
    link_s, ceiling_s = one.terms_s["link"], one.time_s.ceiling
    name = "the network" if crossing(sc.layout) and sc.rates.links and sc.rates.links.far == NETWORK else link.name
    return None if one.bound == "link" or link_s / ceiling_s > 0.25 else (name, link_s, ceiling_s, one.bound)


@story("speculation", needs_peak=True)
def speculation(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Any, ...] | None:
    """Verifying costs arithmetic once the batch is large."""
    batch = sc.workload.batch
    if batch < 8 and not sc.workload.draft_tokens:
        return None
    last = pays_up_to(sc, asked.draft_tokens, draft_of(sc, asked))
    return None if last is None or batch * 4 < last else (asked.draft_tokens, sc.workload.acceptance, last, batch)


@story("utilisation", needs_peak=True)
def utilisation(sc: Scenario, before: Outcome, asked: Asked) -> tuple[Any, ...] | None:
    """A busy device that hardly computes."""
    one = decoded(before)
    time = phases.decode(sc).time
    peak = sc.rates.peak(phases.main_format(sc, time))
    used = time.work.flop / one.time_s.expected / peak
    return None if used > 0.1 else (used, one.terms_s["memory"] / one.time_s.expected)
