"""The Python front door to your own calibration."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from rooflight.library.checks import said_of
from rooflight.library.questions import by_name
from rooflight.values.accelerator import Accelerator
from rooflight.values.model import Model
from rooflight.values.question import NOT_CLAIMED, ClaimFields

if TYPE_CHECKING:
    from rooflight.values.own import OwnCalibration
    from rooflight.values.recorded import Recorded


@partial(by_name, without=NOT_CLAIMED)
def calibrate(
    source: str | Path | Recorded | Mapping[str, Any] | Iterable[Mapping[str, Any]],
    *,
    configs: Iterable[str | Path] = (),
    model: str | Path | Model | None = None,
    on: str | Accelerator | None = None,
    date: str | None = None,
    **fields: Unpack[ClaimFields],
) -> OwnCalibration:
    """Your own calibration: what measured rows shift and narrow of what is expected of their engine and accelerator.

    The rows are what `check` takes, a CSV file, mappings or a benchmark's results; what may be said beside results is
    the same. What it returns goes wherever `calibration` is an argument, as does the file that `rooflight calibrate`
    writes. No ceiling and no roofline time changes by it. `date` is today's where it is left out.

    Raises BadInput or BadConfig as check does, and BadInput where no row counts.
    """
    from rooflight.words.calibrate import calibration

    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat() if date is None else date
    return calibration(source, configs=configs, said=said_of(model, on, fields), date=today)
