"""The run of each scenario as a row: what its users see, what its accelerators do, what fits, and what it costs."""

from __future__ import annotations

import msgspec

from rooflight.serve.formulas import tokens_per_usd
from rooflight.show import numbers
from rooflight.span import Span
from rooflight.units import round_significant
from rooflight.values.analysis import Analysis
from rooflight.words.basis import interval

HEADS = ("TTFT", "TPOT", "tok/s a user", "tok/s an accelerator", "compute used", "bandwidth used", "most that fit")
COST = "USD a million tokens"
_MILLION = 10**6


class Cell(msgspec.Struct, frozen=True):
    """A figure and what is said below it; missed: it is worse than the goal."""

    text: str
    below: str = ""
    missed: bool = False


def heads(priced: bool) -> tuple[str, ...]:
    """What stands above the cells."""
    return (*HEADS, *([COST] if priced else []))


def cells(
    analysis: Analysis, *, slo_tpot_s: float | None = None, usd_per_hour: float | None = None, priced: bool = False
) -> list[Cell]:
    """Expected figures of the run that the answer speaks of, with their intervals.

    slo_tpot_s      a goal for the time of a token
    usd_per_hour    price of one accelerator; None: not given. priced: whether there is a column for it
    """
    found = analysis.runs.get(analysis.run or "")
    most = analysis.memory.max_batch
    fits = Cell("not known" if most is None else f"{most:,}" if most >= 1 else "none")
    if found is None:
        why = "" if analysis.answered else "does not fit"
        return [Cell(why), *[Cell("")] * (len(HEADS) - 2), fits, *([Cell("")] if priced else [])]
    used = found.utilization
    each, user = found.output_tokens_per_s_per_accelerator, found.output_tokens_per_s_per_user
    return [
        _time(found.ttft_s), _against(found.tpot_s, slo_tpot_s), _rate(user), _rate(each),
        Cell("" if used is None else numbers.percent(used.compute)),
        Cell("" if used is None else numbers.percent(used.memory)),
        fits, *([_cost(each, usd_per_hour)] if priced else []),
    ]  # fmt: skip


def _time(span: Span | None) -> Cell:
    return Cell("") if span is None else Cell(numbers.seconds(span.expected), _bare(interval(span)))


def _against(span: Span | None, slo_s: float | None) -> Cell:
    """A time beside its goal, in words."""
    told = _time(span)
    if span is None or slo_s is None:
        return told
    missed = span.expected > slo_s
    said = f"{'over' if missed else 'within'} {numbers.seconds(slo_s)}"
    return Cell(told.text, f"{told.below}, {said}" if told.below else said, missed)


def _rate(span: Span | None) -> Cell:
    if span is None or not span.expected:
        return Cell("")
    return Cell(numbers.plain(span.expected), _ends(span))


def _cost(each: Span | None, usd_per_hour: float | None) -> Cell:
    """Dollars of an accelerator's hour over the tokens that it puts out in it."""
    if each is None or usd_per_hour is None or not each.expected:
        return Cell("" if usd_per_hour is not None else "no price")
    return Cell(round_significant(_MILLION / tokens_per_usd(each.expected, usd_per_hour)))


def _ends(span: Span) -> str:
    if span.low is None or span.high is None:
        return ""
    return f"{numbers.plain(span.low)} to {numbers.plain(span.high)}"


def _bare(text: str) -> str:
    return text.strip().removeprefix("(").removesuffix(")")
