"""The interval of expected times as pictures tell it: in tooltips, and in a sentence below that says what it is."""

from __future__ import annotations

from collections.abc import Sequence

from rooflight.show import numbers
from rooflight.show.charts.wording import where
from rooflight.span import Span
from rooflight.values.analysis import Analysis
from rooflight.words.basis import inferred

_IN_INTERVAL = "Of ten well-run engines eight lie in the interval of what is expected"
INTERVAL_NOTE = f"{_IN_INTERVAL}."


def interval_note(analyses: Sequence[Analysis]) -> str:
    """What the interval is, and of which answers it is inferred; each is named where several are drawn together.

    Check: vllm on RDNA4 -> ... which is inferred here: no measurement of vllm on RDNA4, taken from Ada's kernels.
    """
    clauses = {where(one): inferred(one) for one in analyses if one.phases}
    said = {name: f"{_IN_INTERVAL}, which is inferred here: {clause}." for name, clause in clauses.items() if clause}
    if not said:
        return INTERVAL_NOTE if clauses else ""
    return " ".join(text if len(analyses) == 1 else f"{name}: {text}" for name, text in said.items())


def timed(value: float, span: Span | None = None) -> str:
    """A time as a tooltip has it: 6.83 ms (6.3 to 7.69 ms)."""
    return ranged(value, span, "s")


def ranged(value: float, span: Span | None, base: str) -> str:
    """A value with its unit, and the interval where there is one."""
    said = numbers.amount(value, base)
    if span is None or span.low is None or span.high is None:
        return said
    return f"{said} ({numbers.amount(span.low, base)} to {numbers.amount(span.high, base)})"
