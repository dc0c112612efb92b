"""The rows of a roofline chart: plain numbers from an analysis, and places for their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from rooflight.show import numbers
from rooflight.show.analysis import split_operators
from rooflight.show.charts.place import Box, Datasets, Plane, Rows, along, around, placed, ranges, spread
from rooflight.show.charts.theme import STANDARD, Look, text_width
from rooflight.show.charts.wording import times, variant, where
from rooflight.spec.accelerator import Accelerator
from rooflight.spec.analysis import Analysis, OperatorBlock, Phase
from rooflight.spec.sweep import Landmarks

MARKS = {"prefill": "P", "decode": "D", "verify": "V", "mixed": "M"}
# Of a phase's FLOP; formats below it have no roof of their own.
_LEAST_SHARE = 0.01
_MOST_LISTED = 6
_LONGEST_NAME = 17  # letters, where the picture is narrow
_SHORT_OF = 13  # px from the tip of an arrow to the middle of the dot it points at
_TOGETHER = 9  # px between dots whose numbers stand together


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
    return data | _labels(plane, data, look)


def plane_of(*analyses: Analysis, look: Look = STANDARD) -> Plane:
    """Corners that hold the phases of all these analyses."""
    return _plane(_all_roofs(analyses, None), (), _phase_dots(analyses), look)


def gains(before: Analysis, after: Analysis) -> dict[str, float]:
    """Tokens a second after a move over those before it, by phase, at roofline time."""
    old, new = before.phases or {}, after.phases or {}
    return {name: new[name].tokens_per_s.roofline / old[name].tokens_per_s.roofline for name in old if name in new}


def _all_roofs(analyses: Sequence[Analysis], measured: Accelerator | None) -> list[_Roof]:
    """A roof a different machine, with the peaks its phases use; of several machines each one's main peak."""
    found: dict[tuple[str, int, tuple[str, ...]], _Roof] = {}
    several = len({(one.accelerator.id, one.accelerator.count) for one in analyses}) > 1
    for number, one in enumerate(analyses, 1):
        card = one.accelerator
        forms = _formats(one)[:1] if several else _formats(one)
        key = (card.id, card.count, tuple(forms))
        peaks = {form: card.peak_flop_per_s[form] * card.count for form in forms}
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
    for phase in (analysis.phases or {}).values():
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
        for name, phase in (one.phases or {}).items()
        if phase.flop
    ]


def _machines(analyses: Sequence[Analysis]) -> Rows:
    """A row a deployment, for the table."""
    found: Rows = []
    alike = len({where(one) for one in analyses}) == 1
    for number, one in enumerate(analyses, 1):
        card, form = one.accelerator, _formats(one)[0]
        peak = card.peak_flop_per_s[form] * card.count
        steps: dict[str, Any] = {
            name: numbers.seconds(one.phases[name].time_s.roofline) if one.phases else "does not fit"
            for name in ("decode", "prefill")
        }
        bandwidth = card.memory_bytes_per_s * card.count
        name = variant(one) if alike else where(one)
        found.append({
            "row": number, "mark": str(number), "hue": str(number), "name": name, "rate": bandwidth,
            "memory": numbers.amount(bandwidth, "B/s"), "peak": f"{form} {numbers.amount(peak, 'FLOP/s')}", **steps,
        })  # fmt: skip
    return found


def _expected(analyses: Sequence[Analysis], dots: Rows) -> Rows:
    """Where the expected time puts each phase, from its roofline speed down to the interval's slow end."""
    found = []
    for dot in dots:
        phase: Phase = (analyses[dot["analysis"]].phases or {})[dot["name"]]
        span = phase.time_s
        if span.expected and span.low and span.high:
            row = {"y": phase.flop / span.expected, "low": phase.flop / span.high, "high": phase.flop / span.low}
            found.append({**dot, **row, "time": numbers.seconds(span.expected), "time_s": span.expected})
    return found


def _plane(roofs: Sequence[_Roof], levels: Sequence[Level], dots: Rows, look: Look) -> Plane:
    """Corners around ridges and dots, whole roofs in sight."""
    ridges = [peak / roof.bytes_per_s for roof in roofs for peak in roof.peaks.values()]
    left = min([dot["x"] for dot in dots] + [ridge / 100 for ridge in ridges]) / 3
    right = max([dot["x"] * 4 for dot in dots] + [ridge * 12 for ridge in ridges])
    lowest = [dot["y"] / 4 for dot in dots] + [left * min(roof.bytes_per_s for roof in roofs)]
    top = max(peak for roof in roofs for peak in roof.peaks.values())
    rates = [level.bytes_per_s for level in levels] or [0]
    top = max(top * 3, left * max(rates) * 10)
    return Plane(left=left, right=right, bottom=min(lowest), top=top, width=look.plot_width, height=look.plot_height)


def _roof_lines(plane: Plane, roofs: Sequence[_Roof], levels: Sequence[Level], look: Look) -> Datasets:
    """A slope up to the highest ridge of each machine, a flat from each format's own ridge on, and their names."""
    lines: Rows = []
    names: Rows = []
    for roof in roofs:
        highest = max(roof.peaks.values())
        ends = [(plane.left, plane.left * roof.bytes_per_s), (highest / roof.bytes_per_s, highest)]
        tag = {"kind": roof.kind, "hue": roof.hue or "memory", "roof": f"{roof.name} memory"}
        lines += [{**tag, "x": x, "y": y, "rate": roof.bytes_per_s} for x, y in ends]
        if not roof.hue:
            memory = "memory" if roof.kind == "datasheet" else "measured memory"
            names.append(_slope_name(plane, roof.bytes_per_s, highest, memory, len(names), look))
        for form, peak in roof.peaks.items():
            tag = {"kind": roof.kind, "hue": roof.hue or "compute", "roof": f"{roof.name} {form}"}
            lines += [{**tag, "x": x, "y": peak, "rate": peak} for x in (peak / roof.bytes_per_s, plane.right)]
            if not roof.hue:
                said = "" if roof.kind == "datasheet" else ", measured"
                text = f"{form} {numbers.amount(peak, 'FLOP/s')}{said}"
                names.append(
                    {"x": peak / roof.bytes_per_s, "y": peak, "dx": -8, "dy": 0, "text": text, "hue": tag["hue"]}
                )
    for level in levels:
        highest = max(max(roof.peaks.values()) for roof in roofs)
        tag = {"kind": "level", "hue": "memory", "roof": level.name}
        ends = [(plane.left, plane.left * level.bytes_per_s), (highest / level.bytes_per_s, highest)]
        lines += [{**tag, "x": x, "y": y, "rate": level.bytes_per_s} for x, y in ends]
        names.append(_slope_name(plane, level.bytes_per_s, highest, level.name, len(names), look))
    heights = [plane.y(name["y"]) + name["dy"] for name in names]
    for name, height in zip(names, spread(heights, look.size + 4), strict=True):
        name["dy"] = round(height - plane.y(name["y"]), 1)
    return {"roofs": lines, "roof_names": names}


def _slope_name(plane: Plane, bytes_per_s: float, peak: float, name: str, place: int, look: Look) -> dict[str, Any]:
    """A label that ends at the slope, on its upper side, where nothing can be."""
    text = f"{name} {numbers.amount(bytes_per_s, 'B/s')}"
    left = plane.x(plane.bottom / bytes_per_s) if plane.bottom / bytes_per_s > plane.left else 0
    right = plane.x(peak / bytes_per_s)
    x = plane.at_x(max(left + (0.72 - 0.16 * place) * (right - left), text_width(text, look.size) + 14))
    y = x * bytes_per_s
    return {"x": x, "y": y, "dx": -10, "dy": -4, "text": text, "hue": "memory"}


def _ridges(plane: Plane, analyses: Sequence[Analysis], landmarks: Sequence[Landmarks], look: Look) -> Datasets:
    """The ridge of the phases' main format, what it takes to get there, and the zones on its sides."""
    lines: Rows = []
    several = len(analyses) > 1
    for number, one in enumerate(analyses):
        phase = (one.phases or {}).get("decode")
        ridge = phase.ridge_flop_per_byte if phase else one.accelerator.ridge_flop_per_byte[_formats(one)[0]]
        peak = ridge * one.accelerator.memory_bytes_per_s * one.accelerator.count
        mark = landmarks[number] if number < len(landmarks) else None
        hue = str(number + 1) if several else "capacity"
        reached = mark.ridge_batch if mark else None
        lines.append(
            {"x": ridge, "y": plane.bottom, "y2": peak, "batch": reached, "name": one.accelerator.id, "hue": hue}
        )
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
        phase = (analyses[dot["analysis"]].phases or {})[dot["name"]]
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
    for name, phase in sorted((analysis.phases or {}).items(), key=lambda item: (item[0] != "decode", item[0])):
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


def _labels(plane: Plane, data: Datasets, look: Look) -> Datasets:
    """Places for what the dots are called, clear of dots, roofs and each other."""
    taken: list[Box] = []
    for ends in _pairs(data["roofs"]):
        taken += along(plane, ends)
    for dot in (*data["phases"], *data["expected"]):
        taken.append(around(plane.x(dot["x"]), plane.y(dot["y"]), 9, 3))
    for dot in data["operators"]:
        taken.append(around(plane.x(dot["x"]), plane.y(dot["y"]), math.sqrt((30 + 870 * dot["share"]) / math.pi), 2))
    for row in (*data["roof_names"], *data["zone_names"], *data["ridge_names"]):
        taken.append(_fixed(plane, row, look, right=row in data["roof_names"], left=row in data["ridge_names"]))
    names: Datasets = {"phase_names": [], "operator_names": [], "move_names": [], "link_names": []}
    for dot in data["phases"]:
        if not dot["several"]:
            text, ink = (dot["name"] if look.narrow else f"{dot['name']} {dot['time']}"), "ink"
        else:
            text, ink = f"{MARKS[dot['name']]}{dot['analysis'] + 1}", dot["hue"]
        label = placed(plane, dot["x"], dot["y"], text, size=look.size + 0.6, taken=taken, radius=9)
        names["phase_names"].append({**label, "hue": ink})
    for x, y, text, radius in _clusters(plane, data["operators"]):
        names["operator_names"].append(placed(plane, x, y, text, size=look.size - 1, taken=taken, radius=radius))
    for move in data["moves"]:
        x, y = math.sqrt(move["x"] * move["x2"]), math.sqrt(move["y"] * move["y2"])
        names["move_names"].append(placed(plane, x, y, times(move["gain"]), size=look.size, taken=taken))
    for line in data["links"]:
        named = placed(
            plane, math.sqrt(line["x"] * line["x2"]), line["y"], f"link, {line['name']}", size=look.size, taken=taken
        )
        names["link_names"].append({**named, "hue": "link"})
    return names


def _pairs(lines: Rows) -> list[list[tuple[float, float]]]:
    return [[(row["x"], row["y"]) for row in lines[n : n + 2]] for n in range(0, len(lines), 2)]


def _fixed(plane: Plane, row: dict[str, Any], look: Look, *, right: bool, left: bool) -> Box:
    """The box of a label whose place is given."""
    wide, high = text_width(row["text"], look.size), (row["text"].count("\n") + 1) * (look.size + 2)
    x, y = plane.x(row["x"]) + row["dx"], plane.y(row["y"]) + row["dy"]
    start = x - wide if right else x if left else x - wide / 2
    top = y - look.size / 2 - 1
    return Box(start, top, start + wide, top + high, 2)


def _clusters(plane: Plane, dots: Rows) -> list[tuple[float, float, str, float]]:
    """Dots that stand on each other share a label: D1-4."""
    groups: list[Rows] = []
    for dot in dots:
        near = next((group for group in groups if _close(plane, group[0], dot)), None)
        if near is None:
            groups.append([dot])
        else:
            near.append(dot)
    return [
        (group[0]["x"], group[0]["y"], MARKS[group[0]["phase"]] + ranges([dot["number"] for dot in group]),
         math.sqrt((30 + 870 * max(dot["share"] for dot in group)) / math.pi))
        for group in groups
    ]  # fmt: skip


def _close(plane: Plane, one: dict[str, Any], other: dict[str, Any]) -> bool:
    across, down = plane.x(one["x"]) - plane.x(other["x"]), plane.y(one["y"]) - plane.y(other["y"])
    return one["phase"] == other["phase"] and math.hypot(across, down) < _TOGETHER
