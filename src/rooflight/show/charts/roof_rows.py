"""The rows of a roofline chart: plain numbers from an analysis, and places for their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from rooflight.show import numbers
from rooflight.show.analysis import split_operators
from rooflight.show.charts import roof_labels
from rooflight.show.charts.place import Datasets, Plane, Rows, spread
from rooflight.show.charts.theme import STANDARD, Look, text_width
from rooflight.show.charts.wording import MARKS, variant, where
from rooflight.values.accelerator import Accelerator
from rooflight.values.analysis import Analysis, OperatorBlock, Phase
from rooflight.values.sweep import Landmarks

# Of a phase's FLOP; formats below it have no roof of their own.
_LEAST_SHARE = 0.01
_MOST_LISTED = 6
_LONGEST_NAME = 17  # letters, where the picture is narrow
_SHORT_OF = 13  # px from the tip of an arrow to the middle of the dot it points at


class Level(msgspec.Struct, frozen=True):
    """A memory level with a rate of its own, all devices."""

    name: str
    bytes_per_s: float


class _Roof(msgspec.Struct, frozen=True):
    name: str
    hue: str
    kind: str
    bytes_per_s: float
    peaks: dict[str, float]


def rows(
    *analyses: Analysis,
    landmarks: Sequence[Landmarks] = (),
    measured: Accelerator | None = None,
    levels: Sequence[Level] = (),
    after: Analysis | None = None,
    plane: Plane | None = None,
    look: Look = STANDARD,
) -> Datasets:
    """Every dataset of the chart, by name. The figures are the analyses' own, summed over devices as theirs are.

    plane       corners to keep, for a page on which dots move while axes stay; see plane_of
    """
    shown = [*analyses, *([after] if after is not None else [])]
    several = len(shown) > 1
    roofs = _all_roofs(shown, measured)
    dots = _phase_dots(shown)
    plane = plane or _plane(roofs, levels, dots, look)
    listed = _machines(shown) if several else _operators(analyses[0], look)
    data: Datasets = {
        "corners": plane.corners,
        **_roof_lines(plane, roofs, levels, look),
        **_ridges(plane, shown, landmarks, look),
        "table": listed,
        "operators": [] if several else [row for row in listed if row["x"]],
        "phases": dots,
        "expected": [] if several else _expected(shown, dots),
        "links": _links(plane, shown, dots),
        "moves": [] if after is None else _moves(plane, dots, gains(analyses[0], after)),
    }
    return data | roof_labels.labels(plane, data, look)


def plane_of(*analyses: Analysis, look: Look = STANDARD) -> Plane:
    """Corners that hold the phases of all these analyses."""
    return _plane(_all_roofs(analyses, None), (), _phase_dots(analyses), look)


def gains(before: Analysis, after: Analysis) -> dict[str, float]:
    """Tokens a second after a move over those before it, by phase, at roofline time."""
    old, new = before.phases, after.phases
    return {name: new[name].tokens_per_s.roofline / old[name].tokens_per_s.roofline for name in old if name in new}


def _all_roofs(analyses: Sequence[Analysis], measured: Accelerator | None) -> list[_Roof]:
    """A roof a different machine, with the peaks its phases use; of several machines each one's main peak."""
    found: dict[tuple[str, int, tuple[str, ...]], _Roof] = {}
    several = len({(one.accelerator.id, one.accelerator.count) for one in analyses}) > 1
    for number, one in enumerate(analyses, 1):
        card = one.accelerator
        forms = _formats(one)[:1] if several else _formats(one)
        key = (card.id, card.count, tuple(forms))
        peaks = {form: card.peak_flop_per_s[form] * card.count for form in forms if form in card.peak_flop_per_s}
        hue = str(number) if several else ""
        roof = _Roof(where(one), hue, "datasheet", card.memory_bytes_per_s * card.count, peaks)
        found.setdefault(key, roof)
    if measured is not None and measured.memory_bytes_per_s is not None:
        count, forms = analyses[0].accelerator.count, _formats(analyses[0])
        peaks = {form: measured.peak_flop_per_s[form] * count for form in forms if form in measured.peak_flop_per_s}
        found[measured.id, count, ("measured",)] = _Roof(
            f"{measured.id} as measured", "", "measured", measured.memory_bytes_per_s * count, peaks
        )
    return list(found.values())


def _formats(analysis: Analysis) -> list[str]:
    """The number formats that the phases' products run in, the one with most FLOP first."""
    sums: dict[str, float] = {}
    for phase in analysis.phases.values():
        for form, flop in phase.flop_by_format.items():
            sums[form] = max(sums.get(form, 0.0), flop / phase.flop)
    used = sorted((form for form, share in sums.items() if share >= _LEAST_SHARE), key=lambda form: -sums[form])
    return used or list(analysis.accelerator.peak_flop_per_s)[:1]


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
            "bound": phase.bound,
            "hue": str(number + 1) if several else phase.bound,
            "time": numbers.seconds(phase.time_s.roofline),
            "time_s": phase.time_s.roofline,
        }
        for number, one in enumerate(analyses)
        for name, phase in one.phases.items()
        if phase.flop
    ]


def _machines(analyses: Sequence[Analysis]) -> Rows:
    """A row a deployment, for the table."""
    found: Rows = []
    alike = len({where(one) for one in analyses}) == 1
    for number, one in enumerate(analyses, 1):
        card, form = one.accelerator, next(iter(_formats(one)), "")
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


def _plane(roofs: Sequence[_Roof], levels: Sequence[Level], dots: Rows, look: Look) -> Plane:
    """Corners around ridges and dots, whole roofs in sight."""
    ridges = [peak / roof.bytes_per_s for roof in roofs for peak in roof.peaks.values()]
    places = [dot["x"] for dot in dots] or [1.0][: not ridges]
    left = min(places + [ridge / 100 for ridge in ridges]) / 3
    right = max([place * (4 if ridges else 100) for place in places] + [ridge * 12 for ridge in ridges])
    lowest = [dot["y"] / 4 for dot in dots] + [left * min(roof.bytes_per_s for roof in roofs)]
    # without a roof the slopes are in sight up to some way above the dots
    top = max(
        (peak for roof in roofs for peak in roof.peaks.values()),
        default=max((dot["x"] for dot in dots), default=left) * 10 * max(roof.bytes_per_s for roof in roofs),
    )
    rates = [level.bytes_per_s for level in levels] or [0]
    top = max(top * 3, left * max(rates) * 10)
    return Plane(left=left, right=right, bottom=min(lowest), top=top, width=look.plot_width, height=look.plot_height)


def _roof_lines(plane: Plane, roofs: Sequence[_Roof], levels: Sequence[Level], look: Look) -> Datasets:
    """A slope up to the highest ridge of each machine, a flat from each format's own ridge on, and their names."""
    lines: Rows = []
    names: Rows = []
    for roof in roofs:
        highest = max(roof.peaks.values(), default=_open_end(plane, roof.bytes_per_s))
        ends = [(plane.left, plane.left * roof.bytes_per_s), (highest / roof.bytes_per_s, highest)]
        tag = {"kind": roof.kind, "hue": roof.hue or "memory", "roof": f"{roof.name} memory"}
        lines += [{**tag, "x": x, "y": y, "rate": roof.bytes_per_s} for x, y in ends]
        if not roof.hue:
            memory = "memory" if roof.kind == "datasheet" else "measured memory"
            names.append(
                _slope_name(plane, roof.bytes_per_s, highest, memory, len(names), look, below=_lower(roof, roofs[0]))
            )
        for form, peak in roof.peaks.items():
            tag = {"kind": roof.kind, "hue": roof.hue or "compute", "roof": f"{roof.name} {form}"}
            lines += [{**tag, "x": x, "y": peak, "rate": peak} for x in (peak / roof.bytes_per_s, plane.right)]
            if not roof.hue:
                names.append(_flat_name(plane, roof, form, peak, below=_lower(roof, roofs[0])))
    for level in levels:
        highest = max(max(roof.peaks.values(), default=_open_end(plane, level.bytes_per_s)) for roof in roofs)
        tag = {"kind": "level", "hue": "memory", "roof": level.name}
        ends = [(plane.left, plane.left * level.bytes_per_s), (highest / level.bytes_per_s, highest)]
        lines += [{**tag, "x": x, "y": y, "rate": level.bytes_per_s} for x, y in ends]
        names.append(_slope_name(plane, level.bytes_per_s, highest, level.name, len(names), look))
    upper = [name for name in names if name.get("dy", 1) <= 0]
    heights = [plane.y(name["y"]) + name["dy"] for name in upper]
    for name, height in zip(upper, spread(heights, look.size + 4), strict=True):
        name["dy"] = round(height - plane.y(name["y"]), 1)
    return {"roofs": lines, "roof_names": names}


def _open_end(plane: Plane, bytes_per_s: float) -> float:
    """Where a slope without a roof leaves the picture."""
    return min(plane.top, plane.right * bytes_per_s)


def _lower(roof: _Roof, first: _Roof) -> bool:
    """Whether a measured roof lies under the datasheet's, whose lines would cross names on its upper side."""
    return roof.kind == "measured" and roof.bytes_per_s < first.bytes_per_s


def _flat_name(plane: Plane, roof: _Roof, form: str, peak: float, *, below: bool) -> dict[str, Any]:
    """A label that ends where the flat begins, where nothing can be; one without dx is placed later."""
    said = "" if roof.kind == "datasheet" else ", measured"
    text = f"{form} {numbers.amount(peak, 'FLOP/s')}{said}"
    if below:  # clear of the dots, whose places are not known yet: roof_labels finds it a place
        return {"x": math.sqrt(plane.right * peak / roof.bytes_per_s), "y": peak, "text": text, "hue": "compute"}
    place = {"x": peak / roof.bytes_per_s, "dx": -8, "dy": 0}
    return {**place, "y": peak, "text": text, "hue": roof.hue or "compute"}


def _slope_name(
    plane: Plane, bytes_per_s: float, peak: float, name: str, place: int, look: Look, below: bool = False
) -> dict[str, Any]:
    """A label that ends at the slope, on its upper side, where nothing can be; or begins there, on its lower side."""
    text = f"{name} {numbers.amount(bytes_per_s, 'B/s')}"
    left = plane.x(plane.bottom / bytes_per_s) if plane.bottom / bytes_per_s > plane.left else 0
    right = plane.x(peak / bytes_per_s)
    x = plane.at_x(max(left + (0.72 - 0.16 * place) * (right - left), text_width(text, look.size) + 14))
    y = x * bytes_per_s
    return {
        "x": x,
        "y": y,
        "dx": text_width(text, look.size) + 12 if below else -10,
        "dy": 6 if below else -4,
        "text": text,
        "hue": "memory",
    }


def _ridges(plane: Plane, analyses: Sequence[Analysis], landmarks: Sequence[Landmarks], look: Look) -> Datasets:
    """The ridge of the phases' main format, what it takes to get there, and the zones on its sides."""
    lines: Rows = []
    several = len(analyses) > 1
    for number, one in enumerate(analyses):
        phase = one.phases.get("decode")
        forms = _formats(one)[:1]
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
    for name, phase in sorted(analysis.phases.items(), key=lambda item: (item[0] != "decode", item[0])):
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
        "bound": op.bound,
        "hue": op.bound,
        "share": op.share,
        "share_text": numbers.percent(op.share),
        "time_s": op.time_s,
        "time": numbers.seconds(op.time_s),
        "intensity": numbers.plain(op.intensity_flop_per_byte) if op.flop else "no FLOP",
    }
