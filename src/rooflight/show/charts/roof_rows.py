"""The rows of a roofline chart: plain numbers from an analysis, and places for their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rooflight.answers.pair import times_as_good
from rooflight.show import numbers
from rooflight.show.analysis import split_operators
from rooflight.show.charts import roof_labels
from rooflight.show.charts.ghosts import NONE
from rooflight.show.charts.kernel_dots import Samples, sample_rows
from rooflight.show.charts.place import Datasets, Plane, Rows
from rooflight.show.charts.roof_lines import Level, formats, levels_of, roof_lines, roofs_of
from rooflight.show.charts.roof_plane import plane_around, ridges
from rooflight.show.charts.tag import Tag, numbered
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.show.charts.tips import tell_neighbours
from rooflight.show.charts.wording import MARKS
from rooflight.values.accelerator import Accelerator
from rooflight.values.analysis import Analysis, OperatorBlock, Phase
from rooflight.values.sweep import Landmarks
from rooflight.words.basis import inferred, interval

_MOST_LISTED = 6
_LONGEST_NAME = 17  # letters, where the picture is narrow
_SHORT_OF = 13  # px from the tip of an arrow to the middle of the dot it points at
_DIAMOND, _RING, _SQUARE = 8.0, 5.0, 4.0  # px from the middle of a mark to its edge
_ASIDE = 10  # px between intervals of several analyses


def rows(
    *analyses: Analysis,
    landmarks: Sequence[Landmarks] = (),
    measured: Accelerator | None = None,
    levels: Sequence[Level] | bool = False,
    after: Analysis | None = None,
    samples: Samples = (),
    names: Sequence[str] = (),
    tags: Sequence[Tag] = (),
    plane: Plane | None = None,
    look: Look = STANDARD,
) -> Datasets:
    """Every dataset of the chart, by name. The figures are the analyses' own, summed over devices as theirs are.

    levels      left out: the caches of a single measured machine; True: every level of a single machine
    names       of the analyses in their order, `after` last, such as "today"; left out: their devices
    tags        whose each is, where a page has them in several pictures; left out: numbers in this order
    plane       corners to keep, for a page on which dots move while axes stay; see plane_of
    """
    shown = [*analyses, *([after] if after is not None else [])]
    several = len(shown) > 1
    tags = tags or numbered(shown, names, moved=after is not None)
    levels = levels_of(shown, levels is True) if isinstance(levels, bool) else levels or levels_of(shown)
    roofs = roofs_of(shown, measured, tags)
    dots = _phase_dots(shown, tags)
    kernels = sample_rows(samples)
    listed = _machines(shown, tags) if several else _operators(analyses[0], look)
    operators = [] if several else sorted((row for row in listed if row["x"]), key=lambda row: -row["share"])
    expected = _expected(shown, dots)
    places = [*dots, *kernels, *operators, *expected, *({**row, "y": row["low"]} for row in expected)]
    plane = plane or plane_around(roofs, levels, [*places, *_would(shown, tags)], look)
    data: Datasets = {
        "corners": plane.corners,
        **roof_lines(plane, roofs, levels, look),
        **ridges(plane, shown, landmarks, look, tags),
        "table": listed,
        "operators": [{**row} for row in operators],
        "phases": dots,
        "samples": kernels,
        "expected": _aside(plane, expected, len(shown)),
        "would": [{**row, "bottom": plane.bottom} for row in _would(shown, tags)],
        "links": _links(plane, shown, dots),
        "moves": [] if after is None else _moves(plane, dots, gains(analyses[0], after)),
    }
    _tell(plane, data)
    return data | roof_labels.labels(plane, data, look) | NONE


def plane_of(*analyses: Analysis, look: Look = STANDARD, levels: bool = False) -> Plane:
    """Corners that hold the steps of all these analyses, as they are at best and as they are expected."""
    tags = numbered(analyses)
    dots = _phase_dots(analyses, tags)
    slow = [{**row, "y": row["low"]} for row in _expected(analyses, dots)]
    own = [row for one in analyses for row in _operators(one, look) if row["x"]]
    places = [*dots, *slow, *own, *_would(analyses, tags)]
    return plane_around(roofs_of(analyses, None, tags), levels_of(analyses, levels), places, look)


def _tell(plane: Plane, data: Datasets) -> None:
    """Have each dot tell of those that it covers, or that cover it."""
    marks: Rows = []
    for name, radius in (("phases", _DIAMOND), ("expected", _RING), ("samples", _SQUARE), ("operators", 0.0)):
        for dot in data[name]:
            dot["radius"] = radius or roof_labels.radius(dot["share"])
            dot["told"] = f"{_called(name, dot)}, {dot['time']}"
            marks.append(dot)
    tell_neighbours(plane, marks)


def _called(kind: str, dot: dict[str, Any]) -> str:
    if kind == "operators":
        return f"{dot['mark']} {dot['name']}"
    if kind == "samples":
        return str(dot["name"])
    series = f" of {dot['series']}" if dot["several"] else ""
    return f"{dot['name']}{series} {'expected' if kind == 'expected' else 'at roofline time'}"


def gains(before: Analysis, after: Analysis) -> dict[str, float]:
    """Tokens a second after a move over those before it, by phase, as expected."""
    old, new = before.phases, after.phases
    return {
        name: times_as_good(old[name].tokens_per_s, new[name].tokens_per_s, less=False).expected
        for name in old
        if name in new
    }


def _phase_dots(analyses: Sequence[Analysis], tags: Sequence[Tag]) -> Rows:
    """Each phase at the speed of its roofline time."""
    several = len(analyses) > 1
    return [
        {
            "analysis": number,
            "several": several,
            "series": tags[number].whole,
            "called": tags[number].at(name, MARKS[name]),
            "name": name,
            "x": phase.intensity_flop_per_byte,
            "y": phase.flop / phase.time_s.roofline,
            "bound": numbers.resource(phase.bound),
            "hue": tags[number].hue if several else phase.bound,
            "time": numbers.seconds(phase.time_s.roofline),
            "time_s": phase.time_s.roofline,
            "expected_time": f"{numbers.seconds(phase.time_s.expected)}{interval(phase.time_s)}",
            "inferred": inferred(one),
        }
        for number, one in enumerate(analyses)
        for name, phase in one.on_roof.items()
        if phase.flop
    ]


def _would(analyses: Sequence[Analysis], tags: Sequence[Tag]) -> Rows:
    """Where steps would stand that memory has no room for: under the roof, at their intensity, without a time."""
    found: Rows = []
    for number, one in enumerate(analyses):
        bandwidth = one.accelerator.memory_bytes_per_s * one.accelerator.count
        for name, step in one.placed_on_roof.items():
            if name not in one.intensities or not step.flop:
                continue
            x, ridge = step.intensity_flop_per_byte, step.ridge_flop_per_byte
            found.append({
                "analysis": number, "several": len(analyses) > 1, "series": tags[number].whole,
                "called": tags[number].at(name, MARKS[name]), "name": name, "x": x,
                "y": bandwidth * (x if ridge is None else min(x, ridge)),
                "hue": tags[number].hue if len(analyses) > 1 else "capacity",
            })  # fmt: skip
    return found


def _machines(analyses: Sequence[Analysis], tags: Sequence[Tag]) -> Rows:
    """A row a deployment, for the table."""
    found: Rows = []
    for number, one in enumerate(analyses):
        card, form = one.accelerator, next(iter(formats(one)), "")
        peak = card.peak_flop_per_s.get(form)
        top = "not known" if peak is None else f"{form} {numbers.amount(peak * card.count, 'FLOP/s')}"
        lacking = "not known" if one.answered and peak is None else "does not fit"
        steps: dict[str, Any] = {
            name: numbers.seconds(one.phases[name].time_s.roofline) if name in one.phases else lacking
            for name in ("decode", "prefill")
        }
        bandwidth = card.memory_bytes_per_s * card.count
        found.append({
            "row": number + 1, "mark": tags[number].mark, "hue": tags[number].hue, "name": tags[number].name,
            "rate": bandwidth,
            "memory": numbers.amount(bandwidth, "B/s"), "peak": top, **steps,
        })  # fmt: skip
    return found


def _aside(plane: Plane, expected: Rows, count: int) -> Rows:
    """Of several analyses each one's interval a little aside, so that none covers another; `at` is where it belongs."""
    return [
        {**row, "at": row["x"], "x": plane.at_x(plane.x(row["x"]) + (row["analysis"] - (count - 1) / 2) * _ASIDE)}
        for row in expected
    ]


def _expected(analyses: Sequence[Analysis], dots: Rows) -> Rows:
    """Where the expected time puts each phase, from its roofline speed down to the interval's slow end."""
    found = []
    for dot in dots:
        phase: Phase = analyses[dot["analysis"]].phases[dot["name"]]
        span = phase.time_s
        if span.expected and span.low and span.high:
            found.append({
                **dot, "y": phase.flop / span.expected, "low": phase.flop / span.high, "high": phase.flop / span.low,
                "time": numbers.seconds(span.expected), "time_s": span.expected,
                "bound": numbers.resource(phase.expected_bound),
            })  # fmt: skip
    return found


def _links(plane: Plane, analyses: Sequence[Analysis], dots: Rows) -> Rows:
    """Where devices communicate: how fast a phase could go if the link alone set the pace. Of several deployments only
    those that the link binds."""
    lines: Rows = []
    for dot in dots:
        phase = analyses[dot["analysis"]].phases[dot["name"]]
        y = phase.flop / phase.ceilings_s.link if phase.ceilings_s.link else plane.top
        if y < plane.top and (len(analyses) == 1 or phase.bound == "link"):
            lines.append({
                "x": dot["x"] / 1.8, "x2": dot["x"] * 1.8, "y": y, "hue": "link", "name": dot["name"],
                "series": dot["series"], "time": numbers.seconds(phase.ceilings_s.link),
            })  # fmt: skip
    return lines


def _moves(plane: Plane, dots: Rows, gained: dict[str, float]) -> Rows:
    """An arrow from each phase to where a move puts it; it ends a little before the dot."""
    found = []
    for name, gain in gained.items():
        both = [dot for dot in dots if dot["name"] == name]
        old, new = ((plane.x(dot["x"]), plane.y(dot["y"])) for dot in both)
        across, down = new[0] - old[0], new[1] - old[1]
        length = math.hypot(across, down)
        if length < 2 * _SHORT_OF:
            continue
        x, y = (new[axis] - (across, down)[axis] * _SHORT_OF / length for axis in (0, 1))
        took = dict(zip(("before", "after"), (dot["time"] for dot in both), strict=True))
        ends = {**took, "x": plane.at_x(old[0]), "y": plane.at_y(old[1]), "x2": plane.at_x(x), "y2": plane.at_y(y)}
        found.append({**ends, "angle": math.degrees(math.atan2(across, -down)), "gain": gain, "name": name})
    return found


def _operators(analysis: Analysis, look: Look) -> Rows:
    """The operators that take the time, numbered by phase; those without arithmetic have no place on the chart."""
    found: Rows = []
    most = _MOST_LISTED if look.outer >= 560 else 4
    for name, phase in sorted(analysis.on_roof.items(), key=lambda item: (item[0] != "decode", item[0])):
        main, _ = split_operators(phase.operators)
        for number, op in enumerate(main[:most], 1):
            found.append({"row": len(found), **_operator(op, name, number, look)})
    return found


def _operator(op: OperatorBlock, phase: str, number: int, look: Look) -> dict[str, Any]:
    name = f"{op.name} x {op.count}" if op.count > 1 else op.name
    if look.narrow:
        name = op.name if len(op.name) <= _LONGEST_NAME else f"{op.name[: _LONGEST_NAME - 1]}\N{HORIZONTAL ELLIPSIS}"
    return {
        "mark": f"{MARKS[phase]}{number}",
        "number": number,
        "phase": phase,
        "name": name,
        "x": op.intensity_flop_per_byte if op.flop else None,
        "y": op.flop / op.time_s if op.flop else None,
        "bound": numbers.resource(op.bound),
        "hue": op.bound,
        "share": op.share,
        "share_text": numbers.percent(op.share),
        "time_s": op.time_s,
        "time": numbers.seconds(op.time_s),
        "intensity": numbers.plain(op.intensity_flop_per_byte) if op.flop else "no FLOP",
    }
