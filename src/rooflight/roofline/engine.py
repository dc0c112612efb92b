"""What an engine makes of a pass: its shares of the parts, and the host between steps.

In a step of a real engine floors overlap with the kernels before them (its floor_share of them is left), bodies do not.
"""

from __future__ import annotations

import msgspec

from rooflight.numeric import Number, maximum
from rooflight.roofline.expected import joined_s
from rooflight.values.calibration import Engine
from rooflight.values.steptime import Parts

# How sharply an engine's step turns from what memory allows to what its compute units draw.
UNIT_SHARPNESS = 4
# Host time a kernel we count takes where a framework launches it, several operators of 5 to 10 us each. transformers
# in 16 bits at batch 1 without a context: 53.8 to 55.5 us for Qwen3 of 1.7B, 4B, 14B and 32B on an H20 alike (Qwen3's
# speed page); 84 to 103 for four models on an A100 (Qwen's pages, prem), 43 to 59 in tinychat's tables.
EAGER_KERNEL_S = 54e-6


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


def step_s(part: Parts, engine: Engine, *, sequences: Number, expert_layers: int) -> Number:
    """Expected wall seconds of a step: an engine's shares of the parts, and the host.

    = p-norm(device, launches x launch_s) + host_s + sequences x host_per_sequence_s
    device = p-norm(body x body_share + experts x expert_share, unit_bytes x unit_byte_s) + floors x floor_share
      + link x link_share + unshared x unshared_kv_share + repeated x repeated_kv_share + expert_layers x expert_layer_s

    Source: fitted (calibration/fit_engines.py).
    """
    kernels = part.body * engine.body_share + part.experts * engine.expert_share
    if engine.unit_byte_s:
        kernels = joined_s(kernels, part.unit_bytes * engine.unit_byte_s, sharpness=UNIT_SHARPNESS)
    device = kernels + part.floors * engine.floor_share + expert_layers * engine.expert_layer_s
    device = device + part.link * engine.link_share
    if engine.unshared_kv_share:
        device = device + part.unshared * engine.unshared_kv_share
    if engine.repeated_kv_share:
        device = device + part.repeated * engine.repeated_kv_share
    if engine.launch_s:
        device = joined_s(device, part.launches * engine.launch_s, sharpness=UNIT_SHARPNESS)
    return device + engine.host_s + sequences * engine.host_per_sequence_s


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
    host = (engine.host_s + sequences * engine.host_per_sequence_s) * fill
    waits = maximum(eager_s - seconds, 0)
    seconds, host = seconds + waits, host + waits
    low, high = (engine.moe_low, engine.moe_high) if expert_layers else (engine.low, engine.high)
    return Expected(
        seconds=seconds + part.host * fill,
        low=seconds * low / wider + part.host_low * fill,
        high=seconds * high * wider + part.host_high * fill,
        host=host,
        link_s=part.link * engine.link_share * fill,
        experts_s=(part.experts * (engine.expert_share - 1) + expert_layers * engine.expert_layer_s) * fill,
        floors_s=part.floors * engine.floor_share * fill,
        reads_s=(part.unshared * engine.unshared_kv_share + part.repeated * engine.repeated_kv_share) * fill,
        launched_s=_launched_s(part, engine, expert_layers) * fill,
        places_s=part.host * fill,
        places_rated_s=part.host_rated * fill,
        places_low_s=part.host_low * fill,
        places_high_s=part.host_high * fill,
        host_measured=engine.measured("host_s", "host_per_sequence_s"),
        experts_measured=engine.measured("expert_share", "expert_layer_s"),
    )
