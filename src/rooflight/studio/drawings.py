"""The charts of the page: documents without rows, made once, and the rows that are put into them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import msgspec

from rooflight.library.questions import analyze, sweep
from rooflight.show.charts import memory, pareto, traffic
from rooflight.show.charts.batch import batch, panel
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.kernel_dots import Samples
from rooflight.show.charts.place import Datasets
from rooflight.show.charts.roofline import roofline, rows
from rooflight.show.charts.series import Line, Lines
from rooflight.show.charts.theme import Look
from rooflight.show.charts.thin import kept
from rooflight.show.charts.wording import inferred
from rooflight.show.sweep import OpenSpan
from rooflight.span import Span
from rooflight.studio.curve import Curve
from rooflight.values.accelerator import devices_named
from rooflight.values.analysis import Analysis
from rooflight.values.sweep import Landmarks

EXPORT_WIDTH = 1000
SMALL_HEIGHT = 380
# Charts along the batch, and what they measure.
MEASURES = {"batch": "tokens_per_s", "users": "tokens_per_s_per_user"}


class PageLook(Look, frozen=True):
    """A chart that fills a place of about `wide` px on the page, which has the words and tables itself."""

    wide: int = 800
    tall: int = 0

    @property
    def outer(self) -> int:
        """The width that labels are placed for."""
        return self.wide

    @property
    def plot_height(self) -> int:
        """As tall as the place wants it; else what goes with the width."""
        return self.tall or super().plot_height


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One of the compared cards: its analysis (as /api/analyze, without request and served) and its decode steps over
    the batch; or what is wrong with it. name: what it is called, where it is not by its devices."""

    on: str
    analysis: Analysis | None = None
    curve: Curve | None = None
    problem: dict[str, str | None] | None = None
    name: str = ""

    @property
    def named(self) -> str:
        """What it is called in pictures."""
        if self.name or self.analysis is None:
            return self.name or self.on
        return devices_named(self.analysis.accelerator.id, self.analysis.accelerator.count)


class Place(msgspec.Struct, frozen=True):
    """The roofline's place on the page and that of the smaller charts below it."""

    roofline: PageLook
    small: PageLook


def page_look(width: int, dark: bool, *, small: bool = False) -> PageLook:
    """The look for a width, by steps: widths between them share a document. The small charts are less flat."""
    return PageLook(width=None, dark=dark, wide=max(320, width // 40 * 40), tall=SMALL_HEIGHT if small else 0)


@functools.lru_cache(maxsize=256)
def template(kind: str, several: bool, look: PageLook) -> dict[str, Any]:
    """A chart's document with every dataset empty."""
    chart = _example(kind, several, look)
    empty: dict[str, list[Any]] = {name: [] for name in _named(chart.spec)}
    return {**chart.spec, "datasets": {**empty, "once": [{}]}}


def _example(kind: str, several: bool, look: PageLook) -> Chart:
    """A chart of that kind of some answer: its marks are those of every answer."""
    model, cards = "meta-llama/Meta-Llama-3.1-8B", ["h100-sxm", "h200-sxm"]
    if kind in MEASURES:
        swept = sweep(model, cards if several else cards[:1], {"batch": [1, 2, 4]})
        return batch(swept, measures=(MEASURES[kind],), look=look)
    if kind == "pareto":
        return pareto.pareto(sweep(model, cards if several else cards[:1], {"batch": [1, 2, 4]}), look=look)
    answer = analyze(model, on=cards[0])
    if kind == "roofline":
        return roofline(answer, look=look)
    return memory.memory(answer, look=look) if kind == "memory" else traffic.traffic(answer, look=look)


def _named(spec: Any) -> set[str]:
    """Datasets that the marks of a document draw; others serve a picture's table."""
    if isinstance(spec, list):
        return {name for one in spec for name in _named(one)}
    if not isinstance(spec, dict):
        return set()
    here = spec.get("data")
    found = {here["name"]} if isinstance(here, dict) and "name" in here else set()
    return found.union(*(_named(value) for key, value in spec.items() if key != "datasets"))


class _Point(msgspec.Struct, frozen=True):
    """A batch of a curve as the chart along the batch asks for it (show.sweep.Row)."""

    batch: int
    devices: int
    bound: str
    tokens_per_s: Span | OpenSpan
    tokens_per_s_per_user: Span | OpenSpan


def drawn(
    answers: Sequence[Card], focus: Analysis, before: Analysis | None, marks: Landmarks | None, place: Place,
    samples: Samples, levels: bool = False,
) -> dict[str, Datasets]:  # fmt: skip
    """The rows of every chart; `focus` is the analysis of the card that the single ones are of.

    samples     kernels that were timed, under the roofs
    levels      every level of memory as a roof, of a single machine
    """
    analyses = [one.analysis for one in answers if one.analysis is not None]
    if before is None:
        known = [marks] if marks is not None and len(analyses) == 1 else []
        shown = [one for one in answers if one.analysis is not None]
        names = [one.named for one in shown] if any(one.name for one in shown) else []
        roofs = rows(
            *analyses, landmarks=known, samples=samples, levels=levels, names=names, look=place.roofline
        )  # fmt: skip
        found = {"roofline": roofs}
    else:
        found = {"roofline": rows(before, after=focus, samples=samples, levels=levels, look=place.roofline)}
    found["traffic"] = traffic.rows(focus, place.small)
    found["memory"] = memory.rows(focus, place.small)
    return found


def along_batch(answers: Sequence[Card], marks: Landmarks | None, look: PageLook) -> dict[str, Datasets]:
    """The rows of the charts along the batch, but for the mark at the question's own."""
    cards = [one.analysis.accelerator for one in answers if one.analysis is not None]
    measured = all(card.measured is not None for card in cards)
    told = Lines("batch", tuple(_line(one, marks) for one in answers), 0)
    return {
        kind: {f"{name}_{measure}": some for name, some in panel(told, measure, look, measured=measured).items()}
        for kind, measure in MEASURES.items()
    }


def front(answers: Sequence[Card], look: PageLook, slo_tpot_s: float | None = None) -> Datasets:
    """The rows of the chart of a device's tokens against a user's (kind "pareto"), with the line of a goal."""
    return pareto.front(Lines("batch", tuple(_line(one, None) for one in answers), 0), look, slo_tpot_s)


def _line(card: Card, marks: Landmarks | None) -> Line:
    assert card.analysis is not None
    assert card.curve is not None
    points: Any = tuple(_points(card.curve, card.analysis.accelerator.count))
    return Line(
        card.named, points, marks or _unknown(card.analysis), card.curve.turns, inferred(card.analysis)
    )  # fmt: skip


def _points(curve: Curve, devices: int = 1) -> list[_Point]:
    """Rates from times: tokens over seconds, as the sweep's own rows have them; as many as the lines need."""
    spans = (curve.ceiling_s, curve.roofline_s, curve.expected_s, curve.low_s, curve.high_s)
    turned = [place for place in range(1, len(curve.bound)) if curve.bound[place] != curve.bound[place - 1]]
    found = []
    for place in kept(curve.batch, spans, turned):
        times = [value for column in spans if (value := column[place]) is not None]
        took = Span(**dict(zip(Span.__struct_fields__, times, strict=True))) if times else None
        count = curve.batch[place]
        every, each = (OpenSpan() if took is None else took.rate(tokens) for tokens in (count, 1))
        found.append(_Point(count, devices, curve.bound[place], every, each))
    return found


def _unknown(analysis: Analysis) -> Landmarks:
    """Landmarks that nobody has looked for yet; the memory's is known all the same."""
    load, laid = analysis.workload, analysis.deployment
    return Landmarks(
        accelerator=analysis.accelerator.id, devices=analysis.accelerator.count, tp=laid["tp"], pp=laid["pp"],
        ep=laid["ep"], dp=laid["dp"],
        weights=laid["weights"], kv_cache=laid["kv_cache"], isl=int(load["isl"] or 0), osl=int(load["osl"] or 0),
        context=load["context"] or 0, ridge_batch=None, compute_batch=None, knee_batch=None,
        kv_limit=analysis.memory.max_batch, compute_isl=None,
    )  # fmt: skip


def exported(
    analyses: Sequence[Analysis], before: Analysis | None, marks: Landmarks | None, dark: bool, form: str,
    samples: Samples, names: Sequence[str] = (),
) -> bytes:  # fmt: skip
    """The whole picture with its words, as a file: what `rooflight analyze -o FILE` writes."""
    look = Look(EXPORT_WIDTH, dark)
    if before is not None:
        return roofline(before, after=analyses[0], samples=samples, look=look).encoded(f".{form}")
    known = [marks] if marks is not None and len(analyses) == 1 else []
    return roofline(*analyses, landmarks=known, samples=samples, names=names, look=look).encoded(f".{form}")
