"""Runs of requests: what a scenario gives its users under a schedule, each quantity a span."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.numeric import Number, ceil, clipped, is_plain, maximum, minimum, where
from rooflight.roofline.engine import interval
from rooflight.scenario.definite import Scenario
from rooflight.serve.expected import drafted_wider, encoding, grouped, prompt_wider
from rooflight.serve.limits import Limits, limits
from rooflight.serve.replica import NO_STEPS, Clock, Replica, replica, step_interval
from rooflight.serve.steady import Steady, steady
from rooflight.serve.usage import Used, used
from rooflight.span import Span
from rooflight.values.run import Pool, WholeRun

Factors = tuple[Number, Number]
# Of a full room: what a quotient's last bits may say.
_ROUNDING = 2.0**-40


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """One basis of a run: a request's token and end, and the time in which all users are served once."""

    token_s: Number
    request_s: Number
    cycle_s: Number


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """A run before its spans are made; numbers of the whole deployment, waiting included.

    least_s     the ceiling of the time in which all users are served once
    tokens      decode steps' tokens of a request, NO_STEPS where there are none
    first       factors on what is expected of a first token; steps: of steps; whole: of requests and all rates
    quick_s     a first token that comes sooner than first says is expected down to here
    """

    schedule: str
    sc: Scenario
    users: Number
    devices: Number
    tokens: Number
    limits: Limits
    least_s: Number
    expected: Times
    roofline: Times
    running: Number
    decoding: Number
    prefill_share: Number | None
    used: Used | None
    first: Factors
    steps: Factors
    whole: Factors
    quick_s: Number | None = None
    prefill: Pool | None = None
    decode: Pool | None = None


def served(sc: Scenario, *, users: Number | None = None) -> WholeRun:
    """Continuous batching in its steady state. Numbers of the scenario, or users, may be arrays, and so the run's."""
    one = replica(sc, users)
    engine = sc.engine
    found = steady(
        one, one.expected_s, server_s=engine.server_s, queue=engine.queue, first_share=engine.first_share
    )  # fmt: skip
    fast = steady(one, one.roofline_s, server_s=0.0, queue=engine.queue, like=found)
    least = limits(one)
    share = where(found.inside > 1, found.per_s, 1 / found.request_s) * found.prompt_s
    running = minimum(found.per_s * (one.steps * found.step_s + found.own_s), found.inside)
    first, steps, whole = _intervals(one, found.inside, found.decoding, first_interval(sc, found.inside))
    return made(Course(
        schedule="served", sc=sc, users=one.users * one.copies, devices=sc.layout.devices, tokens=one.steps * one.each,
        limits=least, least_s=least.request_s, expected=_steady_times(one, found), roofline=_steady_times(one, fast),
        running=running * one.copies, decoding=minimum(found.decoding, running) * one.copies, prefill_share=share,
        used=used(one, found), first=first, steps=steps, whole=whole,
    ))  # fmt: skip


def _steady_times(one: Replica, found: Steady) -> Times:
    """Those in front wait too."""
    whole = one.users / found.per_s
    return Times(token_s=found.step_s / one.each, request_s=whole, cycle_s=whole)


def alone(sc: Scenario) -> WholeRun:
    """One user alone: the server's own time, a prefill, and quiet steps."""
    one = replica(sc, 1)
    server_s = sc.engine.server_s
    prompt_s, step_s = one.prompt_s(one.expected_s), one.expected_s(1, None)
    fast_prompt_s, fast_s = one.prompt_s(one.roofline_s), one.roofline_s(1, None)
    times = [
        Times(token_s=step / one.each, request_s=first + one.steps * step, cycle_s=first + one.steps * step)
        for first, step in (((server_s + prompt_s) * sc.engine.first_share, step_s), (fast_prompt_s, fast_s))
    ]
    whole_s, least = times[0].cycle_s, limits(one)
    first, steps, whole = _intervals(one, 1, 1, first_interval(sc, 1))
    return made(Course(
        schedule="alone", sc=sc, users=1, devices=sc.layout.devices, tokens=one.steps * one.each, limits=least,
        least_s=least.request_s, expected=times[0], roofline=times[1], running=1.0, decoding=1.0,
        prefill_share=prompt_s / whole_s, used=used(one, None, per_s=1 / whole_s), quick_s=prompt_s,
        first=first, steps=steps, whole=whole,
    ))  # fmt: skip


def batch(sc: Scenario, *, users: Number | None = None) -> WholeRun:
    """A batch started together: all prompts first, then lock-step decode; in equal waves where room is too small."""
    one = replica(sc, users)
    waves = maximum(ceil(one.users / one.room * (1 - _ROUNDING)), 1)
    wave = one.with_users(one.users / waves)
    pairs = [_wave(wave, clock) for clock in (wave.expected_s, wave.roofline_s)]
    times = []
    for first_s, step_s in pairs:
        whole_s = first_s + one.steps * step_s
        request_s, cycle_s = (waves + 1) / 2 * whole_s, waves * whole_s
        times.append(Times(token_s=step_s / one.each, request_s=request_s, cycle_s=cycle_s))
    (first_s, step_s), whole_s = pairs[0], times[0].cycle_s / waves
    least = limits(one)
    mean = msgspec.structs.replace(least, request_s=maximum(least.lone_s, (waves + 1) / (2 * waves) * least.request_s))
    engine, wider = sc.engine, prompt_wider(sc)
    prompts = engine.prefill_low / wider, engine.prefill_high * wider
    first, steps, whole = _intervals(wave, wave.users, wave.users, prompts)
    return made(Course(
        schedule="batch", sc=sc, users=one.users * one.copies, devices=sc.layout.devices, tokens=one.steps * one.each,
        limits=mean, least_s=least.request_s, expected=times[0], roofline=times[1], running=wave.users * one.copies,
        decoding=wave.users * one.copies * (one.steps * step_s / whole_s), prefill_share=first_s / whole_s,
        used=used(wave, None, per_s=wave.users / whole_s, together=True),
        first=first, steps=steps, whole=whole,
    ))  # fmt: skip


def _wave(one: Replica, clock: Clock) -> tuple[Number, Number]:
    """(all prompts prefilled, a decode step of all) of a wave."""
    times, tokens = wave_steps(one)
    return times * clock(None, tokens), clock(one.users, None)


def wave_steps(one: Replica) -> tuple[Number, Number]:
    """How many steps the prompts of all users take, and the tokens of each: all at once, or what the budget allows."""
    tokens = one.users * one.prompt
    chunk = minimum(tokens, one.budget)
    return tokens / chunk, chunk


def _intervals(one: Replica, requests: Number, decoding: Number, first: Factors) -> tuple[Factors, Factors, Factors]:
    """Factors on the first token, on steps and on the whole; a host's part of each has its own."""
    sc = one.sc
    whole, steps = whole_interval(sc, requests), step_interval(sc, requests)
    if sc.rates.beside is None:
        return first, steps, whole
    tokens = minimum(one.prompt, one.budget)
    prompt_s, step_s = one.prompt_s(one.expected_s), one.steps * one.expected_s(decoding, None)
    prompt, step = one.host_shares(None, tokens), one.host_shares(decoding, None)
    both = prompt.joined(step, step_s / (prompt_s + step_s))
    return prompt.beside(*first), step.beside(*steps), both.beside(*whole)


def first_interval(sc: Scenario, requests: Number) -> Factors:
    """Factors on the expected time to first token that hold eight of ten measurements, of so many of a replica.

    Where no row showed the engine's own time before one, they hold a prefill's, which is in it.
    """
    engine, wider = sc.engine, prompt_wider(sc)
    low, high = interval(engine, "moe_first_" if sc.expert_layers else "first_", requests)
    if not engine.measured("server_s") and not engine.calibrated_on:
        low, high = minimum(low, engine.prefill_low), maximum(high, engine.prefill_high)
    return low / wider, high * wider


def whole_interval(sc: Scenario, requests: Number) -> Factors:
    """Factors on the expected time of a request that hold eight of ten measurements, and so on rates."""
    wider = drafted_wider(sc) * encoding(sc)
    low, high = interval(sc.engine, "moe_run_" if sc.expert_layers else "run_", requests)
    return low / wider * grouped(sc), high * wider


def made(one: Course) -> WholeRun:
    """The run of a course: every quantity in its order, ceiling <= roofline <= expected, and Little's law kept."""
    most, tokens = one.limits, one.tokens
    whole_s = maximum(one.roofline.request_s, most.request_s)
    expected_s = maximum(one.expected.request_s, whole_s)
    token_s = clipped(one.expected.token_s, most.token_s, (expected_s - most.first_s) / tokens)
    first_s = expected_s - tokens * token_s
    fast_s = minimum(one.roofline.token_s, token_s)
    fast_s = clipped(fast_s, maximum((whole_s - first_s) / tokens, most.token_s), (whole_s - most.first_s) / tokens)
    none = tokens <= 2 * NO_STEPS
    request = _spanned(most.request_s, whole_s, expected_s, one.whole)
    cycle = _spanned(one.least_s, one.roofline.cycle_s, one.expected.cycle_s, one.whole)
    token = _spanned(most.token_s, fast_s, token_s, one.steps)
    first = _spanned(most.first_s, whole_s - tokens * fast_s, first_s, one.first)
    if one.quick_s is not None:
        first = msgspec.structs.replace(first, low=maximum(minimum(first.low, one.quick_s), first.ceiling))
    per_s = cycle.rate(one.users)
    output = per_s * one.sc.workload.osl
    kept = _without(token, none)
    request = _either(none, first, request)  # a first token, or a result, that is all of a request
    return WholeRun(
        schedule=one.schedule, engine=one.sc.engine.id, running=one.running, decoding=one.decoding,
        waiting=maximum(one.users - one.running, 0.0), ttft_s=first, tpot_s=kept, request_s=request,
        requests_per_s=per_s, output_tokens_per_s=output,
        output_tokens_per_s_per_user=None if kept is None else kept.rate(1),
        output_tokens_per_s_per_accelerator=output / one.devices,
        prefill_share=None if one.prefill_share is None else minimum(one.prefill_share, 1.0),
        utilization=None if one.used is None else one.used.shares(),
        prefill=one.prefill, decode=one.decode,
    )  # fmt: skip


def _spanned(ceiling: Number, roofline: Number, expected: Number, factors: Factors) -> Span:
    low, high = factors
    middle = maximum(roofline, ceiling)
    return Span.of_time(ceiling=ceiling, roofline=middle, expected=expected, low=expected * low, high=expected * high)


def _either(condition: Any, one: Span, other: Span) -> Span:
    """One span or the other, elementwise."""
    if is_plain(condition):
        return one if condition else other
    fields = Span.__struct_fields__
    return Span(**{name: where(condition, getattr(one, name), getattr(other, name)) for name in fields})


def _without(token: Span, none: Any) -> Span | None:
    """No time between tokens where there is one token: None, in arrays not a number."""
    if is_plain(none):
        return None if none else token
    return token if not none.any() else token.each(lambda value: where(none, float("nan"), value))
