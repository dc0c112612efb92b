"""Served runs: the engines fitted together, first the mean of all; steps, first tokens, whole requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from engine_entry import blind, entry_of, groups_of, held_out
from engine_first import Waits, first_ratio, fit_waits
from engine_intervals import ends, unseen_card
from engine_judge import left_out, parts_of
from engine_report import HeldOut, Judged
from engine_rows import Row
from engine_shares import Shares, fit_tied, on_family, predicted
from engine_slices import STEPS, WHOLES, by_load, merged

from rooflight.catalog.calibration import NEWEST

GENERIC = ("generic", "", NEWEST)


def served_groups(found: list[Row], shares: Shares) -> list[Judged]:
    """The serving engines, fitted together; first the mean of all."""
    out = held_out(found, fit_tied)
    everyone = held_out(found, lambda rows_: {"": fit_tied(rows_)[""]})
    whole = requests(found, out, fit_waits)
    of_all = requests(found, everyone, lambda rows_: {"": fit_waits(rows_)[""]})
    entry = entry_of(GENERIC, found, {"": shares[""]}, everyone, fitted=found)
    entry = merged(entry, _steps(found, everyone)[""], _wholes(found, of_all)[""])
    entry["unseen_card"] = _other_families(found, entry, np.full(len(found), True))
    judged = [Judged(GENERIC, found, everyone, entry, np.full(len(found), np.nan), of_all)]
    unseen = blind(found, fit_tied, _steps)
    bounds_, wholes = _steps(found, out), _wholes(found, whole)
    for key, rows_ in groups_of(found).items():
        mine = np.array([row.engine == key[0] and key[1] in ("", row.family) for row in found])
        name = on_family(*key[:2]) if key[1] else key[0]
        entry = merged(entry_of(key, rows_, shares, out.of(mine), fitted=found), bounds_[name], wholes[name])
        if not key[1]:
            entry["unseen_card"] = _other_families(found, entry, mine)
        judged.append(Judged(key, rows_, out.of(mine), entry, unseen[mine], whole.of(mine)))
    return judged


def _other_families(found: Sequence[Row], entry: dict[str, Any], mine: np.ndarray) -> float:
    """By how much wider an entry's intervals must be on families that no fit saw: each left out in turn."""
    ratio = left_out(found, [row.family for row in found], fit_tied, predicted)
    sides = [ends(entry, "moe_" if row.routed else "", row.requests) for row in found]
    low, high = np.array(sides).T
    known = np.isfinite(ratio) & mine
    return unseen_card(ratio[known], low[known], high[known])


def _steps(found: Sequence[Row], out: HeldOut) -> dict[str, dict[str, Any]]:
    return by_load(found, out.fifths, out.models, STEPS)


def _wholes(found: Sequence[Row], out: HeldOut) -> dict[str, dict[str, Any]]:
    return by_load(found, out.fifths, out.models, WHOLES)


def requests(found: Sequence[Row], tokens: HeldOut, fit: Callable[[Sequence[Row]], Waits]) -> HeldOut:
    """Whole requests in place of their steps: the first token predicted without the same rows; nan where unknown."""
    known = np.array([row.first is not None for row in found])
    with_first = [row for row in found if row.first is not None]
    first_s = np.array([row.first.seconds if row.first is not None else np.nan for row in found])
    rest_s = np.array([row.seconds * (row.osl - 1) for row in found])
    whole = []
    for ratio, part in zip(tokens, parts_of(found), strict=True):
        first = np.full(len(found), np.nan)
        mine = [which for which, has in zip(part, known, strict=True) if has]
        first[known] = left_out(with_first, mine, fit, first_ratio)
        whole.append((first * first_s + ratio * rest_s) / (first_s + rest_s))
    return HeldOut(*whole)
