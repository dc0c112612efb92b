"""Deployments over the ratio of input to output tokens: which serves a request sooner, and where they cross."""

from __future__ import annotations

from rooflight.show import numbers
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.export import altair
from rooflight.show.charts.interval import INTERVAL_NOTE
from rooflight.show.charts.layers import POWERS, finished, hue, log_x, log_y, sized, words
from rooflight.show.charts.place import Datasets, Plane, Rows
from rooflight.show.charts.strips import tips
from rooflight.show.charts.theme import STANDARD, Look, text_width
from rooflight.show.charts.wording import short, times
from rooflight.values.comparison import Comparison, Curve

# Lines a picture can hold apart: the baseline, and those that are fastest somewhere.
MOST = 4
_READ = (
    "Each line is a deployment: requests that it serves in the time in which the baseline serves one, as a well-run "
    "engine does. The upright line is this mix. Both axes are logarithmic."
)
# Px between a line's end and its name, and the share of the width that names may take.
_APART, _MOST_ROOM = 8, 0.45
_TICKS = [float(two) for two in (0.0625, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32)]


def shown(found: Comparison) -> list[Curve]:
    """The baseline's curve, then the fastest anywhere, as many as can be told apart."""
    if found.curves is None:
        return []
    curves = list(found.curves.curves)
    first = [one for one in curves if one.label == found.baseline]
    others = [one for one in curves if one.label != found.baseline]
    others.sort(key=lambda one: min(own / best for own, best in zip(one.expected_s, _best(curves), strict=True)))
    return [*first, *others][:MOST]


def _best(curves: list[Curve]) -> list[float]:
    return [min(places) for places in zip(*(one.expected_s for one in curves), strict=True)]


def rows(found: Comparison, *, look: Look = STANDARD) -> Datasets:
    """Speed over the baseline's at each ratio, a line a deployment; labels at the right, clear of each other."""
    curves = shown(found)
    if found.curves is None or not curves:
        return {"corners": [], "points": [], "labels": [], "mix": []}
    base, ratios = curves[0], found.curves.ratio
    points: Rows = [
        {
            "x": ratio, "y": than / own, "hue": str(number), "line": number, "name": one.label,
            "said": f"{times(than / own)} the baseline", "share": numbers.plain(ratio),
        }
        for number, one in enumerate(curves, 1)
        for ratio, own, than in zip(ratios, one.expected_s, base.expected_s, strict=True)
    ]  # fmt: skip
    speeds = [point["y"] for point in points]
    room = _room(curves, look)
    plane = Plane(
        left=ratios[0], right=ratios[-1], bottom=min(speeds) / 1.3, top=max(speeds) * 1.3,
        width=look.full_width - room, height=look.plot_height,
    )  # fmt: skip
    right = plane.at_x(look.full_width)
    corners: Rows = [{"x": plane.left, "y": plane.bottom}, {"x": right, "y": plane.top}]
    here = {"x": found.mix.ratio, "name": "this mix", "said": numbers.plain(found.mix.ratio)}
    mix: Rows = [here] if found.mix.ratio and plane.left < found.mix.ratio < plane.right else []
    return {"corners": corners, "points": points, "labels": _labels(plane, points, len(curves), look), "mix": mix}


def _ticks(points: Rows) -> list[float]:
    """Powers of ten along the lines, and none beyond where they are named."""
    return [power for power in POWERS if power <= max((point["x"] for point in points), default=0.0)]


def _room(curves: list[Curve], look: Look) -> float:
    """Px at the right for the lines' names; those that would take more than that end in an ellipsis."""
    widest = max((text_width(one.label, look.size) for one in curves), default=0.0) + 16
    return min(widest, _MOST_ROOM * look.full_width)


def _labels(plane: Plane, points: Rows, lines: int, look: Look) -> Rows:
    """Names at the lines' right ends, pushed apart where they end together."""
    ends = [[point for point in points if point["hue"] == str(number)][-1] for number in range(1, lines + 1)]
    line, last = look.size + 4, -float("inf")
    found: Rows = []
    for end in sorted(ends, key=lambda end: -end["y"]):
        place = max(plane.y(end["y"]), last + line)
        last = place
        label = {"x": end["x"], "y": end["y"], "dx": _APART, "dy": place - plane.y(end["y"])}
        found.append({**label, "text": end["name"], "hue": end["hue"]})
    return found


def crossing(found: Comparison, *, look: Look = STANDARD) -> Chart:
    """Speed over the baseline's along the ratio of input to output tokens."""
    alt = altair()
    data = rows(found, look=look)
    of, color = alt.NamedData, hue(look)
    ratio = "input tokens for each output token"
    told, mix = tips("deployment", "speed", ratio), tips("line", ratio)
    line = alt.Chart(of("points")).encode(x="x:Q", y="y:Q", color=color, detail="name:N", tooltip=told)
    room = _room(shown(found), look)
    main = alt.layer(
        alt.Chart(of("corners")).mark_point(opacity=0).encode(
            log_x(ratio, format="~g", values=_ticks(data["points"])),
            log_y("speed, times the baseline", values=_TICKS, format="~g"),
        ),
        alt.Chart(of("mix")).mark_rule(strokeDash=[3, 3], color=look.palette.quiet).encode(
            x="x:Q", tooltip=mix
        ),
        line.mark_line(strokeWidth=2.5),
        line.mark_circle(size=90, opacity=0),
        *words("labels", look, color=color, align="left", limit=room - _APART),
    )  # fmt: skip
    main = sized(main, look, look.full_width)
    kept = {one.label for one in shown(found)}
    left = [one.label for one in found.curves.curves if one.label not in kept] if found.curves else []
    notes = (_READ, INTERVAL_NOTE, *([f"Left out, fastest nowhere: {', '.join(left)}."] if left else []))
    title = f"{short(found.model)}, from long answers to long prompts"
    return finished("crossing", main, data, look, title=title, subtitle=found.answer, notes=notes)
