"""A whole sweep, its steps or its runs: the page, rows and document that the command line gives block by block."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from typing import Any

import msgspec

from rooflight.serve.sweep import Part
from rooflight.show import runs, sweep
from rooflight.show.blocks import Block
from rooflight.show.data import Rows, csv_text, json_texts
from rooflight.words.sweep import Sweep


def blocks(swept: Sweep) -> list[Block]:
    """The page: rows are thinned evenly."""
    head = sweep.summary(swept, swept.model)
    if swept.schedule is not None:
        return runs.blocks(swept.runs(), head)
    return sweep.blocks(swept, head, ignore_capacity=swept.ignore_capacity)


def rows(swept: Sweep) -> Rows:
    """Every point, or run, for CSV."""
    if swept.schedule is not None:
        return runs.flat_rows(runs.rows(swept.runs()))
    return sweep.flat_rows(sweep.rows(swept, ignore_capacity=swept.ignore_capacity))


def document(swept: Sweep) -> dict[str, Any]:
    """rooflight.sweep/1 with all its rows."""
    stream, head = StringIO(), sweep.summary(swept, swept.model)
    sweep.write_json(stream, head, (written(swept, "json", part)[0] for part in swept.parts()))
    result: dict[str, Any] = msgspec.json.decode(stream.getvalue())
    return result


def written(swept: Sweep, form: str, part: Part) -> tuple[str, bool]:
    """(the rows of a part as CSV or JSON without what stands around them, whether one of them fits).

    Processes make them beside each other.
    """
    if swept.schedule is not None:
        run = swept.run(part)
        told = list(runs.rows([run]))
        return _text(form, told, runs.flat_rows(told)), bool(run.holds.any())
    block = swept.block(part)
    points = list(sweep.rows([block], ignore_capacity=swept.ignore_capacity))
    return _text(form, points, sweep.flat_rows(points)), bool(block.fits.any())


def _text(form: str, some: Iterable[msgspec.Struct], flat: Rows) -> str:
    return csv_text(flat.rows) if form == "csv" else ",\n".join(json_texts(some))
