"""Levels of memory: what is known of caches, host links and host memory, and what fits where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Prose, Table
from rooflight.values.accelerator import LevelRoof
from rooflight.values.analysis import Analysis, Phase

# Formats that a card's own page names, where it multiplies in them.
_USUAL = ("bf16", "fp16", "fp8", "int8", "fp4")
_MOST_NAMED = 8
_ONCE = (
    "What lies in a cache is read at the cache's rate, if something brought it there before. No ceiling above counts "
    "on that but by the rule of the last-level cache."
)


class Rated(Protocol):
    """A device's own memory and its levels, as documents show them."""

    @property
    def memory_bytes(self) -> float | None: ...
    @property
    def memory_bytes_per_s(self) -> float | None: ...
    @property
    def ridge_flop_per_byte(self) -> dict[str, float]: ...
    @property
    def levels(self) -> tuple[LevelRoof, ...]: ...


def level_table(card: Rated, forms: Sequence[str] = ()) -> Table:
    """One device's levels among its own memory, the fastest first, with the ridge points of number formats."""
    known = [form for form in forms or _USUAL if form in card.ridge_flop_per_byte]
    heads = ("level", "holds", "rate", "from", *(f"ridge\n{form}" for form in known))
    rows = [(level.bytes_per_s, _row(level, known)) for level in card.levels]
    if card.memory_bytes_per_s is not None:
        size = numbers.amount(card.memory_bytes, "B")
        rate = numbers.amount(card.memory_bytes_per_s, "B/s")
        ridges = (numbers.plain(card.ridge_flop_per_byte[form]) for form in known)
        rows.append((card.memory_bytes_per_s, ("its memory", size, rate, "", *ridges)))
    rows.sort(key=lambda row: -row[0])
    title = "Levels of memory of one device, with the ridge point of each in FLOP/byte:"
    return Table(title=title, heads=heads, left=("level", "from"), whole=("level",), rows=tuple(row for _, row in rows))


def level_blocks(analysis: Analysis) -> list[Block]:
    """The table, what of each phase fits which cache; a line where no level is known."""
    card = analysis.accelerator
    if not card.levels:
        return [Prose(f"Levels: no source gives the rate of a cache of {card.id}, nor of what joins it to its host.")]
    used = dict.fromkeys(form for phase in analysis.phases.values() for form in phase.flop_by_format)
    shown: list[Block] = [level_table(card, tuple(used))]
    fits = tuple(line for name, phase in analysis.phases.items() for line in _fits(analysis, name, phase))
    if fits:
        shown += [Bullets("What fits a cache:", fits), Prose(_ONCE, "note")]
    return shown


def _row(level: LevelRoof, forms: Sequence[str]) -> tuple[str, ...]:
    size = "" if level.bytes is None else numbers.amount(level.bytes, "B")
    if size and not level.shared:
        size += "\nin parts"
    ridges = (numbers.plain(level.ridge_flop_per_byte.get(form)) for form in forms)
    return (level.name, size, numbers.amount(level.bytes_per_s, "B/s"), level.kind, *ridges)


def _fits(analysis: Analysis, name: str, phase: Phase) -> Iterator[str]:
    """Of a phase: the fastest cache that holds a whole step of a device, else one for single kernels."""
    count = analysis.accelerator.count
    whole = phase.bytes.total / count
    level = _holding(analysis.accelerator.levels, whole)
    if level is not None:
        least = numbers.seconds(whole / level.bytes_per_s)
        yield (
            f"{name}: a step moves {numbers.amount(whole, 'B')} on a device, less than {_said(level)}; out of it that "
            f"is {least}"
        )
        return
    runs = sorted(((op.bytes / op.count / count, op.name) for op in phase.operators if op.bytes), reverse=True)
    found: dict[str, dict[str, None]] = {}
    for moved, kernel in runs:
        held = _holding(analysis.accelerator.levels, moved)
        if held is not None:
            found.setdefault(_said(held), {})[kernel] = None
    for cache, kernels in found.items():
        named = list(kernels)
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        yield f"{name}: one run of {', '.join(named[:_MOST_NAMED])}{more} moves less than {cache}"


def _holding(levels: Sequence[LevelRoof], size: float) -> LevelRoof | None:
    """The fastest cache that all of a device reaches and that holds so many bytes."""
    return next((one for one in levels if one.place == "cache" and one.shared and size <= (one.bytes or 0)), None)


def _said(level: LevelRoof) -> str:
    return f"{level.name} holds ({numbers.amount(level.bytes, 'B')} at {numbers.amount(level.bytes_per_s, 'B/s')})"
