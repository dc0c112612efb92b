"""A timed step beside its prediction, and one of some of the layers as one of all."""

from __future__ import annotations

import pytest

from rooflight.answers.check.whole import beside, scaled
from rooflight.probe.steps import Asked
from rooflight.span import Span
from rooflight.values.sample import Sample, Timing

PREDICTED = Span(ceiling=1.0, roofline=2.0, expected=4.0, low=3.0, high=6.0)


def timing(median, low=None, high=None):
    return Timing(median=median, low=low or median, high=high or median, n=5)


def step(time_s, *, outside=None, layers=(1.0, 1.0), context=100):
    asked = Asked(sequences=8, new=1, context=context)
    return beside(asked, PREDICTED, Sample(kind="step", name="decode", time_s=time_s), outside, layers)


def test_rates_and_shares_are_of_the_median():
    """8 tokens in 5 s, where 4 s were expected and 1 s is the ceiling."""
    found = step(timing(5.0))
    assert found.tokens_per_s == 8 / 5
    assert found.predicted_tokens_per_s.expected == 8 / 4
    assert (found.over_expected, found.over_ceiling) == (4 / 5, 1 / 5)
    assert (found.extrapolated, found.faster) == (0, False)


@pytest.mark.parametrize(("high", "faster"), [(0.99, True), (1.2, False)])
def test_faster_than_the_ceiling_only_by_more_than_runs_differ(high, faster):
    assert step(timing(0.9, 0.8, high)).faster is faster


def test_layers_that_were_left_out_come_in_proportion():
    """5 s of which 1 s is outside, twice the layers: 1 + 2 x 4 s."""
    assert scaled(timing(5.0, 4.0, 6.0), 1.0, 2.0) == Timing(median=9.0, low=7.0, high=11.0, n=5)
    found = step(timing(5.0), outside=timing(1.0), layers=(10.0, 20.0))
    assert found.time_s.median == 9
    assert found.extrapolated == pytest.approx(4 / 9)


def test_a_step_without_a_cache_is_a_prefill():
    assert step(timing(5.0), context=0).phase == "prefill"
