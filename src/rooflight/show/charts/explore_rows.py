"""What the page with sliders draws and says at each point of its grid, packed: rows of charts, sentences, figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rooflight.serve.goals import Wanted
from rooflight.show import figures, numbers
from rooflight.show.charts import batch, memory, roof_rows, waterfall
from rooflight.show.charts.grid import Grid, Place
from rooflight.show.charts.packed import Strings, packed
from rooflight.show.charts.place import Datasets, Plane, Rows
from rooflight.show.charts.series import Line, Lines
from rooflight.show.charts.tag import Tag
from rooflight.show.charts.theme import Look
from rooflight.values.analysis import Analysis
from rooflight.words.basis import inferred, interval

_TALL = 380
# Labels are placed for a wide and for a narrow page; charts beside one another have half of a wide one.
LOOKS = {"wide": Look(None), "narrow": Look(None, room=350)}
SMALL = {"wide": Look(None, room=560, tall=_TALL), "narrow": Look(None, room=350, tall=_TALL)}
# Charts along the batch, and what they measure.
MEASURES = {"batch-chart": "tokens_per_s", "users-chart": "tokens_per_s_per_user"}
# Letters of a scenario's name at the end of its line.
_SHORT = 18
# What belongs to the scenario in focus alone, and not to all of them.
_OWN = ("operators", "expected")
# Fields of an operator's row in the table.
OPERATORS = ("mark", "name", "bound", "intensity", "time", "share_text")
_EACH = ("zones", "zone_names", "knees")


# Datasets by chart and look; "both": the same in either.
Drawn = dict[str, dict[str, Datasets]]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """How the page was asked for.

    usd_per_hour    of one accelerator of each scenario, None where not given
    standing        which of them does best, in a sentence; "" where nobody says so
    """

    levels: bool = False
    goals: Wanted | None = None
    usd_per_hour: tuple[float | None, ...] = ()
    standing: str = ""

    @property
    def heads(self) -> tuple[str, ...]:
        """Above the table of runs."""
        return figures.heads(self.usd_per_hour)

    def price(self, number: int) -> float | None:
        """Of the scenario of that number."""
        return self.usd_per_hour[number] if number < len(self.usd_per_hour) else None


class Packer:
    """Many points of datasets, by chart and look, packed with one list of strings."""

    def __init__(self, read: frozenset[str]) -> None:
        self.strings = Strings()
        self._read = read

    def rows(self, points: Sequence[Rows]) -> dict[str, Any]:
        """Of one dataset. Fields that nothing on the page reads are left out."""
        unread = frozenset(name for rows in points for row in rows for name in row) - self._read
        return packed(points, self.strings, unread)

    def charts(self, points: Iterable[Drawn]) -> dict[str, Any]:
        """Of points that each have datasets by chart and look: the same, each dataset packed."""
        found: dict[str, dict[str, dict[str, list[Rows]]]] = {}
        for point in points:
            for chart, looks in point.items():
                for look, datasets in looks.items():
                    kept = found.setdefault(chart, {}).setdefault(look, {})
                    for name, rows in datasets.items():
                        kept.setdefault(name, []).append(rows)
        return {
            chart: {look: {name: self.rows(rows) for name, rows in some.items()} for look, some in looks.items()}
            for chart, looks in found.items()
        }


def planes(grid: Grid, levels: bool) -> dict[str, Plane]:
    """Corners that hold every dot of the page, by look: axes stay while dots move."""
    return {name: roof_rows.plane_of(*grid.fitting, look=look, levels=levels) for name, look in LOOKS.items()}


class Points(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of everything, before they are packed; by chart, look and dataset where that is not said.

    together    of all scenarios: at every place, then as they were asked
    along       of all scenarios: at every context, then each at its own
    alone       of each scenario at every place: its part of the roofline, by dataset
    zones       of each scenario at every context
    """

    together: list[Drawn]
    along: list[Drawn]
    alone: list[list[Datasets]]
    zones: list[list[Drawn]]


def points(grid: Grid, levels: bool) -> Points:
    """All rows that the page draws."""
    together, alone = _roofs(grid, planes(grid, levels), levels)
    along = list(_along(grid))
    zones = [[_zones(line, some) for line, some in zip(lines, along, strict=False)] for lines in grid.along]
    return Points(together=together, along=along, alone=alone, zones=zones)


def begun(grid: Grid, found: Points, focus: int) -> dict[str, Datasets]:
    """The rows of each chart on a wide page as it was asked, with the batches marked."""
    at = grid.asked[focus]
    number = grid.number(at)
    single = _single(grid.answers[focus][number], found.alone[focus][number])
    marked: Rows = [{"x": size} for size in dict.fromkeys(grid.batches[one.batch] for one in grid.asked)]
    rows: dict[str, Datasets] = {}
    for drawn in (found.together[-1], found.along[-1], found.zones[focus][at.context], single):
        for chart, looks in drawn.items():
            for look in ("both", "wide"):
                rows.setdefault(chart, {"here": marked}).update(looks.get(look, {}))
    return rows


def tables(grid: Grid, found: Points, asked: Asked, read: frozenset[str]) -> dict[str, Any]:
    """All that explore.js looks up. read: names of fields that charts read."""
    pack = Packer(read | {"answer", "step", "caveat", "text", "beside", "goal", "missed", *OPERATORS})
    several = len(grid.names) > 1
    return {
        "batches": grid.batches,
        "contexts": grid.contexts,
        "asked": grid.asked,
        "together": pack.charts(found.together),
        "along": pack.charts(found.along),
        "each": [
            {
                "charts": pack.charts(_single(answer, own) for answer, own in zip(answers, alone, strict=True)),
                "along": pack.charts(zones),
                "heads": headed(tag, answers[0], several=several),
                "words": pack.rows([[told(answer)] for answer in answers]),
                "run": pack.rows([run_cells(grid, asked, number, place) for place in grid.places]),
                "operators": pack.rows([listed(one["table"], several=several) for one in alone]),
            }
            for number, (tag, answers, alone, zones) in enumerate(
                zip(grid.tags, grid.answers, found.alone, found.zones, strict=True)
            )
        ],
        "strings": pack.strings.listed(),
    }  # fmt: skip


def run_cells(grid: Grid, asked: Asked, number: int, place: Place) -> Rows:
    """The row of a scenario in the table of runs, a cell each; or one cell that says why there are no figures."""
    sc, answer = grid.at(grid.scenarios[number], place), grid.answers[number][grid.number(place)]
    steps = figures.of_steps(sc, answer)
    line = figures.line(answer, steps=steps, goals=asked.goals, usd_per_hour=asked.price(number))
    cells = line.cells[: len(asked.heads)] or (figures.Cell(line.missing),)
    return [msgspec.structs.asdict(one) for one in cells]


def phase_of(answer: Analysis) -> str:
    """The phase whose way from ceiling to expected time is drawn: decode, or the only one that there is."""
    return "prefill" if "decode" not in answer.phases and answer.workload["osl"] == 0 else "decode"


def headed(tag: Tag, answer: Analysis, *, several: bool) -> dict[str, str]:
    """What stands behind the headings of one scenario's charts: whose they are, where there are several."""
    whose = f": {tag.whole}" if several else ""
    way = f"{whose or ':'}{',' * several} {phase_of(answer)}"
    return {"waterfall-chart": way, "memory-chart": whose, "operators": whose}


def listed(table: Rows, *, several: bool) -> Rows:
    """The table of operators; beside several scenarios' dots, which have their numbers, by phase."""
    return [{**row, "mark": row["phase"]} for row in table] if several else table


def told(answer: Analysis) -> dict[str, str]:
    """The sentence; what a decode step takes, with its interval; and that this is inferred, where it is."""
    clause = inferred(answer)
    return {
        "answer": answer.answer,
        "step": _step(answer),
        "caveat": f"What is expected is inferred: {clause}." if clause and answer.answered else "",
    }


def _step(answer: Analysis) -> str:
    decode = answer.phases.get("decode")
    if decode is None:
        return ""
    span = decode.time_s
    least = "its ceiling" if answer.accelerator.measured is None else "the fastest seen here"
    within = interval(span)
    eight = f", eight times of ten{within.replace('(', '').replace(')', '')}" if within else ""
    return (
        f"A decode step is expected to take {numbers.seconds(span.expected)}{eight}; {least} is "
        f"{numbers.seconds(span.ceiling)}, its roofline time {numbers.seconds(span.roofline)}."
    )


def _roofs(grid: Grid, corners: Mapping[str, Plane], levels: bool) -> tuple[list[Drawn], list[list[Datasets]]]:
    """Rows of the roofline: of all scenarios at each point, and of each one alone."""
    several = len(grid.scenarios) > 1
    together: list[Drawn] = []
    each: list[list[Datasets]] = [[] for _ in grid.scenarios]
    for number, (answers, lines) in enumerate(grid.together):
        marks = [line.landmarks for line in lines]
        drawn = {
            name: roof_rows.rows(
                *answers, landmarks=marks, levels=levels, tags=grid.tags, plane=corners[name], look=look
            )
            for name, look in LOOKS.items()
        }
        if several:
            for rows in drawn.values():
                rows["operator_names"] = []
        together.append({"roofline-chart": _by_look(drawn, (*_OWN, "table"))})
        if number == len(grid.places):
            break
        for at, answer in enumerate(answers):
            own = drawn["wide"] if not several else _alone(answer, grid.tags[at], corners["wide"])
            each[at].append({name: own[name] for name in (*_OWN, "table")})
    return together, each


def _alone(answer: Analysis, tag: Tag, plane: Plane) -> Datasets:
    """Of one of several scenarios: its operators and what is expected of it, in its colour."""
    rows = roof_rows.rows(answer, tags=[tag], plane=plane, look=LOOKS["wide"])
    return {
        "operators": [{**row, "hue": tag.hue} for row in rows["operators"]],
        "expected": [{**row, "hue": tag.hue} for row in rows["expected"]],
        "table": rows["table"],
    }


def _by_look(drawn: Mapping[str, Datasets], leave_out: Sequence[str]) -> dict[str, Datasets]:
    """Datasets that are the same in every look once, the others for each."""
    wide, narrow = drawn["wide"], drawn["narrow"]
    same = {
        name: rows for name, rows in wide.items() if not name.endswith(("_names", "corners")) and name not in leave_out
    }
    return {"both": same, **{
        look: {name: rows for name, rows in some.items() if name not in same and name not in leave_out}
        for look, some in (("wide", wide), ("narrow", narrow))
    }}  # fmt: skip


def _single(answer: Analysis, own: Datasets) -> Drawn:
    """The charts of the scenario in focus, and its part of the roofline."""
    return {
        "roofline-chart": {"both": {name: own[name] for name in _OWN}},
        "waterfall-chart": {"both": waterfall.rows(answer, phase_of(answer))},
        "memory-chart": {"both": memory.rows(answer)},
    }


def _along(grid: Grid) -> Iterable[Drawn]:
    """The charts along the batch at every context, then with each scenario at its own."""
    contexts: list[list[Line]] = [list(lines) for lines in zip(*grid.along, strict=True)]
    contexts.append([one[at.context] for one, at in zip(grid.along, grid.asked, strict=True)])
    for lines in contexts:
        named = tuple(
            msgspec.structs.replace(line, name=_short(tag)) for tag, line in zip(grid.tags, lines, strict=True)
        )
        yield {chart: _panel(named, measure) for chart, measure in MEASURES.items()}


def _short(tag: Tag) -> str:
    """The name at a line's end, behind its letter or number."""
    name = tag.name if len(tag.name) <= _SHORT else f"{tag.name[: _SHORT - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"
    return f"{tag.mark} {name}"


def _panel(lines: tuple[Line, ...], measure: str) -> dict[str, Datasets]:
    """What all lines have: their points, and for each look the rest, but for zones."""
    drawn = {name: batch.panel(Lines("batch", lines, 0), measure, look) for name, look in SMALL.items()}
    placed = {
        look: {f"{name}_{measure}": some for name, some in rows.items() if name not in (*_EACH, "points")}
        for look, rows in drawn.items()
    }
    return {"both": {f"points_{measure}": drawn["wide"]["points"]}, **placed}


def _zones(line: Line, shared: Drawn) -> Drawn:
    """The zones and the knee of a scenario, on the axes of the panel that all of them share."""
    found: Drawn = {}
    for chart, measure in MEASURES.items():
        for name, look in SMALL.items():
            low, high = shared[chart][name][f"corners_{measure}"]
            rows = batch.panel(Lines("batch", (line,), 0), measure, look)
            zones = [dict(row) for row in rows["zones"]]
            if zones:
                zones[-1]["x2"] = high["x"]
            placed = {
                "zones": zones,
                "zone_names": [{**row, "y": high["y"]} for row in rows["zone_names"]],
                "knees": [{**row, "y": low["y"]} for row in rows["knees"]],
            }
            found.setdefault(chart, {})[name] = {f"{one}_{measure}": placed[one] for one in _EACH}
    return found
