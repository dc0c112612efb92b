"""What a deployment gets, in numbers that two deployments can be compared by."""

from __future__ import annotations

import msgspec

from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.arrivals import loaded
from rooflight.serve.formulas import SECONDS_PER_HOUR
from rooflight.serve.memory import memory
from rooflight.serve.metrics import all_devices
from rooflight.serve.phases import PhaseTime
from rooflight.serve.schedule import scheduled, whole
from rooflight.values.held import MemoryBlock
from rooflight.values.moves import Dot, Outcome
from rooflight.values.steptime import BINDING

_MILLION = 1_000_000


def outcome(sc: Scenario, usd_per_hour: float | None = None, *, decode_alone: bool = False) -> Outcome:
    """Both phases, the run of the question, and money, of a scenario (whether or not all of its requests fit).

    decode_alone    of its decode steps alone, as where prompts cannot be told: for comparing with such a deployment

    Raises NoSteadyState where requests arrive faster than they are finished, MissingFact where the peak that prompts
    need is not known.
    """
    sc, users = loaded(sc)
    load, held = sc.workload, memory(sc)
    if decode_alone:
        return _of_decode(sc, users, held, _spent(usd_per_hour))
    # steps first: runs ask for bounds alone of some of them
    prefill, step = dot(sc, phases.prefill(sc)), together(sc, held.most)
    decode = _token(sc, step) if load.osl else None
    one, devices = whole(sc, users=users), all_devices(sc)
    # where nothing is put out, what is made of a second is prompts read
    rate = one.output_tokens_per_s if load.osl else one.requests_per_s * load.isl
    per_device = rate / devices
    spent = _spent(usd_per_hour)
    return Outcome(
        devices=devices, batch=load.batch, max_batch=held.max_batch, fits=held.fits,
        prefill=prefill, decode=decode, run=one, token_s=one.tpot_s, request_s=one.request_s, tokens_per_s=rate,
        tokens_per_s_per_accelerator=per_device,
        decode_tokens_per_s_per_accelerator=None if decode is None else decode.time_s.rate(step) / devices,
        usd_per_million_tokens=None if spent is None else per_device.rate(spent),
    )  # fmt: skip


def _of_decode(sc: Scenario, users: float, held: MemoryBlock, spent: float | None) -> Outcome:
    """What is known without prompts: steps in which all that fit decode, one after the other."""
    batch, devices = together(sc, held.most), all_devices(sc)
    decode, one = _token(sc, batch), scheduled(sc, users=users)
    rate = decode.time_s.rate(batch) / devices
    return Outcome(
        devices=devices, batch=sc.workload.batch, max_batch=held.max_batch, fits=held.fits, prefill=None,
        decode=decode, run=one, token_s=one.tpot_s, request_s=None, tokens_per_s=None,
        tokens_per_s_per_accelerator=None, decode_tokens_per_s_per_accelerator=rate,
        usd_per_million_tokens=None if spent is None else rate.rate(spent),
    )  # fmt: skip


def _spent(usd_per_hour: float | None) -> float | None:
    """Dollars a second, a million times."""
    return None if usd_per_hour is None else usd_per_hour / SECONDS_PER_HOUR * _MILLION


def together(sc: Scenario, most: int) -> int:
    """Sequences of a step: all requests, or as many as memory holds of them."""
    batch = int(sc.workload.batch)
    return batch if sc.deployment.ignore_capacity else max(min(batch, most), 1)


def dot(sc: Scenario, phase: PhaseTime) -> Dot:
    """A step on the roofline."""
    time, work = phase.time, phase.work
    terms, span = {name: float(seconds) for name, seconds in time.terms.items()}, phase.span.plain()
    bound = BINDING[time.bound]
    if sc.unrated and bound != "compute":  # where it binds all the same, nothing else takes any time at best
        del terms["compute"]
    return Dot(
        time_s=span,
        bound=bound,
        terms_s=terms,
        intensity_flop_per_byte=work.flop / work.moved_bytes,
        ridge_flop_per_byte=phases.ridge(sc, time),
        weights=work.weight_bytes / work.moved_bytes,
        kv=(work.kv_read_bytes + work.kv_write_bytes) / work.moved_bytes,
        flop_per_s=float(work.flop / span.expected),
    )


def _token(sc: Scenario, batch: int) -> Dot:
    """A decode step; of drafted tokens a verify step, by the tokens it yields, drafting included."""
    phase, span = phases.token(sc, batch=batch)
    return msgspec.structs.replace(dot(sc, phase), time_s=span.plain())
