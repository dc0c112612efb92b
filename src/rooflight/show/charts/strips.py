"""Horizontal bars, a strip a row: its name on a line of its own, the bar below it. Nothing is left of the plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooflight.show.charts.export import altair
from rooflight.show.charts.layers import hue, on_halo, unit_labels
from rooflight.show.charts.place import Rows
from rooflight.show.charts.theme import MARGIN, SLACK, Look

STRIP, BAR = 46, 15
# Of the largest value: room at the right for the text behind a bar.
_ROOM = 1.3


def strip_width(look: Look) -> int:
    """All of the picture's."""
    return look.outer - 2 * MARGIN - SLACK


def ends(values: Sequence[float], look: Look) -> Rows:
    """An invisible point that keeps room for the text behind the longest bar."""
    return [{"row": 0, "x": max([*values, 0.0]) * (_ROOM + 0.25 * look.narrow)}]


def axis_x(title: str, field: str = "x", unit: str = "", percent: bool = False) -> Any:
    """A linear axis from nothing, in SI prefixes or in percent."""
    alt = altair()
    said = "format(datum.value, '.0%')" if percent else unit_labels(unit)
    shown = alt.Axis(labelExpr=said, tickCount=5, grid=True, labelOverlap=True, labelBound=True)
    return alt.X(f"{field}:Q", title=title, axis=shown, scale=alt.Scale(zero=True, nice=False))


def row_y(field: str = "row") -> Any:
    """A band a row, in the order of the rows' numbers."""
    alt = altair()
    return alt.Y(f"{field}:O", axis=None, scale=alt.Scale(paddingInner=0, paddingOuter=0))


def strips(look: Look, count: int, x: Any, layers: Sequence[Any], *, ends_of: str = "ends") -> Any:
    """The layers on strips: their names, then they."""
    alt = altair()
    width = "container" if look.width is None else strip_width(look)
    rows = alt.Y("row:O", axis=None, scale=alt.Scale(domain=[*range(count)], paddingInner=0, paddingOuter=0))
    room = alt.Chart(alt.NamedData(ends_of)).mark_point(opacity=0).encode(x, rows)
    return alt.layer(room, *layers).properties(width=width, height=STRIP * count)


def names(dataset: str, look: Look, field: str = "name") -> list[Any]:
    """What a strip is, above its bar."""
    alt = altair()
    base = alt.Chart(alt.NamedData(dataset)).encode(y=row_y(), x=alt.value(0), text=f"{field}:N")
    return on_halo(base, look, align="left", dy=-STRIP / 4 - 1)


def bar(dataset: str, look: Look, opacity: float = 1) -> Any:
    """A bar from x to x2 in the row's hue."""
    alt = altair()
    base = alt.Chart(alt.NamedData(dataset)).mark_bar(height=BAR, opacity=opacity, yOffset=STRIP / 4 - 3)
    return base.encode(y=row_y(), x="x:Q", x2="x2:Q", color=hue(look))


def behind(dataset: str, look: Look, field: str = "text", at: str = "end") -> list[Any]:
    """Text behind a bar's end."""
    alt = altair()
    base = alt.Chart(alt.NamedData(dataset)).encode(y=row_y(), x=f"{at}:Q", text=f"{field}:N")
    return on_halo(base, look, align="left", dx=6, dy=STRIP / 4 - 3)


def interval(dataset: str, look: Look) -> Any:
    """A line from low to high across a bar."""
    alt = altair()
    base = alt.Chart(alt.NamedData(dataset)).mark_rule(strokeWidth=2, yOffset=STRIP / 4 - 3, color=look.palette.ink)
    return base.encode(y=row_y(), x="low:Q", x2="high:Q")
