"""A whole sweep, its steps or its runs: the page, rows and document that the command line gives block by block."""

from __future__ import annotations

from io import StringIO
from typing import Any

import msgspec

from rooflight.show import runs, sweep
from rooflight.show.blocks import Block
from rooflight.show.data import Rows
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
    written, head = StringIO(), sweep.summary(swept, swept.model)
    if swept.schedule is not None:
        sweep.write_json(written, head, runs.rows(swept.runs()))
    else:
        sweep.write_json(written, head, sweep.rows(swept, ignore_capacity=swept.ignore_capacity))
    result: dict[str, Any] = msgspec.json.decode(written.getvalue())
    return result
