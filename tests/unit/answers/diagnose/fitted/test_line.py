"""Lines of least squares: what they recover, how far they are known, and which point they leave out."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.answers.diagnose.fitted.line import fitted, student

numbers = st.floats(0.001, 1000)


def test_two_points_make_a_line_exactly_and_no_interval():
    """12.0 at 1 and 15.2 at 33: (15.2 - 12.0) / 32 = 0.1 a step, 12.0 - 0.1 = 11.9 at none."""
    line = fitted([1, 33], [12.0, 15.2])
    assert (line.slope, line.fixed) == pytest.approx((0.1, 11.9))
    assert line.spread is None
    assert line.slope_half is None


def test_one_place_makes_no_line():
    assert fitted([4, 4], [1.0, 2.0]) is None
    assert fitted([4], [1.0]) is None


@given(fixed=numbers, slope=numbers, xs=st.lists(st.integers(1, 500), min_size=2, max_size=12, unique=True))
def test_points_on_a_line_give_it_back(fixed, slope, xs):
    line = fitted(xs, [fixed + slope * x for x in xs])
    assert line.off is None
    assert line.slope == pytest.approx(slope, rel=1e-6)
    assert line.fixed == pytest.approx(fixed, rel=1e-6, abs=1e-6 * slope * max(xs))


@given(
    points=st.lists(st.tuples(st.integers(1, 500), numbers), min_size=2, max_size=10, unique_by=lambda one: one[0]),
    seed=st.integers(0, 99),
)
def test_the_order_of_points_changes_nothing(points, seed):
    mixed = points[:]
    random.Random(seed).shuffle(mixed)
    one, two = fitted(*zip(*points, strict=True)), fitted(*zip(*mixed, strict=True))
    assert (one.fixed, one.slope, one.spread, one.points) == (two.fixed, two.slope, two.spread, two.points)
    left = (points[one.off], mixed[two.off]) if one.off is not None and two.off is not None else (None, None)
    assert left[0] == left[1]


@given(
    fixed=numbers, slope=numbers, noise=st.floats(0, 1),
    points=st.lists(st.tuples(st.integers(1, 100), st.floats(-1, 1)), min_size=2, max_size=4, unique_by=lambda p: p[0]),
)  # fmt: skip
def test_noise_moves_the_slope_by_no_more_than_it_can(fixed, slope, noise, points):
    """slope = sum (x - mean) y / sum (x - mean)^2, so errors of e at most move it by e sum |x - mean| / sum (...)^2."""
    xs = [x for x, _ in points]
    mean = sum(xs) / len(xs)
    most = noise * sum(abs(x - mean) for x in xs) / sum((x - mean) ** 2 for x in xs)
    line = fitted(xs, [fixed + slope * x + noise * error for x, error in points])
    assert abs(line.slope - slope) <= most + 1e-6 * slope


def test_nineteen_of_twenty_intervals_hold_the_truth():
    """a + b n with normal noise, 1,000 times each at 3, 4 and 8 points: 95 % of the 95 % intervals hold a, and b.

    Three standard deviations of a count of 1,000 at 0.95 are 3 x sqrt(1,000 x 0.95 x 0.05) = 21.
    """
    drawn = random.Random(7)
    for xs in ([1, 8, 33], [1, 4, 16, 64], [1, 2, 4, 8, 16, 32, 48, 64]):
        drawn_lines = [fitted(xs, [11.9 + 0.1 * x + drawn.gauss(0, 0.2) for x in xs]) for _ in range(1000)]
        # of eight points one may be five deviations off the others by chance: it is left out, and said
        lines = [line for line in drawn_lines if line.off is None]
        assert len(lines) > 950
        fixed = 1000 / len(lines) * sum(abs(line.fixed - 11.9) <= line.fixed_half for line in lines)
        slope = 1000 / len(lines) * sum(abs(line.slope - 0.1) <= line.slope_half for line in lines)
        assert fixed == pytest.approx(950, abs=30)
        assert slope == pytest.approx(950, abs=30)


@pytest.mark.parametrize(("freedom", "value"), [(1, 12.706), (4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042)])
def test_students_t_is_that_of_the_tables(freedom, value):
    assert student(freedom) == pytest.approx(value, rel=0.003)


def test_a_point_between_others_that_is_off_is_left_out_and_named():
    xs = [1, 2, 4, 8, 16, 32]
    line = fitted(xs, [10.1, 10.2, 19.0, 10.8, 11.6, 13.2])
    assert line.off == 2
    assert (line.fixed, line.slope) == pytest.approx((10.0, 0.1))
