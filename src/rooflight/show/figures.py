"""The table of runs: what the run of each scenario gets its users and its accelerators, a line a scenario.

The page, its slide, its CSV and the offline page have their cells from here, and so the same words and digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from rooflight.answers.pair import Found
from rooflight.scenario.definite import Scenario
from rooflight.serve.formulas import tokens_per_usd
from rooflight.serve.goals import Wanted
from rooflight.show import numbers
from rooflight.show.charts.wording import times as times_of
from rooflight.span import Span
from rooflight.values.analysis import Analysis
from rooflight.values.run import Run
from rooflight.words.headline import headline

_MILLION = 10**6
HEADS = (
    "TTFT", "TPOT", "step at best", "tok/s a user", "tok/s a card", "compute", "bandwidth", "bound by", "fits",
    "USD a million tokens",
)  # fmt: skip
READ = (
    "What a well-run engine gets, with the interval that eight of ten measurements lie in; a step at best is what "
    "physics allows."
)


class Cell(msgspec.Struct, frozen=True):
    """What a cell says: the value, beside it its interval, and how it stands to the page's goal or to what fits.

    "" where there is none. missed: the goal is not kept as expected, or not all of it fits at once
    """

    text: str = ""
    beside: str = ""
    goal: str = ""
    missed: bool = False

    @property
    def whole(self) -> str:
        """All of it in a line."""
        return ", ".join(part for part in (self.text, self.beside, self.goal) if part)


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario's line. cells: a head each; bound: what binds its decode steps, for the hue of that cell.

    missing     why there are no figures; "" where there are
    """

    cells: tuple[Cell, ...] = ()
    bound: str | None = None
    missing: str = ""


def heads(prices: Iterable[float | None]) -> tuple[str, ...]:
    """What stands above the cells; no cost where no scenario has a price."""
    return HEADS if any(price is not None for price in prices) else HEADS[:-1]


def of_steps(sc: Scenario, analysis: Analysis) -> bool:
    """Whether figures are of decode steps: at a context that is stated, a run of requests says nothing."""
    return sc.workload.context is not None and "decode" in analysis.phases


def line(
    analysis: Analysis, *, steps: bool = False, goals: Wanted | None = None, usd_per_hour: float | None = None
) -> Line:
    """The line of a scenario that was answered.

    steps           of its decode steps, not of its run; see of_steps
    usd_per_hour    of one accelerator; None: not given
    """
    tpot_s, ttft_s = (None, None) if goals is None else (goals.tpot_s, goals.ttft_s)
    run = None if analysis.run is None else analysis.runs.get(analysis.run)
    if run is None:
        return Line(bound="capacity", missing=headline(analysis))
    # what a token comes from: of drafted ones a verify step
    names = ("decode", "prefill") if steps else ("verify", "decode", "prefill")
    phase = next((analysis.phases[name] for name in names if name in analysis.phases), None)
    bound = None if phase is None else phase.expected_bound
    got = got_of(analysis, run, steps=steps)
    cells = (
        _beside_goal(run.ttft_s, ttft_s),
        _beside_goal(got.step, tpot_s),
        Cell() if phase is None else Cell(numbers.seconds(phase.time_s.ceiling)),
        _cell(got.user, numbers.plain),
        _cell(got.card, numbers.plain),
        *(Cell() if share is None else Cell(numbers.percent(share)) for share in (got.compute, got.memory)),
        Cell(numbers.resource(bound)),
        _room(analysis),
        _cost(got.card, usd_per_hour),
    )
    return Line(cells=cells, bound=bound)


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


def got_of(analysis: Analysis, run: Run, *, steps: bool) -> Got:
    """What a line is of: the run, or decode steps."""
    return _of_steps(analysis) if steps else _of_run(run)


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


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of two scenarios whose lines are compared; steps and usd_per_hour as of its line."""

    analysis: Analysis
    steps: bool = False
    usd_per_hour: float | None = None

    @property
    def puts_out(self) -> bool:
        """Whether its requests have output."""
        run = None if self.analysis.run is None else self.analysis.runs.get(self.analysis.run)
        return run is not None and _of_run(run).card is not None


def gain(first: Side, other: Side, found: Found) -> Line:
    """The line of what another scenario gains over the first, by the one comparison of two; of its own kind."""
    times = {one.name: one.times for one in found.quantities}
    token = "decode_step_s" if other.steps else "tokens_per_s_per_user"
    card = "decode_tokens_per_s_per_accelerator" if other.steps else "tokens_per_s_per_accelerator"
    if not (first.puts_out and other.puts_out):  # of prompts, whose rates the lines do not have
        card = ""
    cells = [_times(times.get(name)) for name in ("ttft_s", token, "", token, card)]
    blank = [Cell()] * (len(HEADS) - len(cells) - 1)
    cheaper = _cheaper(times.get(card), (first.usd_per_hour, other.usd_per_hour))
    return Line(cells=(*cells, *blank, cheaper))


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
    asked, most = numbers.count(analysis.workload["batch"]), f"of {numbers.count(held)} at most"
    if analysis.memory.fits or analysis.deployment["ignore_capacity"]:
        return Cell(asked, most)
    return Cell(asked, most, goal="the others wait", missed=True)


def _cost(rate: Span | None, usd_per_hour: float | None) -> Cell:
    """Dollars of an accelerator's hour over the tokens that it puts out in it."""
    if usd_per_hour is None or rate is None:
        return Cell()
    bought: Span = tokens_per_usd(rate, usd_per_hour)
    return _cell(bought.rate(_MILLION), numbers.plain)
