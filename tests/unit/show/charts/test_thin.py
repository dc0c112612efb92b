"""Fewer points of a curve: what is drawn between them passes every other within 1 %."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rooflight
from rooflight.show.charts.series import lines
from rooflight.show.charts.thin import CLOSE, kept
from rooflight.studio.along import lines as studio_lines
from rooflight.studio.answered import answered
from rooflight.studio.page import Page
from rooflight.studio.question import Question


def off(x, values, places):
    """The largest share by which the straight lines between drawn places, on logarithmic axes, miss a point."""
    worst = 0.0
    for low, high in pairwise(places):
        if values[low] is None or values[high] is None:
            continue
        for place in range(low + 1, high):
            share = math.log(x[place] / x[low]) / math.log(x[high] / x[low])
            line = math.exp(math.log(values[low]) * (1 - share) + math.log(values[high]) * share)
            worst = max(worst, abs(line / values[place] - 1))
    return worst


@given(st.lists(st.one_of(st.none(), st.floats(1e-6, 1e6)), min_size=1, max_size=60))
def test_every_point_is_near_the_drawn_line(values):
    """Gaps and jumps included; the ends stay."""
    x = [*range(1, len(values) + 1)]
    places = kept(x, [values])

    assert {0, len(x) - 1} <= {*places}
    assert off(x, values, places) <= CLOSE
    drawn = {*places}
    for place in range(1, len(values)):
        if (values[place] is None) != (values[place - 1] is None):
            assert {place - 1, place} <= drawn


def test_a_straight_line_needs_its_ends_alone():
    x = [2**power for power in range(20)]
    assert kept(x, [[3 * one**0.7 for one in x]]) == [0, 19]


@pytest.mark.parametrize(
    ("model", "on", "fields"),
    [
        ("mixtral-8x7b", "2xh100-sxm", {}),
        ("deepseek-v3", "8xh200-sxm", {}),
        ("llama-3.1-8b", "h100-sxm", {"context": 64}),
        ("llama-3.1-70b", "h100-sxm", {"ignore_capacity": True}),
    ],
)
def test_lines_of_the_studio_pass_every_batch(model, on, fields):
    """With experts the ceiling bends at batches 2 to 4: a line from 1 to 5 is a fifth too low there."""
    (line,) = studio_lines(answered(Page(scenarios=[Question(model=model, on=on, **fields)])), 0).lines
    drawn = [point.batch for point in line.points]
    every = [*range(1, min(drawn[-1], 3000) + 1)]
    rates = rooflight.sweep(model, on, {"batch": every}, **fields).columns()
    places = [batch - 1 for batch in drawn if batch <= every[-1]]

    for name in ("ceiling", "roofline", "expected", "low", "high"):
        column = [None if math.isnan(one) else float(one) for one in rates[f"tokens_per_s.{name}"]]
        assert off(every, column, places) <= CLOSE


def test_a_sweep_of_many_batches_is_drawn_as_it_was_computed():
    batches = range(1, 401)
    sweep = rooflight.sweep("mixtral-8x7b", "2xh100-sxm", {"batch": batches}, context=512)
    (line,) = lines(sweep).lines
    rates = sweep.columns()
    places = [point.batch - 1 for point in line.points]

    assert len(places) < 60
    for name in ("ceiling", "expected", "low", "high"):
        assert off([*batches], [float(one) for one in rates[f"tokens_per_s.{name}"]], places) <= CLOSE
