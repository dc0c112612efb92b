"""How alike experts are in how often they are chosen: errors of routed rows under other evenness than the library's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from engine_judge import fifths, left_out
from engine_rows import Row, rows, timed
from engine_shares import LEAST_ROWS, fit_alone, fit_tied, predicted

from rooflight.roofline import expected

ALL_ALIKE = 1e6
TRIED = (0.2, 0.3, 0.4, 0.6, 1.0, 2.0, ALL_ALIKE)


class Tried(NamedTuple):
    """Predicted over measured of routed rows: served ones with their model left out, offline ones by fifths."""

    evenness: float
    served: np.ndarray
    offline: np.ndarray


def try_all(data: Path, served: str) -> list[Tried]:
    """Everything fitted again under each evenness; `served` names the era of served rows."""
    kept = expected.EVENNESS
    try:
        return [_tried(data, served, evenness) for evenness in TRIED]
    finally:
        expected.EVENNESS = kept


def _tried(data: Path, served: str, evenness: float) -> Tried:
    expected.EVENNESS = evenness
    found = list(rows(data))
    online = [row for row in found if row.era == served]
    ratio = left_out(online, [row.model for row in online], fit_tied, predicted)
    others = timed([row for row in found if row.era != served])
    offline = []
    for key in sorted({(row.engine, row.family) for row in others}):
        group = [row for row in others if (row.engine, row.family) == key]
        if len(group) >= LEAST_ROWS:
            mine = left_out(group, fifths(len(group)), fit_alone, predicted)
            offline.append(mine[_routed(group)])
    return Tried(evenness, ratio[_routed(online)], np.concatenate(offline))


def _routed(found: Sequence[Row]) -> np.ndarray:
    return np.array([row.routed for row in found])
