"""Choices that work alike on numbers and on arrays."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.numeric import floor, is_plain, largest_of, maximum, minimum, where

numbers = st.floats(-1e9, 1e9) | st.integers(-(10**9), 10**9)


@given(a=numbers, b=numbers)
def test_of_two_numbers(a, b):
    assert maximum(a, b) == max(a, b)
    assert minimum(a, b) == min(a, b)
    assert type(maximum(a, b)) in (int, float)


@given(a=st.floats(-1e9, 1e9))
def test_floor_goes_down(a):
    """Below zero too."""
    assert floor(a) <= a < floor(a) + 1
    assert floor(a) == np.floor(a) == floor(np.array([a]))[0]


@given(values=st.lists(numbers, min_size=1, max_size=5))
def test_the_first_of_equal_largest_is_named(values):
    assert largest_of(*values) == (max(values), values.index(max(values)))


@given(rows=st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, 2.0])] * 4), min_size=1, max_size=6))
def test_arrays_name_the_largest_as_numbers_do(rows):
    columns = tuple(np.array(column) for column in zip(*rows, strict=True))

    best, index = largest_of(*columns)
    assert list(zip(best.tolist(), index.tolist(), strict=True)) == [largest_of(*row) for row in rows]


def test_a_number_among_arrays_broadcasts():
    column, row = np.array([[0.0], [3.0]]), np.array([1.0, 2.0, 5.0])

    assert largest_of(column, row, 2)[1].tolist() == [[2, 1, 1], [0, 0, 1]]
    assert maximum(column, row).tolist() == [[1, 2, 5], [3, 3, 5]]
    assert minimum(2, row).tolist() == [1, 2, 2]


def test_where_chooses_by_a_truth_value_or_elementwise():
    assert where(True, 1, 2) == 1
    assert where(False, 1, 2) == 2
    assert where(np.array([True, False]), 1, np.array([5, 6])).tolist() == [1, 6]


@pytest.mark.parametrize(
    ("values", "plain"),
    [((1, 2.5), True), ((np.float64(1),), True), ((1, np.array([2])), False), ((np.array(1.0),), False), ((), True)],
)
def test_what_counts_as_plain(values, plain):
    assert is_plain(*values) is plain


def test_one_point_does_not_pay_for_numpy():
    code = (
        "import sys; from rooflight.numeric import *; import rooflight.numeric as n; "
        "n.maximum(1, 2); n.minimum(1, 2); n.floor(1.5); n.where(True, 1, 2); n.largest_of(1, 2); "
        "print('numpy' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
