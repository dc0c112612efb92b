"""The points of a sweep as a few lines: one axis along x, a line for each combination of the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np

from rooflight.scenario.basis import basis_of
from rooflight.serve.axes import GRID_AXES
from rooflight.serve.sweep import SweepPoints
from rooflight.serve.turns import Turn, turns
from rooflight.show.charts.tag import Tag
from rooflight.show.charts.theme import Look
from rooflight.show.charts.thin import kept
from rooflight.show.sweep import Row, rows
from rooflight.values.accelerator import devices_named
from rooflight.values.sweep import Landmarks
from rooflight.words.basis import basis_clause

MOST_LINES = 4
# More are thinned, so that the lines drawn between the rest pass them closely.
MOST_POINTS = 96
# More are not computed: between neighbours so close nothing is to be seen.
_MOST_COMPUTED = 2048
# Of a line; with more the dots would be beads.
MOST_DOTS = 14
# The longest name that stands in a picture, of a line that has a letter too.
_LONGEST = 28
_WORDS = {"prefill_batch": "prefill batch", "kv_cache": "KV cache"}


class Line(msgspec.Struct, frozen=True):
    """The points of one combination, in the order of x; `name` says what sets it apart from the others.

    turns       where along x another resource begins to bind
    inferred    that what is expected rests on other cards; "" where the card itself was measured
    tag         of which scenario of a page it is; None: it has the hue of its order
    own         where along the axis the question stands that the line was drawn for
    """

    name: str
    points: tuple[Row, ...]
    landmarks: Landmarks
    turns: tuple[Turn, ...] = ()
    inferred: str = ""
    tag: Tag | None = None
    own: int | None = None

    @property
    def letter(self) -> str:
        """What it is called where there is no room, "" for one that has no letter."""
        return self.tag.mark if self.tag is not None and self.tag.lettered else ""

    def hue(self, number: int) -> str:
        """Its own, else that of so many-th line."""
        return str(number) if self.tag is None else self.tag.hue

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

    def named(self, names: Sequence[str]) -> Lines:
        """The lines by other names, in their order."""
        said = [*names, *(line.name for line in self.lines[len(names) :])]
        renamed = (msgspec.structs.replace(line, name=name) for line, name in zip(self.lines, said, strict=False))
        return msgspec.structs.replace(self, lines=tuple(renamed)) if names else self

    def x(self, point: Row) -> int:
        """Where a point stands along the axis."""
        value: int = getattr(point, self.axis)
        return value


def lines(sweep: SweepPoints, *, ignore_capacity: bool = False) -> Lines:
    """At most four lines, of so many points that what is drawn between them passes within 1 % of every other."""
    swept = [name for name in GRID_AXES if name in sweep.grid]
    axis = max(swept, key=lambda name: len(sweep.grid[name]), default="batch")
    grid = {name: _spread(values, MOST_LINES) for name, values in sweep.grid.items() if name != axis}
    grid |= {axis: _close(sweep.grid[axis])} if axis in sweep.grid else {}
    all_of = SweepPoints(
        sweep.scenarios[:MOST_LINES], {name: grid[name] for name in sweep.grid}, sweep.phase, sweep.axes
    )
    drawn = SweepPoints(all_of.scenarios, {**all_of.grid, **_thinned(all_of, axis)}, sweep.phase, sweep.axes)
    others = [name for name in sweep.axes if name != axis]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows(drawn, ignore_capacity=ignore_capacity):
        groups.setdefault(tuple(getattr(row, name) for name in others), []).append(row)
    marks = drawn.landmarks()
    found = []
    for some in groups.values():
        points = tuple(sorted(some, key=lambda row: getattr(row, axis)))
        only = len(groups) == 1  # of several lines no zones are drawn
        found.append(
            Line(
                _name(points[0], others), points, _landmarks(marks, points[0]),
                turns_of(drawn, axis, points, ignore_capacity) if only else (), _inferred(drawn, points[0]),
            )
        )  # fmt: skip
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


def _spread(values: np.ndarray[Any, Any], most: int) -> np.ndarray[Any, Any]:
    """At most so many, evenly spread, the ends among them."""
    values = np.unique(values)
    kept_of: np.ndarray[Any, Any] = values[
        np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int))
    ]
    return kept_of


def _close(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What is computed: of very many values those evenly spread by their logs, the ends among them."""
    values = np.unique(values)
    if len(values) <= _MOST_COMPUTED:
        return values
    first, last = (math.log(max(float(values[end]), 1)) for end in (0, -1))
    wanted = np.exp(np.linspace(first, last, _MOST_COMPUTED))
    places = np.unique(np.clip(np.searchsorted(values, wanted), 0, len(values) - 1))
    chosen: np.ndarray[Any, Any] = values[np.unique([0, *places, len(values) - 1])]
    return chosen


_RATES = [f"tokens_per_s.{name}" for name in ("ceiling", "roofline", "expected", "low", "high")]


def _thinned(sweep: SweepPoints, axis: str) -> dict[str, np.ndarray[Any, Any]]:
    """The axis's values that are drawn: those that one of the lines needs; where they are few, all."""
    values = sweep.grid.get(axis)
    if values is None or len(values) <= MOST_POINTS:
        return {}
    columns = sweep.columns()
    names = [*GRID_AXES]
    shape = (len(sweep.scenarios), *(len(sweep.grid[name]) for name in names if name in sweep.grid))
    place = 1 + [name for name in names if name in sweep.grid].index(axis)
    fits = columns["fits"].reshape(shape)
    needed: set[int] = set()
    by_line = [np.moveaxis(columns[name].reshape(shape), place, -1).reshape(-1, len(values)) for name in _RATES]
    there = np.moveaxis(fits, place, -1).reshape(-1, len(values))
    for number in range(len(there)):
        told = [[None if np.isnan(rate) else float(rate) for rate in column[number]] for column in by_line]
        edge = [int(one) for one in np.flatnonzero(np.diff(there[number].astype(int)))]
        needed |= {*kept([float(value) for value in values], told, [*edge, *(one + 1 for one in edge)])}
    return {axis: values[sorted(needed)]}


def turns_of(sweep: SweepPoints, axis: str, points: Sequence[Row], ignore_capacity: bool) -> tuple[Turn, ...]:
    """Where another resource begins to bind, by the sweep's own points between those that are drawn."""
    known = [(int(getattr(row, axis)), row.bound) for row in points]

    def bound_at(x: int) -> str | None:
        one = SweepPoints(sweep.scenarios, {**sweep.grid, axis: np.asarray([x])}, sweep.phase, sweep.axes)
        return next(iter(rows(one, ignore_capacity=ignore_capacity))).bound

    return turns(known, bound_at) if axis in sweep.grid else ()


def _inferred(sweep: SweepPoints, row: Row) -> str:
    """That what is expected of a line rests on other cards."""
    sc = next((one for one in sweep.scenarios if one.accelerator.id == row.accelerator), sweep.scenarios[0])
    return basis_clause(basis_of(sc), sc.deployment.engine, own=sc.own is not None)


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
