"""Measurements against predictions: each as a share of the speed that physics allows."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from rooflight.show import numbers
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.comparison import ticks
from rooflight.show.charts.export import altair
from rooflight.show.charts.layers import finished
from rooflight.show.charts.place import Datasets, Rows
from rooflight.show.charts.strips import axis_x, bar, ends, names, strips
from rooflight.show.charts.strips import behind as text_behind
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.values.measurement import METRICS, Report, Verdict

MOST = 20
_HUES = {"impossible": "compute", "slow": "launch", "fast": "link", "ok": "memory"}
_LIMIT = "100 % is the ceiling: what is right of it is faster than physics allows."
_SEEN = (
    "100 % is the ceiling, which of measured machines is the fastest seen there: what is right of it is faster than "
    "they were measured."
)
_READ = "Bars: the interval in which eight of ten well-run engines lie. Upright line: what was measured."


def furthest(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The judged rows of highest speed over their ceiling's, the highest first; memory does not grow with the rows."""
    judged = (one for one in verdicts if one.over_ceiling is not None and one.ceiling)
    return heapq.nlargest(MOST, judged, key=lambda one: one.over_ceiling or 0.0)


def rows(verdicts: Iterable[Verdict], look: Look = STANDARD) -> Datasets:
    """The judged rows furthest up to their ceiling: measured and expected speed over the ceiling's."""
    shown = furthest(verdicts)
    several = len({one.line for one in shown}) > 1  # the claims of one question are all of line 1
    bars: Rows = []
    marks: Rows = []
    said: Rows = []
    for number, one in enumerate(shown):
        over = one.over_ceiling or 0.0
        hue = _HUES.get(one.verdict, "capacity")
        low, high = (_over(one, value) for value in (one.low, one.high))
        slow, fast = min(low, high), max(low, high)
        line = f"line {one.line:,}: " if several else ""
        name = f"{line}{one.model.rpartition('/')[2]} on {one.accelerator}, {one.metric}"
        bars.append({"row": number, "name": name, "x": slow, "x2": fast, "hue": "capacity"})
        marks.append({"row": number, "x": over, "hue": hue})
        said.append(
            {"row": number, "end": max(fast, over), "text": f"{numbers.plain(one.value)} {one.unit}: {one.verdict}"}
        )
    largest = [row["end"] for row in said] or [1.0]
    return {"bars": bars, "marks": marks, "said": said, "ceiling": [{"x": 1.0}], "ends": ends([*largest, 1.0], look)}


def hue_of(one: Verdict) -> str:
    """The palette's name for a verdict."""
    return _HUES.get(one.verdict, "capacity")


def _over(one: Verdict, value: float | None) -> float:
    """A value's speed over the ceiling's; a time is the faster the smaller it is."""
    if value is None or not one.ceiling:
        return 0.0
    return one.ceiling / value if METRICS[one.metric].time else value / one.ceiling


def verdicts(report: Report | Iterable[Verdict], *, answer: str = "", look: Look = STANDARD) -> Chart:
    """Measured speeds beside the interval expected of them, and the ceiling nothing real passes. `answer`: the sentence
    above; a report brings its own."""
    alt = altair()
    judged, said = (report.rows, report.answer) if isinstance(report, Report) else (tuple(report), answer)
    read = f"{_SEEN if any(one.on_measured for one in judged) else _LIMIT} {_READ}"
    data = rows(judged, look)
    edge = alt.Chart(alt.NamedData("ceiling")).mark_rule(strokeWidth=2, color=look.palette.ink).encode(x="x:Q")
    layers = [
        edge,
        *names("bars", look),
        bar("bars", look, opacity=0.4),
        ticks("marks", look),
        *text_behind("said", look),
    ]
    main = strips(look, max(1, len(data["bars"])), axis_x("speed, as a share of the ceiling", percent=True), layers)
    more = (f"The {MOST} furthest up are shown.",) if len(data["bars"]) == MOST else ()
    return finished("verdicts", main, data, look, start=0, title=said, notes=(read, *more))
