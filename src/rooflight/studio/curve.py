"""Decode steps of one card over the whole range of batches, as columns: the same numbers as `rooflight.sweep`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.memory import all_fit, largest_batch
from rooflight.serve.room import room
from rooflight.serve.turns import CAPACITY, Turn, turns
from rooflight.values.steptime import BINDING

LARGEST_DRAWN = 4096
# Drawn batches an octave: close enough for a smooth line.
_STEPS_AN_OCTAVE = 8


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """Decode steps of many batches, as columns.

    Times are null where the batch does not fit (unless asked anyway), and where no token is put out.
    turns: the batches from which on another resource binds. The largest batch that fits is among the batches.
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
    turns: tuple[Turn, ...] = ()


_STEPS = range(_STEPS_AN_OCTAVE * (LARGEST_DRAWN.bit_length() - 1) + 1)
BATCHES = tuple(sorted({round(2 ** (step / _STEPS_AN_OCTAVE)) for step in _STEPS}))


def curve(sc: Scenario) -> Curve:
    """Decode over the batch: one array expression a formula, the same numbers as `rooflight.sweep`."""
    batches = _batches(sc)
    decode, fits, bound = _steps(sc, batches)
    time, span = decode.time, decode.span
    load = sc.workload
    shown = (fits | sc.deployment.ignore_capacity).tolist()

    def listed(values: Any) -> list[float | None]:
        spread = np.broadcast_to(values, fits.shape).tolist()
        return [value if kept and load.osl else None for value, kept in zip(spread, shown, strict=True)]

    return Curve(
        batch=list(batches),
        fits=fits.tolist(),
        bound=bound,
        ceiling_s=listed(time.ceiling_s),
        roofline_s=listed(time.roofline_s),
        expected_s=listed(span.expected),
        low_s=listed(span.low),
        high_s=listed(span.high),
        intensity_flop_per_byte=(decode.work.flop / decode.work.moved_bytes).tolist(),
        flop=decode.work.flop.tolist(),
        turns=turns(list(zip(batches, bound, strict=True)), lambda batch: _steps(sc, [batch], bounds_only=True)[2][0]),
    )


def _batches(sc: Scenario) -> tuple[int, ...]:
    """The drawn ones, and the most that fit."""
    if sc.accelerator.given_bytes is None:
        return BATCHES
    one = msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, batch=1))
    most = int(largest_batch(sc, room(one)))
    return tuple(sorted({*BATCHES, *([most] if 1 <= most <= LARGEST_DRAWN else [])}))


def _steps(
    sc: Scenario, batches: Sequence[int], *, bounds_only: bool = False
) -> tuple[phases.PhaseTime, np.ndarray[Any, Any], list[str]]:
    """The decode steps, whether they fit, and what binds."""
    load = msgspec.structs.replace(sc.workload, batch=np.asarray(batches, dtype=np.float64))
    many = msgspec.structs.replace(sc, workload=load)
    decode = phases.decode(many, bounds_only=bounds_only)
    fits = all_fit(many, room(many))
    bound = np.broadcast_to(decode.time.bound, fits.shape).tolist()
    shown = (fits | sc.deployment.ignore_capacity).tolist()
    return decode, fits, [BINDING[one] if kept else CAPACITY for one, kept in zip(bound, shown, strict=True)]
