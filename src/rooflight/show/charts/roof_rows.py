"""The rows of a roofline chart: plain numbers from an analysis, and places for their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rooflight.answers.pair import times_as_good
from rooflight.show import numbers
from rooflight.show.analysis import split_operators
from rooflight.show.charts import roof_labels
from rooflight.show.charts.kernel_dots import Samples, sample_rows
from rooflight.show.charts.place import Datasets, Plane, Rows
from rooflight.show.charts.roof_lines import Level, Roof, formats, levels_of, roof_lines, roofs_of
from rooflight.show.charts.theme import STANDARD, Look, text_width
from rooflight.show.charts.wording import MARKS, variant, where
from rooflight.values.accelerator import Accelerator
from rooflight.values.analysis import Analysis, OperatorBlock, Phase
from rooflight.values.sweep import Landmarks

_MOST_LISTED = 6
_LONGEST_NAME = 17  # letters, where the picture is narrow
_SHORT_OF = 13  # px from the tip of an arrow to the middle of the dot it points at


def rows(
    *analyses: Analysis,
    landmarks: Sequence[Landmarks] = (),
    measured: Accelerator | None = None,
    levels: Sequence[Level] | bool = False,
    after: Analysis | None = None,
    samples: Samples = (),
    plane: Plane | None = None,
    look: Look = STANDARD,
) -> Datasets:
    """Every dataset of the chart, by name. The figures are the analyses' own, summed over devices as theirs are.

    levels      left out: the caches of a single measured machine; True: every level of a single machine
    plane       corners to keep, for a page on which dots move while axes stay; see plane_of
    """
    shown = [*analyses, *([after] if after is not None else [])]
    several = len(shown) > 1
    levels = levels_of(shown, levels is True) if isinstance(levels, bool) else levels or levels_of(shown)
    roofs = roofs_of(shown, measured)
    dots = _phase_dots(shown)
    kernels = sample_rows(samples)
    plane = plane or plane_around(roofs, levels, [*dots, *kernels], look)
    listed = _machines(shown) if several else _operators(analyses[0], look)
    data: Datasets = {
        "corners": plane.corners,
        **roof_lines(plane, roofs, levels, look),
        **_ridges(plane, shown, landmarks, look),
        "table": listed,
        "operators": [] if several else [row for row in listed if row["x"]],
        "phases": dots,
        "samples": kernels,
        "expected": [] if several else _expected(shown, dots),
        "links": _links(plane, shown, dots),
        "moves": [] if after is None else _moves(plane, dots, gains(analyses[0], after)),
    }
    return data | roof_labels.labels(plane, data, look)


def plane_of(*analyses: Analysis, look: Look = STANDARD, levels: bool = False) -> Plane:
    """Corners that hold the phases of all these analyses."""
    return plane_around(roofs_of(analyses, None), levels_of(analyses, levels), _phase_dots(analyses), look)


def gains(before: Analysis, after: Analysis) -> dict[str, float]:
    """Tokens a second after a move over those before it, by phase, as expected."""
    old, new = before.phases, after.phases
    return {
        name: times_as_good(old[name].tokens_per_s, new[name].tokens_per_s, less=False).expected
        for name in old
        if name in new
    }


def _phase_dots(analyses: Sequence[Analysis]) -> Rows:
    """Each phase at the speed of its roofline time."""
    several = len(analyses) > 1
    return [
        {
            "analysis": number,
            "several": several,
            "name": name,
            "x": phase.intensity_flop_per_byte,
            "y": phase.flop / phase.time_s.roofline,
            "bound": numbers.resource(phase.bound),
            "hue": str(number + 1) if several else phase.bound,
            "time": numbers.seconds(phase.time_s.roofline),
            "time_s": phase.time_s.roofline,
        }
        for number, one in enumerate(analyses)
        for name, phase in one.on_roof.items()
        if phase.flop
    ]


def _machines(analyses: Sequence[Analysis]) -> Rows:
    """A row a deployment, for the table."""
    found: Rows = []
    alike = len({where(one) for one in analyses}) == 1
    for number, one in enumerate(analyses, 1):
        card, form = one.accelerator, next(iter(formats(one)), "")
        peak = card.peak_flop_per_s.get(form)
        top = "not known" if peak is None else f"{form} {numbers.amount(peak * card.count, 'FLOP/s')}"
        lacking = "not known" if one.answered and peak is None else "does not fit"
        steps: dict[str, Any] = {
            name: numbers.seconds(one.phases[name].time_s.roofline) if name in one.phases else lacking
            for name in ("decode", "prefill")
        }
        bandwidth = card.memory_bytes_per_s * card.count
        name = variant(one) if alike else where(one)
        found.append({
            "row": number, "mark": str(number), "hue": str(number), "name": name, "rate": bandwidth,
            "memory": numbers.amount(bandwidth, "B/s"), "peak": top, **steps,
        })  # fmt: skip
    return found


def _expected(analyses: Sequence[Analysis], dots: Rows) -> Rows:
    """Where the expected time puts each phase, from its roofline speed down to the interval's slow end."""
    found = []
    for dot in dots:
        phase: Phase = analyses[dot["analysis"]].phases[dot["name"]]
        span = phase.time_s
        if span.expected and span.low and span.high:
            row = {"y": phase.flop / span.expected, "low": phase.flop / span.high, "high": phase.flop / span.low}
            found.append({**dot, **row, "time": numbers.seconds(span.expected), "time_s": span.expected})
    return found


def plane_around(roofs: Sequence[Roof], levels: Sequence[Level], dots: Rows, look: Look) -> Plane:
    """Corners around ridges and dots, whole roofs in sight."""
    ridges = [peak / roof.bytes_per_s for roof in roofs for peak in roof.peaks.values()]
    places = [dot["x"] for dot in dots] or [1.0][: not ridges]
    left = min(places + [ridge / 100 for ridge in ridges]) / 3
    right = max([place * (4 if ridges else 100) for place in places] + [ridge * 12 for ridge in ridges])
    lowest = [dot["y"] / 4 for dot in dots] + [left * min(roof.bytes_per_s for roof in roofs)]
    lowest += [right * level.bytes_per_s / 10 for level in levels]  # the last tenth of a link's slope is in sight
    # without a roof the slopes are in sight up to some way above the dots
    top = max(
        (peak for roof in roofs for peak in roof.peaks.values()),
        default=max((dot["x"] for dot in dots), default=left) * 10 * max(roof.bytes_per_s for roof in roofs),
    )
    rates = [level.bytes_per_s for level in levels] or [0]
    top = max(top * 3, left * max(rates) * 10)
    return Plane(left=left, right=right, bottom=min(lowest), top=top, width=look.plot_width, height=look.plot_height)


def _ridges(plane: Plane, analyses: Sequence[Analysis], landmarks: Sequence[Landmarks], look: Look) -> Datasets:
    """The ridge of the phases' main format, what it takes to get there, and the zones on its sides."""
    lines: Rows = []
    several = len(analyses) > 1
    for number, one in enumerate(analyses):
        phase = one.phases.get("decode")
        forms = formats(one)[:1]
        known = one.accelerator.ridge_flop_per_byte
        ridge = phase.ridge_flop_per_byte if phase else next((known[form] for form in forms if form in known), None)
        if ridge is None:
            continue
        peak = ridge * one.accelerator.memory_bytes_per_s * one.accelerator.count
        mark = landmarks[number] if number < len(landmarks) else None
        hue = str(number + 1) if several else "capacity"
        reached = mark.ridge_batch if mark else None
        lines.append(
            {"x": ridge, "y": plane.bottom, "y2": peak, "batch": reached, "name": one.accelerator.id, "hue": hue}
        )
    if not lines:
        return {"ridges": [], "zones": [], "zone_names": [], "ridge_names": []}
    ridge = lines[0]["x"]
    zones = [
        {"x": plane.left, "x2": ridge, "hue": "memory", "text": "memory-bound"},
        {"x": ridge, "x2": plane.right, "hue": "compute", "text": "compute-bound"},
    ]
    names = [
        {
            "x": math.sqrt(zone["x"] * zone["x2"]),
            "y": plane.bottom,
            "dx": 0,
            "dy": -10,
            "text": zone["text"],
            "hue": zone["hue"],
        }
        for zone in zones
    ]
    text = f"ridge point\n{numbers.plain(ridge)} FLOP/byte"
    if landmarks and look.outer >= 560:
        text += "\n" + _batch_words(landmarks[0])
    wide = text_width(text, look.size)
    room = plane.width - plane.x(ridge)
    dx = 6 if wide + 8 < room else room - wide - 4
    dy = -26 - text.count("\n") * (look.size + 2)  # of the first line; the others stand below it
    label = {"x": ridge, "y": plane.bottom, "dx": dx, "dy": dy, "text": text}
    return {"ridges": lines, "zones": zones, "zone_names": names, "ridge_names": [] if several else [label]}


def _batch_words(mark: Landmarks) -> str:
    if mark.ridge_batch is None:
        return "decode: at no batch"
    return f"decode: at batch {mark.ridge_batch:,}"


def _links(plane: Plane, analyses: Sequence[Analysis], dots: Rows) -> Rows:
    """Where devices communicate: how fast a phase could go if the link alone set the pace. Of several deployments only
    those that the link binds."""
    lines: Rows = []
    for dot in dots:
        phase = analyses[dot["analysis"]].phases[dot["name"]]
        y = phase.flop / phase.ceilings_s.link if phase.ceilings_s.link else plane.top
        if y < plane.top and (len(analyses) == 1 or phase.bound == "link"):
            lines.append({"x": dot["x"] / 1.8, "x2": dot["x"] * 1.8, "y": y, "hue": "link", "name": dot["name"]})
    return lines


def _moves(plane: Plane, dots: Rows, gained: dict[str, float]) -> Rows:
    """An arrow from each phase to where a move puts it; it ends a little before the dot."""
    found = []
    for name, gain in gained.items():
        old, new = ((plane.x(dot["x"]), plane.y(dot["y"])) for dot in dots if dot["name"] == name)
        across, down = new[0] - old[0], new[1] - old[1]
        length = math.hypot(across, down)
        if length < 2 * _SHORT_OF:
            continue
        x, y = (new[axis] - (across, down)[axis] * _SHORT_OF / length for axis in (0, 1))
        ends = {"x": plane.at_x(old[0]), "y": plane.at_y(old[1]), "x2": plane.at_x(x), "y2": plane.at_y(y)}
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
