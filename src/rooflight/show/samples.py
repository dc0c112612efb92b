"""Stored samples as text, rows and a document: what a file holds, and two side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Prose, Table
from rooflight.show.data import Rows, flat, rows_of
from rooflight.show.kernels import sizes
from rooflight.units import round_significant, scaled
from rooflight.values.sample import Sample, Timing
from rooflight.values.samples import Kind, Samples, Stored
from rooflight.words.samples import PLURALS

# Lines that are no samples, said one by one.
_LOST = 5


def blocks(found: Samples) -> list[Block]:
    """The sentence, what could not be read, then a table for each kind of measurement."""
    shown: list[Block] = [Prose(found.answer, "answer")]
    shown += [Prose(f"Warning: {line}", "warning") for file in found.files for line in warnings(file)]
    for title, some in _loads(found.kinds).items():
        shown.append(_one(title, some) if len(found.files) == 1 else _two(title, some))
    if len(found.files) > 1:
        names = tuple(f"{place}: {file.source}, {_about(file)}" for place, file in zip("12", found.files, strict=False))
        shown.append(Bullets("Files; 2 / 1 is how many times as fast the second is:", names))
    else:
        shown.append(Bullets("Measured with:", (_about(found.files[0]),)))
    return shown


def warnings(file: Stored) -> Iterator[str]:
    """What could not be read of a file, the first lines one by one."""
    yield from file.notes
    for one in file.lost[:_LOST]:
        yield f"{file.source}, line {one.line:,}: {one.why}"
    if len(file.lost) > _LOST:
        yield f"{file.source}: nor are {len(file.lost) - _LOST:,} more lines samples"


def _about(file: Stored) -> str:
    """Devices, libraries, threads and dates of a file."""
    parts: dict[str, None] = {}
    for one in file.samples:
        machine = one.machine
        parts |= dict.fromkeys([one.device] if one.device else [])
        if machine is not None:
            parts |= dict.fromkeys(f"{name} {version}" for name, version in machine.versions.items())
            parts |= dict.fromkeys([f"driver {machine.driver}"] if machine.driver else [])
            parts |= dict.fromkeys([f"threads: {machine.threads}"] if machine.threads else [])
        parts |= dict.fromkeys([one.start[:10]] if one.start else [])
    return ", ".join(parts) or "nothing is said of the machine"


def _loads(kinds: Sequence[Kind]) -> dict[str, list[Kind]]:
    """Things of one kind and load under their title."""
    found: dict[str, list[Kind]] = {}
    for one in kinds:
        at = one.sample
        said = {"batch": at.batch, "isl": at.isl, "osl": at.osl, "context": at.context}
        if at.kind == "request":  # each has lengths of its own
            said = {"in flight": at.batch}
        parts = [PLURALS[at.kind].capitalize(), *([at.model] if at.model else [])]
        parts += [f"{name} {value:,.15g}" for name, value in said.items() if value is not None]
        found.setdefault(f"{', '.join(parts)}:", []).append(one)
    return found


def _name(one: Sample) -> str:
    """As its operator with its sizes, else as its tool calls it."""
    shape = sizes(one.shape)
    if one.operator and shape:
        return f"{one.operator} {shape} {one.format or ''}".rstrip()
    if one.kind == "bandwidth" and one.bytes:  # of one pass: its working set
        return f"{one.name}, {scaled(one.bytes, 'B')}"
    return one.name if one.outcome is None else f"{one.name}: {one.outcome}"


def _spread(time_s: Timing | None) -> str:
    return "" if time_s is None or time_s.n == 1 else numbers.percent(time_s.spread / 2)


def _one(title: str, some: Sequence[Kind]) -> Table:
    return Table(
        title=title, heads=("what", "runs", "time", "±", "FLOP/s", "B/s", "tok/s"), left=("what",),
        rows=tuple(
            (
                _name(one.sample),
                f"{one.samples if one.first is None else one.first.n:,}",
                numbers.seconds(one.first.median if one.first else None),
                _spread(one.first),
                _rate(one.sample.flop, one, "FLOP/s"),
                _rate(one.sample.bytes, one, "B/s"),
                numbers.plain(one.sample.tokens_per_s) if one.samples == 1 else "",
            )
            for one in some
        ),
    )  # fmt: skip


def _rate(amount: float | None, one: Kind, base: str) -> str:
    """An amount of one run over its time; blank where either is not known."""
    time_s = one.first or one.second
    if not amount or time_s is None or not time_s.median:
        return ""
    return numbers.amount(amount * one.sample.runs / time_s.median, base)


def _two(title: str, some: Sequence[Kind]) -> Table:
    return Table(
        title=title, heads=("what", "1", "±", "2", "± ", "2 / 1", "differ"), left=("what", "differ"),
        rows=tuple(
            (
                _name(one.sample),
                numbers.seconds(one.first.median if one.first else None),
                _spread(one.first),
                numbers.seconds(one.second.median if one.second else None),
                _spread(one.second),
                "" if one.ratio is None else round_significant(one.ratio),
                "" if one.differs is None else "yes" if one.differs else "no",
            )
            for one in some
        ),
    )  # fmt: skip


def rows(found: Samples) -> Rows:
    """One file: a sample a row, all its fields. Two: a thing a row, with its times in both."""
    if len(found.files) == 1:
        return rows_of([flat(_plain(one)) for one in found.files[0].samples])
    made = []
    for one in found.kinds:
        fields = msgspec.to_builtins(one)
        sample = _plain(one.sample)
        sample.pop("time_s")
        made.append(flat({**fields, "sample": sample}))
    return rows_of(made)


def _plain(one: Sample) -> dict[str, Any]:
    """A sample for a row: its sizes in one column."""
    fields: dict[str, Any] = msgspec.to_builtins(one)
    fields["shape"] = sizes(one.shape)
    return fields
