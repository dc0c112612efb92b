"""The number line of arithmetic intensity: where the ridges are, and where phases and operators stand."""

from __future__ import annotations

from typing import Any

from rooflight.show import numbers
from rooflight.show.charts import roof_rows
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.export import altair
from rooflight.show.charts.layers import finished, hue, log_x, words
from rooflight.show.charts.place import Datasets, Plane, Rows, along, around, placed
from rooflight.show.charts.strips import strip_width
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.show.charts.wording import deployed, source, step_words
from rooflight.values.analysis import Analysis

_READ = (
    "Left of a ridge point memory sets the pace, right of it arithmetic. Diamonds are phases, circles their operators. "
    "The axis is logarithmic."
)
_HEIGHT = 150


def rows(analysis: Analysis, look: Look = STANDARD) -> Datasets:
    """Ridges above the line, phases and operators on it, with places for their names."""
    data = roof_rows.rows(analysis, look=look)
    forms = {form for step in analysis.placed_on_roof.values() for form in step.flop_by_format}
    known = analysis.accelerator.ridge_flop_per_byte
    ridges = {form: known[form] for form in sorted(forms) if form in known}
    plane = _plane(data["corners"], look)
    dots: Rows = [
        {"name": row["name"], "x": row["x"], "y": 1.0, "hue": row["hue"], "share": 1.0} for row in data["phases"]
    ]
    dots += [
        {"name": f"{row['name']} (does not fit)", "x": row["x"], "y": 1.0, "hue": row["hue"], "share": 1.0}
        for row in data["would"]
    ]
    small: Rows = [
        {"name": row["name"], "mark": row["mark"], "x": row["x"], "y": 1.0, "hue": row["hue"], "share": row["share"]}
        for row in data["operators"]
    ]
    line = [{"x": plane.left, "x2": plane.right, "y": 1.0}]
    taken = [
        *along(plane, [(plane.left, 1.0), (plane.right, 1.0)], 3),
        *(around(plane.x(dot["x"]), 0, 9) for dot in dots),
    ]
    labels = []
    for form, ridge in ridges.items():
        text = f"{form} ridge {numbers.plain(ridge)}"
        labels.append(
            {**placed(plane, ridge, _above(plane), text, size=look.size, taken=taken, radius=2), "hue": "ink"}
        )
    for dot in dots:
        text = f"{dot['name']} {numbers.plain(dot['x'])}"
        labels.append({**placed(plane, dot["x"], 1.0, text, size=look.size, taken=taken, radius=11), "hue": dot["hue"]})
    lines = [{"x": ridge, "form": form, "y": plane.bottom, "y2": _above(plane)} for form, ridge in ridges.items()]
    zone_names = [{**row, "y": plane.bottom} for row in data["zone_names"]]
    return {
        "corners": plane.corners,
        "line": line,
        "ridges": lines,
        "phases": dots,
        "operators": small,
        "labels": labels,
        "zones": data["zones"],
        "zone_names": zone_names,
    }


def _plane(corners: Rows, look: Look) -> Plane:
    """A line's plane: the second axis means nothing, it only carries places."""
    left, right = (corner["x"] for corner in corners)
    return Plane(left=left, right=right, bottom=0.1, top=10, width=strip_width(look), height=_HEIGHT)


def _above(plane: Plane) -> float:
    return plane.at_y(0.22 * plane.height)


def intensity(analysis: Analysis, *, look: Look = STANDARD) -> Chart:
    """FLOP a byte of phases and operators beside the ridge points of the formats they run in."""
    alt = altair()
    data = rows(analysis, look)
    of, palette = alt.NamedData, look.palette
    hidden: Any = alt.Y("y:Q", axis=None, scale=alt.Scale(type="log", nice=False))
    layers = [
        alt.Chart(of("corners")).mark_point(opacity=0).encode(log_x("FLOP per byte of memory traffic"), hidden),
        alt.Chart(of("zones")).mark_rect(opacity=palette.wash).encode(x="x:Q", x2="x2:Q", color=hue(look)),
        *words("zone_names", look, color=hue(look)),
        alt.Chart(of("line")).mark_rule(color=palette.quiet, strokeWidth=2).encode(x="x:Q", x2="x2:Q", y="y:Q"),
        alt.Chart(of("ridges")).mark_rule(color=palette.ink, strokeDash=[2, 3]).encode(x="x:Q", y="y:Q", y2="y2:Q"),
        alt.Chart(of("operators")).mark_circle(opacity=0.6, size=90).encode(x="x:Q", y="y:Q", color=hue(look)),
        alt.Chart(of("phases")).mark_point(shape="diamond", filled=True, size=190, opacity=1, stroke=palette.paper)
        .encode(x="x:Q", y="y:Q", color=hue(look)),
        *words("labels", look, color=hue(look)),
    ]  # fmt: skip
    width = "container" if look.width is None else strip_width(look)
    main = alt.layer(*layers, width=width, height=_HEIGHT)
    title = f"{deployed(analysis)}: {step_words(analysis.phases)}" if analysis.phases else analysis.answer
    return finished("intensity", main, data, look, start=0, title=title, notes=(_READ, source([analysis])))
