"""Time to first token of served runs: so many prefills of one prompt, and so many steps of the others."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from engine_intervals import interval, widen
from engine_rows import ENGINES, scenario_of
from scipy.optimize import least_squares

from rooflight.errors import RooflightError
from rooflight.serve import expected
from rooflight.serve.memory import max_batch, room


def fit_first(data: Path) -> dict[str, dict[str, float]]:
    """first_wait, first_queue, first_steps and their interval, by engine and "generic" for all."""
    found: dict[str, list[tuple[float, ...]]] = {"generic": []}
    models: dict[str, set[str]] = {}
    for step, first in _pairs(data):
        try:
            sc = scenario_of(first, data)
        except (RooflightError, ValueError, StopIteration):
            continue
        batch = sc.workload.batch / sc.layout.dp
        if batch > max_batch(room(sc)) or any(word in first["note"] for word in ("disagree", "not stated")):
            continue
        part = expected.prefill_parts(sc)
        layers = expected.expert_layers(sc)
        prefill = part.body + 0.4 * part.floors + part.link + 1.1 * part.experts + layers * 4e-5 + 1e-3
        row = (float(prefill), float(batch), float(step["value"]) / 1e3, float(first["value"]) / 1e3)
        found.setdefault(ENGINES[first["engine"]], []).append(row)
        found["generic"].append(row)
        models.setdefault(ENGINES[first["engine"]], set()).add(sc.model.id)
    fits = {engine: _fit(np.array(rows)) for engine, rows in found.items()}
    for engine, seen in models.items():
        widen(fits[engine], fits["generic"], "first_low", "first_high", seen)
    return fits


def _pairs(data: Path) -> list[tuple[dict[str, str], dict[str, str]]]:
    """(TPOT row, TTFT row) of each run."""
    runs: dict[str, dict[str, dict[str, str]]] = {}
    with (data / "served.csv").open(newline="", encoding="utf-8") as file:
        for raw in csv.DictReader(file):
            runs.setdefault(raw["id"].rsplit("-", 1)[0], {})[raw["metric"]] = raw
    return [(run["tpot_ms"], run["ttft_ms"]) for run in runs.values() if len(run) == 2]


def _fit(rows: np.ndarray) -> dict[str, float]:
    prefill, batch, step, measured = rows.T

    def first(wait: np.ndarray) -> np.ndarray:
        return prefill * (wait[0] + wait[1] * batch) + wait[2] * step

    best = least_squares(
        lambda wait: np.log(first(wait) / measured), [2, 0.1, 1], bounds=([0.2, 0, 0], [10, 1, 10]),
        loss="soft_l1", f_scale=0.2,
    )  # fmt: skip
    low, high = interval(first(best.x) / measured)
    return {
        "first_wait": best.x[0], "first_queue": best.x[1], "first_steps": best.x[2], "first_low": low,
        "first_high": high,
    }  # fmt: skip
