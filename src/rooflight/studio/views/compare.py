"""Compare: the page's scenarios on one mix of requests, who wins it and why, and which of them keep the goals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from rooflight.answers.compare.named import compared
from rooflight.answers.compare.report import Found
from rooflight.catalog.changed import as_built
from rooflight.catalog.prices import prices_of
from rooflight.errors import RooflightError
from rooflight.ingest.log import log_in
from rooflight.ingest.requests import Log
from rooflight.scenario.definite import Scenario
from rooflight.serve.goals import Wanted as Goals
from rooflight.show import compare as shows
from rooflight.show.blocks import Block, Prose
from rooflight.show.charts import compared as bars
from rooflight.show.charts import crossing
from rooflight.show.charts.chart import Chart
from rooflight.studio.answered import Answered, answered, key_without_batch
from rooflight.studio.kept import Kept, digest
from rooflight.studio.page import Label, Page
from rooflight.studio.view import Asked, Choice, Drawn, View, Wanted, drawn
from rooflight.studio.views import goals
from rooflight.studio.views.made import prices
from rooflight.studio.views.written import is_rows
from rooflight.values.comparison import Comparison
from rooflight.words.comparison import told

# Lines of a log that are read: their means do not hang on more.
MOST_LINES = 20_000
LOG = "your requests"
_WORDS = {
    "throughput": "output tokens a second",
    "accelerator": "output tokens a second of each accelerator",
    "latency": "output tokens a second of each user",
    "cost": "output tokens a dollar",
    "energy": "output tokens a joule",
}
# Each with as many requests as memory holds.
_LARGEST = "largest"
WANTED = Wanted(
    label="Your mix of requests",
    hint="A CSV file, or JSON lines, with a column of input lengths and one of output lengths, in tokens (isl and osl, "
    "ContextTokens and GeneratedTokens, ...). Without one, every request is as long as the first scenario has it.",
    placeholder="isl,osl\n1024,256\n300,900",
    accept=".csv,.tsv,.jsonl",
)
_logs: Kept[Log] = Kept(8)


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared: scenarios by name, of a page, by an objective; log: the mix, None for the first's lengths."""

    page: Page
    found: Sequence[Answered]
    objective: str
    largest: bool
    log: Log | None

    def compared(self, named: Sequence[tuple[str, Scenario]]) -> Found:
        """The comparison of scenarios. Raises BadInput where the objective cannot be judged."""
        dollars = prices_of(prices(self.page), [sc.accelerator for _, sc in named])
        return compared(
            named, log=self.log, objective=self.objective, prices=dollars, largest=self.largest
        )  # fmt: skip


def compare(asked: Asked) -> View:
    """The view. Raises RooflightError where no scenario of the page can be answered."""
    found = answered(asked.page)
    runs = [one for one in found if one.scenario is not None]
    choices = tuple(_choices(asked.page))
    chosen = asked.option if asked.option in {one.option for one in choices} else choices[0].option
    try:
        log = None if not asked.text.strip() else _log(asked.text)
    except RooflightError as error:
        return View(
            answer=f"Those requests cannot be read: {error.what}.", choices=choices, wanted=WANTED,
            blocks=() if error.want is None else (Prose(f"Wanted: {error.want}."),),
            elsewhere="check" if is_rows(asked.text.lstrip().partition("\n")[0]) else "",
        )  # fmt: skip
    if not runs and found[0].error is not None:
        raise found[0].error
    if len(runs) < 2 and log is None:
        return View(answer=_alone(found), choices=choices, wanted=WANTED)
    known = _Asked(
        page=asked.page, found=runs, log=log, largest=chosen == _LARGEST,
        objective="throughput" if chosen == _LARGEST else chosen,
    )  # fmt: skip
    return replace(_view(known, found, asked), choices=choices, wanted=WANTED)


def _choices(page: Page) -> Iterator[Choice]:
    usd = prices(page)
    for name, words in _WORDS.items():
        if name != "cost" or usd:
            yield Choice(name, words)
        if name == "throughput":
            yield Choice(_LARGEST, f"{words}, each at the largest batch that fits")


def _alone(found: Sequence[Answered]) -> str:
    others = [one.label.whole for one in found if one.error is not None]
    said = f"{', '.join(others)} cannot be answered. " if others else ""
    return (
        f"{said}Two scenarios or more are compared here: add one above and change its machine, its model or any field "
        "of it."
    )


def _log(text: str) -> Log:
    """The requests, of a long log the first. Raises BadConfig."""
    return _logs.get_or_make(digest(text), lambda: _read(text))


def _read(text: str) -> Log:
    lines = text.split("\n", MOST_LINES + 1)
    if len(lines) <= MOST_LINES + 1:
        return log_in(text, LOG)
    found = log_in("\n".join(lines[:-1]), LOG)
    note = f"the first {MOST_LINES:,} lines are read here; `rooflight compare --log FILE` reads all"
    return replace(found, notes=(*found.notes, note))


def _name(label: Label) -> str:
    """A scenario as sentences and lines have it: A (4xh100-sxm)."""
    return f"{label.letter} ({label.name})"


def _view(known: _Asked, found: Sequence[Answered], asked: Asked) -> View:
    named = [(_name(one.label), one.scenario) for one in known.found if one.scenario is not None]
    first = known.compared(named)
    slo = known.page.goals
    front: list[Block] = [
        Prose(f"{_name(one.label)} is left out: {one.error.what}.", "warning") for one in found if one.error is not None
    ]
    front += [Prose(f"Warning: {text}", "warning") for text in _prices_said(known)]
    if slo is None:
        document, answer = told(first), ""
    else:
        document, answer, table = _with_goals(known, first, named, slo)
        front.append(table)
    return View(
        answer=" ".join(text for text in (document.answer, answer) if text),
        charts=tuple(_charts(document, found, asked)),
        blocks=(*front, *shows.blocks(document)[1:]),
    )


def _with_goals(
    known: _Asked, first: Found, named: Sequence[tuple[str, Scenario]], slo: Goals
) -> tuple[Comparison, str, Block]:
    """The comparison with as many requests as keep the goals, of the scenarios that can, and a sentence on that."""
    keys = [key_without_batch(one.question) for one in known.found]
    kept = [
        goals.kept(row, sc, key, first.mix, slo)
        for row, (_, sc), key in zip(first.rows, named, keys, strict=True)
    ]  # fmt: skip
    keeping = [one for one in kept if one.batch is not None]
    table, said = goals.table(kept, slo), goals.said(slo)
    if not keeping:
        return told(first), f"None of them keeps {said}, with however few requests at once.", table
    counts = ", ".join(f"{one.batch:,} on {one.label}" for one in keeping)
    late = [one.label for one in kept if one.batch is None]
    others = f" {' and '.join(late)} cannot keep it, and {'are' if len(late) > 1 else 'is'} left out." if late else ""
    found = replace(known, largest=False).compared([(one.label, one.sc) for one in keeping])
    return told(found), f"Each has as many requests at once as keep {said}: {counts}.{others}", table


def _prices_said(known: _Asked) -> Iterator[str]:
    """That scenarios have one kind of card at two prices."""
    seen: dict[str, set[float]] = {}
    for one in known.found:
        usd = one.question.usd_per_hour
        if usd is not None and one.scenario is not None:
            seen.setdefault(as_built(one.scenario.accelerator)[0], set()).add(usd)
    for card, dollars in seen.items():
        if len(dollars) > 1:
            yield f"{card} has two prices on this page, and counts here at the first of them, or that in focus"


def _charts(document: Comparison, found: Sequence[Answered], asked: Asked) -> Iterator[Drawn]:
    hues = {_name(one.label): one.label.tag.hue for one in found}
    if any(one.request is not None for one in document.compared):
        what = _WORDS[document.objective] if document.mix.osl else "requests a second"
        yield drawn(_hued(bars.compared(document, look=asked.look), hues), title=f"{what}, as expected".capitalize())
    if len(crossing.shown(document)) > 1:
        yield drawn(_hued(crossing.crossing(document, look=asked.look), hues), said=document.answer)


def _hued(chart: Chart, hues: dict[str, str]) -> Chart:
    """The chart with the hues that the page's scenarios have elsewhere."""

    def row(one: dict[str, Any]) -> dict[str, Any]:
        hue = hues.get(one.get("name") or one.get("text") or "")
        return one if hue is None or one.get("hue") in (None, "ink") else {**one, "hue": hue}

    datasets = {name: [row(one) for one in rows] for name, rows in chart.datasets.items()}
    return replace(chart, spec={**chart.spec, "datasets": datasets})
