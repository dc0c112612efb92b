"""How alike experts are in how often they are chosen: errors of routed rows under other evenness than the library's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from engine_judge import left_out, parts_of
from engine_rows import Row, again, timed
from engine_shares import LEAST_ROWS, fit_alone, fit_tied, predicted
from engine_steady import Fitted, engine_with

from rooflight.roofline import expected

ALL_ALIKE = 1e6
TRIED = (0.2, 0.3, 0.4, 0.6, 1.0, 2.0, ALL_ALIKE)


class Tried(NamedTuple):
    """Predicted over measured of routed rows: served ones with their model left out, offline ones by fifths."""

    evenness: float
    served: np.ndarray
    offline: np.ndarray


def try_all(solved: Fitted, offline: Sequence[Row], data: Path) -> list[Tried]:
    """Everything fitted again under each evenness; served runs keep the engines that they were solved under."""
    kept = expected.EVENNESS
    try:
        return [_tried(solved, offline, data, evenness) for evenness in TRIED]
    finally:
        expected.EVENNESS = kept


def _tried(solved: Fitted, offline: Sequence[Row], data: Path, evenness: float) -> Tried:
    expected.EVENNESS = evenness
    online = [
        again(row, data, engine_with(solved.shares, solved.waits, row)) if row.routed else row for row in solved.rows
    ]
    ratio = left_out(online, [row.shape for row in online], fit_tied, predicted)
    others = [again(row, data) if row.routed else row for row in timed(offline)]
    found = []
    for key in sorted({(row.engine, row.family) for row in others}):
        group = [row for row in others if (row.engine, row.family) == key]
        if len(group) >= LEAST_ROWS and any(row.routed for row in group):
            mine = left_out(group, parts_of(group)[0], fit_alone, predicted)
            found.append(mine[_routed(group)])
    return Tried(evenness, ratio[_routed(online)], np.concatenate([*found, np.zeros(0)]))


def _routed(found: Sequence[Row]) -> np.ndarray:
    return np.array([row.routed for row in found])
