"""What an engine makes of a pass: its shares of the parts, and the host between steps.

In a step of a real engine floors overlap with the kernels before them (its floor_share of them is left), bodies do not.
"""

from __future__ import annotations

import msgspec

from rooflight.numeric import Number, clipped, maximum
from rooflight.roofline.expected import joined_s
from rooflight.values.calibration import Engine
from rooflight.values.steptime import Parts

# How sharply an engine's step turns from what memory allows to what its compute units draw.
UNIT_SHARPNESS = 4
# Host time a kernel we count takes where a framework launches it, several operators of 5 to 10 us each. transformers
# in 16 bits at batch 1 without a context: 53.8 to 55.5 us for Qwen3 of 1.7B, 4B, 14B and 32B on an H20 alike (Qwen3's
# speed page); 84 to 103 for four models on an A100 (Qwen's pages, prem), 43 to 59 in tinychat's tables.
EAGER_KERNEL_S = 54e-6
# Requests of a replica up to which an engine's intervals of few count, and from which those of many; mixed between.
FEW, MANY = 16, 32


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What a fit says by itself, before the bounds have their say: seconds with an interval, and what is in them.

    host, link_s, experts_s, floors_s   of the seconds: host between steps, collectives, what routing adds to products,
                and what is left of the kernels' floors; places_s: the host's memory and the link to it, places_rated_s
                at their rates, places_low_s and places_high_s of the interval
    reads_s     of the seconds: reads of the cache that query heads could share; launched_s: what launching kernels one
                by one adds
    host_measured, experts_measured     whether rows set the coefficients behind them, so that they name a cause
    """

    seconds: Number
    low: Number
    high: Number
    host: Number
    link_s: Number
    experts_s: Number
    floors_s: Number = 0.0
    reads_s: Number = 0.0
    launched_s: Number = 0.0
    places_s: Number = 0.0
    places_rated_s: Number = 0.0
    places_low_s: Number = 0.0
    places_high_s: Number = 0.0
    host_measured: bool = True
    experts_measured: bool = True


def prompt_engine(engine: Engine, *, routed: bool) -> tuple[Engine, float]:
    """The engine that times a prompt with nobody decoding beside it, and its share of that."""
    if not engine.prefill_kernels:
        return engine, engine.prefill_share
    plain = msgspec.structs.replace(
        engine, body_share=1.0, unit_byte_s=0.0, floor_share=1.0, expert_share=1.0, expert_layer_s=0.0,
        host_s=0.0, host_per_sequence_s=0.0,
    )  # fmt: skip
    return plain, engine.moe_prefill_share if routed else engine.prefill_share


def step_s(part: Parts, engine: Engine, *, sequences: Number, expert_layers: int) -> Number:
    """Expected wall seconds of a step: an engine's shares of the parts, and the host.

    = p-norm(device, launches x launch_s) + host_s + sequences x host_per_sequence_s
    device = p-norm(body x body_share + experts x expert_share, unit_bytes x unit_byte_s) + floors x floor_share
      + fp4_floors x fp4_floor_share + link x link_share + unshared x unshared_kv_share + repeated x repeated_kv_share
      + expert_layers x expert_layer_s
    and all of it x step_share, what your own calibration says.

    Source: fitted (calibration/fit_engines.py).
    """
    link = part.link * engine.link_share
    kernels = part.body * engine.body_share + part.experts * engine.expert_share
    if engine.unit_byte_s:
        kernels = joined_s(kernels, part.unit_bytes * engine.unit_byte_s, sharpness=UNIT_SHARPNESS)
    device = kernels + floors_s(part, engine) + link + expert_layers * engine.expert_layer_s
    if engine.unshared_kv_share:
        device = device + part.unshared * engine.unshared_kv_share
    if engine.repeated_kv_share:
        device = device + part.repeated * engine.repeated_kv_share
    if engine.launch_s:
        device = joined_s(device, part.launches * engine.launch_s, sharpness=UNIT_SHARPNESS)
    return (device + engine.host_s + sequences * engine.host_per_sequence_s) * engine.step_share


def floors_s(part: Parts, engine: Engine) -> Number:
    """What an engine leaves of the kernels' floors."""
    return part.floors * engine.floor_share + part.fp4_floors * engine.fp4_floor_share


def interval(engine: Engine, kind: str, requests: Number) -> tuple[Number, Number]:
    """Factors on an expected time that hold eight of ten measurements, with so many requests at once on a replica.

    kind    how the fields of values.calibration.Engine begin: "", "run_" or "first_", with experts "moe_" before it
    """
    low: Number = getattr(engine, f"{kind}low")
    high: Number = getattr(engine, f"{kind}high")
    if engine.busy is None:
        return low, high
    part = clipped((requests - FEW) / (MANY - FEW), 0.0, 1.0)
    busy_low, busy_high = getattr(engine.busy, f"{kind}low"), getattr(engine.busy, f"{kind}high")
    return low + (busy_low - low) * part, high + (busy_high - high) * part


def _launched_s(part: Parts, engine: Engine, expert_layers: int) -> Number:
    """What launching kernels one by one adds to a step."""
    if not engine.launch_s:
        return 0.0
    captured = msgspec.structs.replace(engine, launch_s=0.0)
    both = (step_s(part, one, sequences=0, expert_layers=expert_layers) for one in (engine, captured))
    return next(both) - next(both)


def engine_time(
    part: Parts,
    engine: Engine,
    *,
    sequences: Number,
    expert_layers: int,
    wider: float,
    fill: Number = 1,
    eager_s: Number = 0.0,
) -> Expected:
    """A step of these parts with its interval.

    wider       by how much the interval is wider than the engine's own
    fill        passes' worth of time the step takes (pipeline fill and drain)
    eager_s     without graphs: what launching all kernels one by one takes at least
    """
    seconds = step_s(part, engine, sequences=sequences, expert_layers=expert_layers) * fill
    share = fill * engine.step_share
    host = (engine.host_s + sequences * engine.host_per_sequence_s) * share
    waits = maximum(eager_s - seconds, 0)
    seconds, host = seconds + waits, host + waits
    low, high = interval(engine, "moe_" if expert_layers else "", sequences)
    return Expected(
        seconds=seconds + part.host * fill,
        low=seconds * low / wider + part.host_low * fill,
        high=seconds * high * wider + part.host_high * fill,
        host=host,
        link_s=part.link * engine.link_share * share,
        experts_s=(part.experts * (engine.expert_share - 1) + expert_layers * engine.expert_layer_s) * share,
        floors_s=floors_s(part, engine) * share,
        reads_s=(part.unshared * engine.unshared_kv_share + part.repeated * engine.repeated_kv_share) * share,
        launched_s=_launched_s(part, engine, expert_layers) * fill,
        places_s=part.host * fill,
        places_rated_s=part.host_rated * fill,
        places_low_s=part.host_low * fill,
        places_high_s=part.host_high * fill,
        host_measured=engine.measured("host_s", "host_per_sequence_s"),
        experts_measured=engine.measured("expert_share", "expert_layer_s"),
    )
