"""Places for labels: beside what they name, clear of each other and of what is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec

from rooflight.show.charts.theme import LETTER

Rows = list[dict[str, Any]]
Datasets = dict[str, Rows]

# Where a label may stand: which way from the point, the nearest first.
_WAYS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
_GAPS = (3, 12, 24, 40)
_BEYOND = 50  # px of a label outside the plot weigh so much more than px on another
_LABEL = 4.0  # and those on another label so much more than on a line, behind which it can be read


class Plane(msgspec.Struct, frozen=True, kw_only=True):
    """A log-log plot: its corners in data, its size in px."""

    left: float
    right: float
    bottom: float
    top: float
    width: float
    height: float

    def x(self, value: float) -> float:
        """Px from the left edge."""
        return (math.log(value) - math.log(self.left)) / (math.log(self.right) - math.log(self.left)) * self.width

    def y(self, value: float) -> float:
        """Px from the top edge."""
        return (math.log(self.top) - math.log(value)) / (math.log(self.top) - math.log(self.bottom)) * self.height

    def at_x(self, place: float) -> float:
        """The value at px from the left edge."""
        return self.left * math.pow(self.right / self.left, place / self.width)

    def at_y(self, place: float) -> float:
        """The value at px from the top edge."""
        return self.top * math.pow(self.bottom / self.top, place / self.height)

    @property
    def corners(self) -> Rows:
        """Two invisible points that give the axes their ends."""
        return [{"x": self.left, "y": self.bottom}, {"x": self.right, "y": self.top}]


class Box(msgspec.Struct, frozen=True):
    """A rectangle in px; `weight` is how bad it is to cover it."""

    left: float
    top: float
    right: float
    bottom: float
    weight: float = 1.0

    def overlap(self, other: Box) -> float:
        """Square px that both cover."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return wide * high if wide > 0 and high > 0 else 0.0


def around(x: float, y: float, radius: float, weight: float = 1.0) -> Box:
    """The box of a dot."""
    return Box(x - radius, y - radius, x + radius, y + radius, weight)


def along(plane: Plane, ends: Sequence[tuple[float, float]], weight: float = 0.4) -> list[Box]:
    """Small boxes along a line between two points of data, for labels to keep off it."""
    (x0, y0), (x1, y1) = ((plane.x(x), plane.y(y)) for x, y in ends)
    steps = max(2, int(math.hypot(x1 - x0, y1 - y0) / 14))
    return [around(x0 + (x1 - x0) * n / steps, y0 + (y1 - y0) * n / steps, 5, weight) for n in range(steps + 1)]


def placed(
    plane: Plane, x: float, y: float, text: str, *, size: float, taken: list[Box], radius: float = 6
) -> dict[str, Any]:
    """Where the label of a point of data goes: offsets in px, for text centred on them. `taken` gets its box."""
    lines = text.split("\n")
    wide, high = max(map(len, lines)) * size * LETTER + 4, len(lines) * (size + 2)
    at_x, at_y = plane.x(x), plane.y(y)
    far = wide + radius + _GAPS[-1]
    near = [
        (box.left, box.top, box.right, box.bottom, box.weight)
        for box in taken
        if box.right > at_x - far and box.left < at_x + far and box.bottom > at_y - far and box.top < at_y + far
    ]
    best = (math.inf, 0.0, 0.0)
    for gap in _GAPS:
        for rank, (right, down) in enumerate(_WAYS):
            reach = radius + gap
            dx = right * (reach * (0.75 if down else 1) + wide / 2)
            dy = down * (reach * (0.75 if right else 1) + high / 2)
            left, top = at_x + dx - wide / 2, at_y + dy - high / 2
            out = max(0, -left) + max(0, left + wide - plane.width) + max(0, -top) + max(0, top + high - plane.height)
            covered = _covered(left, top, left + wide, top + high, near) + _BEYOND * out * high
            best = min(best, (covered + gap + rank / 10, dx, dy))
            if not covered:
                break
        if best[0] < gap + 1:
            break
    _, dx, dy = best
    taken.append(Box(at_x + dx - wide / 2, at_y + dy - high / 2, at_x + dx + wide / 2, at_y + dy + high / 2, _LABEL))
    return {"x": x, "y": y, "dx": round(dx, 1), "dy": round(dy, 1), "text": text}


def _covered(left: float, top: float, right: float, bottom: float, near: Sequence[tuple[float, ...]]) -> float:
    """Square px that a rectangle covers of others, each by its weight. Called often: no objects, no calls."""
    found = 0.0
    for other_left, other_top, other_right, other_bottom, weight in near:
        wide = (right if right < other_right else other_right) - (left if left > other_left else other_left)
        if wide > 0:
            high = (bottom if bottom < other_bottom else other_bottom) - (top if top > other_top else other_top)
            if high > 0:
                found += wide * high * weight
    return found


def spread(places: Sequence[float], least: float) -> list[float]:
    """The places, in their order, moved up (to smaller values) until neighbours are `least` apart."""
    order = sorted(range(len(places)), key=lambda index: -places[index])
    moved = list(places)
    for below, above in pairwise(order):
        moved[above] = min(moved[above], moved[below] - least)
    return moved


def ranges(numbers: Sequence[int]) -> str:
    """1-3, 5: runs of whole numbers in short."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    words = (f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)
    return ",".join(words)
