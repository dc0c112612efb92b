"""A page to play with and to send: sliders for batch and context move up to four named scenarios, without a server.

Every point that a slider reaches is in the file: the page looks rows up and computes none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rooflight.errors import BadInput
from rooflight.scenario.definite import Scenario
from rooflight.serve.goals import Wanted
from rooflight.serve.sweep import SweepPoints
from rooflight.show.charts import batch, memory, waterfall
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.explore_body import body, title
from rooflight.show.charts.explore_rows import LOOKS, MEASURES, SMALL, Asked, begun, phase_of, points, tables
from rooflight.show.charts.export import converter, version
from rooflight.show.charts.grid import Grid
from rooflight.show.charts.packed import compact, deflated
from rooflight.show.charts.page import document, vega
from rooflight.show.charts.place import Datasets
from rooflight.show.charts.roofline import roofline
from rooflight.show.charts.tag import Tag
from rooflight.show.charts.themed import style, themed
from rooflight.units import scaled
from rooflight.values.analysis import Analysis

_HERE = Path(__file__).parent
# Of words in the charts' documents: names of fields, among others.
_WORD = re.compile(r"\w+")


def explore(
    scenarios: Sequence[tuple[str | Tag, Scenario]],
    *,
    focus: int = 0,
    levels: bool = False,
    goals: Wanted | None = None,
    usd_per_hour: Sequence[float | None] = (),
    standing: str = "",
) -> str:
    """The page: roofline, throughput by batch, waterfall, memory and the run, for a grid of batches and contexts.

    scenarios       up to four, each with its name ("": its model and devices), or with its letter too
    focus           the one whose operators, zones, waterfall and memory are shown at first
    levels          every level of memory as a roof, where its rate is known
    goals           for users' times, to which runs are held
    usd_per_hour    the price of one accelerator of each scenario; None where it is not known
    standing        a sentence on which of them does best as they were asked

    Raises BadInput for none or more than four scenarios, or a focus that is none of them.
    """
    grid = Grid(scenarios)
    if not 0 <= focus < len(scenarios):
        raise BadInput(
            "there is no such scenario to begin with", where="focus", got=str(focus),
            want=f"0 to {len(scenarios) - 1}", try_this="0, the first",
        )  # fmt: skip
    asked = Asked(levels=levels, goals=goals, usd_per_hour=tuple(usd_per_hour), standing=standing)
    charts = _charts(grid, focus, asked)
    rows = points(grid, levels)
    first = begun(grid, rows, focus)
    drawn = {name: _compiled(themed(_filled(chart.spec, first[name]))) for name, chart in charts.items()}
    found = {**tables(grid, rows, asked, frozenset(_WORD.findall(compact(drawn)))), "focus": focus}
    library = vega(version(charts["roofline-chart"].spec))
    blocks = {"library": library, "drawings": compact(drawn), "tables": compact(found)}
    held = "".join(
        f'<script type="text/plain" id="{name}">{deflated(text)}</script>\n' for name, text in blocks.items()
    )
    css = style() + (_HERE / "page.css").read_text(encoding="utf-8")
    script = (_HERE / "explore.js").read_text(encoding="utf-8")
    return document(title(grid), f"{body(grid, focus, asked)}\n{held}", css, [script], later=[library])


def _filled(spec: dict[str, Any], rows: Datasets) -> dict[str, Any]:
    """The document with the page's rows as it was asked, in the place of its own."""
    kept = {name: rows.get(name, some) for name, some in spec["datasets"].items()}
    return {**spec, "datasets": kept}


def _compiled(spec: dict[str, Any]) -> dict[str, Any]:
    """The chart as Vega draws it, so that the page need not compile it."""
    drawn: dict[str, Any] = converter().vegalite_to_vega(spec, vl_version=version(spec))
    drawn.pop("usermeta", None)
    return drawn


def _charts(grid: Grid, focus: int, asked: Asked) -> dict[str, Chart]:
    """Each chart as it is drawn at first, by the element that holds it."""
    start = grid.started[focus]
    longest = max(grid.fitting, key=_strips)
    marks = [line[at.context].landmarks for line, at in zip(grid.along, grid.asked, strict=True)]
    found = {
        "roofline-chart": roofline(*grid.started, landmarks=marks, levels=asked.levels, look=LOOKS["wide"]),
        "waterfall-chart": waterfall.waterfall(longest, phase=phase_of(longest), look=SMALL["wide"]),
        "memory-chart": memory.memory(start, look=SMALL["wide"]),
    }
    for name, measure in MEASURES.items():
        found[name] = batch.batch(_some_lines(grid), measures=(measure,), look=SMALL["wide"])
    if asked.goals is not None and asked.goals.tpot_s is not None:
        _add_goal(found["users-chart"].spec, asked.goals.tpot_s)
    return found


def _strips(answer: Analysis) -> int:
    """How many parts its waterfall has."""
    phase = answer.phases.get(phase_of(answer))
    return 0 if phase is None else len(phase.waterfall)


def _some_lines(grid: Grid) -> SweepPoints:
    """A sweep with a line a scenario, or several: what it draws is replaced by the page's own rows."""
    axes = {"batch": np.asarray(grid.batches[:3])}
    if len(grid.scenarios) > 1:
        axes["context"] = np.asarray(grid.contexts[:2])
    return SweepPoints((grid.scenarios[0],), axes, "decode", tuple(axes))


def _add_goal(spec: dict[str, Any], slo_tpot_s: float) -> None:
    """A line at the tokens a second of a user whose goal is just met, and its name."""
    ink = spec["config"]["text"]["fill"]
    said = f"{scaled(slo_tpot_s, 's')} TPOT"
    at = {"y": {"field": "y", "type": "quantitative"}}
    spec["datasets"]["goal"] = [{"y": 1 / slo_tpot_s, "text": said}]
    spec["layer"] += [
        {"data": {"name": "goal"}, "mark": {"type": "rule", "strokeDash": [6, 3], "color": ink}, "encoding": at},
        {
            "data": {"name": "goal"},
            "mark": {"type": "text", "align": "left", "dx": 6, "dy": -8, "color": ink},
            "encoding": {**at, "x": {"value": 0}, "text": {"field": "text", "type": "nominal"}},
        },
    ]
