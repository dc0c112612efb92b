"""Moves: what each change of the scenario in focus would gain, and which of them a press makes a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rooflight.answers.moves.option import Asked as Options
from rooflight.answers.moves.report import moves as found_moves
from rooflight.show.charts import gains
from rooflight.show.charts.chart import Chart
from rooflight.show.moves import Listed, listed
from rooflight.studio.answered import Answered, focused
from rooflight.studio.view import Act, Asked, Choice, Drawn, View, drawn
from rooflight.studio.views.made import called, made, paged, prices
from rooflight.values.moves import OBJECTIVES, Combined, Move, Moves
from rooflight.words.moves_found import answered

_WORDS = {
    "throughput": "what helps tokens a second of each accelerator",
    "latency": "what helps a request's time",
    "ttft": "what helps the time to the first token",
    "cost": "what helps the cost of a token",
}
_PRESS = "A press on a bar makes a scenario of its move, where one can be asked for."


def moves(asked: Asked) -> View:
    """The view. Raises RooflightError where the scenario in focus cannot be answered, or has no moves."""
    focus, usd = focused(asked.page), prices(asked.page)
    assert focus.scenario is not None
    choices = tuple(Choice(name, _WORDS[name]) for name in OBJECTIVES if name != "cost" or usd)
    objective = asked.option if asked.option in {one.option for one in choices} else choices[0].option
    found = answered(focus.scenario, found_moves(focus.scenario, objective, Options(usd_per_hour=usd)))
    blocks = listed(found)[1:]  # the answer stands above
    acts = tuple(_acts(focus, blocks, usd))
    return View(
        answer=found.answer,
        charts=tuple(_charts(found, acts, blocks, asked)),
        blocks=tuple(paged(one.block for one in blocks)),
        acts=acts,
        choices=choices,
    )


def _acts(focus: Answered, blocks: Sequence[Listed], usd: Mapping[str, float]) -> Iterator[Act]:
    for table, block in enumerate(blocks):
        for row, one in enumerate(block.of):
            fields = made(focus, one.fields, usd)
            if fields is not None:
                yield Act(table=table, row=row, name=called(_title(one)), fields=fields)


def _title(one: Move | Combined) -> str:
    return one.title if isinstance(one, Move) else "; ".join(one.titles)


def _charts(found: Moves, acts: Sequence[Act], blocks: Sequence[Listed], asked: Asked) -> Iterator[Drawn]:
    """Bars of what each move gains, where any can be told."""
    places = {_title(blocks[one.table].of[one.row]): number for number, one in enumerate(acts)}
    bars = gains.gains(found, look=asked.look)
    if bars.datasets["bars"]:
        yield drawn(_pressed(bars, places), _PRESS)


def _pressed(chart: Chart, places: Mapping[str, int]) -> Chart:
    """The chart with the act of every row that bears the title of a move."""

    def row(one: dict[str, Any]) -> dict[str, Any]:
        place = places.get(one.get("name", ""))
        return one if place is None else {**one, "act": place}

    datasets = {name: [row(one) for one in rows] for name, rows in chart.datasets.items()}
    return Chart(kind=chart.kind, title=chart.title, notes=chart.notes, spec={**chart.spec, "datasets": datasets})
