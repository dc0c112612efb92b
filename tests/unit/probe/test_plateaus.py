"""Steps in a curve of rates."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.probe.plateaus import Plateau, plateaus

# L1, L2, L3 and memory of a server, some working sets each, with a slope between.
SERVER = [1000, 1050, 980, 1020, 700, 480, 500, 510, 490, 300, 205, 200, 210, 195, 120, 90, 92]


def test_a_servers_caches_are_four_steps():
    assert [(one.first, one.last) for one in plateaus(SERVER)] == [(0, 3), (5, 8), (10, 13), (15, 16)]
    assert [one.rate for one in plateaus(SERVER)] == [1010, 495, 202.5, 91]  # medians


def test_an_even_curve_is_one_step():
    assert plateaus([100, 103, 98, 101]) == (Plateau(0, 3, 100.5),)


def test_nothing_has_no_steps():
    assert plateaus([]) == ()


@given(
    levels=st.lists(st.integers(3, 6), min_size=1, max_size=4),
    ratio=st.floats(1.6, 5.0),
    noise=st.lists(st.floats(0.97, 1.03), min_size=24, max_size=24),
)
def test_steps_far_apart_are_found_through_noise(levels, ratio, noise):
    """Each of some points, a factor apart, points off by three percent: as many steps, each of its points."""
    rates = [1000 / ratio**level for level, points in enumerate(levels) for _ in range(points)]
    found = plateaus([rate * off for rate, off in zip(rates, noise, strict=False)])
    firsts = [sum(levels[:i]) for i in range(len(levels))]
    assert [(one.first, one.last) for one in found] == [
        (first, first + points - 1) for first, points in zip(firsts, levels, strict=True)
    ]


@given(st.lists(st.floats(1.0, 1e12), min_size=1, max_size=20))
def test_steps_are_in_order_and_do_not_overlap(rates):
    found = plateaus(rates)  # none, where all is slope
    for one in found:
        assert 0 <= one.first <= one.last < len(rates)
        assert min(rates) <= one.rate <= max(rates)
    for before, after in itertools.pairwise(found):
        assert before.last < after.first


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_do_not_matter(factor):
    scaled = plateaus([rate * factor for rate in SERVER])
    assert [(one.first, one.last) for one in scaled] == [(one.first, one.last) for one in plateaus(SERVER)]
