"""What the library makes of every measurement whose question is definite, with the engines as fitted.

No row is held out here; these errors are for comparing versions of the library, those of version 0.1.0 being kept in
accuracy_0.1.0.csv. Served runs are asked as runs, of pools of workers where they had them; disaggregated runs and those
that memory cannot hold at once are in no fit.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from engine_rows import ENGINES, OFFLINE, SERVED, raw_runs, scenario_of, unclear

from rooflight.catalog.calibration import backend_of, fitted_family, nearest
from rooflight.catalog.engines import era_of
from rooflight.errors import RooflightError
from rooflight.serve.metrics import metric_span
from rooflight.serve.room import holds_weights
from rooflight.values.calibration import Engine
from rooflight.values.measurement import Measurement

BEFORE = Path(__file__).with_name("accuracy_0.1.0.csv")
# A slice of fewer rows says little; one is worse if its error is up by more than so many points, or by so large a part.
_LEAST_ROWS, _POINTS, _PART = 50, 0.02, 0.1
_NAMES = {"tpot_ms": "TPOT", "ttft_ms": "TTFT", "e2e_latency_ms": "request"}
_TABLES = {"served.csv": "served, first portion", "served2.csv": "served, second portion"}


class Case(NamedTuple):
    """One number: where it is from, what it is of, expected over measured time, whether that is in its interval."""

    id: str
    table: str
    quantity: str
    engine: str
    family: str
    weights: str
    phase: str
    load: str
    ratio: float
    inside: bool

    @property
    def slice_key(self) -> tuple[str, ...]:
        """What errors are sorted by."""
        return (self.engine, self.family, self.weights, f"{self.phase} {self.quantity}", self.load)


def cases(data: Path, entries: Sequence[dict[str, Any]], date: str) -> Iterator[Case]:
    """Every number that the library can be asked for; entries: of the engines, as fitted."""
    plain = [{"date": date} | msgspec.to_builtins(entry, enc_hook=float) for entry in entries]
    known = msgspec.convert(plain, list[Engine])
    for name in (*SERVED, *OFFLINE):
        for run in raw_runs(data, (name,)):
            try:
                yield from _run(name, run, data, known)
            except (RooflightError, ValueError, KeyError):
                continue


def _run(table: str, run: dict[str, dict[str, str]], data: Path, known: Sequence[Engine]) -> Iterator[Case]:
    """The cases of a run: of a served one TPOT, TTFT and the whole request."""
    lines = list(run.values())
    if unclear(lines[0]):
        return
    if table in SERVED and {"tpot_ms", "ttft_ms"} <= set(run):
        whole_ms = float(run["ttft_ms"]["value"]) + (float(lines[0]["output_len"]) - 1) * float(run["tpot_ms"]["value"])
        lines.append(lines[0] | {"metric": "e2e_latency_ms", "value": repr(whole_ms)})
    kind = "disaggregated" if lines[0].get("mode") == "disagg" else _TABLES.get(table, "offline")
    batch = float(lines[0]["batch"])
    load = "1" if batch <= 1 else "2 to 16" if batch <= 16 else "above 16"
    names = _NAMES if table in SERVED else _NAMES | {"e2e_latency_ms": "e2e_latency_ms"}
    for line in lines:
        ratio, inside = _judged(line, data, known)
        yield Case(
            id=line["id"].rsplit("-", 1)[0] if table in SERVED else line["id"], table=kind,
            quantity=names.get(line["metric"], line["metric"]), engine=ENGINES[line["engine"]],
            family=card_family(line, data), weights=line["weights"] or "as published",
            phase="apart" if kind == "disaggregated" else line["phase"], load=load, ratio=ratio,
            inside=inside,
        )  # fmt: skip


def card_family(line: dict[str, str], data: Path) -> str:
    """The device family of a row's card."""
    return scenario_of(line, data).accelerator.family


def _judged(line: dict[str, str], data: Path, known: Sequence[Engine]) -> tuple[float, bool]:
    """Expected over measured time, and whether what was measured is in the interval."""
    sc = scenario_of(line, data)
    if not holds_weights(sc):
        raise ValueError(line["id"])
    engine = ENGINES[line["engine"]]
    mine = [one for one in known if one.id == engine] or [one for one in known if one.id == "generic"]
    # as scenario.definite.engine_of chooses of the catalog's
    family, era = fitted_family(sc.accelerator), era_of(engine, line.get("engine_version"))
    sc = msgspec.structs.replace(sc, engine=nearest(mine, family, era, backend_of(line["engine"])))
    row = measurement(line)
    span = metric_span(sc, row)
    ratio = float(span.expected / row.value)
    assert span.low is not None
    assert span.high is not None
    return ratio if row.measures.time else 1 / ratio, span.low <= row.value <= span.high


def measurement(line: dict[str, str]) -> Measurement:
    """What the row times, for serve.metrics."""
    return Measurement(
        model=line["model"], accelerator=line["accelerator"], metric=line["metric"], value=float(line["value"]),
        phase=line["phase"], engine=line["engine"],
    )  # fmt: skip


def accuracy(data: Path, entries: Sequence[dict[str, Any]], date: str) -> list[str]:
    """The part of the accuracy page that compares with version 0.1.0."""
    found, before = list(cases(data, entries, date)), _before()
    lines = [
        "\n## Against version 0.1.0\n\n"
        "Mean / median error and the share inside of all rows whose question is definite, none held out; in brackets\n"
        "the errors of 0.1.0 on the same rows, which saw the first portion of served runs alone and no pools of\n"
        "workers.\n\n"
        "| | rows | TPOT | TTFT | request |\n|---|---|---|---|---|\n"
    ]
    for table in sorted({case.table for case in found if case.table != "offline"}):
        mine = [case for case in found if case.table == table]
        cells = [
            _cell([one for one in mine if one.quantity == what], before.get((table, what))) for what in _NAMES.values()
        ]
        rows = sum(case.quantity == "TPOT" for case in mine)
        lines.append(f"| {table} | {rows} | {' | '.join(cells)} |\n")
    lines.append("\n| offline | rows | error |\n|---|---|---|\n")
    for phase in sorted({case.phase for case in found if case.table == "offline"}):
        mine = [case for case in found if case.table == "offline" and case.phase == phase]
        lines.append(f"| {phase} | {len(mine)} | {_cell(mine, before.get(('offline', phase)))} |\n")
    return lines + _worse(found, before)


def _worse(found: Sequence[Case], before: dict[tuple[str, ...], tuple[float, float, float]]) -> list[str]:
    some = False
    lines = [
        f"\nSlices of engine, card family, weights, phase and sequences at once, of {_LEAST_ROWS} rows and more,\n"
        f"whose mean error is larger than that of 0.1.0 by more than {_POINTS:.0%} and {_PART:.0%} of itself:\n\n"
        "| engine | family | weights | what | at once | rows | error |\n|---|---|---|---|---|---|---|\n"
    ]
    for key, mine in sorted(grouped(found, lambda case: case.slice_key).items()):
        old = before.get(key)
        if old is None or len(mine) < _LEAST_ROWS:
            continue
        if _errors(mine).mean() > old[1] + max(_POINTS, _PART * old[1]):
            some = True
            lines.append(f"| {' | '.join(key)} | {len(mine)} | {_cell(mine, old)} |\n")
    return lines if some else []


def _errors(found: Sequence[Case]) -> np.ndarray:
    return np.asarray(np.abs(np.array([case.ratio for case in found]) - 1))


def grouped(found: Iterable[Case], key: Callable[[Case], tuple[str, ...]]) -> dict[tuple[str, ...], list[Case]]:
    """Cases by key."""
    groups: dict[tuple[str, ...], list[Case]] = {}
    for case in found:
        groups.setdefault(key(case), []).append(case)
    return groups


def _cell(found: Sequence[Case], old: tuple[float, float, float] | None) -> str:
    if not found:
        return "-"
    error, inside = _errors(found), np.mean([case.inside for case in found])
    was = "" if old is None else f" ({old[1]:.1%} / {old[2]:.1%})"
    return f"{error.mean():.1%} / {np.median(error):.1%}, {inside:.0%}{was}"


def summed(found: Sequence[Case]) -> dict[tuple[str, ...], tuple[float, float, float]]:
    """(rows, mean, median error) by table and quantity, of offline rows by phase, and by slice."""
    keys: tuple[Callable[[Case], tuple[str, ...]], ...] = (
        lambda case: (case.table, case.phase if case.table == "offline" else case.quantity),
        lambda case: case.slice_key,
    )
    result = {}
    for key in keys:
        for name, mine in grouped(found, key).items():
            error = _errors(mine)
            result[name] = (float(len(error)), float(error.mean()), float(np.median(error)))
    return result


def _before() -> dict[tuple[str, ...], tuple[float, float, float]]:
    """The errors of version 0.1.0, as summed gives them."""
    with BEFORE.open(newline="", encoding="utf-8") as file:
        return {
            tuple(row["of"].split("; ")): (float(row["rows"]), float(row["mean"]), float(row["median"]))
            for row in csv.DictReader(file)
        }
