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
    host_measured, experts_measured     whether rows set the coefficients behind them, so that they name a cause
    """

    seconds: Number
    low: Number
    high: Number
    host: Number
    link_s: Number
    experts_s: Number
    floors_s: Number = 0.0
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

    = p-norm(body x body_share + experts x expert_share, unit_bytes x unit_byte_s) + floors x floor_share + link
      + expert_layers x expert_layer_s + host_s + sequences x host_per_sequence_s

    Source: fitted (calibration/fit_engines.py).
    """
    kernels = part.body * engine.body_share + part.experts * engine.expert_share
    if engine.unit_byte_s:
        kernels = joined_s(kernels, part.unit_bytes * engine.unit_byte_s, sharpness=UNIT_SHARPNESS)
    host = engine.host_s + sequences * engine.host_per_sequence_s
    return kernels + part.floors * engine.floor_share + part.link + expert_layers * engine.expert_layer_s + host


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
        link_s=part.link * fill,
        experts_s=(part.experts * (engine.expert_share - 1) + expert_layers * engine.expert_layer_s) * fill,
        floors_s=part.floors * engine.floor_share * fill,
        places_s=part.host * fill,
        places_rated_s=part.host_rated * fill,
        places_low_s=part.host_low * fill,
        places_high_s=part.host_high * fill,
        host_measured=engine.measured("host_s", "host_per_sequence_s"),
        experts_measured=engine.measured("expert_share", "expert_layer_s"),
    )
