"""What an answer says of a measured machine: what was seen there, and what its datasheet would allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from rooflight.catalog.accelerators import shipped
from rooflight.errors import RooflightError
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.values.analysis import DatasheetBlock, LevelBlock, MeasuredBlock

_PHASES: dict[str, Callable[..., phases.PhaseTime]] = {
    "prefill": phases.prefill, "decode": phases.decode, "verify": phases.verify, "mixed": phases.mixed,
    "draft": phases.draft,
}  # fmt: skip


def measured_block(sc: Scenario, shown: Iterable[str]) -> MeasuredBlock | msgspec.UnsetType:
    """How the machine was measured; unset where it is a datasheet's. shown: the phases that are answered."""
    card, found = sc.accelerator, sc.accelerator.measured
    if found is None:
        return msgspec.UNSET
    levels = (LevelBlock(name=one.name, bytes=one.bytes, bytes_per_s=one.median) for one in found.of("level"))
    return MeasuredBlock(
        device=found.device, date=found.date, command=found.command, complete=found.complete,
        fastest_memory_bytes_per_s=card.fast_memory_bytes_per_s, fastest_flop_per_s=card.fast_flop_per_s,
        levels=tuple(levels), datasheet=_datasheet(sc, found.datasheet, shown),
    )  # fmt: skip


def _datasheet(sc: Scenario, name: str | None, shown: Iterable[str]) -> DatasheetBlock | None:
    """The entry, and the ceilings of the same question on it."""
    from rooflight.catalog.measured import is_part

    sheet = None if name is None else shipped(name)
    if sheet is None:
        return None
    ceilings: dict[str, float | None] = dict.fromkeys(shown)
    try:
        # an engine's fit is of no matter to a ceiling, and may be of the measured machine alone
        same = changed(sc, accelerator=sheet, engine=None, engine_version=None)
        for phase in ceilings:
            if not (same.unrated and phase in ("prefill", "mixed")):
                ceilings[phase] = float(_PHASES[phase](same, bounds_only=True).time.ceiling_s)
    except RooflightError:
        ceilings = dict.fromkeys(ceilings)  # such as a bandwidth nobody published
    return DatasheetBlock(
        id=sheet.id, whole=not is_part(sc.accelerator, sheet), memory_bytes_per_s=sheet.memory_bytes_per_s,
        peak_flop_per_s=sheet.peak_flop_per_s, ceilings_s=ceilings,
    )  # fmt: skip
