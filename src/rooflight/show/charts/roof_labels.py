"""Places for what a roofline's dots and lines are called."""

from __future__ import annotations

import math
from typing import Any

from rooflight.show.charts.place import Box, Datasets, Plane, Rows, along, around, placed, ranges
from rooflight.show.charts.theme import Look, text_width
from rooflight.show.charts.wording import MARKS, times

_TOGETHER = 9  # px between dots whose numbers stand together


def boxes(plane: Plane, data: Datasets, look: Look) -> list[Box]:
    """What labels keep clear of: lines, dots, and words that have a place. Names of roofs without one get theirs."""
    taken: list[Box] = []
    for ends in _pairs(data["roofs"]):
        taken += along(plane, ends)
    for line in data["links"]:
        taken += along(plane, [(line["x"], line["y"]), (line["x2"], line["y"])], 2)
    for dot in (*data["phases"], *data["expected"], *data.get("would", ())):
        taken.append(around(plane.x(dot["x"]), plane.y(dot["y"]), 9, 3))
    for dot in data["operators"]:
        taken.append(around(plane.x(dot["x"]), plane.y(dot["y"]), radius(dot["share"]), 2))
    taken += [around(plane.x(dot["x"]), plane.y(dot["y"]), 4) for dot in data["samples"]]
    taken += [around(plane.x(dot["x"]), plane.y(dot["y"]), 8, 3) for dot in data.get("ghosts", ())]
    free = [row for row in data["roof_names"] if "dx" not in row]
    for row in (*(row for row in data["roof_names"] if "dx" in row), *data["zone_names"], *data["ridge_names"]):
        taken.append(_fixed(plane, row, look, right=row in data["roof_names"], left=row in data["ridge_names"]))
    for row in free:
        row.update(placed(plane, row["x"], row["y"], row["text"], size=look.size, taken=taken, radius=3))
        row["dx"] += text_width(row["text"], look.size) / 2  # names of roofs end at their place, others are centred
    return taken


def labels(plane: Plane, data: Datasets, look: Look) -> Datasets:
    """Places for what the dots are called, clear of dots, roofs and each other."""
    taken = boxes(plane, data, look)
    names: Datasets = {"phase_names": [], "operator_names": [], "move_names": [], "link_names": []}
    for dot in data["phases"]:
        if not dot["several"]:
            text, ink = (dot["name"] if look.narrow else f"{dot['name']} {dot['time']}"), "ink"
        else:
            text, ink = dot["called"], dot["hue"]
        label = placed(plane, dot["x"], dot["y"], text, size=look.size + 0.6, taken=taken, radius=9)
        names["phase_names"].append({**label, "hue": ink})
    for dot in data["would"]:
        text = dot["name"] if look.narrow else f"{dot['name']}, does not fit"
        text = dot["called"] if dot["several"] else text
        label = placed(plane, dot["x"], dot["y"], text, size=look.size + 0.6, taken=taken, radius=4)
        names["phase_names"].append({**label, "hue": dot["hue"] if dot["several"] else "ink"})
    for x, y, text, reach in _clusters(plane, data["operators"]):
        names["operator_names"].append(placed(plane, x, y, text, size=look.size - 1, taken=taken, radius=reach))
    for move in data["moves"]:
        x, y = math.sqrt(move["x"] * move["x2"]), math.sqrt(move["y"] * move["y2"])
        names["move_names"].append(placed(plane, x, y, times(move["gain"]), size=look.size, taken=taken))
    for line in data["links"]:
        named = placed(
            plane, math.sqrt(line["x"] * line["x2"]), line["y"], f"link, {line['name']}", size=look.size, taken=taken
        )
        names["link_names"].append({**named, "hue": "link"})
    return names


def radius(share: float) -> float:
    """Px from the middle of an operator's circle to its edge."""
    return math.sqrt((30 + 870 * share) / math.pi)


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
         radius(max(dot["share"] for dot in group)))
        for group in groups
    ]  # fmt: skip


def _close(plane: Plane, one: dict[str, Any], other: dict[str, Any]) -> bool:
    across, down = plane.x(one["x"]) - plane.x(other["x"]), plane.y(one["y"]) - plane.y(other["y"])
    return one["phase"] == other["phase"] and math.hypot(across, down) < _TOGETHER
