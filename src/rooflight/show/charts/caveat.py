"""What pictures say of expected times: the interval, and where they are inferred."""

from __future__ import annotations

from collections.abc import Sequence

from rooflight.show import numbers
from rooflight.show.charts.wording import where
from rooflight.span import Span
from rooflight.values.analysis import Analysis
from rooflight.words.basis import IN_INTERVAL, caveat


def expected_note(analyses: Sequence[Analysis]) -> str:
    """The sentence of answers that are drawn together; each deployment whose times are inferred is named where there
    are several."""
    said = {where(one): _caveat(one) for one in analyses if one.phases}
    inferred = {name: text for name, text in said.items() if text != caveat_of_none()}
    if len(analyses) == 1:
        return next(iter(said.values()), "")
    if not inferred:
        return caveat_of_none() if said else ""
    return " ".join(f"{name}: {text}" for name, text in inferred.items())


def caveat_of_none() -> str:
    """The sentence where nothing is inferred."""
    return f"{IN_INTERVAL}."


def _caveat(one: Analysis) -> str:
    own = one.calibration is not None and one.calibration.used
    asked = one.deployment.get("engine")
    return caveat(one.expected_basis, asked if isinstance(asked, str) else None, own=own)


def timed(value: float, span: Span | None = None) -> str:
    """A time as a tooltip has it: 6.83 ms (6.3 to 7.69 ms)."""
    return ranged(value, span, "s")


def ranged(value: float, span: Span | None, base: str) -> str:
    """A value with its unit, and the interval where there is one."""
    said = numbers.amount(value, base)
    if span is None or span.low is None or span.high is None:
        return said
    return f"{said} ({numbers.amount(span.low, base)} to {numbers.amount(span.high, base)})"
