"""A straight line through a few measurements: its two parts, how far they are known, and which point is off it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

# Two-sided 95 % points of Student's t for 1 to 4 degrees of freedom (any table of it); beyond them the expansion of
# t in 1/freedom (Abramowitz and Stegun 26.7.5) around the normal's 1.960 is right to 0.2 %.
_STUDENT = (12.706, 4.303, 3.182, 2.776)
_NORMAL = 1.960
# A point is off the line when the others, without it, lie so many times nearer to theirs.
_OFF = 5.0
# Points that are needed before one of them can be told to be off.
_ENOUGH = 6
# Residuals that are rounding of printed values rather than noise, as a share of the values.
_ROUNDING = 0.002


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """y = fixed + slope x, by least squares.

    fixed_half, slope_half  half the widths of their 95 % intervals (points - 2 degrees of freedom); None of two points,
                            which any line joins
    spread                  root of the mean squared residual, points - 2 degrees; None of two points
    off                     place of a point that is far from the line through the others, which the line leaves out
    """

    fixed: float
    slope: float
    points: int
    fixed_half: float | None = None
    slope_half: float | None = None
    spread: float | None = None
    off: int | None = None

    def at(self, x: float) -> float:
        """Its y. Check: fixed 12, slope 0.5, x 4 -> 14."""
        return self.fixed + self.slope * x

    @property
    def flat(self) -> bool:
        """Whether nothing says that y changes with x at all."""
        return self.slope_half is not None and abs(self.slope) <= self.slope_half


def student(freedom: int) -> float:
    """The 95 % point of Student's t. Check: student(1) == 12.706, student(10) is 2.228 within 0.2 %."""
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    z = _NORMAL
    first = (z**3 + z) / (4 * freedom)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    return z + first + second + third


def fitted(xs: Sequence[float], ys: Sequence[float]) -> Line | None:
    """The line of least squares, whatever the points' order; None where fewer than two x differ.

    Of six points or more, one between the others that is off the line that they make is left out and named; the first
    and the last may be where a curve bends.
    """
    points = sorted(zip(xs, ys, range(len(xs)), strict=True))
    line = _plain(points)
    if line is None or line.points < _ENOUGH:
        return line
    best: tuple[float, Line] | None = None
    for one in points[1:-1]:
        others = _plain([other for other in points if other is not one])
        if others is None or others.spread is None or line.spread is None:
            continue
        noise = max(others.spread, _ROUNDING * max(abs(y) for _, y, _ in points))
        if abs(one[1] - others.at(one[0])) > _OFF * noise and (best is None or others.spread < best[0]):
            best = (others.spread, msgspec.structs.replace(others, off=one[2]))
    return line if best is None else best[1]


def _plain(points: Sequence[tuple[float, float, int]]) -> Line | None:
    count = len(points)
    if count < 2:
        return None
    mean_x = math.fsum(x for x, _, _ in points) / count
    mean_y = math.fsum(y for _, y, _ in points) / count
    across = math.fsum((x - mean_x) ** 2 for x, _, _ in points)
    if across <= 0:
        return None
    slope = math.fsum((x - mean_x) * (y - mean_y) for x, y, _ in points) / across
    fixed = mean_y - slope * mean_x
    line = Line(fixed=fixed, slope=slope, points=count)
    if count == 2:
        return line
    spread = math.sqrt(math.fsum((y - fixed - slope * x) ** 2 for x, y, _ in points) / (count - 2))
    wide = student(count - 2) * spread
    slope_half = wide / math.sqrt(across)
    fixed_half = wide * math.sqrt(1 / count + mean_x**2 / across)
    return msgspec.structs.replace(line, fixed_half=fixed_half, slope_half=slope_half, spread=spread)
