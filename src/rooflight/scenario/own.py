"""Your own calibration in a question: what is said of it, and the same question without it."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.values.accelerator import Accelerator
from rooflight.values.calibration import Engine
from rooflight.values.deployment import Deployment
from rooflight.values.model import Model
from rooflight.values.note import Note
from rooflight.values.own import OwnEntry


def own_notes(
    model: Model, accelerator: Accelerator, deployment: Deployment, engine: Engine, entry: OwnEntry | None
) -> Iterator[Note]:
    """What your own calibration does here, or that none of its entries is of this engine and accelerator."""
    own = deployment.calibration
    if own is None:
        return
    if entry is None:
        others = tuple((one.engine, one.era, one.accelerator) for one in own.entries)
        yield Note(key="own_unused", value=(engine.full_id, engine.era, others), why=accelerator.id)
        return
    of = entry.of(model.id)
    shifts = tuple((name, factor) for name, factor in of.factors.items() if factor != 1)
    yield Note(key="own_calibration", value=(own.date, engine.full_id, entry, shifts), why=accelerator.id)
    if not of.model:
        yield Note(key="own_other_models", value=tuple(one.model for one in entry.models), why=model.id)
