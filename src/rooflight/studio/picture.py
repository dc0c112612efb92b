"""Everything the first screen needs, in one answer: fast enough to be asked for while a slider moves."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.show.charts.theme import Look
from rooflight.show.figures import READ, Line
from rooflight.studio import commands, drawings, problems
from rooflight.studio.answered import answered, landmarks_of
from rooflight.studio.groups import places
from rooflight.studio.page import Label, Page
from rooflight.studio.question import samples_of
from rooflight.studio.remedies import Offer, offers
from rooflight.studio.roof import Placed, Roof, placed, roof_of
from rooflight.studio.run_table import run_table
from rooflight.studio.standing import standing
from rooflight.studio.state import query_of
from rooflight.studio.told import told
from rooflight.values.analysis import Analysis
from rooflight.values.sweep import Landmarks
from rooflight.words.headline import footnote
from rooflight.words.seen import three_times


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """headline: the scenario in focus in one sentence; caveat: of whose measurements it is, where not of its machine.

    standing    which of several scenarios does best, in a sentence; "" of one
    offers      what would hold it, where it does not fit: scenarios that a press makes
    answer, told    all that is said of it; caption: what the roofline shows; read: its marks, and how the
    times of a step differ

    heads, figures_read     above the figures, and how to read them
    figures     a line a scenario; gained: what the one in focus gains over the first, null where it is the first
    problems    what is wrong with scenarios, by their index
    roof, intensity     of the scenario in focus: its rates, and where a workload of the page's intensity stands
    datasets    the roofline's rows by dataset
    analysis    as /api/analyze of the scenario in focus
    """

    headline: str
    caveat: str
    standing: str
    offers: tuple[Offer, ...]
    answer: str
    told: list[str]
    caption: str
    read: str
    query: str
    shown: int
    labels: list[Label]
    heads: tuple[str, ...]
    figures_read: str
    figures: tuple[Line, ...]
    gained: Line | None
    problems: dict[int, dict[str, str | None]]
    analysis: Analysis
    landmarks: Landmarks
    roof: Roof
    intensity: Placed | None
    datasets: dict[str, list[dict[str, Any]]]
    commands: dict[str, str]


def picture(page: Page, look: Look) -> Picture:
    """The picture of a page. A scenario that cannot be answered says why, beside the others.

    Raises BadInput where the scenario in focus cannot be answered, MissingFact where a number is why.
    """
    found = answered(page)
    focus = found[page.shown]
    if focus.error is not None:
        raise focus.error
    assert focus.analysis is not None
    assert focus.scenario is not None
    marks = landmarks_of(focus)
    workload = None if page.intensity is None else placed(focus.analysis, page.intensity)
    rows = drawings.roofline_rows(page, found, marks, samples_of(page.samples), look)
    table = run_table(page, found)
    measured = focus.analysis.accelerator.measured is not None
    return Picture(
        headline=focus.sentence,
        caveat=_caveat(focus.analysis),
        standing=standing(found, page),
        offers=offers(page, focus),
        answer=focus.analysis.answer,
        told=told(focus.scenario, focus.analysis),
        caption=drawings.caption(focus, marks),
        read=f"{drawings.read(rows, found)} {three_times(measured=measured)}",
        query=query_of(page),
        shown=page.shown,
        labels=[one.label for one in found],
        heads=table.heads,
        figures_read=READ,
        figures=table.lines,
        gained=table.gained,
        problems={place: problems.of_error(one.error) for place, one in enumerate(found) if one.error is not None},
        analysis=focus.analysis,
        landmarks=marks,
        roof=roof_of(focus.analysis),
        intensity=workload,
        datasets={**rows, "workload": [] if workload is None else [{"x": workload.x, "y": workload.y}]},
        commands=commands.of(focus.question, focus.analysis, goals_of(page)),
    )


def goals_of(page: Page) -> dict[str, float | None]:
    """The goals of a page by name, as a command has them."""
    return {"ttft_slo_ms": page.ttft_slo_ms, "tpot_slo_ms": page.tpot_slo_ms}


def _caveat(analysis: Analysis) -> str:
    """What the expected times are of; of what does not fit, what would, and where on the page that is set."""
    said = footnote(analysis)
    return said if analysis.run is not None else f"{said} {places(said)}".strip()
