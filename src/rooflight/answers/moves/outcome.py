"""What a deployment gets, in numbers that two deployments can be compared by."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rooflight.catalog.calibration import engine_named
from rooflight.roofline.rates import ridges
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.expected import Expected, expected_decode, expected_prefill, ordered
from rooflight.serve.formulas import SECONDS_PER_HOUR, decode_steps, machine_s
from rooflight.serve.memory import memory
from rooflight.values.moves import Dot, Outcome, Time
from rooflight.values.steptime import BOUNDS, StepTime

TIMES = ("ceiling", "expected", "low", "high")
_MILLION = 1_000_000


def outcome(sc: Scenario, usd_per_hour: float | None = None) -> Outcome:
    """Both phases, a request, and throughput of a scenario (whether or not it fits)."""
    engine = engine_named(sc.deployment.engine, sc.accelerator.family)
    prefill, decode = phases.prefill(sc), phases.decode(sc)
    held = memory(sc)
    return assembled(
        sc,
        prefill=dot(sc, prefill.time, expected_prefill(sc, engine)),
        decode=dot(sc, decode.time, expected_decode(sc, engine)),
        max_batch=held.max_batch,
        fits=held.fits,
        usd_per_hour=usd_per_hour,
    )


def assembled(
    sc: Scenario,
    *,
    prefill: Dot,
    decode: Dot,
    max_batch: int,
    fits: bool,
    usd_per_hour: float | None,
    stall: Time | None = None,
    apart: bool = False,
) -> Outcome:
    """The rest of an outcome from its phases: tokens under load, a request, throughput, money.

    stall   what a newcomer's prefill takes from the others (None: all of it); apart: prefills run elsewhere
    """
    load, layout = sc.workload, sc.layout
    # Replicas prefill at the same time; a lone prompt on one of them leaves the others free.
    prompts = max(load.prefill_batch, min(layout.dp, load.batch))
    taken = stall or each(lambda name: getattr(prefill.time_s, name) / prompts)
    others = 0 if apart else (load.batch - 1) / load.osl
    token = each(lambda name: getattr(decode.time_s, name) + others * getattr(taken, name))
    rate = _rate(
        lambda name: output_tokens_per_s(
            osl=load.osl, prefill_s=getattr(taken, name), step_s=getattr(decode.time_s, name), batch=load.batch
        )
    )
    per_device = each(lambda name: getattr(rate, name) / layout.devices)
    usd = None
    if usd_per_hour is not None:
        spent = usd_per_hour / SECONDS_PER_HOUR * _MILLION
        usd = _rate(lambda name: spent / getattr(per_device, name))
    return Outcome(
        devices=layout.devices, batch=load.batch, max_batch=max_batch, fits=fits, prefill=prefill, decode=decode,
        token_s=token,
        request_s=each(lambda name: getattr(prefill.time_s, name) + (load.osl - 1) * getattr(token, name)),
        tokens_per_s=rate, tokens_per_s_per_accelerator=per_device, usd_per_million_tokens=usd,
    )  # fmt: skip


def output_tokens_per_s(*, osl: float, prefill_s: float, step_s: float, batch: float) -> float:
    """Output tokens a second where prefills and decode steps take turns on the same devices.

    = osl / (prefill of one prompt + (osl - 1) x step / batch): the machine's own time for one request (machine_s).

    Check: osl 257, prefill_s 0.016, step_s 0.008, batch 32 -> 3212.5.
    """
    return float(osl / (prefill_s + machine_s(step_s, decode_steps(osl), batch)))


def dot(sc: Scenario, time: StepTime, expected: Expected) -> Dot:
    """A step on the roofline."""
    middle, low, high = ordered(time.ceiling_s, time.roofline_s, expected)
    work = time.work
    form = phases.main_format(sc, time)
    return Dot(
        time_s=Time(ceiling=float(time.ceiling_s), expected=float(middle), low=float(low), high=float(high)),
        bound=BOUNDS[time.bound],
        terms_s=dict(zip(BOUNDS, map(float, (time.compute_s, time.memory_s, time.link_s, time.launch_s)), strict=True)),
        intensity_flop_per_byte=work.flop / work.moved_bytes,
        ridge_flop_per_byte=ridges(sc.accelerator)[form],
        weights=work.weight_bytes / work.moved_bytes,
        kv=(work.kv_read_bytes + work.kv_write_bytes) / work.moved_bytes,
    )


def scaled_dot(one: Dot, factor: float, *, beside: Time | None = None) -> Dot:
    """A phase that takes `factor` times as long and `beside` more."""
    more = beside or Time(ceiling=0, expected=0, low=0, high=0)
    return msgspec.structs.replace(
        one, time_s=each(lambda name: getattr(one.time_s, name) * factor + getattr(more, name))
    )


def each(value: Callable[[str], float]) -> Time:
    """A time from a function of each of its fields' names."""
    return Time(**{name: value(name) for name in TIMES})


def _rate(value: Callable[[str], float]) -> Time:
    """Rates of times: the interval swaps its ends."""
    return Time(ceiling=value("ceiling"), expected=value("expected"), low=value("high"), high=value("low"))
