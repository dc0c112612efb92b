"""A sweep along its batch (or another axis): throughput, and speed for each user, with the zones they pass through."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from rooflight.serve.sweep import SweepPoints
from rooflight.show.charts import tips
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.export import altair
from rooflight.show.charts.layers import ROUND, finished, hue, log_x, log_y, refilled, words
from rooflight.show.charts.place import Box, Datasets, Plane, Rows, along, placed
from rooflight.show.charts.series import Line, Lines, dots, lines
from rooflight.show.charts.theme import STANDARD, Look, text_width
from rooflight.show.charts.wording import BOUND_WORDS, devices, short
from rooflight.show.sweep import Row
from rooflight.units import round_significant

MEASURES = {
    "tokens_per_s": "tokens per second, all sequences",
    "tokens_per_s_per_user": "tokens per second and user",
}
_AXES = {"batch": "sequences decoding at once (batch)", "prefill_batch": "prompts prefilled together",
         "isl": "tokens of the prompt", "osl": "tokens of output", "context": "tokens of context"}  # fmt: skip
_READ = "Full lines: what a well-run engine gets, eight times of ten within the band. Both axes are logarithmic."
_DASHED = "Dashed: the ceiling, which nothing real passes."
_SEEN = "Dashed: the fastest seen here, when the machine was measured."
_GREY = "Grey: does not fit in memory."
_READ_SEVERAL = (
    "Lines: what a well-run engine gets; upright strokes: where it lies eight times of ten. Both axes are logarithmic."
)
# Intervals of each of several lines, and px between any two.
_SPANS, _APART = 3, 6


def rows(
    sweep: SweepPoints,
    *,
    measures: Sequence[str] = ("tokens_per_s",),
    ignore_capacity: bool = False,
    names: Sequence[str] = (),
    look: Look = STANDARD,
) -> Datasets:
    """The sweep's own rates for each measure (datasets end in its name), and the zones of a single line. `here` is for
    a page to mark a place along the axis.

    names   what the lines are called, in their order; left out: what sets each apart
    """
    told = lines(sweep, ignore_capacity=ignore_capacity).named(names)
    found: Datasets = {"here": []}
    for measure in measures:
        drawn = panel(told, measure, look, measured=_measured(sweep))
        found |= {f"{name}_{measure}": some for name, some in drawn.items()}
    return found


def panel(told: Lines, measure: str, look: Look, *, measured: bool = False) -> Datasets:
    """The datasets of one measure."""
    several = len(told.lines) > 1
    points: Rows = []
    for number, line in enumerate(told.lines, 1):
        points += [_point(told, row, measure, line, number) for row in line.points]
    real = [point for point in points if point["expected"] is not None or point["ceiling"] is not None]
    plane = _plane(points, real, look)
    taken: list[Box] = []
    zoned = told.zoned
    zones, zone_names = ([], []) if zoned is None else _zones(told, zoned, plane, look)
    knees = [] if zoned is None else _knee(told, zoned, plane)
    for row in (*zone_names, *knees):
        taken.append(box_of(plane, row, look))
    for one, other in pairwise(real):
        if one["line"] == other["line"]:
            taken += along(plane, [(one["x"], one["y"]), (other["x"], other["y"])])
    labels = [] if several or not real else _both(real, "fastest seen" if measured else "ceiling", look)
    for number in range(1, len(told.lines) + 1) if several else ():
        called = told.lines[number - 1].called(look)
        labels += _names(plane, [one for one in real if one["line"] == number], called, look, taken)
    own = [one for one in real if one["x"] == told.lines[one["line"] - 1].own]
    spans = {"spans": _spans(plane, real, len(told.lines))} if several else {}
    return {"corners": plane.corners, "points": real, "dots": dots(real, "x"), "own": own, "labels": labels,
            "zones": zones, "zone_names": zone_names, "knees": knees, **spans}  # fmt: skip


def _point(told: Lines, row: Row, measure: str, line: Line, number: int) -> dict[str, Any]:
    span = getattr(row, measure)
    best = span.expected if span.expected is not None else span.roofline
    return {
        "x": told.x(row), "y": best, "line": number, "name": line.name, "hue": line.hue(number),
        "bound": BOUND_WORDS.get(row.bound or "", ""), "expected": span.expected, "low": span.low, "high": span.high,
        "ceiling": span.ceiling, "inferred": line.inferred,
    }  # fmt: skip


def _spans(plane: Plane, points: Rows, count: int) -> Rows:
    """The intervals of several lines, at a few points of each and no two at one place: bands would cover each other."""
    found: Rows = []
    at = [(number + 0.5) / (_SPANS * count) * plane.width for number in range(_SPANS * count)]
    for line in range(1, count + 1):
        own = [point for point in points if point["line"] == line and point["low"] is not None]
        nearest = [min(own, key=lambda point: abs(plane.x(point["x"]) - x)) for x in at[line - 1 :: count] if own]
        for point in nearest:
            x = plane.x(point["x"])
            if all(abs(plane.x(other["x"]) - x) >= _APART for other in found):
                found.append({name: point[name] for name in ("x", "low", "high", "hue", "line", "name")})
    return found


def _plane(points: Rows, real: Rows, look: Look) -> Plane:
    """Corners around every value, with room above and below for names."""
    xs = [max(point["x"], 1) for point in points]
    left, right = min(xs), max(*xs, min(xs) * 2)
    several = len({point["line"] for point in points}) > 1  # whose ceilings are not drawn
    drawn = ("low", "high", "y") if several else ("low", "ceiling", "high", "y")
    values = [point[name] for point in real for name in drawn if point[name]] or [1.0, 10.0]
    low, high = min(values), max(values)
    high = max(high, 4 * low)
    height, wide = _height(look), right / left
    # px below and above for names: of the knee; of zones in two lines, or of a line's end
    below, above = 26.0, 2.0 * look.size + 14
    each = math.log(high / low) / (height - below - above)
    return Plane(
        left=left, right=right * wide**0.04, bottom=low / math.exp(each * below), top=high * math.exp(each * above),
        width=look.full_width, height=height,
    )  # fmt: skip


def _height(look: Look) -> int:
    return round(look.plot_height * 0.72)


def _zones(told: Lines, line: Line, plane: Plane, look: Look) -> tuple[Rows, Rows]:
    """Stretches of one bound; they turn where another resource begins to bind."""
    first = next((row for row in line.points if row.bound is not None), None)  # None: prompts without a compute peak
    if first is None:
        return [], []
    starts = [(told.x(first), first.bound), *((turn.x, turn.bound) for turn in line.turns if turn.bound is not None)]
    ends = [*(x for x, _ in starts[1:]), plane.right]
    zones: Rows = [
        {"x": max(x, 1), "x2": end, "bound": bound, "hue": bound, "name": BOUND_WORDS[bound or ""]}
        for (x, bound), end in zip(starts, ends, strict=True)
    ]
    names, several = [], len(told.lines) > 1
    for zone in zones:
        room = plane.x(zone["x2"]) - plane.x(zone["x"])
        told_bound = f"{line.letter + ': ' if several else ''}{BOUND_WORDS[zone['bound']]}"
        forms = (told_bound, told_bound.replace(" ", "\n", 1), "" if several else zone["bound"])
        text = next((form for form in forms if text_width(form, look.size) <= room), "")
        middle = (zone["x"] * zone["x2"]) ** 0.5
        names.append({"x": middle, "y": plane.top, "dx": 0, "dy": 10, "text": text, "hue": zone["hue"]})
    return zones, [name for name in names if name["text"]]


def _knee(told: Lines, line: Line, plane: Plane) -> Rows:
    """The batch from which doubling it gains less than half."""
    knee = line.landmarks.knee_batch
    if told.axis != "batch" or knee is None or not plane.left < knee < plane.right:
        return []
    side = -1 if plane.x(knee) > plane.width / 2 else 1
    whose = f" of {line.letter}" if len(told.lines) > 1 else ""
    text = f"knee{whose}, batch {knee:,}"
    return [{"x": knee, "y": plane.bottom, "dx": side * (text_width(text, 12) / 2 + 6), "dy": -11, "text": text}]


def _names(plane: Plane, line: Rows, name: str, look: Look, taken: list[Box]) -> Rows:
    """The name of one of several lines, at its end."""
    if not line:
        return []
    last = line[-1]
    label = placed(plane, last["x"], last["y"], name, size=look.size + 0.6, taken=taken, radius=8)
    return [{**label, "hue": last["hue"]}]


def _both(line: Rows, ceiling: str, look: Look) -> Rows:
    """Of a single line: which is what is expected, and which the ceiling; below the one and above the other."""
    at = line[len(line) // 3]
    found = []
    for kind, text, side in (("ceiling", ceiling, -1), ("y", "expected", 1)):
        aside = text_width(text, look.size) / 2 * side if line[-1]["y"] > line[0]["y"] else 0
        found.append({"x": at["x"], "y": at[kind], "dx": aside, "dy": 15 * side, "text": text, "hue": at["hue"]})
    return found


def box_of(plane: Plane, row: dict[str, Any], look: Look) -> Box:
    """The box of centred words whose place is given."""
    wide = text_width(row["text"], look.size)
    x, y = plane.x(row["x"]) + row["dx"], plane.y(row["y"]) + row["dy"]
    return Box(x - wide / 2, y - 8, x + wide / 2, y + 8 + (look.size + 2) * row["text"].count("\n"), 3)


def batch(
    sweep: SweepPoints,
    *,
    model: str = "",
    measures: Sequence[str] | None = None,
    ignore_capacity: bool = False,
    names: Sequence[str] = (),
    look: Look = STANDARD,
) -> Chart:
    """Throughput and speed a user along the sweep's batch, or along its first axis.

    measures    of MEASURES, a panel each; on a page (no width) only the first, since a panel fills its width
    names       what the lines are called, in their order; left out: what sets each apart
    """
    chosen = tuple(measures or (MEASURES if sweep.phase == "decode" else ("tokens_per_s",)))
    chosen = chosen[:1] if look.width is None else chosen
    data = rows(sweep, measures=chosen, ignore_capacity=ignore_capacity, names=names, look=look)
    told = lines(sweep, ignore_capacity=ignore_capacity).named(names)
    panels = [_drawn(told.axis, measure, len(told.lines) > 1, look) for measure in chosen]
    main, *beside = panels
    notes = (_more(told, _measured(sweep)), *_left_out(told), _source(sweep))
    title = _title(told, model or sweep.scenarios[0].model.id, sweep.phase)
    return finished("batch", main, data, look, title=title, notes=notes, beside=beside, aside=False)


def of_lines(told: Lines, measure: str, *, title: str, notes: Sequence[str] = (), look: Look = STANDARD) -> Chart:
    """One measure of lines that somebody has put together; a mark stands where the question of each is."""
    data = {f"{name}_{measure}": some for name, some in panel(told, measure, look).items()}
    several = len(told.lines) > 1
    notes = (_READ if several else f"{_READ} {_DASHED}", *notes)
    if look.width is None:
        page_spec = _on_page(told.axis, measure, several, look)
        return refilled(page_spec, "batch", {"here": [], **data}, title=title, notes=notes)
    main = _drawn(told.axis, measure, several, look)
    return finished("batch", main, {"here": [], **data}, look, title=title, notes=notes, aside=False)


@functools.lru_cache(maxsize=32)
def _on_page(axis: str, measure: str, several: bool, look: Look) -> dict[str, Any]:
    """The document without rows, made once for a look: making it takes longer than all that is drawn."""
    return finished("batch", _drawn(axis, measure, several, look), {}, look, title="").spec


def _tips(axis: str) -> list[Any]:
    """What a point says."""
    alt = altair()
    rates = [alt.Tooltip(f"{name}:Q", format=",.4~r", title=f"{said}, tok/s") for name, said in _SAID.items()]
    at = alt.Tooltip("x:Q", format=",d", title=axis.replace("_", " "))
    return [alt.Tooltip("name:N"), at, *rates, alt.Tooltip("bound:N", title="bound by")]


_SAID = {"expected": "expected", "low": "low end", "high": "high end", "ceiling": "at best"}


def _drawn(axis: str, measure: str, several: bool, look: Look) -> Any:
    """One panel: zones, band, ceiling, line, names."""
    alt = altair()

    def of(name: str) -> Any:
        return alt.Chart(alt.NamedData(f"{name}_{measure}"))

    x, color = alt.X("x:Q"), hue(look)
    said = _tip(axis)
    dashed = of("points").mark_line(strokeDash=[6, 4], strokeWidth=1.5).encode(x, y="ceiling:Q", color=color)
    here = alt.Chart(alt.NamedData("here")).mark_rule(strokeWidth=2, color=look.palette.ink).encode(x="x:Q")
    band = of("points").mark_area(opacity=0.2).encode(x, y="low:Q", y2="high:Q", color=color)
    strokes = of("spans").mark_rule(strokeWidth=2.5, opacity=0.6, tooltip=_span_tip(axis)).encode(
        x, y="low:Q", y2="high:Q", color=color
    )  # fmt: skip
    zone = tips.tip(zone=tips.of("name"), begins_at=tips.count("x"))
    knee = tips.tip(knee_at_batch=tips.count("x"), from_here="'doubling the batch gains less than half'")
    layers = [
        of("corners").mark_point(opacity=0).encode(
            log_x(_AXES[axis], format=",d", values=ROUND), log_y(MEASURES[measure], values=ROUND)
        ),
        of("zones").mark_rect(opacity=look.palette.wash, tooltip=zone).encode(x="x:Q", x2="x2:Q", color=color),
        of("knees").mark_rule(opacity=0, strokeWidth=10, tooltip=knee).encode(x="x:Q"),
        of("knees").mark_rule(strokeDash=[2, 3], color=look.palette.quiet, tooltip=knee).encode(x="x:Q"),
        *([strokes] if several else [band, dashed]),
        here,
        *([] if several else [_dots_of(of("points"), "ceiling", said).encode(x, color=color)]),
        of("points").mark_line(strokeWidth=2.5).encode(x, y="y:Q", color=color),
        of("dots").mark_circle(size=34, opacity=1, tooltip=said).encode(x, y="y:Q", color=color),
        _dots_of(of("points"), "y", said).encode(x, color=color),
        of("own").encode(x, y="y:Q", color=color).mark_point(
            size=130, filled=True, opacity=1, stroke=look.palette.ink, strokeWidth=2, tooltip=said
        ),
        *words(f"zone_names_{measure}", look, color=color),
        *words(f"knees_{measure}", look),
        *words(f"labels_{measure}", look, color=color, fontWeight=600),
    ]  # fmt: skip
    width = "container" if look.width is None else look.full_width
    return alt.layer(*layers, width=width, height=_height(look))


def _dots_of(base: Any, field: str, said: Any) -> Any:
    """Invisible dots, larger than those that are drawn, to point at."""
    return base.mark_circle(size=200, opacity=0, tooltip=said).encode(y=f"{field}:Q")


def _tip(axis: str) -> Any:
    return tips.tip(
        **{"line": tips.of("name"), axis: tips.count("x")}, expected=tips.amount("expected", "tok/s"),
        interval=tips.span("low", "high", "tok/s"), ceiling=tips.amount("ceiling", "tok/s"),
        bound_by=tips.of("bound"), inferred=tips.of("inferred"),
    )  # fmt: skip


def _span_tip(axis: str) -> Any:
    return tips.tip(**{"line": tips.of("name"), axis: tips.count("x")}, interval=tips.span("low", "high", "tok/s"))


def _title(told: Lines, model: str, phase: str) -> str:
    """The most tokens a second that fit, and where."""
    best = [
        (getattr(row.tokens_per_s, "expected", None) or row.tokens_per_s.roofline, told.x(row), line)
        for line in told.lines
        for row in line.points
        if row.tokens_per_s.roofline is not None
    ]
    if not best:
        return f"{short(model)} fits at none of these points"
    most, x, line = max(best, key=lambda one: one[0])
    where = devices(line.points[0].accelerator, line.points[0].devices)
    named = f" ({line.name})" if line.name not in ("", where) else ""
    return (
        f"{short(model)} on {where}{named}: {phase} reaches up to {round_significant(most)} tok/s, at "
        f"{told.axis.replace('_', ' ')} {x:,}"
    )


def _measured(sweep: SweepPoints) -> bool:
    return all(sc.accelerator.measured is not None for sc in sweep.scenarios)


def _more(told: Lines, measured: bool) -> str:
    """How to read what is there."""
    if len(told.lines) > 1:
        return _READ_SEVERAL
    tight = any(row.bound == "capacity" for row in told.lines[0].points)
    return f"{_READ} {_SEEN if measured else _DASHED}" + f" {_GREY}" * tight


def _left_out(told: Lines) -> Sequence[str]:
    return (f"{told.left_out:,} more lines are left out.",) if told.left_out else ()


def _source(sweep: SweepPoints) -> str:
    from rooflight import __version__

    cards = dict.fromkeys(f"{sc.accelerator.id} (confidence {sc.accelerator.confidence})" for sc in sweep.scenarios)
    return f"Datasheet rates, dense: {', '.join(cards)}. rooflight {__version__}."
