"""What is given to judge, opened: a file of rows, rows themselves, or what a benchmark recorded; one door to all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rooflight.answers.check.names import Names
from rooflight.answers.check.outcome import Judged, NoCeiling
from rooflight.answers.check.recorded import Said, rows_of
from rooflight.answers.check.report import judged_rows
from rooflight.errors import BadInput, Named
from rooflight.ingest.rows import RowLike, given_rows, open_measured, table_rows
from rooflight.ingest.table import Table
from rooflight.values.measurement import Measurement
from rooflight.values.own import OwnCalibration
from rooflight.values.recorded import Recorded

# Entries of a calibration that are named.
_FEW = 3


class OpenedRows(NamedTuple):
    """Rows judged one after the other, and what was odd about where they come from, complete once they have passed.

    results     the benchmark's, where it was one that recorded them
    """

    judged: Iterable[Judged | NoCeiling]
    notes: Sequence[str]
    results: Recorded | None = None


def noted(notes: Sequence[str], own: OwnCalibration | None) -> list[str]:
    """Notes on rows, with that on your own calibration in front where there is one."""
    said = "" if own is None else (
        f"expected values of {', '.join(f'{one.engine} on {one.accelerator}' for one in own.entries[:_FEW])}"
        f"{' and others' * (len(own.entries) > _FEW)} are by your own calibration of {own.date}; expected_uncalibrated "
        "is without it"
    )  # fmt: skip
    return [*([said] if said else []), *notes]


def opened_rows(
    source: str | Path | Recorded | Iterable[RowLike] | RowLike, *, configs: Iterable[str | Path] = (),
    said: Said | None = None, calibration: OwnCalibration | None = None,
) -> OpenedRows:  # fmt: skip
    """What is given, to be judged. Raises BadInput, BadConfig for a file that is neither rows nor results, and BadInput
    for rows with something said beside them."""
    names = Names(configs, calibration)
    found = open_measured(source) if isinstance(source, str | Path) else source
    if isinstance(found, Recorded):
        asked = rows_of(found, Said() if said is None else said, configs, calibration)
        lacks = (f"the file does not say {what}" for what in found.lacks)
        notes = noted((*found.notes, *lacks, *asked.notes), calibration)
        return OpenedRows(judged_rows(asked.rows, asked.names), notes, found)
    if said is not None:
        if isinstance(found, Table):
            found.close()
        raise BadInput(
            "rows describe themselves", where=Named.of("source"), got="rows, and what is said beside them",
            want="a benchmark's results, or rows without anything beside them",
        )  # fmt: skip
    if isinstance(found, Table):
        found.notes[:0] = noted((), calibration)
        return OpenedRows(_table(found, names), found.notes)
    rows = (found,) if isinstance(found, Mapping | Measurement) else found
    if not isinstance(rows, Iterable):
        raise BadInput("there are no rows to check", where=Named.of("source"), got=source, want="a file or mappings")
    return OpenedRows(judged_rows(given_rows(rows), names), noted((), calibration))


def _table(found: Table, names: Names) -> Iterator[Judged | NoCeiling]:
    with found as table:
        yield from judged_rows(table_rows(table), names)
