"""The roofs of a roofline chart: a slope and flats a machine, printed or measured, and what they are called."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from rooflight.show import numbers
from rooflight.show.charts.place import Datasets, Plane, Rows, spread
from rooflight.show.charts.tag import Tag
from rooflight.show.charts.theme import Look, text_width
from rooflight.show.charts.wording import devices, where
from rooflight.values.accelerator import Accelerator
from rooflight.values.analysis import Analysis

# Of a phase's FLOP; formats below it have no roof of their own.
_LEAST_SHARE = 0.01
# The hue of what several analyses have in common.
SHARED = "ink"


class Level(msgspec.Struct, frozen=True):
    """A memory level with a rate of its own, all devices; hue: memory, or link of what leads off the device."""

    name: str
    bytes_per_s: float
    hue: str = "memory"


class Roof(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine can do, all devices: peaks by number format.

    hue     of several machines, each one's number; "" of a single one
    kind    "datasheet" or "measured"; beside: it stands beside the machine's own, for comparison
    """

    name: str
    hue: str = ""
    kind: str = "datasheet"
    beside: bool = False
    bytes_per_s: float
    peaks: dict[str, float]


def roofs_of(analyses: Sequence[Analysis], measured: Accelerator | None, tags: Sequence[Tag]) -> list[Roof]:
    """The roof of a single machine, with the peaks that its steps run in; of several each one's main peak.

    Roofs that are equal are drawn once, in the neutral hue where they are those of several analyses.
    Beside a single one stands its other: that of `measured`, or the datasheet's of a machine that was measured.

    tags    of each analysis, where there are several
    """
    first = analyses[0].accelerator
    if one_machine(analyses):
        forms = list(dict.fromkeys(form for one in analyses for form in formats(one)))
        beside = _beside(measured, first.count, forms) or _datasheet(analyses[0], forms)
        return [_roof(analyses[0], forms), *([beside] if beside is not None else [])]
    groups: list[tuple[Roof, list[int]]] = []
    for number, one in enumerate(analyses):
        roof = _roof(one, formats(one)[:1])
        own = next((members for other, members in groups if _equal(roof, other)), None)
        if own is None:
            groups.append((roof, [number]))
        else:
            own.append(number)
    return [
        msgspec.structs.replace(
            roof, name=", ".join(dict.fromkeys(_who(tags[number], members) for number in members)),
            hue=tags[members[0]].hue if len(members) == 1 else SHARED,
        )
        for roof, members in groups
    ]  # fmt: skip


def _who(tag: Tag, members: Sequence[int]) -> str:
    """One of those whose roof it is: of several with letters these alone."""
    return tag.whole if len(members) == 1 else tag.brief


def one_machine(analyses: Sequence[Analysis]) -> bool:
    """Whether all of them run on machines of the same rates."""
    return len({(_bandwidth(one), *sorted(one.accelerator.peak_flop_per_s.items())) for one in analyses}) == 1


def _bandwidth(one: Analysis) -> float:
    return one.accelerator.memory_bytes_per_s * one.accelerator.count


def _roof(one: Analysis, forms: Sequence[str]) -> Roof:
    card = one.accelerator
    return Roof(
        name=where(one), kind="datasheet" if card.measured is None else "measured", bytes_per_s=_bandwidth(one),
        peaks=_peaks(card.peak_flop_per_s, forms, card.count),
    )  # fmt: skip


def _equal(one: Roof, other: Roof) -> bool:
    return (one.bytes_per_s, one.peaks, one.kind) == (other.bytes_per_s, other.peaks, other.kind)


def levels_of(analyses: Sequence[Analysis], every: bool = False) -> tuple[Level, ...]:
    """The caches of a single measured machine, all devices; every level of a single machine where that is asked for.

    Where something lies in a host's memory, that and the link to it.
    """
    card = analyses[0].accelerator
    if not one_machine(analyses):
        return ()
    beside = _host_levels(analyses[0])
    if every:
        levels = (one for one in card.levels if one.place == "cache" or not beside)
        own = [
            Level(one.name, one.bytes_per_s * card.count, "memory" if one.place == "cache" else "link")
            for one in levels
        ]
        return (*own, *beside)
    if card.measured is None:
        return beside
    return (*(Level(one.name, one.bytes_per_s * card.count) for one in card.measured.levels), *beside)


def _host_levels(analysis: Analysis) -> tuple[Level, ...]:
    """The host's memory and the link to it, all devices, where something lies there."""
    held = analysis.memory.host
    if held is None:
        return ()
    memory = Level("host memory", held.memory_bytes_per_s, "host_memory")
    if held.link_bytes_per_s is None:
        return (memory,)
    return memory, Level("host link", held.link_bytes_per_s * analysis.accelerator.count, "host_link")


def roofs_of_card(card: Accelerator, forms: Sequence[str], datasheet: Accelerator | None) -> list[Roof]:
    """The roofs of one device without any question, and beside them its datasheet's."""
    kind = "datasheet" if card.measured is None else "measured"
    peaks = _peaks(card.peak_flop_per_s, forms, 1)
    own = Roof(name=card.id, kind=kind, bytes_per_s=card.memory_bytes_per_s or 0.0, peaks=peaks)
    if datasheet is None or datasheet.memory_bytes_per_s is None:
        return [own]
    printed = _peaks(datasheet.peak_flop_per_s, forms, 1)
    return [own, Roof(name=datasheet.id, beside=True, bytes_per_s=datasheet.memory_bytes_per_s, peaks=printed)]


def _beside(measured: Accelerator | None, count: int, forms: Sequence[str]) -> Roof | None:
    if measured is None or measured.memory_bytes_per_s is None:
        return None
    return Roof(
        name=f"{measured.id} as measured", kind="measured", beside=True,
        bytes_per_s=measured.memory_bytes_per_s * count, peaks=_peaks(measured.peak_flop_per_s, forms, count),
    )  # fmt: skip


def _datasheet(analysis: Analysis, forms: Sequence[str]) -> Roof | None:
    """What is printed for the device that was measured; None where it was not, or a bandwidth is not printed."""
    card = analysis.accelerator
    sheet = None if card.measured is None else card.measured.datasheet
    if sheet is None or sheet.memory_bytes_per_s is None:
        return None
    return Roof(
        name=devices(sheet.id, card.count), beside=True, bytes_per_s=sheet.memory_bytes_per_s * card.count,
        peaks=_peaks(sheet.peak_flop_per_s, forms, card.count),
    )  # fmt: skip


def _peaks(known: dict[str, float], forms: Sequence[str], count: int) -> dict[str, float]:
    return {form: known[form] * count for form in forms if form in known}


def formats(analysis: Analysis) -> list[str]:
    """The number formats that the steps' products run in, the one with most FLOP first; of steps that memory has no
    room for those they would run in."""
    sums: dict[str, float] = {}
    for step in analysis.placed_on_roof.values():
        for form, flop in step.flop_by_format.items():
            sums[form] = max(sums.get(form, 0.0), flop / step.flop)
    return sorted((form for form, share in sums.items() if share >= _LEAST_SHARE), key=lambda form: -sums[form])


def ridge_of(analysis: Analysis) -> float | None:
    """The ridge point of decode, else of the main format of what there is; None without a peak."""
    decode = analysis.placed_on_roof.get("decode")
    if decode is not None:
        return decode.ridge_flop_per_byte
    known = analysis.accelerator.ridge_flop_per_byte
    return next((known[form] for form in formats(analysis)[:1] if form in known), None)


def roof_lines(plane: Plane, roofs: Sequence[Roof], levels: Sequence[Level], look: Look) -> Datasets:
    """A slope up to the highest ridge of each machine, a flat from each format's own ridge on, and their names."""
    lines: Rows = []
    names: Rows = []
    for roof in roofs:
        highest = max(roof.peaks.values(), default=_open_end(plane, roof.bytes_per_s))
        ends = [(plane.left, plane.left * roof.bytes_per_s), (highest / roof.bytes_per_s, highest)]
        line = "dashed" if roof.beside else "solid"
        tag = {
            "kind": roof.kind,
            "line": line,
            "hue": roof.hue or "memory",
            "roof": f"{roof.name} memory",
            "unit": "B/s",
        }
        lines += [{**tag, "x": x, "y": y, "rate": roof.bytes_per_s} for x, y in ends]
        if not roof.hue:
            memory = f"{_said(roof, roofs)} memory".lstrip()
            names.append(
                _slope_name(plane, roof.bytes_per_s, highest, memory, len(names), look, below=_lower(roof, roofs))
            )
        for form, peak in roof.peaks.items():
            tag = {
                "kind": roof.kind,
                "line": line,
                "hue": roof.hue or "compute",
                "roof": f"{roof.name} {form}",
                "unit": "FLOP/s",
            }
            lines += [{**tag, "x": x, "y": peak, "rate": peak} for x in (peak / roof.bytes_per_s, plane.right)]
            if not roof.hue:
                names.append(
                    _flat_name(plane, roof, form, peak, _said(roof, roofs), below=roof.beside and _lower(roof, roofs))
                )
    for level in levels:
        highest = max(max(roof.peaks.values(), default=_open_end(plane, level.bytes_per_s)) for roof in roofs)
        tag = {"kind": "level", "line": "dotted", "hue": level.hue, "roof": level.name, "unit": "B/s"}
        # a link's slope comes into the picture from below, and leaves it below the roof
        first = max(plane.left, plane.bottom / level.bytes_per_s)
        last = min(highest / level.bytes_per_s, plane.right)
        ends = [(x, x * level.bytes_per_s) for x in (first, last)]
        lines += [{**tag, "x": x, "y": y, "rate": level.bytes_per_s} for x, y in ends]
        place = len(names) if level.hue == "memory" else sum(name["hue"] == level.hue for name in names)
        name = _slope_name(plane, level.bytes_per_s, last * level.bytes_per_s, level.name, place, look)
        names.append({**name, "hue": level.hue})
    lines = _once(lines)
    upper = [name for name in names if name.get("dy", 1) <= 0]
    heights = [plane.y(name["y"]) + name["dy"] for name in upper]
    for name, height in zip(upper, spread(heights, look.size + 4), strict=True):
        name["dy"] = round(height - plane.y(name["y"]), 1)
    return {"roofs": lines, "roof_names": names}


def _once(lines: Rows) -> Rows:
    """Slopes and flats of several machines that lie on each other as one, in the neutral hue: the longest of them."""
    found: Rows = []
    for one, other in zip(lines[::2], lines[1::2], strict=True):
        same = next((row for row in found[::2] if _alike(row, one)), None)
        if same is None:
            found += [{**one}, {**other}]
            continue
        place = next(number for number, row in enumerate(found) if row is same)
        begins, ends = (found[place], one), (found[place + 1], other)
        names = list(dict.fromkeys((same["roof"], one["roof"])))
        shared = {"roof": ", ".join(names), "hue": same["hue"] if same["hue"] == one["hue"] else SHARED}
        first, last = min(begins, key=lambda row: row["x"]), max(ends, key=lambda row: row["x"])
        found[place : place + 2] = [{**same, **shared, "x": first["x"], "y": first["y"]},
                                    {**same, **shared, "x": last["x"], "y": last["y"]}]  # fmt: skip
    return found


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[name] == other[name] for name in ("rate", "unit", "line", "kind"))


def _open_end(plane: Plane, bytes_per_s: float) -> float:
    """Where a slope without a roof leaves the picture."""
    return min(plane.top, plane.right * bytes_per_s)


def _lower(roof: Roof, roofs: Sequence[Roof]) -> bool:
    """Whether a measured roof lies under the datasheet's, whose lines would cross names on its upper side."""
    return roof.kind == "measured" and any(roof.bytes_per_s < other.bytes_per_s for other in roofs)


def _said(roof: Roof, roofs: Sequence[Roof]) -> str:
    """Which roof it is, where there are two of one machine, or it was measured."""
    return roof.kind if roof.kind == "measured" or roofs[0].kind == "measured" else ""


def _flat_name(plane: Plane, roof: Roof, form: str, peak: float, which: str, *, below: bool) -> dict[str, Any]:
    """A label that ends where the flat begins, where nothing can be; one without dx is placed later."""
    text = f"{form} {numbers.amount(peak, 'FLOP/s')}{f', {which}' if which else ''}"
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
