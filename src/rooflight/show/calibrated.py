"""Your own calibration: its page, its rows, and its file. The JSON and the file are rooflight.calibration/1."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.show import numbers, toml
from rooflight.show.blocks import Block, Bullets, Prose, Table
from rooflight.show.data import Rows, flat, rows_of
from rooflight.values.own import QUANTITIES, LeftOut, OwnCalibration, OwnEntry, Shifts
from rooflight.words import calibrate as words
from rooflight.words.own import TIMES, engine

# Rows that are left out and listed one by one.
_LISTED = 20
# And in the file, which nothing that reads it makes use of: a line of 100,000 more would make it too large to be read.
_FILED = 1000


def blocks(found: OwnCalibration) -> list[Block]:
    """The sentence; of every entry its factors and its errors; what was left out."""
    shown: list[Block] = [Prose(found.answer, "answer")]
    for one in found.entries:
        if len(found.entries) > 1:
            shown.append(Prose(f"{words.entry(one)}."))
        shown += [_factors(one), _errors(one)]
    shown.append(Prose(
        "Factor: on the expected time. Low, high: of that, eight times of ten. Before, after: |expected - measured| / "
        "measured in the median; after: each row by factors from the other runs. No ceiling and no roofline time "
        "changes.", "note",
    ))  # fmt: skip
    if found.left_out:
        lines = tuple(map(_left, found.left_out[:_LISTED]))
        more = len(found.left_out) - _LISTED
        shown.append(Bullets("Left out:", (*lines, f"and {more:,} more") if more > 0 else lines))
    return [*shown, Bullets("Noted:", found.notes)] if found.notes else shown


def _factors(one: OwnEntry) -> Table:
    heads = ("model", "of", "factor", "low", "high", "rows")
    made = [
        (of.model or "other models", TIMES[name], *_shift(of, name)) for of in (*one.models, one.others)
        for name in QUANTITIES if of.model == "" or getattr(of, name).rows
    ]  # fmt: skip
    title = f"{engine(one.engine)} ({one.era}) on {one.accelerator}"
    return Table(title=title, heads=heads, left=("model", "of"), rows=tuple(made))


def _shift(of: Shifts, name: str) -> tuple[str, str, str, str]:
    shift = getattr(of, name)
    factor = "" if name == "request" else numbers.plain(shift.factor)
    return factor, numbers.plain(shift.low), numbers.plain(shift.high), str(shift.rows or "")


def _errors(one: OwnEntry) -> Table:
    heads = ("rows of", "rows", "before", "after", "inside\nbefore", "inside\nafter")
    made = tuple(
        (TIMES.get(row.of, "all"), str(row.rows), words.off(row.before), words.off(row.after), words.off(row.inside),
         words.off(row.inside_after))
        for row in one.errors
    )  # fmt: skip
    return Table(heads=heads, left=("rows of",), rows=made)


def _left(one: LeftOut) -> str:
    value = "" if one.value is None else f" {one.metric} {numbers.plain(one.value)}"
    return f"line {one.line:,}, {one.model} on {one.accelerator}{value}: {one.reason}"


def rows(found: OwnCalibration) -> Rows:
    """A row an entry, model and quantity."""
    made = []
    for one in found.entries:
        same = {"engine": one.engine, "era": one.era, "accelerator": one.accelerator}
        for of in (*one.models, one.others):
            for name in QUANTITIES:
                shift = msgspec.to_builtins(getattr(of, name))
                error = next((row for row in one.errors if row.of == name), None)
                errors = {part: None if error is None else getattr(error, part) for part in ("before", "after")}
                made.append(flat({**same, "model": of.model, "of": name, **shift, **errors}))
    return rows_of(made)


def document(found: OwnCalibration) -> dict[str, Any]:
    """The JSON document."""
    told: dict[str, Any] = msgspec.to_builtins(found)
    return told


def file(found: OwnCalibration) -> str:
    """What --calibration takes."""
    more = len(found.left_out) - _FILED
    if more > 0:
        notes = (*found.notes, f"{more:,} more rows count for nothing: --json names them all")
        found = msgspec.structs.replace(found, left_out=found.left_out[:_FILED], notes=notes)
    return toml.text(document(found))
