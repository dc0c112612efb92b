"""What charts are put together from: axes, labels with a halo, a table, and the whole picture with its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rooflight.show.charts.chart import Chart
from rooflight.show.charts.export import altair
from rooflight.show.charts.place import Datasets
from rooflight.show.charts.theme import AXIS, GAP, MARGIN, SLACK, Look, config

POWERS = [float(f"1e{power}") for power in range(-6, 22)]
ROUND = [float(step * 10**power) for power in range(9) for step in (1, 2, 5)]
# Of labels that would stand on each other, or nearly, some are left out.
_CLEAR = {"labelOverlap": "greedy", "labelSeparation": 5}
# d3's SI prefixes are ours, but for the micro sign.
SI = "~s"


class Column(msgspec.Struct, frozen=True):
    """Of a table: its head, the field of a row, where it starts (or ends, if right) as a share of the width.
    hued: in the colour of its row; quiet: smaller and fainter than the others."""

    head: str
    field: str
    place: float
    right: bool = False
    hued: bool = False
    quiet: bool = False


def log_x(title: str, field: str = "x", **axis: Any) -> Any:
    """A logarithmic x axis with a tick a power of ten; its ends are the data's."""
    alt = altair()
    axis = {"values": POWERS, "format": SI, "grid": False, **_CLEAR, **axis}
    return alt.X(f"{field}:Q", title=title, scale=alt.Scale(type="log", nice=False), axis=alt.Axis(**axis))


def log_y(title: str, field: str = "y", **axis: Any) -> Any:
    """The same for y."""
    alt = altair()
    axis = {"values": POWERS, "format": SI, **_CLEAR, **axis}
    return alt.Y(f"{field}:Q", title=title, scale=alt.Scale(type="log", nice=False), axis=alt.Axis(**axis))


def hue(look: Look, field: str = "hue") -> Any:
    """Colour by the palette's name in a field; words on the chart say what it means, so it has no legend."""
    alt = altair()
    hues = look.palette.hues
    return alt.Color(f"{field}:N", scale=alt.Scale(domain=[*hues], range=[*hues.values()]), legend=None)


def unit_labels(unit: str) -> str:
    """Vega's expression for axis labels such as 5 ms."""
    return f"replace(format(datum.value, '{SI}'), /([^0-9.]*)$/, ' $1{unit}')"


def words(name: str, look: Look, *, color: Any = None, **mark: Any) -> list[Any]:
    """Labels of a dataset with x, y, dx, dy and text, each on a halo of the page's colour."""
    alt = altair()
    shown = {
        "lineBreak": "\n",
        "dx": alt.ExprRef("datum.dx"),
        "dy": alt.ExprRef("datum.dy"),
        "baseline": "middle",
        **mark,
    }
    base = alt.Chart(alt.NamedData(name)).encode(alt.X("x:Q"), alt.Y("y:Q"), alt.Text("text:N"))
    return on_halo(base, look, color=color, **shown)


def on_halo(base: Any, look: Look, *, color: Any = None, **mark: Any) -> list[Any]:
    """Text twice: broad in the page's colour, so that lines below do not cut it, then itself."""
    mark = {"baseline": "middle", **mark}
    paper = look.palette.paper
    halo = base.mark_text(
        **{**mark, "stroke": paper, "strokeWidth": 4, "strokeJoin": "round", "fill": paper}, aria=False
    )
    front = base.mark_text(**mark)
    return [halo, front if color is None else front.encode(color=color)]


def table(name: str, columns: Sequence[Column], look: Look, *, rows: int, title: str = "", parted: bool = False) -> Any:
    """A dataset as a table in text: a line a row, in the order of its field `row`. Beside the plot or below it, there
    from the picture's left edge on.

    parted  whether rules stand only below rows that say `last`, as of lines that take several rows
    """
    alt = altair()
    palette = look.palette
    line = look.size + 8
    start, width = (0, look.beside) if look.beside else (-AXIS, look.outer - 2 * MARGIN - SLACK)
    base = alt.Chart(alt.NamedData(name)).encode(y=alt.Y("row:O", axis=None, scale=alt.Scale(paddingInner=0)))
    last = base.transform_filter("datum.last") if parted else base
    layers = [
        last.mark_rule(color=palette.rule, strokeWidth=0.6, yOffset=line / 2).encode(
            alt.XValue(start), alt.X2Value(start + width)
        )
    ]
    for column in columns:
        side = {"align": "right" if column.right else "left", "baseline": "middle"}
        at = alt.XValue(start + column.place * width)
        faint = {"color": palette.quiet, "fontSize": look.size - 1} if column.quiet else {}
        cell = base.mark_text(**side, **faint).encode(at, alt.Text(f"{column.field}:N"))
        layers.append(cell.encode(color=hue(look)) if column.hued else cell)
        if not column.head:
            continue
        head = alt.Chart(alt.NamedData("once")).mark_text(**side, color=palette.quiet, text=column.head)
        layers.append(head.encode(at, alt.YValue(-line / 2)))
    if title:
        layers.append(
            alt.Chart(alt.NamedData("once"))
            .mark_text(align="left", baseline="middle", text=title, fontWeight=600)
            .encode(alt.XValue(start), alt.YValue(-1.6 * line))
        )
    return alt.layer(*layers, width=width + start, height=line * rows)


def notes_view(notes: Sequence[str], look: Look, start: int) -> Any:
    """Small print below, wrapped to the picture, from `start` px right of the plot's left edge on."""
    alt = altair()
    size = look.size - 1
    lines = [line for note in notes for line in look.wrapped(note, size)]
    text = alt.Chart(alt.NamedData("once")).mark_text(
        align="left", baseline="top", text=lines, color=look.palette.quiet, fontSize=size, lineHeight=size + 4
    )
    width = look.outer - 2 * MARGIN - SLACK + start
    return text.encode(alt.XValue(start), alt.YValue(0)).properties(width=width, height=(size + 4) * len(lines))


def finished(
    kind: str,
    main: Any,
    rows: Datasets,
    look: Look,
    *,
    title: str,
    subtitle: str = "",
    notes: Sequence[str] = (),
    beside: Sequence[Any] = (),
    start: int = -AXIS,
    aside: bool = True,
) -> Chart:
    """The whole picture. On a page (no width) only the chart itself: its words and tables are the page's.

    start       where words below begin, from the plot's left edge: 0 where no axis is left of it
    aside       whether `beside` may stand beside, where the picture is wide; else below
    """
    alt = altair()
    about: dict[str, Any] = {"usermeta": {"kind": kind, "answer": title}}
    if look.width is None:
        whole = main
    else:
        rows_of_views = (
            [alt.hconcat(main, *beside, spacing=GAP)] if look.beside and beside and aside else [main, *beside]
        )
        whole = alt.vconcat(*rows_of_views, *([notes_view(notes, look, start)] if notes else []))
        heading = look.wrapped(title, look.size + 4)
        under = look.wrapped(subtitle, look.size) if subtitle else []
        about["title"] = {"text": heading, "subtitle": under}
    # what altair would check again at each drawing, tests do: every picture of theirs is compiled; and what is set on a
    # chart of altair's copies all of it
    spec = {**whole.to_dict(validate=False), **about}
    spec["config"] = config(look)
    if look.width is None:
        spec["autosize"] = {"type": "fit-x", "contains": "padding", "resize": True}
    spec["datasets"] = {"once": [{}], **rows}
    said = tuple(text for text in (subtitle, *notes) if text)
    return Chart(kind=kind, title=title, notes=said, spec=spec)


def refilled(page_spec: Mapping[str, Any], kind: str, rows: Datasets, *, title: str, notes: Sequence[str]) -> Chart:
    """A page's chart whose marks are there already: its words and rows alone are new."""
    about = {"kind": kind, "answer": title}
    spec = {**page_spec, "usermeta": about, "datasets": {"once": [{}], **rows}}
    return Chart(kind=kind, title=title, notes=tuple(text for text in notes if text), spec=spec)


def sized(chart: Any, look: Look, width: int | None = None) -> Any:
    """The plot's size: what margins and a table beside leave, or all there is on a page."""
    across = "container" if look.width is None else width or look.plot_width
    found = chart.copy(deep=False)
    found.width, found.height = across, look.plot_height
    return found
