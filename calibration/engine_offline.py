"""Offline runs: engines of many devices as a tree of families (engine_tree.py), others each family by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from engine_entry import STEP, WHOLE, blind, entry_of, groups_of, held_out, intervals, prefill_of
from engine_intervals import widen
from engine_report import HeldOut, Judged
from engine_rows import Row, timed
from engine_shares import LEAST_ROWS, Shares, fit_alone
from engine_shares import with_prefill as with_prefill_share
from engine_steady import ROUNDS
from engine_tree_entries import tree_groups

# Engines that are fitted on all families at once.
TREES = ("llama.cpp", "mlx", "exllama", "autoawq")
# A family whose fit is off by this much is not described by it: the engine's entry for all families stands in.
USELESS = 0.35


def offline_groups(found: list[Row], everyone: dict[str, Any]) -> list[Judged]:
    """Each engine and family by itself; those seen with few models have intervals nearer to everyone's."""
    judged = []
    for engine in TREES:
        mine = [row for row in found if row.engine == engine]
        judged += tree_groups(mine) if mine else []
    for key, group in groups_of([row for row in found if row.engine not in TREES]).items():
        rows_, shares = alone(group)
        mine = timed(rows_)
        out = held_out(mine, fit_alone)
        entry = entry_of(key, rows_, shares, out, fitted=rows_) | own_interval(mine, out)[""]
        entry |= batch_interval(mine, out, entry)
        if key[1] and np.median(np.abs(out.fifths - 1)) > USELESS:
            print(f"{' '.join(key):34} left out: {entry['error']}")
            continue
        for routed in (False, True):
            shapes = [row.shape for row in mine if row.routed is routed]
            for names in (STEP[routed], WHOLE[routed]):
                widen(entry, everyone, *names, shapes)
        unseen = blind(mine, fit_alone, own_interval) if key[1] else np.full(len(mine), np.nan)
        judged.append(Judged(key, mine, out, entry, unseen))
    return judged


def own_interval(found: Sequence[Row], out: HeldOut) -> dict[str, dict[str, float]]:
    """The interval of an engine fitted by itself."""
    return {"": intervals(found, out)}


def alone(found: list[Row]) -> tuple[list[Row], Shares]:
    """The rows of an engine fitted by itself, and its shares: prompts of batches take its prefill_share beyond them."""
    scaled = found
    for _ in range(ROUNDS):
        shares = fit_alone(timed(scaled))
        beyond = prefill_of(shares, found).get("prefill_share", 1.0)
        if beyond == 1.0 or not any(row.whole for row in found):
            break
        scaled = with_prefill_share(found, beyond)
    return scaled, shares


def batch_interval(found: Sequence[Row], out: HeldOut, step: dict[str, Any]) -> dict[str, float]:
    """The interval of batches from end to end, where enough were timed; else that of steps."""
    whole = np.array([row.whole for row in found])
    if whole.sum() >= LEAST_ROWS:
        return intervals([row for row in found if row.whole], out.of(whole), WHOLE)
    return dict(zip((*WHOLE[0], *WHOLE[1]), (step[name] for name in (*STEP[0], *STEP[1])), strict=True))
