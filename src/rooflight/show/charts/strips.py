"""Horizontal bars, a strip a row: its name on a line of its own, the bar below it. Nothing is left of the plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooflight.show.charts.export import altair
from rooflight.show.charts.layers import hue, on_halo, unit_labels
from rooflight.show.charts.place import Rows
from rooflight.show.charts.theme import MARGIN, SLACK, Look, text_width

STRIP, BAR = 46, 15
# Of the largest value: room at the right; what text behind a bar may take of the width, and its distance from the bar.
_ROOM = 1.04
_MOST_TEXT = 0.72
_GAP = 6


def strip_width(look: Look) -> int:
    """All of the picture's."""
    return look.outer - 2 * MARGIN - SLACK


def ends(values: Sequence[float], look: Look, texts: Sequence[str] = ()) -> Rows:
    """An invisible point that keeps room for the texts behind the bars, each behind the value of its place."""
    whole = strip_width(look)
    most = max([*values, 0.0]) * _ROOM
    for value, text in zip(values, texts, strict=False):
        taken = min((text_width(text, look.size) + 2 * _GAP) / whole, _MOST_TEXT)
        most = max(most, value / (1 - taken))
    return [{"row": 0, "x": most}]


def tips(name: str, said: str, share: str = "") -> list[Any]:
    """What a strip's marks show of their row under the pointer: its name, its value with unit and interval, a share.
    Given are the words before each; rows have name, said and share."""
    alt = altair()
    fields = {"name": name, "said": said} | ({"share": share} if share else {})
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in fields.items()]


def axis_x(title: str, field: str = "x", unit: str = "", percent: bool = False, factors: bool = False) -> Any:
    """A linear axis from nothing, in SI prefixes, in percent, or in factors: 0.5 x."""
    alt = altair()
    said = "format(datum.value, '.0%')" if percent else unit_labels(unit)
    if factors:
        said = "format(datum.value, ',') + ' x'"
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
    return alt.layer(room, *layers, width=width, height=STRIP * count)


def names(dataset: str, look: Look, tooltip: Sequence[Any] = (), field: str = "name") -> list[Any]:
    """What a strip is, above its bar; what is longer than the picture is wide ends in an ellipsis."""
    alt = altair()
    base = alt.Chart(alt.NamedData(dataset)).encode(
        row_y(), alt.XValue(0), alt.Text(f"{field}:N"), **_tipped(tooltip)
    )  # fmt: skip
    return on_halo(base, look, align="left", dy=-STRIP / 4 - 1, limit=alt.ExprRef("width"))


def bar(dataset: str, look: Look, tooltip: Sequence[Any] = (), opacity: float = 1) -> Any:
    """A bar from x to x2 in the row's hue."""
    alt = altair()
    base = alt.Chart(alt.NamedData(dataset)).mark_bar(height=BAR, opacity=opacity, yOffset=STRIP / 4 - 3)
    return base.encode(y=row_y(), x="x:Q", x2="x2:Q", color=hue(look), **_tipped(tooltip))


def behind(dataset: str, look: Look, tooltip: Sequence[Any] = (), field: str = "text", at: str = "end") -> list[Any]:
    """Text behind a bar's end."""
    alt = altair()
    base = alt.Chart(alt.NamedData(dataset)).encode(y=row_y(), x=f"{at}:Q", text=f"{field}:N", **_tipped(tooltip))
    return on_halo(base, look, align="left", dx=_GAP, dy=STRIP / 4 - 3)


def interval(dataset: str, look: Look, tooltip: Sequence[Any] = ()) -> list[Any]:
    """A line from low to high across a bar; what is around it in the page's colour sets it off from the bar."""
    alt = altair()
    base = alt.Chart(alt.NamedData(dataset)).encode(y=row_y(), x="low:Q", x2="high:Q", **_tipped(tooltip))
    palette = look.palette
    return [
        base.mark_rule(strokeWidth=width, yOffset=STRIP / 4 - 3, color=colour)
        for width, colour in ((6, palette.paper), (2, palette.ink))
    ]


def ticks(dataset: str, look: Look, tooltip: Sequence[Any] = ()) -> Any:
    """A short upright line at x on a strip."""
    alt = altair()
    base = alt.Chart(alt.NamedData(dataset)).mark_tick(height=BAR + 6, thickness=3, yOffset=STRIP / 4 - 3)
    return base.encode(y=row_y(), x="x:Q", color=hue(look), **_tipped(tooltip))


def edge(dataset: str, look: Look, tooltip: Sequence[Any] = ()) -> Any:
    """An upright line through all strips."""
    alt = altair()
    base = alt.Chart(alt.NamedData(dataset)).mark_rule(strokeWidth=2, color=look.palette.ink)
    return base.encode(x="x:Q", **_tipped(tooltip))


def _tipped(tooltip: Sequence[Any]) -> dict[str, Any]:
    return {"tooltip": list(tooltip)} if tooltip else {}
