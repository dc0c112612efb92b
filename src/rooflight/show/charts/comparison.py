"""Bars with intervals: deployments side by side, or measurements against what was expected of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooflight.show import numbers
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.export import altair
from rooflight.show.charts.layers import finished, hue
from rooflight.show.charts.place import Datasets, Rows
from rooflight.show.charts.strips import BAR, STRIP, axis_x, bar, behind, ends, interval, names, row_y, strips
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.show.charts.wording import setting, short, source, times
from rooflight.span import Span
from rooflight.values.analysis import Analysis

# What is compared -> the words, and the words of its axis.
MEASURES = {
    "tokens_per_s": ("tok/s", "tokens per second"),
    "tokens_per_s_per_user": ("tok/s a user", "tokens per second and user"),
}
_READ = (
    "Bars: what a well-run engine gets, with its interval as a line (roofline speed where nothing is calibrated). The "
    "short upright line is the ceiling: nothing real is faster."
)
_SEEN = " Of a machine that was measured it is the fastest seen there."


def rows(*analyses: Analysis, measure: str = "tokens_per_s", phase: str = "decode", look: Look = STANDARD) -> Datasets:
    """A bar a deployment at its expected speed, its interval and its ceiling; none where it does not fit."""
    bars: Rows = []
    spans: Rows = []
    tops: Rows = []
    for number, one in enumerate(analyses):
        span: Span | None = getattr(one.phases[phase], measure) if phase in one.phases else None
        value = 0.0 if span is None else span.expected
        end = 0.0 if span is None else span.ceiling
        said = "does not fit" if span is None else f"{numbers.plain(value)} {MEASURES[measure][0]}"
        bars.append({
            "row": number, "name": f"{short(one.model.id)}, {setting(one)}", "x": 0.0, "x2": value, "end": end,
            "text": said, "hue": str(number % 4 + 1),
        })  # fmt: skip
        if span is not None and span.low is not None and span.high is not None:
            spans.append({"row": number, "low": span.low, "high": span.high})
        if span is not None:
            tops.append({"row": number, "x": span.ceiling, "hue": "ink"})
    return {"bars": bars, "interval": spans, "ceilings": tops, "ends": ends([row["end"] for row in bars], look)}


def comparison(
    *analyses: Analysis, measure: str = "tokens_per_s", phase: str = "decode", look: Look = STANDARD
) -> Chart:
    """Deployments side by side, each with its interval and its ceiling."""
    data = rows(*analyses, measure=measure, phase=phase, look=look)
    layers = [
        *names("bars", look),
        bar("bars", look),
        interval("interval", look),
        ticks("ceilings", look),
        *behind("bars", look),
    ]
    main = strips(look, len(data["bars"]), axis_x(f"{MEASURES[measure][1]}, {phase}"), layers)
    seen = any(one.accelerator.measured is not None for one in analyses)
    notes = (_READ + (_SEEN if seen else ""), source(analyses))
    return finished("comparison", main, data, look, start=0, title=_title(analyses, data, measure, phase), notes=notes)


def ticks(dataset: str, look: Look) -> Any:
    """A short upright line at x on a strip."""
    alt = altair()
    base = alt.Chart(alt.NamedData(dataset)).mark_tick(height=BAR + 6, thickness=3, yOffset=STRIP / 4 - 3)
    return base.encode(y=row_y(), x="x:Q", color=hue(look))


def _title(analyses: Sequence[Analysis], data: Datasets, measure: str, phase: str) -> str:
    order = sorted(data["bars"], key=lambda row: -row["x2"])
    best = analyses[order[0]["row"]]
    if not order[0]["x2"]:
        return "None of these deployments fits"
    gain = f", {times(order[0]['x2'] / order[1]['x2'])} the next" if len(order) > 1 and order[1]["x2"] else ""
    return f"{setting(best)} is fastest in {phase}: {numbers.plain(order[0]['x2'])} {MEASURES[measure][0]}{gain}"
