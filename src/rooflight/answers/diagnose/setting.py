"""Under whose roof recorded files are put: what was named, else what the files name."""

from __future__ import annotations

import msgspec

from rooflight.scenario.definite import Scenario
from rooflight.values.accelerator import Accelerator
from rooflight.values.model import Model
from rooflight.values.note import Note


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """The question beside the files; None: neither named nor told by them.

    given       fields of the question that the user stated; what files state is a default behind it
    scenario    of model and card together, None where one of them is missing or it cannot be run
    notes       what was taken from the files, and what could not be
    """

    model: Model | None = None
    card: Accelerator | None = None
    count: int | None = None
    scenario: Scenario | None = None
    given: frozenset[str] = frozenset()
    notes: tuple[Note, ...] = ()
