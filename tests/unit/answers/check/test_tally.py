"""Counts of verdicts, and of errors."""

from __future__ import annotations

import pytest

from rooflight.answers.check.outcome import Judged, NoCeiling
from rooflight.answers.check.tally import Counts
from rooflight.ingest.rows import GivenRow
from rooflight.library.questions import make_scenario
from rooflight.span import Span
from rooflight.values.measurement import Measurement

SCENARIO = make_scenario("meta-llama/Meta-Llama-3-8B", "h100-sxm")


def counted(*rows: Judged | NoCeiling):
    counts = Counts()
    assert list(counts.over(rows)) == list(rows)
    return counts.tally()


def judged(verdict: str, value: float = 1.0, expected: float | None = None) -> Judged:
    row = Measurement(model="m", accelerator="a", metric="output_tok_s", value=value, phase="decode")
    interval = None if expected is None else expected
    span = Span(ceiling=2000.0, roofline=2000.0, expected=expected or 2000.0, low=interval, high=interval)
    return Judged(asked=GivenRow(1, {}, row), row=row, verdict=verdict, scenario=SCENARIO, span=span)


UNREAD = NoCeiling(asked=GivenRow(2, {}), problem="because")


def test_nothing_expected_leaves_errors_open():
    tally = counted(judged("ok"), judged("impossible"), UNREAD)
    assert (tally.rows, tally.judged, tally.cannot_judge) == (3, 2, 1)
    assert tally.median_error is tally.mean_error is tally.coverage is None


def test_an_impossible_row_says_nothing_about_the_expectation():
    tally = counted(judged("ok", 10.0, 11.0), judged("impossible", 1.0, 100.0))
    assert tally.mean_error == pytest.approx(0.1)
    assert tally.coverage == 1


def test_the_median_needs_no_list_of_errors():
    rows = [judged("ok", 1000.0, 1000.0 + step) for step in range(0, 1000, 10)]
    assert counted(*rows).median_error == pytest.approx(0.49, abs=1e-3)


def test_errors_and_coverage_are_of_what_can_be_true():
    """Off by nothing, a third, all and a sixth; what is slow lies outside its interval."""
    rows = [judged("ok", 30.0, 30.0), judged("fast", 60.0, 80.0), judged("slow", 40.0, 80.0), judged("ok", 60.0, 50.0)]
    tally = counted(*rows, judged("cannot-judge", 1.0, 9.0))
    assert tally.mean_error == pytest.approx((0 + 1 / 3 + 1 + 1 / 6) / 4)
    assert tally.median_error == pytest.approx(1 / 6, abs=1e-3)
    assert tally.coverage == 2 / 4
    assert (tally.judged, tally.fast, tally.slow, tally.cannot_judge) == (4, 1, 1, 1)
