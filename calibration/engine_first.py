"""Time to first token of served runs: the server's own time, and how many prompts queue.

    first = server_s + own prefill + half a step under way + A(queue) x the steps that take a prompt ahead in

as serve.steady has it, whose steady state gives all but server_s and queue. The engines are fitted together, each held
near everyone's, and on a family of cards near its own on all, as their shares of a step are (engine_shares.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from engine_intervals import interval
from engine_judge import left_out, parts_of
from engine_rows import First, Row
from engine_shares import damped, on_family
from provenance import data_of
from scipy.optimize import least_squares

from rooflight.serve.formulas import prompts_ahead

# Where the served runs come from.
SERVED_RUNS = "aiconfigurator-core 0.12.0, served runs"
FIELDS = ("server_s", "queue")
# 40 ms; the square root of all prompts ahead.
_START = np.log([0.04, 1.0])
# The least server_s that a fit may say: a server takes requests in and hands tokens out.
_LEAST_S = 1e-3
# How far, on the logarithm, an engine may be from everyone's before it costs as much as a row that is off by a tenth.
_APART = 0.2
_PULL = 10
# The same of an engine on a family, as many times as far from the engine's own; campaigns differ more than engines do.
_FAMILY = 3
_NEAR = 0.1

# Numbers in the order of FIELDS by engine, and by engine on a family (on_family); "" is everyone's.
Waits = dict[str, np.ndarray]


class FirstJudged(NamedTuple):
    """Runs of an engine, predicted over measured by fits that did not see them, and the engine's numbers."""

    engine: str
    rows: list[Row]
    fifths: np.ndarray
    models: np.ndarray
    entry: dict[str, Any]


def fit_first(runs: Sequence[Row]) -> list[FirstJudged]:
    """The numbers of all engines ("generic"), then of each; runs: served, their steady states solved."""
    found = [row for row in runs if row.first is not None]
    waits = fit_waits(found)
    fitted = data_of([_first(row).line for row in found], {SERVED_RUNS})
    own = [left_out(found, part, fit_waits, first_ratio) for part in parts_of(found)[:2]]
    common = [left_out(found, part, _everyone, first_ratio) for part in parts_of(found)[:2]]
    judged = [FirstJudged("generic", found, common[0], common[1], _entry(waits[""], common, fitted))]
    for engine in sorted({row.engine for row in found}):
        mine = np.array([row.engine == engine for row in found])
        ratios = [ratio[mine] for ratio in own]
        rows = [row for row in found if row.engine == engine]
        judged.append(FirstJudged(engine, rows, ratios[0], ratios[1], _entry(waits[engine], ratios, fitted)))
    return judged


def _everyone(found: Sequence[Row]) -> Waits:
    return {"": fit_waits(found)[""]}


def _entry(waits: np.ndarray, ratios: Sequence[np.ndarray], data: object) -> dict[str, Any]:
    both = np.concatenate(ratios)
    low, high = interval(both[np.isfinite(both)])
    numbers = dict(zip(FIELDS, map(float, waits), strict=True))
    return {**numbers, "first_low": low, "first_high": high, "first_data": data}


def _first(row: Row) -> First:
    assert row.first is not None
    return row.first


def _arrays(found: Sequence[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Own seconds, those of a prompt ahead, requests of the replica, and what was measured."""
    firsts = [_first(row) for row in found]
    columns = np.array([(one.own, one.turn, one.inside, one.seconds) for one in firsts]).reshape(-1, 4)
    return columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3]


def first_ratio(found: Sequence[Row], waits: Waits) -> np.ndarray:
    """Predicted over measured, each run by its engine's numbers, else by everyone's."""
    own, turn, inside, seconds = _arrays(found)
    server_s, queue = np.array([waits_of(waits, row.engine, row.family) for row in found]).reshape(-1, 2).T
    return np.asarray((server_s + own + prompts_ahead(inside, queue) * turn) / seconds)


def waits_of(waits: Waits, engine: str, family: str) -> np.ndarray:
    """An engine's numbers on a family, else on all, else everyone's."""
    return waits.get(on_family(engine, family), waits.get(engine, waits[""]))


def fit_waits(found: Sequence[Row]) -> Waits:
    """server_s and queue of everyone, of each engine, and of each engine on a family."""
    engines = sorted({row.engine for row in found})
    pairs = sorted({(row.engine, row.family) for row in found})
    names = ["", *engines, *(on_family(*pair) for pair in pairs)]
    above = np.array([0] * len(engines) + [1 + engines.index(engine) for engine, _ in pairs])
    apart_ = _APART * np.array([1] * len(engines) + [_FAMILY] * len(pairs))[:, None]
    whose = np.array([1 + len(engines) + pairs.index((row.engine, row.family)) for row in found])
    keys = [(row.engine, row.shape, row.accelerator) for row in found]
    weight = np.array([keys.count(key) for key in keys]) ** -0.25
    own, turn, inside, seconds = _arrays(found)

    def residuals(flat: np.ndarray) -> np.ndarray:
        logs = flat.reshape(-1, len(FIELDS))
        server_s, queue = np.exp(logs[whose]).T
        server_s = server_s + _LEAST_S
        off = weight * np.log((server_s + own + prompts_ahead(inside, queue) * turn) / seconds)
        apart, common = (logs[1:] - logs[above]) / apart_, (logs[0] - _START) / (_APART * _PULL)
        return np.concatenate([damped(off), _NEAR * apart.ravel(), _NEAR * common])

    best = least_squares(residuals, np.tile(_START, len(names)), max_nfev=80)
    numbers = np.exp(best.x.reshape(-1, len(FIELDS))) + np.array([_LEAST_S, 0])
    return dict(zip(names, numbers, strict=True))
