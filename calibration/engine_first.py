"""Time to first token of served runs: the server's own time, and how many prompts queue.

    first = server_s + own prefill + half a step under way + A(queue) x the steps that take a prompt ahead in

as serve.steady has it, whose steady state gives all but server_s and queue. The engines are fitted together, each held
near everyone's, and on a family of cards near its own on all, as their shares of a step are (engine_shares.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from engine_judge import left_out, parts_of
from engine_rows import First, Row
from engine_shares import damped, on_family
from engine_slices import FIRSTS, by_load
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
# The same of an engine on a family, as many times as far from the engine's own, by number: campaigns differ in how many
# prompts queue more than engines do, a server's own time is one program's.
_FAMILY = np.array([1, 3])
# A first token that takes so many times what the prompts of all requests at once take waited for something else.
STALLED = 3
_NEAR = 0.1
# In an interval; models were sent by campaigns of their own, and a campaign that nobody saw says little of the next.
_MODELS_COUNT = 0.5

# Numbers in the order of FIELDS by engine, and by engine on a family (on_family); "" is everyone's.
Waits = dict[str, np.ndarray]


class FirstJudged(NamedTuple):
    """Runs of an engine, or of one on a family, predicted over measured by fits that did not see them; its numbers."""

    engine: str
    rows: list[Row]
    fifths: np.ndarray
    models: np.ndarray
    entry: dict[str, Any]


def fit_first(runs: Sequence[Row]) -> list[FirstJudged]:
    """The numbers of all engines ("generic"), of each, of each on a family; runs: served, steady states solved."""
    found = [row for row in runs if row.first is not None]
    waits = fit_waits(found)
    fitted = data_of([_first(row).line for row in found], {SERVED_RUNS})
    fifths, models = (left_out(found, part, fit_waits, first_ratio) for part in parts_of(found)[:2])
    common = [left_out(found, part, _everyone, first_ratio) for part in parts_of(found)[:2]]
    of_all = by_load(found, common[0], common[1], FIRSTS, _MODELS_COUNT)[""]
    judged = [FirstJudged("generic", found, common[0], common[1], _entry(waits[""], of_all, fitted))]
    for name, bounds in by_load(found, fifths, models, FIRSTS, _MODELS_COUNT).items():
        if name:
            mine = np.array([name in (row.engine, on_family(row.engine, row.family)) for row in found])
            rows = [row for row, is_mine in zip(found, mine, strict=True) if is_mine]
            judged.append(FirstJudged(name, rows, fifths[mine], models[mine], _entry(waits[name], bounds, fitted)))
    return judged


def _everyone(found: Sequence[Row]) -> Waits:
    return {"": fit_waits(found)[""]}


def _entry(waits: np.ndarray, bounds: dict[str, Any], data: object) -> dict[str, Any]:
    return {**dict(zip(FIELDS, map(float, waits), strict=True)), **bounds, "first_data": data}


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
    """server_s and queue of everyone and of each engine, for families it was not seen on; of each on a family."""
    found = [row for row in found if not stalled(row)]
    by_engine = _fit(found, [(row.engine,) for row in found])
    return _fit(found, [(row.engine, on_family(row.engine, row.family)) for row in found]) | by_engine


def stalled(row: Row) -> bool:
    """Whether a first token came later than any queue of the run's own prompts explains: no fit takes it.

    SGLang's runs of DeepSeek-R1 on B200 of 2025-11-10 have 7.4 to 8.8 s from 32 to 128 users alike, where the prompts
    of 32 take 1.2 s: a stop of 80 s before the first of ten rounds, most likely.
    """
    one = _first(row)
    return one.seconds > STALLED * (one.own + one.inside * one.turn)


def _fit(found: Sequence[Row], paths: Sequence[tuple[str, ...]]) -> Waits:
    """The numbers of everyone and of all on the rows' paths from there, each held near the one before it."""
    edges = sorted({edge for path in paths for edge in itertools.pairwise(("", *path))})
    names = ["", *(name for _, name in edges)]
    above = np.array([names.index(parent) for parent, _ in edges])
    apart_ = _APART * np.where(above[:, None] > 0, _FAMILY, 1)
    whose = np.array([names.index(path[-1]) for path in paths])
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
