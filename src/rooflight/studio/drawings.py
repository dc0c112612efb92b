"""The roofline of the page: its document without rows, made once, and the rows that are put into it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import msgspec

from rooflight.library.questions import analyze
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.kernel_dots import Samples
from rooflight.show.charts.place import Datasets
from rooflight.show.charts.roofline import marks_read, roofline, rows, stands
from rooflight.show.charts.run_table import Runs
from rooflight.show.charts.tag import Tag
from rooflight.show.charts.theme import Look
from rooflight.studio.answered import Answered
from rooflight.studio.page import Page
from rooflight.studio.run_table import RunTable, run_table
from rooflight.values.analysis import Analysis
from rooflight.values.sweep import Landmarks

EXPORT_WIDTH = 1200


def page_look(width: int, dark: bool, *, tall: int = 0) -> Look:
    """The look for a width, by steps: widths between them share a document."""
    return Look(width=None, dark=dark, room=max(320, width // 40 * 40), tall=tall)


@functools.lru_cache(maxsize=64)
def template(look: Look) -> dict[str, Any]:
    """The roofline's document with every dataset empty: its marks are those of every answer."""
    spec = roofline(analyze("meta-llama/Meta-Llama-3.1-8B", on="h100-sxm"), look=look).spec
    spec = {**spec, "layer": [*spec["layer"], *_workload(look)]}
    empty: dict[str, list[Any]] = {name: [] for name in _named(spec)}
    return {**spec, "datasets": {**empty, "once": [{}]}}


def _workload(look: Look) -> list[dict[str, Any]]:
    """A workload that is placed on the roof by its intensity: an upright line up to a cross."""
    place = {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "quantitative"}}
    ink = look.palette.ink
    line = {"type": "rule", "color": ink, "strokeDash": [1, 3], "strokeWidth": 1.5}
    cross = {"type": "point", "shape": "cross", "size": 150, "filled": True, "color": ink, "opacity": 1}
    tip = [{"field": "x", "type": "quantitative", "format": ".3s", "title": "FLOP/byte"},
           {"field": "y", "type": "quantitative", "format": ".3s", "title": "FLOP/s at most"}]  # fmt: skip
    data = {"name": "workload"}
    return [
        {"data": data, "mark": line, "encoding": {"x": place["x"]}},
        {"data": data, "mark": cross, "encoding": {**place, "tooltip": tip}},
    ]


def _named(spec: Any) -> set[str]:
    """Datasets that the marks of a document draw; others serve a picture's table."""
    if isinstance(spec, list):
        return {name for one in spec for name in _named(one)}
    if not isinstance(spec, dict):
        return set()
    here = spec.get("data")
    found = {here["name"]} if isinstance(here, dict) and "name" in here else set()
    return found.union(*(_named(value) for key, value in spec.items() if key != "datasets"))


def roofline_rows(page: Page, found: Sequence[Answered], marks: Landmarks, samples: Samples, look: Look) -> Datasets:
    """The rows of the roofline: of one scenario its operators, of several their phases side by side."""
    return rows(*_drawn(found), **_asked(page, found, marks, samples), look=look)


def slide(
    page: Page,
    found: Sequence[Answered],
    focus: Answered,
    marks: Landmarks,
    samples: Samples,
    dark: bool,
    *,
    standing: str = "",
) -> Chart:
    """The whole picture, as `rooflight analyze -o FILE` draws it, under the sentence of the scenario in focus and the
    one on which of several does best, and over the table of runs."""
    look = Look(EXPORT_WIDTH, dark)
    runs = _runs(run_table(page, found), found, focus)
    chart = roofline(*_drawn(found), **_asked(page, found, marks, samples), runs=runs, look=look)
    assert focus.analysis is not None
    title = {**chart.spec["title"], "text": look.wrapped(focus.sentence, look.size + 4)}
    if standing:
        title["subtitle"] = [*look.wrapped(standing, look.size), *title["subtitle"]]
    return msgspec.structs.replace(chart, spec={**chart.spec, "title": title})


def _runs(table: RunTable, found: Sequence[Answered], focus: Answered) -> Runs:
    """The table of runs as a picture has it."""
    lines = [(one.label.tag, line) for one, line in zip(found, table.lines, strict=True)]
    if table.gained is not None:
        lines.append((Tag(f"{focus.label.letter} over {found[0].label.letter}", "", "ink"), table.gained))
    return Runs(heads=table.heads, lines=tuple(lines))


def _drawn(found: Sequence[Answered]) -> list[Analysis]:
    """The analyses of scenarios that have one."""
    return [one.analysis for one in found if one.analysis is not None]


def _asked(page: Page, found: Sequence[Answered], marks: Landmarks, samples: Samples) -> dict[str, Any]:
    """What the roofline shows beside the analyses."""
    shown = [one for one in found if one.analysis is not None]
    alone = len(shown) == 1
    tags = [] if alone else [one.label.tag for one in shown]
    return {"landmarks": [marks] if alone else [], "samples": samples, "levels": page.levels and alone, "tags": tags}


def read(data: Datasets, found: Sequence[Answered]) -> str:
    """How to read the marks of the roofline that are there."""
    several = len(_drawn(found)) > 1
    return marks_read(data, several=several, letters=several)


def caption(focus: Answered, marks: Landmarks) -> str:
    """A sentence or two on what the roofline shows of the scenario in focus."""
    assert focus.analysis is not None
    return stands([focus.analysis], [marks])
