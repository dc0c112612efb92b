"""From the ceiling to the expected time, a cause a strip."""

from __future__ import annotations

from typing import Any

from rooflight.serve import gap
from rooflight.show import numbers
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.interval import interval_note, timed
from rooflight.show.charts.layers import finished
from rooflight.show.charts.place import Datasets, Rows
from rooflight.show.charts.strips import axis_x, bar, behind, ends, interval, names, strips, tips
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.show.charts.wording import deployed, source, times
from rooflight.values.analysis import Analysis, Phase
from rooflight.words.seen import FASTEST

_READ = "Each bar starts where the one above ends. {limit}. The line across the last bar is the interval."
_LIMIT = "Ceiling: the shortest time physics allows"
_SEEN = "Fastest seen here: what the best rates that were measured on this machine allow"
# What the ceiling leaves out is in the hue of the resource that it takes; where that is several, in none.
_HUES = {
    gap.CHOSEN: "memory", gap.ADAPTED: "memory", gap.FUSED: "memory", gap.CACHES: "memory", gap.SHARED: "memory",
    gap.LINKS: "link", gap.BEYOND: "link", gap.LAUNCHES: "launch", gap.ONE_BY_ONE: "launch", gap.HOST: "launch",
    gap.UNMEASURED_HOST: "launch", gap.PLACES: "host_memory", gap.OFFLOADED: "host_memory",
}  # fmt: skip


def rows(analysis: Analysis, phase: str = "decode", look: Look = STANDARD) -> Datasets:
    """The steps of the phase's waterfall, each from where the last one ended, then the whole."""
    told = analysis.phases.get(phase)
    if told is None:
        return {"steps": [], "ends": ends([], look), "interval": []}
    steps: Rows = []
    start = 0.0
    span = told.time_s
    whole = span.expected
    least = "ceiling" if analysis.accelerator.measured is None else "fastest seen here"
    for step in told.waterfall:
        first = step.name == "ceiling"
        hue = told.bound if first else _HUES.get(step.name, "capacity")
        steps.append(_step(len(steps), least if first else step.name, hue, start, step.seconds, whole))
        start += step.seconds
    last = _step(len(steps), "= expected" if span.expected else "= roofline", "ink", 0.0, whole, whole)
    steps.append({**last, "said": timed(whole, span)})
    found: Rows = []
    if span.low is not None and span.high is not None:
        found = [{**last, "said": timed(whole, span), "low": span.low, "high": span.high}]
        steps[-1]["end"] = max(whole, span.high)
    texts = [step["text"] for step in steps]
    return {"steps": steps, "interval": found, "ends": ends([step["end"] for step in steps], look, texts)}


def _step(row: int, name: str, hue: str, start: float, seconds: float, whole: float) -> dict[str, Any]:
    said = numbers.seconds(seconds)
    return {
        "row": row, "name": name, "x": start, "x2": start + seconds, "end": start + seconds, "time_s": seconds,
        "text": f"{'+ ' if start else ''}{said}", "hue": hue, "said": said,
        "share": numbers.percent(seconds / whole) if whole else "",
    }  # fmt: skip


def waterfall(analysis: Analysis, *, phase: str = "decode", look: Look = STANDARD) -> Chart:
    """What lies between the ceiling of a phase and what a well-run engine gets."""
    data = rows(analysis, phase, look)
    x = axis_x("time of the step", unit="s")
    shown = tips("part", "time", "of what is expected")
    layers = [
        *names("steps", look, shown),
        bar("steps", look, shown),
        *interval("interval", look, shown),
        *behind("steps", look, shown),
    ]
    main = strips(look, max(1, len(data["steps"])), x, layers).resolve_scale(color="shared")
    read = _READ.format(limit=_LIMIT if analysis.accelerator.measured is None else _SEEN)
    notes = (read, interval_note([analysis]), source([analysis])) if data["steps"] else ()
    return finished("waterfall", main, data, look, start=0, title=_title(analysis, phase), notes=notes)


def _title(analysis: Analysis, phase: str) -> str:
    told: Phase | None = analysis.phases.get(phase)
    if told is None:
        return analysis.answer
    span = told.time_s
    whole = span.expected
    causes = [step for step in told.waterfall if step.name != "ceiling"]
    most = max(causes, key=lambda step: step.seconds, default=None)
    largest = f"; the largest part between is {most.name}, {numbers.seconds(most.seconds)}" if most else ""
    return (
        f"{deployed(analysis)}: {phase} is expected to take {numbers.seconds(whole)}, {times(whole / span.ceiling)} "
        f"{'its ceiling' if analysis.accelerator.measured is None else FASTEST}{largest}"
    )
