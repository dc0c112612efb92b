"""Your own calibration, which a studio may be started with: of all scenarios what is expected is by that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from rooflight.values.own import OwnCalibration

Value = TypeVar("Value")


class Own(msgspec.Struct, frozen=True):
    """A calibration, and the file that it is of as whoever started the studio named it."""

    file: str
    calibration: OwnCalibration


class _Held:
    """What this process answers with; it is the same for as long as its server runs."""

    own: Own | None = None


def own() -> Own | None:
    """The calibration that the studio was started with; None for none."""
    return _Held.own


def under(given: Own | None, work: Callable[..., Value], *args: object) -> Value:
    """The value of a function, in this process, with a calibration."""
    _Held.own = given
    return work(*args)
