"""What a mark says when it is pointed at: names and values with their units, as expressions over its row."""

from __future__ import annotations

import math
from typing import Any

from rooflight.show.charts.export import altair
from rooflight.show.charts.place import Plane, Rows

# Dots that are listed of those that stand on each other; more are counted.
_MOST_TOLD = 12
_NEAR = 6.0  # px


def tip(**parts: str) -> Any:
    """A mark's tooltip: titles (with _ for spaces) and expressions; what is null or empty in a row is left out."""
    said = (
        f"isValid({value}) && {value} !== '' ? {{'{title.replace('_', ' ')}': {value}}} : {{}}"
        for title, value in parts.items()
    )
    return altair().ExprRef(f"merge({', '.join(said)})")


def of(field: str) -> str:
    """A field as it is."""
    return f"datum.{field}"


def amount(field: str, unit: str) -> str:
    """A number of a field in SI prefixes with a unit: 1.2 PFLOP/s; none where the row has none."""
    shown = f"replace(format(datum.{field}, '.3~s'), /([^0-9.]*)$/, ' $1{unit}')"
    return f"(isValid(datum.{field}) ? {shown} : null)"


def count(field: str) -> str:
    """A whole number of a field."""
    return f"(isValid(datum.{field}) ? format(datum.{field}, ',d') : null)"


def plain(field: str, unit: str) -> str:
    """A number of a field to three digits, with its unit behind."""
    return f"(isValid(datum.{field}) ? format(datum.{field}, ',.3~r') + '{unit}' : null)"


def span(low: str, high: str, unit: str) -> str:
    """Two fields as an interval: 8 ms to 12 ms."""
    both = f"isValid(datum.{low}) && isValid(datum.{high})"
    return f"({both} ? {amount(low, unit)} + ' to ' + {amount(high, unit)} : null)"


def tell_neighbours(plane: Plane, dots: Rows) -> None:
    """Give each dot, in `also`, the others that stand on it, so that one that is covered is found all the same.

    dots    with x, y, radius (px) and `told`, what each is called beside another
    """
    cell = max([_NEAR, *(dot["radius"] for dot in dots)])
    at = [(plane.x(dot["x"]), plane.y(dot["y"])) for dot in dots]
    cells: dict[tuple[int, int], list[int]] = {}
    for number, (x, y) in enumerate(at):
        cells.setdefault((math.floor(x / cell), math.floor(y / cell)), []).append(number)
    for number, (x, y) in enumerate(at):
        column, row = math.floor(x / cell), math.floor(y / cell)
        near = [
            other
            for right in (-1, 0, 1)
            for down in (-1, 0, 1)
            for other in cells.get((column + right, row + down), [])
            if other != number and _covers(at[number], at[other], dots[number]["radius"], dots[other]["radius"])
        ]
        told = [dots[other]["told"] for other in sorted(near)]
        more = f"; and {len(told) - _MOST_TOLD:,} more" if len(told) > _MOST_TOLD else ""
        dots[number]["also"] = "; ".join(told[:_MOST_TOLD]) + more
    for dot in dots:
        del dot["radius"], dot["told"]


def _covers(one: tuple[float, float], other: tuple[float, float], radius: float, others: float) -> bool:
    """Whether the middle of the one lies under the other."""
    return math.hypot(one[0] - other[0], one[1] - other[1]) <= max(_NEAR, radius, others)
