"""The table of the page's scenarios: what the run of each gets its users and its accelerators, a line a scenario."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from rooflight.answers.pair import Found
from rooflight.serve.formulas import SECONDS_PER_HOUR
from rooflight.serve.goals import Wanted
from rooflight.show import numbers
from rooflight.show.charts.wording import times as times_of
from rooflight.span import Span
from rooflight.studio.answered import Answered
from rooflight.studio.page import Label
from rooflight.studio.question import Question
from rooflight.values.analysis import Analysis
from rooflight.values.run import Run
from rooflight.words.headline import headline

_MILLION = 1_000_000
HEADS = (
    "TTFT", "TPOT", "step at best", "tok/s a user", "tok/s a card", "compute", "bandwidth", "bound by", "fits",
    "USD a million tokens",
)  # fmt: skip


class Cell(msgspec.Struct, frozen=True):
    """What a cell says: the value, beside it its interval, and how it stands to the page's goal; "" where there is
    none. missed: the goal is not kept as expected."""

    text: str = ""
    beside: str = ""
    goal: str = ""
    missed: bool = False


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario's line. cells: a head each; bound: what binds its decode steps, for the hue of that cell.

    missing     why there are no figures; "" where there are
    """

    label: Label
    cells: tuple[Cell, ...] = ()
    bound: str | None = None
    missing: str = ""


def line(label: Label, question: Question, analysis: Analysis, goals: Wanted | None = None) -> Line:
    """The line of a scenario that was answered: of its run, or of decode steps at a context that is stated."""
    tpot_s, ttft_s = (None, None) if goals is None else (goals.tpot_s, goals.ttft_s)
    run = None if analysis.run is None else analysis.runs.get(analysis.run)
    if run is None:
        return Line(label=label, bound="capacity", missing=headline(analysis))
    phase = analysis.phases.get("decode") or analysis.phases.get("prefill")
    bound = None if phase is None else phase.expected_bound
    got = got_of(question, analysis, run)
    cells = (
        _beside_goal(run.ttft_s, ttft_s),
        _beside_goal(got.step, tpot_s),
        Cell() if phase is None else Cell(numbers.seconds(phase.time_s.ceiling)),
        _cell(got.user, numbers.plain),
        _cell(got.card, numbers.plain),
        *(Cell() if share is None else Cell(numbers.percent(share)) for share in (got.compute, got.memory)),
        Cell(numbers.resource(bound)),
        _room(analysis),
        _cost(got.card, question.usd_per_hour),
    )
    return Line(label=label, cells=cells, bound=bound)


def sentence(question: Question, analysis: Analysis) -> str:
    """The answer in one sentence, of what the line is of."""
    return headline(analysis, steps=of_steps(question, analysis))


def of_steps(question: Question, analysis: Analysis) -> bool:
    """Whether the figures are of decode steps: at a context that is stated, a run of requests says nothing."""
    return question.given()["context"] is not None and "decode" in analysis.phases


class Got(msgspec.Struct, frozen=True, kw_only=True):
    """Time of a token, tokens a second of a user and of a card, and shares of the datasheet's rates.

    steps   of decode steps, not of a run
    """

    step: Span | None
    user: Span | None
    card: Span | None
    compute: float | None
    memory: float | None
    steps: bool = False


def got_of(question: Question, analysis: Analysis, run: Run) -> Got:
    """What a line is of: the run, or decode steps at a context that is stated."""
    return _of_steps(analysis) if of_steps(question, analysis) else _of_run(run)


def _of_run(run: Run) -> Got:
    used, card = run.utilization, run.output_tokens_per_s_per_accelerator
    card = card if card is not None and card.expected else None  # of 0 tokens a second there is nothing to say
    return Got(
        step=run.tpot_s, user=run.output_tokens_per_s_per_user, card=card,
        compute=None if used is None else used.compute, memory=None if used is None else used.memory,
    )  # fmt: skip


def _of_steps(analysis: Analysis) -> Got:
    phase = analysis.phases["decode"]
    return Got(
        step=phase.time_s, user=phase.tokens_per_s_per_user, card=phase.tokens_per_s / analysis.deployment["devices"],
        compute=phase.mfu, memory=phase.mbu, steps=True,
    )  # fmt: skip


def gain(first: Answered, focus: Answered, found: Found) -> Line:
    """The line of what the scenario in focus gains over the first, by the one comparison of two; of its own kind."""
    assert focus.analysis is not None
    times = {one.name: one.times for one in found.quantities}
    steps = of_steps(focus.question, focus.analysis)
    token = "decode_step_s" if steps else "tokens_per_s_per_user"
    card = "decode_tokens_per_s_per_accelerator" if steps else "tokens_per_s_per_accelerator"
    if not all(_puts_out(one.analysis) for one in (first, focus)):  # of prompts, whose rates the lines do not have
        card = ""
    cells = [_times(times.get(name)) for name in ("ttft_s", token, "", token, card)]
    blank = [Cell()] * (len(HEADS) - len(cells) - 1)
    prices = first.question.usd_per_hour, focus.question.usd_per_hour
    return Line(label=focus.label, cells=(*cells, *blank, _cheaper(times.get(card), prices)))


def _puts_out(analysis: Analysis | None) -> bool:
    """Whether an answer's requests have output."""
    run = None if analysis is None or analysis.run is None else analysis.runs.get(analysis.run)
    return run is not None and _of_run(run).card is not None


def _cheaper(rate: Span | None, prices: tuple[float | None, float | None]) -> Cell:
    """How many times as cheap a token is, from how many more of them a card gives and what an hour of it costs."""
    was, now = prices
    return Cell() if rate is None or was is None or now is None else _times(rate * (was / now))


def _times(span: Span | None) -> Cell:
    if span is None:
        return Cell()
    return Cell(times_of(span.expected))


def _cell(span: Span | None, written: Callable[[float | None], str]) -> Cell:
    """What is expected, and between what."""
    if span is None:
        return Cell()
    between = "" if span.low is None else f"{written(span.low)} to {written(span.high)}"
    return Cell(written(span.expected), between)


def _beside_goal(span: Span | None, goal_s: float | None) -> Cell:
    """A time with what the page's goal says of it: kept, kept but at the slow end, or not."""
    cell = _cell(span, numbers.seconds)
    if span is None or goal_s is None:
        return cell
    most, missed = numbers.seconds(goal_s), span.expected > goal_s
    if missed:
        return replace(cell, goal=f"over {most}", missed=True)
    slow = span.high is not None and span.high > goal_s
    return replace(cell, goal=f"keeps {most}{', not when slow' if slow else ''}")


def _room(analysis: Analysis) -> Cell:
    held = analysis.memory.max_batch
    if held is None:
        return Cell("not known")
    return Cell(numbers.count(analysis.workload["batch"]), f"of {numbers.count(held)} at most")


def _cost(rate: Span | None, usd_per_hour: float | None) -> Cell:
    if usd_per_hour is None or rate is None:
        return Cell()
    return _cell(rate.rate(usd_per_hour / SECONDS_PER_HOUR * _MILLION), numbers.plain)
