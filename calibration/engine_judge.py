"""Judging a fit by rows it did not see."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from engine_rows import Row

# Fewer rows than that say nothing of the rows left out: no fit here has more unknowns.
LEAST_OTHERS = 8


def fifths(points: Sequence[Hashable]) -> list[int]:
    """Which fifth each row is in, those of one operating point in the same; the same ones every time."""
    several = sorted(set(points), key=repr)
    drawn = np.random.default_rng(0).permutation(len(several))
    which = {point: int(place) % 5 for point, place in zip(several, drawn, strict=True)}
    return [which[point] for point in points]


def parts_of(found: Sequence[Row]) -> tuple[Sequence[Hashable], ...]:
    """What is left out in turn: fifths of the operating points, model shapes, accelerators."""
    return (
        fifths([row.point for row in found]), [row.shape for row in found], [row.accelerator for row in found],
    )  # fmt: skip


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
