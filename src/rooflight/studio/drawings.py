"""The charts of the page: documents without rows, made once, and the rows that are put into them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from rooflight.library import analyze
from rooflight.show.charts.place import Datasets
from rooflight.show.charts.roofline import roofline, rows
from rooflight.show.charts.theme import Look
from rooflight.spec.analysis import Analysis
from rooflight.spec.sweep import Landmarks

EXPORT_WIDTH = 1000


class PageLook(Look, frozen=True):
    """A chart that fills a place of about `wide` px on the page, which has the words and tables itself."""

    wide: int = 800

    @property
    def outer(self) -> int:
        """The width that labels are placed for."""
        return self.wide


def page_look(width: int, dark: bool) -> PageLook:
    """The look for a width, by steps: widths between them share a document."""
    return PageLook(width=None, dark=dark, wide=max(320, width // 40 * 40))


@functools.lru_cache(maxsize=256)
def template(kind: str, look: PageLook) -> dict[str, Any]:
    """A chart's document with every dataset empty."""
    del kind
    chart = roofline(analyze("meta-llama/Meta-Llama-3.1-8B", on="h100-sxm"), look=look)
    empty: dict[str, list[Any]] = {name: [] for name in _named(chart.spec)}
    return {**chart.spec, "datasets": {**empty, "once": [{}]}}


def _named(spec: Any) -> set[str]:
    """Datasets that the marks of a document draw; others serve a picture's table."""
    if isinstance(spec, list):
        return {name for one in spec for name in _named(one)}
    if not isinstance(spec, dict):
        return set()
    here = spec.get("data")
    found = {here["name"]} if isinstance(here, dict) and "name" in here else set()
    return found.union(*(_named(value) for key, value in spec.items() if key != "datasets"))


def drawn(
    analyses: Sequence[Analysis], before: Analysis | None, marks: Landmarks | None, look: PageLook
) -> dict[str, Datasets]:
    """The rows of every chart. The first analysis is the one in focus."""
    known = [marks] if marks is not None and len(analyses) == 1 and before is None else []
    if before is None:
        return {"roofline": rows(*analyses, landmarks=known, look=look)}
    return {"roofline": rows(before, after=analyses[0], look=look)}


def exported(
    analyses: Sequence[Analysis], before: Analysis | None, marks: Landmarks | None, dark: bool, form: str
) -> bytes:
    """The whole picture with its words, as a file: what `rooflight analyze -o FILE` writes."""
    look = Look(EXPORT_WIDTH, dark)
    if before is not None:
        return roofline(before, after=analyses[0], look=look).encoded(f".{form}")
    known = [marks] if marks is not None and len(analyses) == 1 else []
    return roofline(*analyses, landmarks=known, look=look).encoded(f".{form}")
