"""Throughput: decode along the batch for every scenario, what a user gets of it, and how far a goal reaches."""

from __future__ import annotations

from collections.abc import Sequence

from rooflight.errors import RooflightError
from rooflight.scenario.definite import Scenario
from rooflight.serve.arrivals import loaded
from rooflight.serve.goals import Wanted, wanted_ms
from rooflight.show import numbers
from rooflight.show.blocks import Block, Prose
from rooflight.show.charts import batch, pareto
from rooflight.show.charts.series import Line, Lines
from rooflight.show.charts.wording import rated, short
from rooflight.show.goals import goal_blocks
from rooflight.show.sweep import answer
from rooflight.studio import along
from rooflight.studio.answered import Answered, answered, key_without_batch, landmarks_of
from rooflight.studio.kept import Kept, digest
from rooflight.studio.page import Page
from rooflight.studio.view import Asked, Choice, Drawn, View, drawn
from rooflight.values.sweep import Goal, Landmarks
from rooflight.words.sweep import Sweep, goal_answer, goals_answer

CHOICES = (
    Choice("all", "all sequences"), Choice("user", "a user"), Choice("pareto", "Pareto: a user against an accelerator"),
)  # fmt: skip
_MEASURES = {"all": "tokens_per_s", "user": "tokens_per_s_per_user"}
_OWN = "A ringed dot stands at the batch of its scenario."
_STEPS = "Decode steps alone: in a run prompts take turns with them, as in the first table and in goals."
_DRAFTS = "A token a sequence and step: what drafts gain is not in it."
_KNEE = "The knee, from which doubling the batch gains less than half, is"

_kept: Kept[Goal] = Kept(128)


def throughput(asked: Asked) -> View:
    """The view. Raises RooflightError where the scenario in focus cannot be answered."""
    page, found = asked.page, answered(asked.page)
    focus = found[page.shown]
    if focus.error is not None:
        raise focus.error
    shown = [one for one in found if not along.without(one)]
    left = _left_out(found)
    if not shown:
        return View(answer=" ".join(left), choices=CHOICES)
    wanted = page.goals
    goals, untold = ({}, []) if wanted is None else _goals(shown, wanted)
    blocks: list[Block] = [Prose(text, "warning") for text in (*left, *untold)]
    blocks += goal_blocks(list(goals.values()), list(goals))
    first = focus if focus in shown else shown[0]
    blocks.append(along.table(first))
    return View(
        answer=_answer(shown, first, goals), charts=(_chart(asked, found, shown),), blocks=tuple(blocks),
        choices=CHOICES,
    )  # fmt: skip


def _left_out(found: Sequence[Answered]) -> list[str]:
    """What the pictures do not have, and why."""
    whys = [(one.label.whole, along.without(one)) for one in found]
    return [f"{name} is left out: {why.rstrip('.')}." for name, why in whys if why]


def _chart(asked: Asked, found: Sequence[Answered], shown: Sequence[Answered]) -> Drawn:
    page, look = asked.page, asked.look
    told = along.lines(found, page.shown)
    front = asked.option == "pareto"
    rates = rated([one.analysis for one in shown if one.analysis is not None])
    notes = (*_read(told, shown, zones=not front), rates)
    if front:
        goal_s = _goal_s(page)
        return drawn(pareto.of_lines(told, who=_who(shown), slo_tpot_s=goal_s, notes=notes, look=look))
    measure = _MEASURES.get(asked.option, "tokens_per_s")
    title = _title(told, measure)
    return drawn(batch.of_lines(told, measure, title=title, notes=notes, look=look))


def _goal_s(page: Page) -> float | None:
    wanted = wanted_ms(None, page.tpot_slo_ms)
    return None if wanted is None else wanted.tpot_s


def _read(told: Lines, shown: Sequence[Answered], *, zones: bool) -> list[str]:
    zoned = told.zoned if zones and len(told.lines) > 1 else None
    shaded = "" if zoned is None else f"Shaded: what binds {zoned.letter}'s steps."
    drafting = any(one.scenario is not None and one.scenario.workload.draft_tokens for one in shown)
    return [text for text in (_OWN, shaded, _STEPS, _DRAFTS if drafting else "") if text]


def _who(shown: Sequence[Answered]) -> str:
    models = {short(one.analysis.model.id) for one in shown if one.analysis is not None}
    return models.pop() if len(models) == 1 else "These scenarios"


def _title(told: Lines, measure: str) -> str:
    """The best that each reaches, and where."""
    unit = "tok/s" if measure == "tokens_per_s" else "tok/s a user"
    several = len(told.lines) > 1
    reached = [_most(line, measure) for line in told.lines]
    said = [
        f"{numbers.plain(rate)} {unit} at batch {at:,}{f' ({line.letter})' if several else ''}"
        for line, (rate, at) in zip(told.lines, reached, strict=True)
    ]
    return f"Decode reaches up to {', '.join(said)}"


def _most(line: Line, measure: str) -> tuple[float, int]:
    """The largest rate of a line, and its batch."""
    spans = [(getattr(row, measure), row.batch) for row in line.points]
    return max(
        (span.roofline if span.expected is None else span.expected, at)
        for span, at in spans
        if span.ceiling is not None
    )


def _goals(shown: Sequence[Answered], wanted: Wanted) -> tuple[dict[str, Goal], list[str]]:
    """Each scenario's goal by its name; and where none can be told, why."""
    found, untold = {}, []
    for one in shown:
        assert one.scenario is not None
        try:
            found[one.label.brief] = _goal(one, one.scenario, wanted)
        except RooflightError as error:
            untold.append(f"Goals of {one.label.whole} cannot be told: {error.what}.")
    return found, untold


def _goal(one: Answered, sc: Scenario, wanted: Wanted) -> Goal:
    """Its goal, kept: a batch slider that moves does not change it. Raises RooflightError."""
    batch = None if wanted.ttft_s is None else along.own_batch(one)  # of which prompts must be cached
    schedule = sc.deployment.schedule or _schedule(one)
    swept = Sweep((loaded(sc)[0],), {}, "decode", (), schedule=schedule, wanted=wanted)
    key = digest([key_without_batch(one.question), wanted.ttft_s, wanted.tpot_s, schedule, batch])
    return _kept.get_or_make(key, lambda: swept.goals()[0])


def _schedule(one: Answered) -> str:
    """Of many requests: as the answer has it, but served where it has one alone."""
    run = None if one.analysis is None else one.analysis.run
    return "served" if run in (None, "alone") else str(run)


def _answer(shown: Sequence[Answered], first: Answered, goals: dict[str, Goal]) -> str:
    """How far a goal reaches, and the knee."""
    assert first.scenario is not None
    model, marks = first.scenario.checkpoint.id, [landmarks_of(one) for one in shown]
    if len(shown) > 1:
        letters = {name.partition(",")[0]: one for name, one in goals.items()}
        knees = (f"{_knee(mark)} ({one.label.letter})" for one, mark in zip(shown, marks, strict=True))
        said = [goals_answer(letters)] if goals else []
        return " ".join([*said, f"{_KNEE} {', '.join(knees)}."])
    if not goals:
        return answer(model, marks)
    return f"{goal_answer(model, tuple(goals.values()), (first.scenario,))} {_KNEE} {_knee(marks[0])}."


def _knee(mark: Landmarks) -> str:
    if mark.knee_batch is None:
        return "at no batch below 2^20" if mark.rated else "not known"
    beyond = mark.kv_limit is not None and mark.knee_batch > mark.kv_limit
    return f"at batch {mark.knee_batch:,}{', beyond what fits' if beyond else ''}"
