"""What a drawn chart shows: every text with its box, as Vega lays it out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import vl_convert

from rooflight.show.charts.chart import Chart
from rooflight.show.charts.export import version

# Of Helvetica, over its size: letters by how wide they are.
NARROW = set("iljtfr.,:;'|()[] I/-\u00a0")
WIDE = set("mwMWGO@%+")


@dataclass
class Text:
    """A text and the rectangle that it covers, in px from the picture's corner."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def covers(self, other: Text) -> float:
        """Square px of both."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return wide * high if min(wide, high) > 1 else 0.0


def width_of(line: str, size: float, bold: bool) -> float:
    units = sum(0.3 if one in NARROW else 0.82 if one in WIDE else 0.54 for one in line)
    return units * size * (1.06 if bold else 1)


def drawn(chart: Chart) -> tuple[float, float, list[Text]]:
    """Width and height of the picture, and its texts without their halos."""
    scene = vl_convert.vegalite_to_scenegraph(chart.spec, vl_version=version(chart.spec))
    found: list[Text] = []
    _walk(scene["scenegraph"], *scene["origin"], found)
    return scene["width"], scene["height"], found


def _walk(mark: dict, x: float, y: float, found: list[Text]) -> None:
    for item in mark.get("items", []):
        if mark.get("marktype") == "group":
            for inner in item.get("items", []):
                _walk(inner, x + item.get("x", 0), y + item.get("y", 0), found)
        elif mark.get("marktype") == "text" and "stroke" not in item and item.get("opacity", 1) > 0:
            found += _boxes(item, x, y)


def _boxes(item: dict, x: float, y: float) -> list[Text]:
    text = item.get("text", "")
    lines = text if isinstance(text, list) else str(text).split("\n")
    size = item.get("fontSize", 11)
    high = item.get("lineHeight", size + 2)
    x, y = x + item.get("x", 0), y + item.get("y", 0)
    boxes = []
    for number, line in enumerate(lines):
        wide = width_of(line, size, item.get("fontWeight") in (600, "bold"))
        left = {"left": 0, "right": -wide}.get(item.get("align", "left"), -wide / 2) + item.get("dx", 0)
        top = {"top": 0, "middle": -size / 2, "bottom": -size}.get(item.get("baseline"), -size * 0.8)
        top += item.get("dy", 0) + number * high
        if round(math.fabs(item.get("angle", 0))) % 180 == 90:
            boxes.append(Text(line, x + top, y - left - wide, x + top + size, y - left))
        else:
            boxes.append(Text(line, x + left, y + top, x + left + wide, y + top + size))
    return [box for box in boxes if box.text.strip()]


def overlaps(texts: list[Text]) -> list[str]:
    """Pairs of texts that stand on each other."""
    return [
        f"{one.text!r} and {other.text!r}"
        for number, one in enumerate(texts)
        for other in texts[number + 1 :]
        if one.covers(other)
    ]
