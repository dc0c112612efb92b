"""A quantity at its three times: what physics allows, the roofline, and what a well-run engine gets."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rooflight.numeric import Number, maximum, minimum


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity at the ceiling, at the roofline, and as expected; low and high hold eight of ten measurements.

    Of a time the ceiling is the least, of a rate the most; low and high are the numerically smaller and larger end,
    None where no interval is known (shares, gains). Every value may be an array while rooflight computes; what it
    answers with are plain numbers.
    """

    ceiling: float
    roofline: float
    expected: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of_time(cls, *, ceiling: Number, roofline: Number, expected: Number, low: Number, high: Number) -> Span:
        """A time in its order, elementwise: what a fit says below the roofline is the roofline.

        ceiling <= low <= expected <= high, and roofline <= expected.
        Check: ceiling 1, roofline 2, expected 1.5, low 0.5, high 1.8 -> expected 2, low 1, high 2.
        """
        middle = maximum(expected, roofline)
        return cls(
            ceiling=ceiling,
            roofline=roofline,
            expected=middle,
            low=maximum(minimum(low, middle), ceiling),
            high=maximum(high, middle),
        )

    @classmethod
    def same(cls, value: Number) -> Span:
        """A quantity that is known: the same at all three."""
        return cls(ceiling=value, roofline=value, expected=value, low=value, high=value)

    def each(self, of: Callable[[Number], Number]) -> Span:
        """`of` every value that is there; it must not fall, so that the order stays."""
        return Span(
            ceiling=of(self.ceiling),
            roofline=of(self.roofline),
            expected=of(self.expected),
            low=None if self.low is None else of(self.low),
            high=None if self.high is None else of(self.high),
        )

    def with_each(self, other: Span, of: Callable[[Number, Number], Number]) -> Span:
        """`of` the values of two spans, place by place; no interval where either has none."""
        return Span(
            ceiling=of(self.ceiling, other.ceiling),
            roofline=of(self.roofline, other.roofline),
            expected=of(self.expected, other.expected),
            low=None if self.low is None or other.low is None else of(self.low, other.low),
            high=None if self.high is None or other.high is None else of(self.high, other.high),
        )

    def __add__(self, other: Span) -> Span:
        """One after the other: every value adds, low and high too."""
        return self.with_each(other, lambda one, two: one + two)

    def __mul__(self, times: Number) -> Span:
        """`times` (0 or more) as much."""
        return self.each(lambda value: value * times)

    def __truediv__(self, parts: Number) -> Span:
        """An equal part of it."""
        return self.each(lambda value: value / parts)

    def rate(self, amount: Number) -> Span:
        """`amount` a second, of a time; or seconds, of a rate: the ends of the interval change places.

        Check: amount 100 of ceiling 2, roofline 2, expected 4, low 2, high 5 -> 50, 50, 25, 20, 50.
        """
        inverse = self.each(lambda value: amount / value)
        return Span(
            ceiling=inverse.ceiling,
            roofline=inverse.roofline,
            expected=inverse.expected,
            low=inverse.high,
            high=inverse.low,
        )

    def over(self, other: Span) -> Span:
        """How many times the other it is, at each of the three; a quotient has no interval."""
        return Span(
            ceiling=self.ceiling / other.ceiling,
            roofline=self.roofline / other.roofline,
            expected=self.expected / other.expected,
        )

    def plain(self) -> Span:
        """The same as Python floats."""
        return self.each(float)
