"""Regimes over time: for each device or engine a bar in the colours of what binds, and the values that say so below."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import Any

import msgspec

from rooflight.errors import UnknownName
from rooflight.show import numbers
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.export import altair
from rooflight.show.charts.layers import finished, hue, on_halo
from rooflight.show.charts.place import Datasets, Rows, spread
from rooflight.show.charts.strips import tips
from rooflight.show.charts.theme import MARGIN, SLACK, STANDARD, Look, text_width
from rooflight.values.diagnosis import Diagnosis, Regime

# Subjects that a picture shows, and points of a line; more are averaged.
MOST, MOST_POINTS = 8, 400
# Values drawn as lines: field, name at the line's end, hue.
LINES = (
    ("dram_active", "DRAM active", "memory"), ("tensor_active", "tensor active", "compute"),
    ("gpu_util", "GPU-Util", "ink"), ("kv_usage", "KV cache", "link"),
)  # fmt: skip
WORDS = {
    "memory": "memory", "compute": "compute", "launch": "launch, host", "link": "link", "host_memory": "host memory",
    "capacity": "KV capacity",
    "starved": "too few requests", "queue": "queue", "throttled": "throttled", "idle": "idle", "": "cannot tell",
}  # fmt: skip
_READ = (
    "Bars: what binds at that time. Lines below, from 0 to 100 %: time in which DRAM and the tensor cores are active, "
    "GPU-Util (some kernel runs), and the KV cache in use."
)
# A lane in px, and where its parts are, as shares of it from its top: name, bar, 100 % and 0 %.
LANE, NAME, BAR, FULL, EMPTY = 118, 0.1, (0.2, 0.36), 0.44, 0.94
# Of the picture's width: room at the right for the lines' names.
_ROOM = 104
_UNITS = ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
# Of a time: what is nearer is no gap.
_TOUCHING = 1e-6
# Where a time is a row's number: nobody recorded a clock.
_ORDER = "rows in their order (no clock was recorded)"


class _Lane(msgspec.Struct, frozen=True, kw_only=True):
    """A subject's rows with their beginnings and ends, in seconds of the picture."""

    subject: str
    rows: tuple[Regime, ...]
    starts: tuple[float, ...]
    ends: tuple[float, ...]


def rows(found: Diagnosis, *, look: Look = STANDARD) -> Datasets:
    """The datasets of the picture: bars, their words, lines, their names at the right, and the lanes' frames."""
    lanes, timed = _lanes(found.regimes)
    last = max(end for lane in lanes for end in lane.ends)
    unit, _ = _unit(last, timed)
    px = (_width(look) - _ROOM) / last
    bars: Rows = []
    marks: Rows = []
    points: Rows = []
    names: Rows = []
    lines: Rows = []
    for number, lane in enumerate(lanes):
        names.append({"x": 0.0, "y": number + NAME, "text": lane.subject})
        for share, text, down in ((FULL, "100 %", 7), (EMPTY, "0 %", -7)):
            lines.append({"y": number + share, "x": 0.0, "x2": last / unit, "text": text, "dy": down})
        own = _bars(lane, number, unit)
        _tell(own, unit if timed else None)
        bars += own
        marks += [
            {
                "x": (bar["x"] + bar["x2"]) / 2, "y": number + sum(BAR) / 2, "text": text,
                **{field: bar[field] for field in ("name", "said", "share")},
            }
            for bar in own
            if text_width(text := WORDS[bar["bound"]], look.size) + 8 <= (bar["x2"] - bar["x"]) * unit * px
        ]  # fmt: skip
        points += _points(lane, number, unit)
    said = {mark["text"] for mark in marks}
    return {
        "bars": bars, "marks": marks, "points": points, "names": names, "lines": lines,
        "tags": _tags(points, last / unit),
        "legend": _legend(bars, said, look), "ends": [{"x": (last + _ROOM / px) / unit, "y": float(len(lanes))}],
    }  # fmt: skip


def _lanes(regimes: Sequence[Regime]) -> tuple[list[_Lane], bool]:
    """A lane a subject, those that are idle least first, and whether there is a clock."""
    subjects = dict.fromkeys(row.subject for row in regimes)
    timed = all(_seconds(row.start) is not None for row in regimes)
    first = min((_seconds(row.start) or 0.0 for row in regimes), default=0.0)
    lanes = []
    for subject in subjects:
        own = [row for row in regimes if row.subject == subject]
        if timed:
            own.sort(key=lambda row: _seconds(row.start) or 0.0)
        starts = [(_seconds(row.start) or 0.0) - first if timed else float(n) for n, row in enumerate(own)]
        lanes.append(
            _Lane(subject=subject, rows=tuple(own), starts=tuple(starts), ends=tuple(_ends(own, starts, timed)))
        )
    lanes.sort(key=lambda lane: sum(row.bound == "idle" for row in lane.rows) / len(lane.rows))
    return sorted(lanes[:MOST], key=lambda lane: lane.subject), timed


def _ends(own: Sequence[Regime], starts: Sequence[float], timed: bool) -> list[float]:
    """A row ends when it says, at the latest where the next begins; a moment stands for the time up to the next, one
    after a gap for as long as its neighbours do."""
    steps = [after - before for before, after in pairwise(starts) if after > before]
    usual = median(steps) if steps else 1.0
    found = []
    for number, (row, start) in enumerate(zip(own, starts, strict=True)):
        after = starts[number + 1] if number + 1 < len(starts) else None
        length = (row.seconds if timed else None) or min(2 * usual, after - start if after is not None else usual)
        found.append(start + length if after is None else min(start + length, max(after, start)))
    return found


def _bars(lane: _Lane, number: int, unit: float) -> Rows:
    """Stretches of one regime."""
    bars: Rows = []
    for row, start, end in zip(lane.rows, lane.starts, lane.ends, strict=True):
        bound = row.bound or ""
        if bars and bars[-1]["bound"] == bound and abs(bars[-1]["x2"] * unit - start) < _TOUCHING * end:
            bars[-1]["x2"] = end / unit
            continue
        faint = {"idle": 0.3, "": 0.14}.get(bound, 0.9)
        bars.append({
            "x": start / unit, "x2": end / unit, "y": number + BAR[0], "y2": number + BAR[1], "bound": bound,
            "hue": bound or "idle", "opacity": faint, "subject": lane.subject,
        })  # fmt: skip
    return bars


def _tell(bars: Rows, unit: float | None) -> None:
    """Into each bar of a lane what stands under the pointer: what binds, for how long, and its share of the lane. Rows
    without a clock are counted."""
    whole = sum(bar["x2"] - bar["x"] for bar in bars)
    for bar in bars:
        length = bar["x2"] - bar["x"]
        said = f"{length:,.0f} rows" if unit is None else numbers.seconds(length * unit)
        bar |= {"name": WORDS[bar["bound"]], "said": said, "share": numbers.percent(length / whole) if whole else ""}


def _points(lane: _Lane, number: int, unit: float) -> Rows:
    """The lines' points, in the middle of their rows; of very many, means of neighbours."""
    points: Rows = []
    step = -(-len(lane.rows) // MOST_POINTS)
    for field, name, colour in LINES:
        for first in range(0, len(lane.rows), step):
            some = range(first, min(first + step, len(lane.rows)))
            values = [lane.rows[place].values[field] for place in some if field in lane.rows[place].values]
            if not values:
                continue
            at = fmean((lane.starts[place] + lane.ends[place]) / 2 for place in some)
            value = min(max(fmean(values), 0.0), 1.0)
            points.append({
                "x": at / unit, "y": number + _height(value), "value": value, "name": name, "hue": colour,
                "line": f"{number} {field}", "lane": number, "said": numbers.percent(value),
            })  # fmt: skip
    return points


def _height(value: float) -> float:
    """Where a share of 0 to 1 is in its lane, from the top."""
    return EMPTY - value * (EMPTY - FULL)


def _tags(points: Rows, right: float) -> Rows:
    """The name of each line at the right, clear of each other."""
    tags: Rows = []
    for lane in dict.fromkeys(point["lane"] for point in points):
        last = {point["line"]: point for point in points if point["lane"] == lane}
        # places grow downwards, spread moves upwards
        places = spread([point["y"] for point in last.values()], 14 / LANE)
        tags += [
            {"x": right, "y": place, "text": point["name"], "hue": point["hue"]}
            for place, point in zip(places, last.values(), strict=True)
        ]
    return tags


def _legend(bars: Rows, said: set[str], look: Look) -> Rows:
    """Words of the regimes whose bars are nowhere wide enough for them."""
    found: Rows = []
    place = 0.0
    for bound in dict.fromkeys(bar["bound"] for bar in bars):
        text = WORDS[bound]
        if text not in said:
            found.append({"px": place, "text": f"■ {text}", "hue": bound or "idle"})
            place += text_width(text, look.size) + 34
    return found


def _unit(last: float, timed: bool) -> tuple[float, str]:
    """The unit of the axis: that of which there are two at least."""
    return next(((size, name) for size, name in _UNITS if last >= 2 * size), _UNITS[-1]) if timed else (1.0, "")


def _seconds(start: str | None) -> float | None:
    try:
        when = None if start is None else datetime.datetime.fromisoformat(start)
    except ValueError:
        return None
    if when is None:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=datetime.UTC)).timestamp()


def _said(start: str) -> str:
    """A time as a person reads it."""
    when = datetime.datetime.fromtimestamp(_seconds(start) or 0.0, datetime.UTC)
    return f"{when:%Y-%m-%d %H:%M:%S} UTC"


def _width(look: Look) -> int:
    return look.outer - 2 * MARGIN - SLACK


def timeline(found: Diagnosis, *, look: Look = STANDARD) -> Chart:
    """What binds over time, for each device and engine. Raises UnknownName without monitoring."""
    if not found.regimes:
        raise UnknownName(
            "a timeline is of monitoring, and there is none", where="kind", got="timeline",
            want="a diagnosis of devices or engines over a time",
        )  # fmt: skip
    alt = altair()
    data = rows(found, look=look)
    lanes, timed = _lanes(found.regimes)
    _, unit = _unit(max(end for lane in lanes for end in lane.ends), timed)
    title = f"{unit} since {_said(min(row.start or '' for row in found.regimes))}" if timed else _ORDER
    axis = alt.Axis(grid=False, tickCount=6, labelFlush=False)
    x = alt.X("x:Q", title=title, axis=axis, scale=alt.Scale(nice=False, zero=True))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[len(lanes), 0], nice=False))
    width = "container" if look.width is None else _width(look)
    main = alt.layer(*_layers(look, x, y), width=width, height=LANE * len(lanes))
    others = len({row.subject for row in found.regimes}) - len(lanes)
    more = (f"{others} more are not shown, those that are idle most first.",) if others else ()
    return finished("timeline", main, data, look, start=0, title=found.answer, notes=(_READ, *more))


def _layers(look: Look, x: Any, y: Any) -> list[Any]:
    """Frames, bars with their words, lines with their names."""
    alt = altair()
    colour = hue(look)

    def of(name: str) -> Any:
        return alt.Chart(alt.NamedData(name))

    opacity = alt.Opacity("opacity:Q", scale=None, legend=None)
    dash = alt.StrokeDash(
        "hue:N", legend=None,
        scale=alt.Scale(domain=["memory", "compute", "ink", "link"], range=[[1, 0], [1, 0], [2, 2], [6, 3]]),
    )  # fmt: skip
    quiet = {
        "align": "right", "baseline": "middle", "dx": -3, "dy": alt.ExprRef("datum.dy"), "fontSize": look.size - 2,
        "color": look.palette.quiet,
    }  # fmt: skip
    time, value = tips("binds", "for", "of the time"), tips("value", "mean")
    frame = of("lines").mark_rule(color=look.palette.rule)
    legend = of("legend").mark_text(align="left", baseline="bottom").encode(
        x=alt.X("px:Q", scale=None), y=alt.value(0), text="text:N", color=colour
    )  # fmt: skip
    return [
        of("ends").mark_point(opacity=0).encode(x, y),
        frame.encode(x="x:Q", x2="x2:Q", y=y),
        of("lines").mark_text(**quiet).encode(x="x2:Q", y=y, text="text:N"),
        of("bars").mark_rect().encode(x="x:Q", x2="x2:Q", y=y, y2="y2:Q", color=colour, opacity=opacity, tooltip=time),
        *on_halo(of("marks").encode(x="x:Q", y=y, text="text:N", tooltip=time), look, align="center"),
        of("points").mark_line(strokeWidth=1.6).encode(
            x="x:Q", y=y, color=colour, detail="line:N", strokeDash=dash, tooltip=value
        ),
        of("points").mark_point(size=9, filled=True, opacity=0.9).encode(x="x:Q", y=y, color=colour, tooltip=value),
        *on_halo(of("tags").encode(x="x:Q", y=y, text="text:N"), look, color=colour, align="left", dx=6),
        *on_halo(of("names").encode(x="x:Q", y=y, text="text:N"), look, align="left", fontWeight=600),
        legend,
    ]  # fmt: skip
