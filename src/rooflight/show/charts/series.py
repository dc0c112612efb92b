"""The points of a sweep as a few lines: one axis along x, a line for each combination of the others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np

from rooflight.serve.axes import GRID_AXES
from rooflight.serve.sweep import SweepPoints
from rooflight.show.charts.theme import Look
from rooflight.show.sweep import Row, rows
from rooflight.values.accelerator import devices_named
from rooflight.values.sweep import Landmarks

MOST_LINES = 4
# More are thinned: no picture shows them.
MOST_POINTS = 96
# Of a line; with more the dots would be beads.
MOST_DOTS = 14
# The longest name that stands in a picture, of a line that has a letter too.
_LONGEST = 28
_WORDS = {"prefill_batch": "prefill batch", "kv_cache": "KV cache"}


class Line(msgspec.Struct, frozen=True):
    """The points of one combination, in the order of x; `name` says what sets it apart from the others.

    letter      what it is called where there is no room; place: whose hue it has, 0: by its order
    own         where along the axis the question stands that the line was drawn for
    """

    name: str
    points: tuple[Row, ...]
    landmarks: Landmarks
    letter: str = ""
    place: int = 0
    own: int | None = None

    def called(self, look: Look) -> str:
        """The name, or the letter where there is no room for it."""
        tight = look.narrow or len(self.name) > _LONGEST
        return self.letter if tight and self.letter else self.name


class Lines(msgspec.Struct, frozen=True):
    """A sweep's lines along the grid axis of most points. `left_out`: lines beyond the most that a picture holds.

    focus       which of several lines has its zones drawn; a single one has
    """

    axis: str
    lines: tuple[Line, ...]
    left_out: int
    focus: int | None = None

    @property
    def zoned(self) -> Line | None:
        """The line whose zones are drawn."""
        if len(self.lines) == 1:
            return self.lines[0]
        return None if self.focus is None else self.lines[self.focus]

    def x(self, point: Row) -> int:
        """Where a point stands along the axis."""
        value: int = getattr(point, self.axis)
        return value


def lines(sweep: SweepPoints, *, ignore_capacity: bool = False) -> Lines:
    """At most four lines of at most 96 points; only what is drawn is computed."""
    swept = [name for name in GRID_AXES if name in sweep.grid]
    axis = max(swept, key=lambda name: len(sweep.grid[name]), default="batch")
    grid = {name: _thinned(values, MOST_POINTS if name == axis else MOST_LINES) for name, values in sweep.grid.items()}
    drawn = SweepPoints(sweep.scenarios[:MOST_LINES], grid, sweep.phase, sweep.axes)
    others = [name for name in sweep.axes if name != axis]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows(drawn, ignore_capacity=ignore_capacity):
        groups.setdefault(tuple(getattr(row, name) for name in others), []).append(row)
    marks = drawn.landmarks()
    found = []
    for some in groups.values():
        points = tuple(sorted(some, key=lambda row: getattr(row, axis)))
        found.append(Line(_name(points[0], others), points, _landmarks(marks, points[0])))
    total = sweep.points // len(sweep.grid.get(axis, [0]))
    return Lines(axis, tuple(found[:MOST_LINES]), total - min(total, MOST_LINES))


def dots(points: Sequence[dict[str, Any]], at: str) -> list[dict[str, Any]]:
    """Of the points of lines, those with a dot: all of a line with few, of another the powers of two and the last."""
    found = []
    for _, some in groupby(points, key=itemgetter("line")):
        own = list(some)
        few = len(own) <= MOST_DOTS
        found += [one for one in own if few or int(one[at]).bit_count() == 1 or one is own[-1]]
    return found


def _thinned(values: np.ndarray[Any, Any], most: int) -> np.ndarray[Any, Any]:
    """At most so many, evenly spread, the ends among them."""
    values = np.unique(values)
    kept: np.ndarray[Any, Any] = values[
        np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int))
    ]
    return kept


def _name(row: Row, others: Sequence[str]) -> str:
    """What the line's combination is: 4 x h100-sxm, fp8, context 8,192."""
    said = []
    for name in others:
        value = getattr(row, name)
        if name == "accelerator":
            said.append(devices_named(value, row.devices))
        elif isinstance(value, str):
            said.append(value if name == "weights" else f"{_WORDS.get(name, name)} {value}")
        else:
            said.append(f"{_WORDS.get(name, name)} {value:,}")
    return ", ".join(said)


def _landmarks(marks: Sequence[Landmarks], row: Row) -> Landmarks:
    """Of the row's deployment; where lengths are swept, of the nearest length."""

    def distance(mark: Landmarks) -> tuple[bool, float]:
        other = any(
            getattr(mark, name) != getattr(row, name)
            for name in ("accelerator", "devices", "tp", "pp", "ep", "dp", "weights", "kv_cache")
        )
        return other, abs(mark.context - (row.context or mark.context))

    return min(marks, key=distance)
