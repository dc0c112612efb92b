"""Decode steps of one card over the whole range of batches, as columns: the same numbers as `rooflight.sweep`."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.memory import all_fit
from rooflight.serve.room import room
from rooflight.values.steptime import BINDING

LARGEST_DRAWN = 4096
# Drawn batches an octave: close enough for a smooth line.
_STEPS_AN_OCTAVE = 8


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """Decode steps of many batches, as columns.

    Times are null where the batch does not fit (unless asked anyway), and where no token is put out.
    """

    batch: list[int]
    fits: list[bool]
    bound: list[str]
    ceiling_s: list[float | None]
    roofline_s: list[float | None]
    expected_s: list[float | None]
    low_s: list[float | None]
    high_s: list[float | None]
    intensity_flop_per_byte: list[float]
    flop: list[float]


_STEPS = range(_STEPS_AN_OCTAVE * (LARGEST_DRAWN.bit_length() - 1) + 1)
BATCHES = tuple(sorted({round(2 ** (step / _STEPS_AN_OCTAVE)) for step in _STEPS}))


def curve(sc: Scenario) -> Curve:
    """Decode over the batch: one array expression a formula, the same numbers as `rooflight.sweep`."""
    load = msgspec.structs.replace(sc.workload, batch=np.asarray(BATCHES, dtype=np.float64))
    many = msgspec.structs.replace(sc, workload=load)
    decode = phases.decode(many)
    time, span = decode.time, decode.span
    fits = all_fit(many, room(many))
    shown = (fits | sc.deployment.ignore_capacity).tolist()

    def listed(values: Any) -> list[float | None]:
        spread = np.broadcast_to(values, fits.shape).tolist()
        return [value if kept and load.osl else None for value, kept in zip(spread, shown, strict=True)]

    return Curve(
        batch=list(BATCHES),
        fits=fits.tolist(),
        bound=[BINDING[one] if kept else "capacity" for one, kept in zip(time.bound.tolist(), shown, strict=True)],
        ceiling_s=listed(time.ceiling_s),
        roofline_s=listed(time.roofline_s),
        expected_s=listed(span.expected),
        low_s=listed(span.low),
        high_s=listed(span.high),
        intensity_flop_per_byte=(decode.work.flop / decode.work.moved_bytes).tolist(),
        flop=decode.work.flop.tolist(),
    )
