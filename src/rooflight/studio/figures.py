"""The table of the page's scenarios: what the run of each gets its users and its accelerators, a line a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from rooflight.serve.formulas import SECONDS_PER_HOUR
from rooflight.show import numbers
from rooflight.show.charts.wording import times as times_of
from rooflight.span import Span
from rooflight.studio.page import Label
from rooflight.studio.question import Question
from rooflight.values.analysis import Analysis
from rooflight.values.run import Run

_MILLION = 1_000_000
HEADS = (
    "TTFT", "TPOT", "step at best", "tok/s a user", "tok/s a card", "compute", "bandwidth", "bound by", "fits",
    "USD a million tokens",
)  # fmt: skip


class Cell(msgspec.Struct, frozen=True):
    """What a cell says: the value, and beside it its interval; "" where there is none."""

    text: str = ""
    beside: str = ""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario's line. cells: a head each; bound: what binds its decode steps, for the hue of that cell.

    missing     why there are no figures; "" where there are
    """

    label: Label
    cells: tuple[Cell, ...] = ()
    bound: str | None = None
    missing: str = ""


def line(label: Label, question: Question, analysis: Analysis) -> Line:
    """The line of a scenario that was answered."""
    run = None if analysis.run is None else analysis.runs.get(analysis.run)
    if run is None:
        return Line(label=label, bound="capacity", missing=analysis.answer)
    phase = analysis.phases.get("decode") or analysis.phases.get("prefill")
    bound = None if phase is None else phase.expected_bound
    used = run.utilization
    cells = (
        _cell(run.ttft_s, numbers.seconds),
        _cell(run.tpot_s, numbers.seconds),
        Cell() if phase is None else Cell(numbers.seconds(phase.time_s.ceiling)),
        _cell(run.output_tokens_per_s_per_user, numbers.plain),
        _cell(run.output_tokens_per_s_per_accelerator, numbers.plain),
        Cell() if used is None else Cell(numbers.percent(used.compute)),
        Cell() if used is None else Cell(numbers.percent(used.memory)),
        Cell(numbers.resource(bound)),
        _room(analysis),
        _cost(run, question.usd_per_hour),
    )
    return Line(label=label, cells=cells, bound=bound)


def gain(label: Label, times: Mapping[str, Span]) -> Line:
    """The line of what the scenario in focus gains over the first, as answers' one comparison has it."""
    cells = [_times(times.get(name)) for name in _GAINS]
    return Line(label=label, cells=(*cells, *[Cell()] * (len(HEADS) - len(cells) - 1), _times(times.get("cost"))))


# Gains in the order of HEADS.
_GAINS = ("ttft", "token", "", "token", "throughput")


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


def _room(analysis: Analysis) -> Cell:
    held = analysis.memory.max_batch
    if held is None:
        return Cell("not known")
    return Cell(numbers.count(analysis.workload["batch"]), f"of {numbers.count(held)} at most")


def _cost(run: Run, usd_per_hour: float | None) -> Cell:
    rate = run.output_tokens_per_s_per_accelerator
    if usd_per_hour is None or rate is None:
        return Cell()
    return _cell(rate.rate(usd_per_hour / SECONDS_PER_HOUR * _MILLION), numbers.plain)
