"""A deployment as a page to play with: sliders for batch and context move the dots, and all points are in the file."""

from __future__ import annotations

import html
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve.landmarks import landmarks
from rooflight.serve.sweep import SweepPoints
from rooflight.show.charts import batch, memory, roof_rows, waterfall
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.page import page
from rooflight.show.charts.place import Datasets, Plane
from rooflight.show.charts.roofline import READ, roofline
from rooflight.show.charts.theme import Look
from rooflight.show.charts.wording import deployed, rated
from rooflight.values.analysis import Analysis
from rooflight.values.sweep import Landmarks
from rooflight.words.analysis import analyzed

# Powers of two: batches up to one that no longer fits, contexts of common lengths.
_BATCHES = tuple(2**power for power in range(11))
_CONTEXTS = tuple(2**power for power in range(8, 18))
_WIDE, _NARROW = Look(None), Look(None, room=350)
# Datasets of a chart that moving the sliders changes; the others stay as they are drawn.
_MOVING = ("phases", "expected", "operators", "links")
_NAMES = ("phase_names", "operator_names", "link_names", "roof_names", "ridge_names", "zone_names")

Point = tuple[int, int]


def explore(sc: Scenario, *, levels: bool = False) -> str:
    """The page: roofline, sweep over the batch, waterfall and memory, for a grid of batches and contexts.

    levels  every level of memory as a roof, where its rate is known
    """
    asked = (int(sc.workload.batch), int(context_tokens(sc.workload)))
    most = landmarks(sc).kv_limit or max(asked[0], 256)
    batches = sorted({*(size for size in _BATCHES if size <= max(4 * most, 8)), asked[0]})
    contexts = sorted({*_CONTEXTS, asked[1]})
    answers = {(size, context): analyzed(_at(sc, size, context)) for size, context in product(batches, contexts)}
    fitting = [answer for answer in answers.values() if "decode" in answer.phases] or [answers[asked]]
    lines = {context: _line(sc, batches, context) for context in contexts}
    planes = {look: roof_rows.plane_of(*fitting, look=look, levels=levels) for look in (_WIDE, _NARROW)}
    marks = {context: landmarks(_at(sc, asked[0], context)) for context in contexts}
    data = {
        "charts": _charts(answers[asked], marks[asked[1]], fitting, lines[asked[1]], levels),
        "axes": {"batch": batches, "context": contexts},
        "start": {"batch": batches.index(asked[0]), "context": contexts.index(asked[1])},
        "points": {
            f"{size}/{context}": _point(answer, marks[context], planes, levels)
            for (size, context), answer in answers.items()
        },
        "lines": {str(context): {"batch-chart": batch.rows(line)} for context, line in lines.items()},
    }
    style = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    return page(deployed(answers[asked]), _body(answers[asked]), data, style)


def _at(sc: Scenario, size: int, context: int) -> Scenario:
    """The scenario at a point; what was asked stays as it was asked, its context perhaps left to the request's mean."""
    changes: dict[str, int] = {"batch": size}
    if context != int(context_tokens(sc.workload)):
        changes["context"] = context
    return msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, **changes))


def _line(sc: Scenario, batches: list[int], context: int) -> SweepPoints:
    """The sweep over the batches at a context."""
    return SweepPoints((_at(sc, batches[0], context),), {"batch": np.asarray(batches)}, "decode", ("batch",))


def _charts(
    start: Analysis, mark: Landmarks, fitting: list[Analysis], line: SweepPoints, levels: bool
) -> dict[str, dict[str, Any]]:
    """Each chart in both modes, by the element that holds it."""
    longest = max(fitting, key=lambda one: len(one.phases["decode"].waterfall) if "decode" in one.phases else 0)

    def drawn(look: Look) -> dict[str, Chart]:
        return {
            "roofline-chart": roofline(start, landmarks=[mark], levels=levels, look=look),
            "batch-chart": batch.batch(line, look=look),
            "waterfall-chart": waterfall.waterfall(longest, look=look),
            "memory-chart": memory.memory(start, look=look),
        }

    light, dark = drawn(_WIDE), drawn(Look(None, dark=True))
    return {name: {"light": light[name].spec, "dark": dark[name].spec} for name in light}


def _point(answer: Analysis, mark: Landmarks, planes: dict[Look, Plane], levels: bool) -> dict[str, Any]:
    """What the page shows at a point: the sentence, the operators, and the charts' rows."""
    wide, narrow = (
        roof_rows.rows(answer, landmarks=[mark], levels=levels, plane=planes[look], look=look)
        for look in (_WIDE, _NARROW)
    )
    both = {
        "roofline-chart": {"corners": wide["corners"], "zones": wide["zones"], "ridges": wide["ridges"],
                           "roofs": wide["roofs"], **_picked(wide, _MOVING)},
        "waterfall-chart": waterfall.rows(answer),
        "memory-chart": memory.rows(answer),
    }  # fmt: skip
    return {
        "answer": answer.answer,
        "table": wide["table"],
        "both": both,
        "wide": {"roofline-chart": _picked(wide, _NAMES)},
        "narrow": {"roofline-chart": _picked(narrow, _NAMES)},
    }


def _picked(rows: Datasets, names: tuple[str, ...]) -> Datasets:
    return {name: rows[name] for name in names}


_SECTIONS = (
    ("roofline-chart", "Roofline", "whole"),
    ("batch-chart", "Throughput by batch", ""),
    ("waterfall-chart", "From the ceiling to what is expected, decode", ""),
    ("memory-chart", "Memory", ""),
)
_HEADS = ("", "operator", "bound by", "FLOP/byte", "time", "share")


def _body(answer: Analysis) -> str:
    """The page's elements; every word from outside is escaped."""
    sections = "".join(
        f'<section class="{kind}"><h2>{title}</h2><div class="chart" id="{name}" role="img" aria-label="{title}">'
        "</div></section>"
        for name, title, kind in _SECTIONS
    )
    heads = "".join(f'<th scope="col">{head}</th>' for head in _HEADS)
    sliders = "".join(
        f'<label for="{axis}">{words} <output id="{axis}-value" for="{axis}"></output>'
        f'<input type="range" id="{axis}" min="0" max="1" step="1"></label>'
        for axis, words in (("batch", "Sequences decoding at once (batch):"), ("context", "Tokens of context:"))
    )
    title = html.escape(deployed(answer))
    return (
        f'<main><h1>{title}</h1><form>{sliders}</form><p id="answer" aria-live="polite"></p>'
        f'<div class="charts">{sections}<section><h2>Where the time goes</h2><table id="operators">'
        f"<thead><tr>{heads}</tr></thead><tbody></tbody></table></section></div>"
        f"<footer>{html.escape(f'{READ} {rated([answer])}')}</footer></main>"
    )
