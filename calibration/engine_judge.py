"""Judging a fit by rows it did not see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# Fewer rows than that say nothing of the rows left out: no fit here has more unknowns.
LEAST_OTHERS = 8


def fifths(count: int) -> list[int]:
    """Which fifth each of so many rows is in; the same ones every time."""
    return [int(place) % 5 for place in np.argsort(np.random.default_rng(0).permutation(count))]


def left_out(
    found: Sequence[Any],
    parts: Sequence[object],
    fit: Callable[[Sequence[Any]], Any],
    predicted: Callable[[Sequence[Any], Any], np.ndarray],
) -> np.ndarray:
    """Predicted over measured, each part predicted by a fit of the others; nan where too few others are left."""
    ratio = np.full(len(found), np.nan)
    for part in set(parts):
        mine = np.array([other == part for other in parts])
        others = [row for row, is_mine in zip(found, mine, strict=True) if not is_mine]
        if len(others) >= LEAST_OTHERS:
            ratio[mine] = predicted([row for row, is_mine in zip(found, mine, strict=True) if is_mine], fit(others))
    return ratio
