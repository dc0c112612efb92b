"""Kernels that were timed, under the roofs of the machine: measured, and beside them its datasheet's."""

from __future__ import annotations

import math
from typing import Any

from rooflight.roofline.rates import hardware_format
from rooflight.show import numbers
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.export import altair
from rooflight.show.charts.kernel_dots import Samples, dots_read, sample_rows, sets_of
from rooflight.show.charts.layers import Column, finished, sized, table, words
from rooflight.show.charts.place import Datasets, Plane, Rows, placed
from rooflight.show.charts.roof_labels import boxes
from rooflight.show.charts.roof_lines import Level, Roof, roof_lines, roofs_of_card
from rooflight.show.charts.roof_plane import plane_around
from rooflight.show.charts.roofline import roof_layers, sample_layers
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.show.charts.tips import tell_neighbours
from rooflight.values.accelerator import Accelerator

_LISTED = 12
_COLUMNS = (
    Column("", "mark", 0.0, hued=True),
    Column("kernel", "name", 0.06),
    Column("FLOP/byte", "intensity", 0.66, right=True),
    Column("time", "time", 0.84, right=True),
    Column("of roof", "share_text", 1.0, right=True),
)


def rows(
    card: Accelerator, samples: Samples, *, datasheet: Accelerator | None = None, look: Look = STANDARD
) -> Datasets:
    """Every dataset of the chart, by name; kernels are listed that reach least of their roof first."""
    dots = sample_rows(samples)
    forms = [form for form in dict.fromkeys(dot["format"] for dot in dots) if form in card.peak_flop_per_s]
    # kernels without a format: the roof of 16-bit products
    roofs = roofs_of_card(card, forms or [hardware_format(card, "bf16")], datasheet)
    levels = () if card.measured is None else tuple(Level(one.name, one.median) for one in card.measured.of("level"))
    plane = plane_around(roofs, levels, dots, look)
    for dot in dots:
        dot["share"] = dot["y"] / _roof_at(roofs[0], dot)
        dot |= {"radius": 4.0, "told": f"{dot['name']}, {dot['time']}"}
    tell_neighbours(plane, dots)
    listed = _listed(dots, several=len(sets_of(samples)) > 1)
    data: Datasets = {
        "corners": plane.corners, **roof_lines(plane, roofs, levels, look), "ridges": [], "zones": [], "zone_names": [],
        "ridge_names": [], "links": [], "link_names": [], "phases": [], "expected": [], "operators": [], "would": [],
        "samples": dots, "table": listed,
    }  # fmt: skip
    return data | {"sample_names": _names(plane, data, listed, look)}


def kernels(
    card: Accelerator, samples: Samples, *, datasheet: Accelerator | None = None, read: str = "", look: Look = STANDARD
) -> Chart:
    """Kernels as dots under the roofs of one device.

    samples     Samples, or several sets of them by name, such as two files that are compared
    datasheet   the catalog's entry of a device that was measured: its roofs dashed beside
    read        how to read the dots, where they are no kernels that were timed here
    """
    data = rows(card, samples, datasheet=datasheet, look=look)
    alt = altair()
    listed = data["table"]
    title = "Kernels by how much of their roof they reach, least first"
    beside = [table("table", _COLUMNS, look, rows=len(listed), title=title)] if listed else []
    main = alt.layer(*roof_layers(look), *sample_layers(look), *words("sample_names", look, fontSize=look.size - 1))
    return finished(
        "kernels", sized(main, look), data, look, title=_title(card, data["samples"]),
        notes=tuple(note for note in (read or dots_read(samples), _rated(card)) if note), beside=beside,
    )  # fmt: skip


def _roof_at(roof: Roof, dot: dict[str, Any]) -> float:
    """FLOP/s of the roof above a dot; the memory slope alone where the format has no peak."""
    slope: float = dot["x"] * roof.bytes_per_s
    return min(slope, roof.peaks.get(dot["format"], math.inf))


def _listed(dots: Rows, *, several: bool) -> Rows:
    """The lowest of the dots, numbered."""
    found = sorted(dots, key=lambda dot: dot["share"])[:_LISTED]
    return [
        {
            **dot, "row": number, "mark": str(number + 1),
            "name": " ".join([dot["operator"], f"({dot['set']})"][: 1 + several]),
            "intensity": numbers.plain(dot["x"]), "share_text": numbers.percent(dot["share"]),
        }
        for number, dot in enumerate(found)
    ]  # fmt: skip


def _names(plane: Plane, data: Datasets, listed: Rows, look: Look) -> Rows:
    """The numbers of the listed beside their dots, clear of lines, words and each other."""
    taken = boxes(plane, data, look)
    return [placed(plane, dot["x"], dot["y"], dot["mark"], size=look.size - 1, taken=taken, radius=4) for dot in listed]


def _title(card: Accelerator, dots: Rows) -> str:
    """How much of the roof the kernels reach."""
    if not dots:
        return f"{card.id}: no kernel has a time, FLOP and bytes"
    shares = sorted(dot["share"] for dot in dots)
    low, middle, high = (numbers.percent(one) for one in (shares[0], shares[len(shares) // 2], shares[-1]))
    return f"{card.id}: {len(dots):,} kernels reach {low} to {high} of the roof, half of them {middle} or more"


def _rated(card: Accelerator) -> str:
    from rooflight import __version__

    found = card.measured
    roof = f"Datasheet rates of {card.id}." if found is None else f"Roofs: medians, measured {found.date}."
    return f"{roof} Both axes are logarithmic. rooflight {__version__}."
