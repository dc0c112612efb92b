"""Which chart a value has: `rooflight.chart(value)`, and what `.chart()` of an answer calls."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from rooflight.errors import MissingExtra, UnknownName
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.theme import Look
from rooflight.spec.analysis import Analysis

# Kinds of each value, the usual one first: module and function of show.charts.
_OF_ANALYSIS = {"roofline": "roofline"}


def chart(value: Any, kind: str | None = None, *, width: int | None = 800, dark: bool = False, **options: Any) -> Chart:
    """The chart of an answer: of an Analysis (roofline, ...).

    kind        left out: the value's usual one
    width       of the picture in px; None: it fills what holds it, and leaves title and tables to the page
    dark        for a dark page
    options     of that kind: see its function in rooflight.show.charts

    Raises UnknownName for a kind the value has not, MissingExtra without the extra `charts`.
    """
    kinds = _kinds(value)
    name = kind or next(iter(kinds))
    if name not in kinds:
        raise UnknownName(f"there is no such chart: {name}", where="kind", got=name, want=", ".join(kinds))
    draw: Callable[..., Chart] = getattr(import_module(f"rooflight.show.charts.{kinds[name]}"), name)
    return draw(value, look=Look(width, dark), **options)


def _kinds(value: Any) -> dict[str, str]:
    if isinstance(value, Analysis):
        return _OF_ANALYSIS
    raise UnknownName("this value has no chart", where="chart", got=type(value).__name__, want="an Analysis")


def display(value: Any) -> dict[str, Any]:
    """What a notebook shows of an answer, by media type: its chart, and its sentence for what shows text alone."""
    said = {"text/plain": value.answer}
    try:
        return {**chart(value)._repr_mimebundle_(), **said}
    except MissingExtra as error:
        return {"text/plain": f"{value.answer}\n\n({error.what}: {error.try_this})"}
