"""Bars with intervals: deployments side by side, or measurements against what was expected of them."""

from __future__ import annotations

from collections.abc import Sequence

from rooflight.show import numbers
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.interval import interval_note
from rooflight.show.charts.layers import finished
from rooflight.show.charts.place import Datasets, Rows
from rooflight.show.charts.strips import axis_x, bar, behind, ends, interval, names, strips, ticks, tips
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
        unit = MEASURES[measure][0]
        said = "does not fit" if span is None else f"{numbers.plain(value)} {unit}"
        same = {
            "row": number, "name": f"{short(one.model.id)}, {setting(one)}", "said": said + _between(span, unit),
            "share": "" if span is None else f"{numbers.plain(span.ceiling)} {unit}",
        }  # fmt: skip
        bars.append({**same, "x": 0.0, "x2": value, "end": end, "text": said, "hue": str(number % 4 + 1)})
        if span is not None and span.low is not None and span.high is not None:
            spans.append({**same, "low": span.low, "high": span.high})
        if span is not None:
            tops.append({**same, "x": span.ceiling, "hue": "ink"})
    texts = [row["text"] for row in bars]
    return {
        "bars": bars, "interval": spans, "ceilings": tops, "ends": ends([row["end"] for row in bars], look, texts)
    }  # fmt: skip


def _between(span: Span | None, unit: str) -> str:
    if span is None or span.low is None or span.high is None:
        return ""
    return f" ({numbers.plain(span.low)} to {numbers.plain(span.high)} {unit})"


def comparison(
    *analyses: Analysis, measure: str = "tokens_per_s", phase: str = "decode", look: Look = STANDARD
) -> Chart:
    """Deployments side by side, each with its interval and its ceiling."""
    data = rows(*analyses, measure=measure, phase=phase, look=look)
    shown = tips("deployment", "expected", "ceiling")
    layers = [
        *names("bars", look, shown),
        bar("bars", look, shown),
        *interval("interval", look, shown),
        ticks("ceilings", look, shown),
        *behind("bars", look, shown),
    ]
    main = strips(look, len(data["bars"]), axis_x(f"{MEASURES[measure][1]}, {phase}"), layers)
    seen = any(one.accelerator.measured is not None for one in analyses)
    notes = (_READ + (_SEEN if seen else ""), interval_note(analyses), source(analyses))
    return finished("comparison", main, data, look, start=0, title=_title(analyses, data, measure, phase), notes=notes)


def _title(analyses: Sequence[Analysis], data: Datasets, measure: str, phase: str) -> str:
    order = sorted(data["bars"], key=lambda row: -row["x2"])
    best = analyses[order[0]["row"]]
    if not order[0]["x2"]:
        return "None of these deployments fits"
    gain = f", {times(order[0]['x2'] / order[1]['x2'])} the next" if len(order) > 1 and order[1]["x2"] else ""
    return f"{setting(best)} is fastest in {phase}: {numbers.plain(order[0]['x2'])} {MEASURES[measure][0]}{gain}"
