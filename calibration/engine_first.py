"""Time to first token of served runs: the server's own time, so many prefills of one prompt, half a step of the others.

    first = first_host_s + prefill x (first_wait + first_queue x sequences) + half a step

The engines are fitted together, each held near everyone's, as their shares of a step are (engine_shares.py).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from engine_intervals import interval
from engine_judge import fifths, left_out
from engine_rows import ENGINES, line_of, prompt_step, scenario_of, vector
from engine_shares import Shares, seconds_of
from provenance import data_of
from scipy.optimize import least_squares

from rooflight.catalog.calibration import engine_named
from rooflight.errors import RooflightError
from rooflight.serve.served import STEP_UNDER_WAY, admitted
from rooflight.values.calibration import Data
from rooflight.work.layout import share_out

# Where the served runs come from.
SERVED_RUNS = "aiconfigurator-core 0.12.0, served runs"
FIELDS = ("first_wait", "first_queue", "first_host_s")
# Two prefills are waited for (one's own, half of the one under way, ...), a tenth of one for each sequence, 50 ms.
_START = np.log([1.5, 0.1, 0.05])
# How far, on the logarithm, an engine may be from everyone's before it costs as much as a row that is off by a tenth.
_APART = 0.2
_PULL = 10
# Errors of up to a tenth count as their square, larger ones less.
_NEAR = 0.1

# Numbers in the order of FIELDS by engine; "" is everyone's.
Waits = dict[str, np.ndarray]


class First(NamedTuple):
    """One run: sequences at once, and the seconds of one prompt's prefill, of a step, and to the first token."""

    engine: str
    model: str
    routed: bool
    sequences: float
    prefill: float
    step: float
    seconds: float
    line: str


class FirstJudged(NamedTuple):
    """Runs of an engine, predicted over measured by fits that did not see them, and the engine's numbers."""

    engine: str
    rows: list[First]
    fifths: np.ndarray
    models: np.ndarray
    entry: dict[str, Any]


def fit_first(data: Path, shares: Shares) -> list[FirstJudged]:
    """The numbers of all engines ("generic"), then of each."""
    found = list(_runs(data, shares))
    waits = _fit(found)
    fitted = data_of([row.line for row in found], {SERVED_RUNS})
    parts: tuple[Sequence[object], ...] = fifths(len(found)), [row.model for row in found]
    own = [left_out(found, part, _fit, _predicted) for part in parts]
    common = [left_out(found, part, lambda rows: {"": _fit(rows)[""]}, _predicted) for part in parts]
    judged = [FirstJudged("generic", found, common[0], common[1], _entry(waits[""], common, fitted))]
    for engine in sorted({row.engine for row in found}):
        mine = np.array([row.engine == engine for row in found])
        ratios = [ratio[mine] for ratio in own]
        rows = [row for row in found if row.engine == engine]
        judged.append(FirstJudged(engine, rows, ratios[0], ratios[1], _entry(waits[engine], ratios, fitted)))
    return judged


def _entry(waits: np.ndarray, ratios: Sequence[np.ndarray], data: Data) -> dict[str, Any]:
    low, high = interval(np.concatenate(ratios))
    numbers = dict(zip(FIELDS, map(float, waits), strict=True))
    return {**numbers, "first_low": low, "first_high": high, "first_data": data}


def _runs(data: Path, shares: Shares) -> Iterator[First]:
    """Runs whose scenario is definite and whose requests all run at once."""
    for step, first in _pairs(data):
        try:
            sc = scenario_of(first, data)
        except (RooflightError, ValueError, StopIteration):
            continue
        engine = ENGINES[first["engine"]]
        sequences = float(share_out(sc.workload.batch, sc.layout).sequences)
        unclear = any(word in first["note"] for word in ("disagree", "not stated"))
        if (
            unclear
            or sequences > admitted(msgspec.structs.replace(sc, engine=engine_named(engine)))
            or sc.accelerator.id == "gb200"
        ):
            continue
        part = vector(sc.steps.parts(prompt_step(sc, 1)), steps_=1, sequences=1, layers=sc.expert_layers)
        yield First(
            engine=engine, model=sc.model.id, routed=sc.expert_layers > 0, sequences=sequences,
            prefill=float(seconds_of(part, shares[engine])), step=float(step["value"]) / 1e3,
            seconds=float(first["value"]) / 1e3, line=line_of(step) + "," + line_of(first),
        )  # fmt: skip


def _pairs(data: Path) -> list[tuple[dict[str, str], dict[str, str]]]:
    """(TPOT row, TTFT row) of each run."""
    runs: dict[str, dict[str, dict[str, str]]] = {}
    with (data / "served.csv").open(newline="", encoding="utf-8") as file:
        for raw in csv.DictReader(file):
            runs.setdefault(raw["id"].rsplit("-", 1)[0], {})[raw["metric"]] = raw
    return [(run["tpot_ms"], run["ttft_ms"]) for run in runs.values() if len(run) == 2]


def _terms(found: Sequence[First]) -> tuple[np.ndarray, np.ndarray]:
    """What FIELDS multiply, and the half step beside."""
    terms = np.array([(row.prefill, row.prefill * row.sequences, 1.0) for row in found])
    return terms, STEP_UNDER_WAY * np.array([row.step for row in found])


def _predicted(found: Sequence[First], waits: Waits) -> np.ndarray:
    terms, beside = _terms(found)
    own = np.array([waits.get(row.engine, waits[""]) for row in found])
    return np.asarray(((terms * own).sum(axis=1) + beside) / np.array([row.seconds for row in found]))


def _fit(found: Sequence[First]) -> Waits:
    engines = sorted({row.engine for row in found})
    whose = np.array([1 + engines.index(row.engine) for row in found])
    many = [sum(other.engine == row.engine and other.model == row.model for other in found) for row in found]
    weight, (terms, beside) = np.array(many) ** -0.25, _terms(found)
    seconds = np.array([row.seconds for row in found])

    def residuals(flat: np.ndarray) -> np.ndarray:
        logs = flat.reshape(-1, len(FIELDS))
        off = weight * np.log(((terms * np.exp(logs)[whose]).sum(axis=1) + beside) / seconds)
        damped = np.sign(off) * _NEAR * np.sqrt(2 * (np.sqrt(1 + (off / _NEAR) ** 2) - 1))
        own, common = (logs[1:] - logs[0]) / _APART, (logs[0] - _START) / (_APART * _PULL)
        return np.concatenate([damped, _NEAR * own.ravel(), _NEAR * common])

    best = least_squares(residuals, np.tile(_START, len(engines) + 1), max_nfev=80)
    return dict(zip(("", *engines), np.exp(best.x.reshape(-1, len(FIELDS))), strict=True))
