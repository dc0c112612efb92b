"""Which chart a value has: `rooflight.chart(value)`, and what `.chart()` of an answer calls."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from rooflight.errors import BadInput, MissingExtra, UnknownName
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.theme import Look
from rooflight.show.html import text as escaped
from rooflight.values.analysis import Analysis
from rooflight.values.diagnosis import Diagnosis

# Kinds of each value, the usual one first; each is a module of this room with a function of its name.
KINDS = {
    "Analysis": ("roofline", "waterfall", "traffic", "memory", "intensity", "comparison"),
    "Sweep": ("batch", "pareto"),
    "Report": ("verdicts",),
    "Moves": ("gains",),
    "Comparison": ("crossing",),
    "Kernels": ("timed",),
    "Samples": ("stored",),
    "Diagnosis": ("roofline", "timeline"),
}
# A kind of a value that has a module of another name.
_DRAWN_BY = {("Diagnosis", "roofline"): "diagnosed"}


def chart(value: Any, kind: str | None = None, *, width: int | None = 800, dark: bool = False, **options: Any) -> Chart:
    """The chart of an answer: of an Analysis, a Sweep, a Report, Moves or a Comparison (KINDS says which there are).

    kind        left out: the value's usual one; of what does not fit its memory
    width       of the picture in px; None: it fills what holds it, and leaves title and tables to the page
    dark        for a dark page
    options     of that kind: see its function in rooflight.show.charts

    Raises UnknownName for a kind the value has not, MissingExtra without the extra `charts`.
    """
    kinds = KINDS.get(type(value).__name__)
    if kinds is None:
        raise UnknownName("this value has no chart", where="chart", got=type(value).__name__, want=", ".join(KINDS))
    name = kind or usual(value)
    if name not in kinds:
        raise UnknownName(f"there is no such chart: {name}", where="kind", got=name, want=", ".join(kinds))
    module = _DRAWN_BY.get((type(value).__name__, name), name)
    draw: Callable[..., Chart] = getattr(import_module(f"rooflight.show.charts.{module}"), module)
    return draw(value, look=Look(width, dark), **options)


def usual(value: Any) -> str:
    """The kind of chart a value has where none is asked for."""
    if isinstance(value, Analysis) and "decode" not in value.phases:
        return "memory"
    if isinstance(value, Diagnosis) and not value.kernels:
        if not value.regimes:
            raise BadInput(
                "there is nothing to draw", where="chart", got="files without kernels and without monitoring",
                want="a profile, whose operators are dots under the roof, or monitoring, whose regimes are a timeline",
            )  # fmt: skip
        return "timeline"
    return KINDS[type(value).__name__][0]


def display(value: Any) -> dict[str, Any]:
    """What a notebook shows of a value, by media type: HTML with its sentence, its picture and its tables.

    Beside it for what shows no HTML the chart alone, of what has none the page as Markdown, and the sentence. Where the
    extra `charts` is missing, that is said below. Raises UnknownName for what is no value of rooflight's.
    """
    from rooflight.show.answers import hypertext, page

    said = getattr(value, "answer", repr(value))
    if type(value).__name__ not in KINDS:
        return {"text/html": hypertext(value), "text/markdown": page(value), "text/plain": said}
    try:
        drawn = chart(value)
        bundle = drawn._repr_mimebundle_()
        return {**bundle, "text/html": hypertext(value, drawn.image), "text/plain": said}
    except MissingExtra as error:
        lacking = f"({error.what}: {error.try_this})"
        return {
            "text/html": f"{hypertext(value)}<p>{escaped(lacking)}</p>",
            "text/markdown": f"{page(value)}\n{lacking}\n", "text/plain": f"{said}\n\n{lacking}",
        }  # fmt: skip
    except BadInput:  # a diagnosis of files that time nothing which could be drawn
        return {"text/html": hypertext(value), "text/markdown": page(value), "text/plain": said}
