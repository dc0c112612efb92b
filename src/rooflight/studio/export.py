"""What leaves the page as a file: every scenario of it, in one form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from io import StringIO

import msgspec

from rooflight.show.analysis import rows as csv_rows
from rooflight.show.charts.explore import explore
from rooflight.show.data import encode, rows_of, write_csv
from rooflight.show.figures import Line
from rooflight.studio import commands, drawings
from rooflight.studio.answered import Answered, answered, landmarks_of
from rooflight.studio.page import Label, Page, in_a_line
from rooflight.studio.picture import goals_of
from rooflight.studio.question import Question, samples_of
from rooflight.studio.run_table import run_table
from rooflight.studio.standing import standing
from rooflight.studio.state import query_of
from rooflight.values.analysis import Analysis

SCHEMA = "rooflight.studio/1"


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario in a file. analysis: rooflight.analysis/1, null where there is a problem with it, in a sentence."""

    label: Label
    question: dict[str, object]
    analysis: Analysis | None
    problem: str | None
    command: str


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A page in a file. query: what stands behind the ? of its address.

    standing    which of several scenarios does best, in a sentence; "" of one
    """

    schema: str = SCHEMA
    query: str
    focus: int
    standing: str
    scenarios: list[Exported]


def exported(page: Page, form: str, dark: bool) -> bytes:
    """The file. Raises RooflightError where the scenario in focus cannot be answered."""
    found = answered(page, apart=True)
    focus = found[page.shown]
    if focus.error is not None:
        raise focus.error
    return _FORMS[form](page, found, dark)


def _slide(form: str) -> Callable[[Page, list[Answered], bool], bytes]:
    def slide(page: Page, found: list[Answered], dark: bool) -> bytes:
        focus = found[page.shown]
        samples, best = samples_of(page.samples), standing(found, page)
        chart = drawings.slide(page, found, focus, landmarks_of(focus), samples, dark, standing=best)
        return chart.encoded(f".{form}")

    return slide


def _html(page: Page, found: list[Answered], _dark: bool) -> bytes:
    """The offline page of the scenarios that can be answered, with sliders over all of them."""
    shown = [one for one in found if one.scenario is not None]
    return explore(
        [(one.label.tag, one.scenario) for one in shown if one.scenario is not None],
        focus=[one.label for one in shown].index(found[page.shown].label),
        levels=page.levels, goals=page.goals, usd_per_hour=[one.question.usd_per_hour for one in shown],
        standing=standing(found, page),
    ).encode()  # fmt: skip


def _csv(page: Page, found: list[Answered], _dark: bool) -> bytes:
    """The rows of every scenario's analysis, each behind its letter, its name and its line in the table of runs."""
    table = run_table(page, found)
    rows = [
        {"scenario": one.label.letter, "name": one.label.name, **_words(line, table.heads), **row}
        for one, line in zip(found, table.lines, strict=True)
        for row in ([{}] if one.analysis is None else csv_rows(one.analysis).records())
    ]
    text = StringIO()
    write_csv(rows_of(rows), text)
    return text.getvalue().encode()


def _words(line: Line, heads: Sequence[str]) -> dict[str, str]:
    """A line of the table as the page has it: a column a head, and one for why there are no figures."""
    cells = [one.whole for one in line.cells[: len(heads)]]
    told = dict(zip(heads, cells or [""] * len(heads), strict=True))
    return {f"run: {head}": text for head, text in {**told, "no figures": line.missing}.items()}


def _json(page: Page, found: list[Answered], _dark: bool) -> bytes:
    scenarios = [
        Exported(
            label=one.label, question=_asked(one.question), analysis=one.analysis,
            problem=None if one.error is None else one.error.what, command=_command(one),
        )
        for one in found
    ]  # fmt: skip
    document = Document(query=query_of(page), focus=page.shown, standing=standing(found, page), scenarios=scenarios)
    return msgspec.json.format(encode(document).encode())


def _asked(question: Question) -> dict[str, object]:
    """The fields that are not at their defaults; a machine's file is left out, which may be long."""
    return question.model_dump(exclude_defaults=True, exclude={"machine", "gguf"})


def _text(page: Page, found: list[Answered], _dark: bool) -> bytes:
    """The commands, a comment in front of each."""
    return "".join(f"{line}\n" for one in found for line in _lines(one, page)).encode()


def _lines(one: Answered, page: Page) -> Iterator[str]:
    yield f"# {one.label.whole}"
    if one.analysis is None:
        yield f"# {'' if one.error is None else in_a_line(one.error.what)}"
    else:
        yield from filter(None, commands.of(one.question, one.analysis, goals_of(page)).values())
    yield ""


def _command(one: Answered) -> str:
    model = one.question.model if one.analysis is None else one.analysis.model.id
    return commands.rooflight(one.question, model)


_FORMS: dict[str, Callable[[Page, list[Answered], bool], bytes]] = {
    "svg": _slide("svg"), "png": _slide("png"), "csv": _csv, "json": _json, "txt": _text, "html": _html,
}  # fmt: skip
