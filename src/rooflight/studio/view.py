"""What a view below the first screen is asked with, and what it answers: words, tables and charts of the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Bounds

from rooflight.show.blocks import Block
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.theme import Look
from rooflight.studio.drawings import page_look
from rooflight.studio.page import Page

# Characters of a text that comes with a question: a log of requests, rows of measurements.
MOST_TEXT = 4 << 20


class Asked(BaseModel):
    """A page, and the place that a view's charts fill.

    option      what the reader chose in the view: an objective, a measure; "": its first
    text        what they wrote or dropped there: a claim, rows of measurements
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    page: Page = Page()
    width: Annotated[int, Bounds(ge=280, le=2400)] = 800
    dark: bool = False
    option: Annotated[str, Bounds(max_length=40)] = ""
    text: Annotated[str, Bounds(max_length=MOST_TEXT)] = ""

    @property
    def look(self) -> Look:
        """Of the view's charts, each as wide as the view."""
        return page_look(self.width, self.dark)


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """A chart with its rows. notes: how to read it, where the figures are from."""

    kind: str
    title: str
    notes: tuple[str, ...]
    spec: Mapping[str, Any]


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a table, or a line of a list, that a press makes a scenario of the page: fields of the one in focus,
    changed.

    table, row  which of the view's blocks, and which of its rows, counted from 0
    name        what the new scenario is called
    """

    table: int
    row: int
    name: str
    fields: Mapping[str, Any]


class Choice(msgspec.Struct, frozen=True):
    """An option that the view may be asked with, and its words."""

    option: str
    words: str


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A text that the reader may write, or drop as a file, for the view; accept: endings of files."""

    label: str
    hint: str
    placeholder: str = ""
    accept: str = ""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What a view shows, from the top: the answer, the charts, the blocks.

    acts        what a press on a row of a table, or on a dot whose row has an `act` (its place here), makes
    choices     options, of which the first is taken where none is asked with; wanted: a text that may come with it
    elsewhere   the view that the text which came is for, "" for this one
    """

    answer: str
    charts: tuple[Drawn, ...] = ()
    blocks: tuple[Block, ...] = ()
    acts: tuple[Act, ...] = ()
    choices: tuple[Choice, ...] = ()
    wanted: Wanted | None = None
    elsewhere: str = ""


def drawn(chart: Chart, *notes: str, title: str = "", said: str = "") -> Drawn:
    """A chart for the page, which has its title and notes as words of its own; `notes` stand before the chart's.

    title       in place of the chart's own; said: a sentence that stands above already, which notes do not repeat
    """
    left = (note for note in chart.notes if note != said)
    return Drawn(kind=chart.kind, title=title or chart.title, notes=(*notes, *left), spec=chart.spec)
