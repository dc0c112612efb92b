"""What the library says of every row when it is asked as anybody would ask it: `rooflight check` on the tables.

No row is held out here. It is how the newest rows are judged before a fit has them, how many rows can be judged at
all, which are called impossible, and which claims that are too fast are caught.
"""

from __future__ import annotations

import contextlib
import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from engine_points import ASKED, NEWEST_TABLE, Point, load_of, note_of, phase_of
from engine_rows import ENGINES

from rooflight.answers.check.names import Names
from rooflight.answers.check.outcome import Judged, NoCeiling
from rooflight.answers.check.report import RowBlock, judged_block
from rooflight.catalog import calibration
from rooflight.catalog.accelerators import load
from rooflight.errors import RooflightError
from rooflight.ingest.rows import given_rows
from rooflight.values.calibration import Engine

SERVED = ("served.csv", "served2.csv")
TABLES = (*SERVED, "measured.csv", NEWEST_TABLE)
# Of rows without a batch it is the whole range that is judged.
OPEN = "rate, batch not stated"


@contextlib.contextmanager
def fitted(entries: Sequence[dict[str, Any]], date: str) -> Iterator[None]:
    """Under engines as they were just fitted, in place of the catalog's files."""
    plain = [{"date": date} | msgspec.to_builtins(entry, enc_hook=float) for entry in entries]
    known: dict[str, tuple[Engine, ...]] = {}
    for one in msgspec.convert(plain, list[Engine]):
        known[one.id] = (*known.get(one.id, ()), one)
    kept = calibration.engines, calibration.engine_ids
    calibration.engines = lambda name: known[name] if name in known else kept[0](name)  # type: ignore[assignment]
    calibration.engine_ids = lambda: tuple(dict.fromkeys((*kept[1](), *known)))  # type: ignore[assignment]
    try:
        yield
    finally:
        calibration.engines, calibration.engine_ids = kept


def asked(data: Path) -> list[Point]:
    """Every row of the tables that nobody doubts."""
    names = names_of(data)
    found = []
    for table in TABLES:
        rows = table_of(data, table)
        for raw, one in zip(rows, judged(rows, names), strict=True):
            found.append(_point(table, raw, one))
    return found


def names_of(data: Path) -> Names:
    """The models of a data folder."""
    return Names(path for name in ("configs", "configs_reconstructed") if (path := data / name).is_dir())


def table_of(data: Path, table: str) -> list[dict[str, str]]:
    """The rows of a file that nobody doubts; none where there is no file."""
    if not (data / table).exists():
        return []
    with (data / table).open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if not row.get("use", "").startswith("no")]


def judged(rows: Sequence[Mapping[str, str]], names: Names) -> list[Judged | NoCeiling]:
    """Each row judged; why one is fast is not looked for."""
    return list(judged_block(names, RowBlock(list(given_rows(rows)), first=False)))


def caught(data: Path, times: float) -> tuple[int, int]:
    """Of the served runs that are for scoring, how many are called impossible were they so many times as fast."""
    names, runs, seen = names_of(data), set(), set()
    for table in SERVED:
        rows = [row for row in table_of(data, table) if row.get("use", "score") == "score"]
        faster = [row | {"value": repr(float(row["value"]) / times)} for row in rows]
        for row, one in zip(rows, judged(faster, names), strict=True):
            run = f"{table} {row['id'].rsplit('-', 1)[0]}"
            runs.add(run)
            if isinstance(one, Judged) and one.verdict == "impossible":
                seen.add(run)
    return len(seen), len(runs)


def _point(table: str, raw: Mapping[str, str], one: Judged | NoCeiling) -> Point:
    engine = raw["engine"]
    known = isinstance(one, Judged) and one.verdict != "cannot-judge"
    ratio, inside, width = _compared(one) if isinstance(one, Judged) and known else (math.nan, False, math.nan)
    open_ = isinstance(one, Judged) and one.filled is not None
    try:
        family = one.scenario.accelerator.family if isinstance(one, Judged) else load(raw["accelerator"])[0].family
    except RooflightError:
        family = "not known"
    return Point(
        how=ASKED, id=raw["id"], table=table, engine=ENGINES.get(engine, calibration.engine_id(engine)),
        backend=engine, family=family,
        accelerator=raw["accelerator"], model=raw["model"] or raw.get("config_like", ""),
        weights=raw["weights"] or "as published", phase=OPEN if open_ else phase_of(raw["phase"], raw["metric"]),
        load=load_of(float(raw["batch"]) if raw["batch"] else None),
        routed=isinstance(one, Judged) and one.scenario.expert_layers > 0, ratio=ratio, inside=inside, width=width,
        apart=raw.get("mode") == "disagg",
        verdict=one.verdict if isinstance(one, Judged) else "no ceiling", note=note_of(raw),
    )  # fmt: skip


def _compared(one: Judged) -> tuple[float, bool, float]:
    """Expected over measured time, whether the value is inside, high over low; of an open batch the verdict alone."""
    span = one.span
    if one.filled is not None:
        return math.nan, one.verdict == "ok", math.nan
    if span.low is None or span.high is None:
        return math.nan, False, math.nan
    ratio = span.expected / one.row.value
    return (ratio if one.row.measures.time else 1 / ratio), span.low <= one.row.value <= span.high, span.high / span.low
