"""A measured machine: rooflight.measure/1, its page, and the accelerator's file it makes."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.show import numbers, toml
from rooflight.show.blocks import Block, Bullets, Prose, Table
from rooflight.show.data import Rows, rows_of
from rooflight.units import whole
from rooflight.values.accelerator import Accelerator
from rooflight.values.machine import Machine
from rooflight.values.measured import Rate
from rooflight.values.sample import MachineState, Sample
from rooflight.words import measure as words

SCHEMA = "rooflight.measure/1"
_SOURCE = "measured"
_CALLS = ("launch", "host-link", "link")
_CALL_NAMES = {
    "eager": "a call", "graph": "a call in a graph", "up": "host to device", "down": "device to host",
}  # fmt: skip


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """A plateau: the largest working set on it, and the rate there."""

    name: str
    bytes: float | None
    bytes_per_s: float


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """What the datasheet of the same device says."""

    id: str
    memory_bytes_per_s: float | None
    peak_flop_per_s: dict[str, float]
    last_level_cache_bytes: float | None


class Page(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag=SCHEMA):
    """The document. Rates are medians; `rates` has all of each: low, high, best, the kernel."""

    answer: str
    device: str
    name: str
    kind: str
    memory_bytes_per_s: float | None
    levels: tuple[Level, ...]
    peak_flop_per_s: dict[str, float]
    ridge_flop_per_byte: dict[str, float]
    launch_s: dict[str, float]
    host_link_bytes_per_s: dict[str, float]
    link_bytes_per_s: float | None
    detour_flop_per_s: dict[str, float]
    memory_bytes: float | None
    compute_units: float | None
    last_level_cache_bytes: float | None
    datasheet: Beside | None
    command: str
    date: str
    complete: bool
    state: MachineState
    notes: tuple[str, ...]
    rates: tuple[Rate, ...]
    samples: tuple[Sample, ...]


def page(machine: Machine) -> Page:
    """The document of a machine."""
    measured, memory = machine.measured, machine.memory
    return Page(
        answer=words.answer(machine),
        device=measured.device,
        name=machine.name,
        kind=machine.kind,
        memory_bytes_per_s=None if memory is None else memory.median,
        levels=tuple(Level(name=one.name, bytes=one.bytes, bytes_per_s=one.median) for one in measured.of("level")),
        peak_flop_per_s={name: one.median for name, one in machine.peaks.items()},
        ridge_flop_per_byte=machine.ridges,
        launch_s={one.name: one.median for one in measured.of("launch")},
        host_link_bytes_per_s=_best(measured.of("host-link")),
        link_bytes_per_s=max((one.median for one in measured.of("link")), default=None),
        detour_flop_per_s=machine.detours,
        memory_bytes=machine.memory_bytes,
        compute_units=machine.compute_units,
        last_level_cache_bytes=machine.last_level_cache_bytes,
        datasheet=_beside(machine.datasheet),
        command=measured.command,
        date=measured.date,
        complete=measured.complete,
        state=measured.state,
        notes=words.notes(machine),
        rates=measured.rates,
        samples=machine.samples,
    )


def _best(rates: tuple[Rate, ...]) -> dict[str, float]:
    """The median of the faster way under each name."""
    found: dict[str, float] = {}
    for one in rates:
        found[one.name] = max(one.median, found.get(one.name, 0.0))
    return found


def _beside(card: Accelerator | None) -> Beside | None:
    if card is None:
        return None
    return Beside(
        id=card.id, memory_bytes_per_s=card.memory_bytes_per_s, peak_flop_per_s=card.peak_flop_per_s,
        last_level_cache_bytes=card.last_level_cache_bytes,
    )  # fmt: skip


def document(machine: Machine) -> dict[str, Any]:
    """The document, as Python values."""
    result: dict[str, Any] = msgspec.to_builtins(page(machine))
    return result


def rows(machine: Machine) -> Rows:
    """A row of CSV for each rate."""
    return rows_of([msgspec.to_builtins(one) for one in machine.measured.rates])


def blocks(machine: Machine) -> list[Block]:
    """Sentence, memory and caches, arithmetic, calls and links, and how it was measured."""
    measured, sheet = machine.measured, machine.datasheet
    shown: list[Block] = [Prose(words.answer(machine), "answer")]
    levels = (*measured.of("level"), *measured.of("memory"))
    if levels:
        printed = None if sheet is None else sheet.memory_bytes_per_s
        shown.append(_table("Memory and caches:", "kernel", tuple(_level_row(one, printed) for one in levels), sheet))
    if machine.peaks:
        shown.append(_table("Arithmetic:", "kernel", tuple(_peak_row(one, machine) for one in machine.peaks.values()),
                            sheet, "ridge\nFLOP/byte"))  # fmt: skip
    calls = tuple(one for one in measured.rates if one.what in _CALLS)
    if calls:
        shown.append(_table("Calls and links:", "by", tuple(_call_row(one) for one in calls), None))
    shown.append(Bullets("How it was measured:", words.notes(machine)))
    return shown


def _table(title: str, by: str, rows: tuple[tuple[str, ...], ...], sheet: Accelerator | None, *more: str) -> Table:
    """With a column beside for the datasheet, where it is known."""
    heads = ("", "median", "8 of 10 runs", "best", *more, *((f"of {sheet.id}'s\ndatasheet",) if sheet else ()), by)
    width = len(heads)
    return Table(
        title=title, heads=heads, left=("", by), whole=("", "8 of 10 runs"),
        rows=tuple((*row[: width - 1], row[-1]) for row in rows),
    )  # fmt: skip


def _level_row(one: Rate, printed: float | None) -> tuple[str, ...]:
    name = "memory" if one.what == "memory" else f"{one.name}, to {numbers.amount(one.bytes, 'B')}"
    share = numbers.percent(one.median / printed) if printed and one.what == "memory" else ""
    by = f"{one.name}, {one.by}" if one.what == "memory" else one.by
    return (name, *_spread(one, "B/s"), *((share,) if printed is not None else ()), by)


def _peak_row(one: Rate, machine: Machine) -> tuple[str, ...]:
    ridge = numbers.plain(machine.ridges.get(one.name))
    sheet = machine.datasheet
    printed = None if sheet is None else sheet.peak_flop_per_s.get(one.name)
    share = (numbers.percent(one.median / printed) if printed else "",) if sheet is not None else ()
    return (one.name, *_spread(one, "FLOP/s"), ridge, *share, one.by)


def _call_row(one: Rate) -> tuple[str, ...]:
    unit = "s" if one.what == "launch" else "B/s"
    return (_CALL_NAMES.get(one.name, one.name), *_spread(one, unit), one.by)


def _spread(one: Rate, unit: str) -> tuple[str, str, str]:
    low, high = numbers.amount(one.low, unit), numbers.amount(one.high, unit)
    return numbers.amount(one.median, unit), f"{low} to {high}", numbers.amount(one.best, unit)


def machine_file(machine: Machine) -> str:
    """The accelerator's file: what was read as facts, what was timed under [measured]."""
    measured = machine.measured
    facts = (
        ("memory-driver", machine.memory_bytes, "B"), ("compute-units", machine.compute_units, None),
        ("last-level-cache", machine.last_level_cache_bytes, "B"),
    )  # fmt: skip
    return toml.text(
        {
            "id": machine.id, "name": machine.name, "vendor": machine.vendor, "family": machine.family,
            "kind": machine.kind,
            "fact": [
                {"what": what, "value": whole(value), "unit": unit, "source": _SOURCE,
                 "where": f"as the system tells it: {measured.command}", "read": measured.date[: len("2026-11")]}
                for what, value, unit in facts if value is not None
            ],
            "measured": msgspec.to_builtins(measured),
        }
    )  # fmt: skip
