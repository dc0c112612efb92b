"""The rows of a part of a sweep as text, which processes make beside each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from rooflight.show import runs
from rooflight.show import sweep as steps
from rooflight.show.data import Rows, csv_text, json_texts

if TYPE_CHECKING:
    from rooflight.serve.sweep import Part
    from rooflight.words.sweep import Sweep


def written(sweep: Sweep, form: str, ignore_capacity: bool, part: Part) -> tuple[str, bool]:
    """(the rows of a part as CSV or JSON without what stands around them, whether one of them fits)."""
    if sweep.schedule is not None:
        run = sweep.run(part)
        told = list(runs.rows([run]))
        return _text(form, told, runs.flat_rows(told)), bool(run.holds.any())
    block = sweep.block(part)
    points = list(steps.rows([block], ignore_capacity=ignore_capacity))
    return _text(form, points, steps.flat_rows(points)), bool(block.fits.any())


def _text(form: str, rows: Iterable[msgspec.Struct], flat: Rows) -> str:
    return csv_text(flat.rows) if form == "csv" else ",\n".join(json_texts(rows))
