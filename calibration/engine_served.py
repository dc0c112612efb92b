"""Served runs: the engines fitted together, first the mean of all; steps, first tokens, whole requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from engine_entry import STEP, WHOLE, blind, entry_of, groups_of, held_out, intervals
from engine_first import Waits, first_ratio, fit_waits
from engine_judge import left_out, parts_of
from engine_report import HeldOut, Judged
from engine_rows import Row
from engine_shares import LEAST_ROWS, Shares, fit_tied

from rooflight.catalog.calibration import NEWEST

GENERIC = ("generic", "", NEWEST)


def served_groups(found: list[Row], shares: Shares) -> list[Judged]:
    """The serving engines, fitted together; first the mean of all."""
    out = held_out(found, fit_tied)
    everyone = held_out(found, lambda rows_: {"": fit_tied(rows_)[""]})
    whole = requests(found, out, fit_waits)
    of_all = requests(found, everyone, lambda rows_: {"": fit_waits(rows_)[""]})
    entry = entry_of(GENERIC, found, {"": shares[""]}, everyone, fitted=found)
    entry |= intervals(found, everyone) | intervals(found, of_all, WHOLE)
    judged = [Judged(GENERIC, found, everyone, entry, np.full(len(found), np.nan), of_all)]
    unseen = blind(found, fit_tied, served_intervals)
    bounds_, wholes = served_intervals(found, out), served_intervals(found, whole, WHOLE)
    for key, rows_ in groups_of(found).items():
        mine = np.array([row.engine == key[0] and key[1] in ("", row.family) for row in found])
        entry = entry_of(key, rows_, shares, out.of(mine), fitted=found) | bounds_[key[0]] | wholes[key[0]]
        judged.append(Judged(key, rows_, out.of(mine), entry, unseen[mine], whole.of(mine)))
    return judged


def served_intervals(
    found: Sequence[Row], out: HeldOut, names: tuple[tuple[str, str], tuple[str, str]] = STEP
) -> dict[str, dict[str, float]]:
    """By engine: all engines' interval, wider for dense models where one strays more ("" where it has few rows)."""
    pool = intervals(found, out, names)
    low, high = names[0]
    bounds_ = {"": pool}
    for engine in {row.engine for row in found}:
        mine = np.array([row.engine == engine for row in found])
        if mine.sum() >= LEAST_ROWS:
            own = intervals([row for row in found if row.engine == engine], out.of(mine), names)
            bounds_[engine] = pool | {low: min(pool[low], own[low]), high: max(pool[high], own[high])}
    return bounds_


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
