"""Moves: what each change of the scenario in focus would gain, and which of them a press makes a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from rooflight.answers.moves.option import Asked as Options
from rooflight.answers.moves.report import moves as found_moves
from rooflight.show.charts import gains, ghosts
from rooflight.show.charts.place import Rows
from rooflight.show.charts.wording import times as times_of
from rooflight.show.moves import Listed, keeps, listed
from rooflight.studio.answered import Answered, focused, key_without_batch
from rooflight.studio.kept import Kept, digest
from rooflight.studio.page import Page
from rooflight.studio.view import Act, Asked, Choice, Drawn, View, drawn
from rooflight.studio.views.goals import said
from rooflight.studio.views.made import called, made, paged, prices
from rooflight.studio.views.roofed import roof_drawn, roofline_of
from rooflight.values.moves import OBJECTIVES, Combined, Move, Moves
from rooflight.values.moves import wanted as gain_of
from rooflight.words.moves_found import answered

_WORDS = {
    "throughput": "what helps tokens a second of each accelerator",
    "latency": "what helps a request's time",
    "ttft": "what helps the time to the first token",
    "cost": "what helps the cost of a token",
}
_moves: Kept[Moves] = Kept(64)
_PRESS = "A press on a bar makes a scenario of its move, where there is a button for it below."
_PRESS_DOT = "A press on one makes a scenario of it."


def moves(asked: Asked) -> View:
    """The view. Raises RooflightError where the scenario in focus cannot be answered, or has no moves."""
    focus, usd = focused(asked.page), prices(asked.page)
    assert focus.scenario is not None
    choices = tuple(Choice(name, _WORDS[name]) for name in OBJECTIVES if name != "cost" or usd)
    objective = asked.option if asked.option in {one.option for one in choices} else choices[0].option
    found = _found(focus, objective, usd)
    blocks = listed(found, asked.page.goals)[1:]  # the answer stands above
    acts = tuple(_acts(focus, blocks, usd))
    return View(
        answer=f"{found.answer}{_beside_goals(found, asked.page)}",
        charts=tuple(_charts(found, focus, _places(acts, blocks), asked)),
        blocks=tuple(paged(one.block for one in blocks)),
        acts=acts,
        choices=choices,
    )


def _found(focus: Answered, objective: str, usd: Mapping[str, float]) -> Moves:
    """The moves of a scenario, kept for another look at them."""
    sc, asked = focus.scenario, focus.question
    assert sc is not None
    key = digest([key_without_batch(asked), asked.given().get("batch"), objective, sorted(usd.items())])
    return _moves.get_or_make(key, lambda: answered(sc, found_moves(sc, objective, Options(usd_per_hour=usd))))


def _beside_goals(found: Moves, page: Page) -> str:
    """Which move helps most without leaving the page's goals, where the page has some; as a sentence more."""
    goals = page.goals
    if goals is None:
        return ""
    helping = [one for one in found.moves if one.fields is not None and one.verdict == "helps"]
    kept = [one for one in helping if one.of == "settings" and keeps(one, goals)]
    if not kept:
        return f" No change on the same machine helps and keeps {said(goals)}, as expected."
    best = max(kept, key=lambda one: gain_of(one.gains, found.objective).expected)
    times = times_of(gain_of(best.gains, found.objective).expected)
    return f" Of single changes on the same machine that keep {said(goals)}, {best.title} helps most: {times}."


def _acts(focus: Answered, blocks: Sequence[Listed], usd: Mapping[str, float]) -> Iterator[Act]:
    for table, block in enumerate(blocks):
        for row, one in enumerate(block.of):
            fields = made(focus, one.fields, usd)
            if fields is not None:
                yield Act(table=table, row=row, name=called(_title(one)), fields=fields)


def _title(one: Move | Combined) -> str:
    return one.title if isinstance(one, Move) else "; ".join(one.titles)


def _places(acts: Sequence[Act], blocks: Sequence[Listed]) -> dict[str, int]:
    """The act of each move, by its title."""
    return {_title(blocks[one.table].of[one.row]): number for number, one in enumerate(acts)}


def _charts(found: Moves, focus: Answered, places: Mapping[str, int], asked: Asked) -> Iterator[Drawn]:
    """Where the best would put a phase on the roofline, and bars of what each gains, where any can be told."""
    data = roofline_of(focus, asked.look, moves=found)
    if data["ghosts"]:
        read = f"{ghosts.read(data, found)} {_PRESS_DOT}"
        yield roof_drawn(focus, asked.look, {**data, "ghosts": _rows(data["ghosts"], places)}, read)
    bars = gains.gains(found, look=asked.look)
    if bars.datasets["bars"]:
        datasets = {name: _rows(rows, places) for name, rows in bars.datasets.items()}
        yield drawn(replace(bars, spec={**bars.spec, "datasets": datasets}), _PRESS, said=found.answer)


def _rows(rows: Rows, places: Mapping[str, int]) -> Rows:
    """Rows with the act of the move that they bear the title of."""
    found = ((one, places.get(one.get("title") or one.get("name") or "")) for one in rows)
    return [one if place is None else {**one, "act": place} for one, place in found]
