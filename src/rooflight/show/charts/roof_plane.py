"""The plane of a roofline chart: its corners, the ridge points, and the zones on their sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rooflight.show import numbers
from rooflight.show.charts.place import Datasets, Plane, Rows
from rooflight.show.charts.roof_lines import SHARED, Level, Roof, ridge_of
from rooflight.show.charts.tag import Tag
from rooflight.show.charts.theme import Look, text_width
from rooflight.values.analysis import Analysis
from rooflight.values.sweep import Landmarks

# Around the outermost dots, below them, where zones are named, and right of and left of the outermost ridge: times, at
# least.
_ROOM, _BELOW, _RIGHT_OF_RIDGE, _LEFT_OF_RIDGE = 1.8, 3.0, 4.2, 28.0


def plane_around(roofs: Sequence[Roof], levels: Sequence[Level], dots: Rows, look: Look) -> Plane:
    """Corners around ridges and dots, with room for names and no more.

    At steps of half an octave, so that the axes stand still while a dot moves a little.
    """
    known = [peak / roof.bytes_per_s for roof in roofs for peak in roof.peaks.values()]
    places = [dot["x"] for dot in dots] or [1.0][: not known]
    left = min(places + [ridge / _LEFT_OF_RIDGE for ridge in known]) / _ROOM
    right = max([place * (_ROOM if known else 100) for place in places] + [ridge * _RIGHT_OF_RIDGE for ridge in known])
    lowest = [dot["y"] / _BELOW for dot in dots] + [left * min(roof.bytes_per_s for roof in roofs)]
    lowest += [right * level.bytes_per_s / 10 for level in levels]  # the last tenth of a link's slope is in sight
    # without a roof the slopes are in sight up to some way above the dots
    top = max(
        (peak for roof in roofs for peak in roof.peaks.values()),
        default=max((dot["x"] for dot in dots), default=left) * 10 * max(roof.bytes_per_s for roof in roofs),
    )
    rates = [level.bytes_per_s for level in levels] or [0]
    top = max(top * _ROOM, left * max(rates) * 10)
    return Plane(
        left=_below(left), right=1 / _below(1 / right), bottom=_below(min(lowest)), top=1 / _below(1 / top),
        width=look.plot_width, height=look.plot_height,
    )  # fmt: skip


def _below(value: float) -> float:
    """The step that is not above."""
    return math.exp2(math.floor(2 * math.log2(value)) / 2)


def ridges(
    plane: Plane, analyses: Sequence[Analysis], landmarks: Sequence[Landmarks], look: Look, tags: Sequence[Tag]
) -> Datasets:
    """The ridge of the steps' main format, what it takes to get there, and the zones on the sides of them all."""
    lines: Rows = []
    of: dict[tuple[float, float], list[Tag]] = {}
    several = len(analyses) > 1
    for number, one in enumerate(analyses):
        ridge = ridge_of(one)
        if ridge is None:
            continue
        peak = ridge * one.accelerator.memory_bytes_per_s * one.accelerator.count
        mark = landmarks[number] if number < len(landmarks) else None
        same = next((line for line in lines if (line["x"], line["y2"]) == (ridge, peak)), None)
        if same is not None:
            of[ridge, peak].append(tags[number])
            names = ", ".join(tag.brief for tag in of[ridge, peak])
            same |= {"name": names, "hue": SHARED if several else same["hue"]}
            continue
        of[ridge, peak] = [tags[number]]
        lines.append({
            "x": ridge, "y": plane.bottom, "y2": peak, "batch": mark.ridge_batch if mark else None,
            "name": tags[number].whole, "hue": tags[number].hue if several else "capacity",
        })  # fmt: skip
    if not lines:
        return {"ridges": [], "zones": [], "zone_names": [], "ridge_names": []}
    first, last = min(line["x"] for line in lines), max(line["x"] for line in lines)
    zones = [
        {"x": plane.left, "x2": first, "hue": "memory", "text": "memory-bound"},
        {"x": last, "x2": plane.right, "hue": "compute", "text": "compute-bound"},
    ]
    label = _ridge_name(plane, first, landmarks, look)
    return {"ridges": lines, "zones": zones, "zone_names": _zone_names(plane, zones, look),
            "ridge_names": [] if several else [label]}  # fmt: skip


def _zone_names(plane: Plane, zones: Rows, look: Look) -> Rows:
    """What binds on either side, in the form that has room there."""
    names = []
    for zone in zones:
        room = plane.x(zone["x2"]) - plane.x(zone["x"]) - 4
        forms = (zone["text"], zone["hue"])
        text = next((form for form in forms if text_width(form, look.size) <= room), "")
        middle = math.sqrt(zone["x"] * zone["x2"])
        names.append({"x": middle, "y": plane.bottom, "dx": 0, "dy": -10, "text": text, "hue": zone["hue"]})
    return [name for name in names if name["text"]]


def _ridge_name(plane: Plane, ridge: float, landmarks: Sequence[Landmarks], look: Look) -> dict[str, Any]:
    """The ridge point in words, beside its line."""
    text = f"ridge point\n{numbers.plain(ridge)} FLOP/byte"
    if landmarks and look.outer >= 560:
        text += "\n" + _batch_words(landmarks[0])
    wide = text_width(text, look.size)
    room = plane.width - plane.x(ridge)
    dx = 6 if wide + 8 < room else -wide - 6
    dy = -30 - text.count("\n") * (look.size + 2)  # of the first line; the others stand below it
    return {"x": ridge, "y": plane.bottom, "dx": dx, "dy": dy, "text": text}


def _batch_words(mark: Landmarks) -> str:
    if mark.ridge_batch is None:
        return "decode: at no batch"
    return f"decode: at batch {mark.ridge_batch:,}"
