"""What a deployment gets, in numbers that two deployments can be compared by."""

from __future__ import annotations

import msgspec

from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.formulas import SECONDS_PER_HOUR, decode_steps, machine_s
from rooflight.serve.memory import memory
from rooflight.serve.phases import PhaseTime
from rooflight.span import Span
from rooflight.values.moves import Dot, Outcome
from rooflight.values.steptime import BOUNDS

_MILLION = 1_000_000


def outcome(
    sc: Scenario,
    usd_per_hour: float | None = None,
    *,
    prefill: Dot | None = None,
    decode: Dot | None = None,
    stall: Span | None = None,
    apart: bool = False,
) -> Outcome:
    """Both phases, a request, throughput and money of a scenario (whether or not it fits).

    prefill, decode     in place of the scenario's own; apart: prefills run elsewhere
    stall               what a newcomer's prefill takes from the others (None: all of it)
    """
    load, layout, held = sc.workload, sc.layout, memory(sc)
    prefill = prefill or dot(sc, phases.prefill(sc))
    decode = decode or dot(sc, phases.decode(sc))
    # Replicas prefill at the same time; a lone prompt on one of them leaves the others free.
    prompts = max(load.prefill_batch, min(layout.dp, load.batch))
    taken = stall or prefill.time_s / prompts
    others = 0 if apart else (load.batch - 1) / load.osl
    token = decode.time_s + taken * others
    steps = decode_steps(load.osl)
    request = taken + decode.time_s.each(lambda step_s: machine_s(step_s, steps, load.batch))
    rate = request.rate(load.osl)
    per_device = rate / layout.devices
    spent = None if usd_per_hour is None else usd_per_hour / SECONDS_PER_HOUR * _MILLION
    return Outcome(
        devices=layout.devices, batch=load.batch, max_batch=held.max_batch, fits=held.fits, prefill=prefill,
        decode=decode, token_s=token,
        request_s=prefill.time_s + token * (load.osl - 1),
        tokens_per_s=rate, tokens_per_s_per_accelerator=per_device,
        usd_per_million_tokens=None if spent is None else per_device.rate(spent),
    )  # fmt: skip


def dot(sc: Scenario, phase: PhaseTime) -> Dot:
    """A step on the roofline."""
    time, work = phase.time, phase.time.work
    return Dot(
        time_s=phase.span.plain(),
        bound=BOUNDS[time.bound],
        terms_s=dict(zip(BOUNDS, map(float, (time.compute_s, time.memory_s, time.link_s, time.launch_s)), strict=True)),
        intensity_flop_per_byte=work.flop / work.moved_bytes,
        ridge_flop_per_byte=phases.ridge(sc, time),
        weights=work.weight_bytes / work.moved_bytes,
        kv=(work.kv_read_bytes + work.kv_write_bytes) / work.moved_bytes,
    )


def scaled_dot(one: Dot, factor: float, *, beside: Span | None = None) -> Dot:
    """A phase that takes `factor` times as long and `beside` more."""
    scaled = one.time_s * factor
    return msgspec.structs.replace(one, time_s=scaled if beside is None else scaled + beside)
