"""Measurements against predictions: each as a share of the speed that physics allows."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from rooflight.show import numbers
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.interval import INTERVAL_NOTE
from rooflight.show.charts.layers import finished
from rooflight.show.charts.place import Datasets, Rows
from rooflight.show.charts.strips import axis_x, bar, behind, edge, ends, names, strips, ticks, tips
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.values.measurement import METRICS, VERDICTS, Report, Verdict

# Strips of one picture, and of each verdict those that it has at least where there are so many.
MOST, EACH = 20, 4
_HUES = {"impossible": "compute", "slow": "launch", "fast": "link", "ok": "memory"}
_WORDS = {"cannot-judge": "cannot be judged"}
# The order of the strips: what a sentence speaks of first.
_ORDER = ("impossible", "fast", "slow", "cannot-judge", "ok")
_LIMIT = "100 % is the ceiling: what is right of it is faster than physics allows as it is stated."
_SEEN = (
    "100 % is the ceiling, which of measured machines is the fastest seen there: what is right of it is faster than "
    "they were measured."
)
_READ = "Bars: the interval of what is expected. Upright line: what was measured."
_TOGETHER = "impossible together with others of its run"
_TOO_BIG = "impossible: memory does not hold it"


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The rows that a picture has, in its order, and how many there were of each verdict."""

    rows: tuple[Verdict, ...]
    of: dict[str, int]

    @property
    def drawn(self) -> Counter[str]:
        """How many of each verdict are drawn."""
        return Counter(one.verdict for one in self.rows)


def picked(verdicts: Iterable[Verdict]) -> Shown:
    """Some rows of every verdict, furthest from what they should be; memory does not grow with the rows.

    Those that are ok: of highest speed over their ceiling's. Rows without a ceiling cannot be drawn, unless they are
    impossible for another reason.
    """
    kept: dict[str, list[tuple[float, int, Verdict]]] = {name: [] for name in VERDICTS}
    counts: Counter[str] = Counter()
    for number, one in enumerate(verdicts):
        counts[one.verdict] += 1
        if one.verdict != "impossible" and not _placed(one):
            continue
        over = one.over_ceiling or 0.0
        entry = (-over if one.verdict == "slow" else over, -number, one)
        heap = kept[one.verdict]
        if len(heap) < MOST:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)
    ranked = {name: [one for *_, one in sorted(heap, key=lambda entry: entry[:2], reverse=True)]
              for name, heap in kept.items()}  # fmt: skip
    number_of = {name: min(len(ranked[name]), EACH) for name in _ORDER}
    for name in _ORDER:
        number_of[name] += min(len(ranked[name]) - number_of[name], MOST - sum(number_of.values()))
    rows = tuple(one for name in _ORDER for one in ranked[name][: number_of[name]])
    return Shown(rows=rows, of=dict(counts))


def _placed(one: Verdict) -> bool:
    return one.over_ceiling is not None and bool(one.ceiling)


def rows(verdicts: Shown | Iterable[Verdict], look: Look = STANDARD) -> Datasets:
    """A strip a row: measured and expected speed over the ceiling's."""
    shown = (verdicts if isinstance(verdicts, Shown) else picked(verdicts)).rows
    several = len({one.line for one in shown}) > 1  # the claims of one question are all of line 1
    bars: Rows = []
    marks: Rows = []
    said: Rows = []
    for number, one in enumerate(shown):
        over, placed = one.over_ceiling or 0.0, _placed(one)
        low, high = (_over(one, value) for value in (one.low, one.high))
        slow, fast = min(low, high), max(low, high)
        same = {"row": number, **_told(one, several)}
        bars.append({**same, "x": slow, "x2": fast, "hue": "capacity"})
        marks += [{**same, "x": over, "hue": _HUES.get(one.verdict, "capacity")}] if placed else []
        end = max(fast, over)
        # the ceiling's line cuts no text: what would reach it stands right of it
        said.append({**same, "end": max(end, 1.0) if placed else 0.0, "text": same["text"]})
    far, texts = [row["end"] for row in said], [row["text"] for row in said]
    line: Rows = [{"x": 1.0, "name": "ceiling", "said": "100 %"}]
    return {
        "bars": bars, "marks": marks, "said": said, "ceiling": line, "ends": ends([*far, 1.0], look, texts)
    }  # fmt: skip


def _told(one: Verdict, several: bool) -> dict[str, Any]:
    """The words of a strip."""
    line = f"line {one.line:,}: " if several else ""
    value = f"{numbers.plain(one.value)} {one.unit}"
    verdict = _WORDS.get(one.verdict, one.verdict)
    if one.verdict == "impossible" and (not _placed(one) or (one.over_ceiling or 0.0) <= 1):
        verdict = _TOO_BIG if one.bound == "capacity" else _TOGETHER
    between = (
        f" (expected {numbers.plain(one.low)} to {numbers.plain(one.high)} {one.unit})"
        if one.low is not None and one.high is not None
        else ""
    )
    return {
        "name": f"{line}{one.model.rpartition('/')[2]} on {one.accelerator}, {one.metric}",
        "text": f"{value}: {verdict}", "said": f"{value}{between}, {verdict}",
        "share": numbers.percent(one.over_ceiling) if one.over_ceiling is not None else "",
    }  # fmt: skip


def hue_of(one: Verdict) -> str:
    """The palette's name for a verdict."""
    return _HUES.get(one.verdict, "capacity")


def _over(one: Verdict, value: float | None) -> float:
    """A value's speed over the ceiling's; a time is the faster the smaller it is."""
    if value is None or not one.ceiling:
        return 0.0
    return one.ceiling / value if METRICS[one.metric].time else value / one.ceiling


def verdicts(found: Report | Shown | Iterable[Verdict], *, answer: str = "", look: Look = STANDARD) -> Chart:
    """Measured speeds beside the interval expected of them, and the ceiling nothing real passes. `answer`: the sentence
    above, of the same rows; a report brings its own."""
    judged = found.rows if isinstance(found, Report) else found
    shown = judged if isinstance(judged, Shown) else picked(judged)
    said = found.answer if isinstance(found, Report) else answer
    data = rows(shown, look)
    told = tips("row", "measured", "of the ceiling's speed")
    layers = [
        edge("ceiling", look, tips("line", "speed")),
        *names("bars", look, told),
        bar("bars", look, told, opacity=0.4),
        ticks("marks", look, told),
        *behind("said", look, told),
    ]
    main = strips(look, max(1, len(data["bars"])), axis_x("speed, as a share of the ceiling", percent=True), layers)
    read = f"{_SEEN if any(one.on_measured for one in shown.rows) else _LIMIT} {_READ}"
    notes = (read, INTERVAL_NOTE, *_left_out(shown)) if data["bars"] else _left_out(shown)
    return finished("verdicts", main, data, look, start=0, title=said, notes=notes)


def _left_out(shown: Shown) -> tuple[str, ...]:
    """Of which verdict how many rows are not drawn."""
    drawn = shown.drawn
    some = [name for name in _ORDER if shown.of.get(name, 0) > drawn[name]]
    if not some:
        return ()
    counts = ", ".join(f"{drawn[name]:,} of {shown.of[name]:,} {_kind(name)}" for name in _ORDER if shown.of.get(name))
    unplaced = " A row without a ceiling has no place here." if "cannot-judge" in some else ""
    return (f"Drawn, the furthest of each: {counts}.{unplaced}",)


def _kind(verdict: str) -> str:
    return "that cannot be judged" if verdict == "cannot-judge" else verdict
