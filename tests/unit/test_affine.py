"""Linear forms act as the arrays that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.affine import Affine, elements, form, order
from rooflight.numeric import floor, largest_of, maximum, minimum, where

X, Y = np.array([1.0, 2.0, 5.0]), np.array([4.0, 0.0, 3.0])


def forms():
    return form(X), form(Y)


NUMBERS = st.integers(-1000, 1000).map(float)
DONE, WITH = st.sampled_from(["+", "-", "*", "/", "max", "min", "r-"]), st.sampled_from(["x", "y", "xy", "n"])
STEPS = st.lists(st.tuples(DONE, WITH, NUMBERS), min_size=1, max_size=6)


def applied(start, steps, others):
    value = start
    for what, of, number in steps:
        other = number if of == "n" else others[of]
        if what == "/":
            value = value / (number or 1.0)
        elif what == "*" and of == "xy":
            value = value * number
        else:
            value = {
                "+": lambda a, b: a + b, "-": lambda a, b: a - b, "r-": lambda a, b: b - a, "*": lambda a, b: a * b,
                "max": maximum, "min": minimum,
            }[what](value, other)  # fmt: skip
    return value


@given(STEPS)
def test_arithmetic_is_that_of_the_arrays(steps):
    x, y = forms()
    found = elements(applied(x, steps, {"x": x, "y": y, "xy": x * y}))
    wanted = applied(X, steps, {"x": X, "y": Y, "xy": X * Y})

    # sums cancel: what is lost is measured by the largest number on the way, 1000 x 15 for each step
    np.testing.assert_allclose(np.broadcast_to(found, X.shape), wanted, rtol=1e-12, atol=1e-12 * 15_000**6)


@given(st.lists(st.tuples(st.sampled_from(["x", "y", "xy"]), st.integers(-(10**6), 10**6)), max_size=6))
def test_whole_numbers_are_exact(terms):
    x, y = forms()
    lazy, plain = {"x": x, "y": y, "xy": x * y}, {"x": X, "y": Y, "xy": X * Y}

    found = sum((lazy[name] * factor for name, factor in terms), form(X) * 0 + 7)
    assert (np.broadcast_to(elements(found), X.shape) == sum((plain[n] * f for n, f in terms), X * 0 + 7)).all()


def test_sums_and_multiples_make_no_array():
    x, y = forms()
    found = (2 * x + 3 * x * y - y / 4 + 1) * 8

    assert isinstance(found, Affine)
    assert sorted(found.terms.values()) == [8 * -1 / 4, 8 * 2, 8 * 3]
    assert found.offset == 8
    assert (x * y).terms.keys() == (y * x).terms.keys()


def test_a_ratio_of_multiples_is_a_number():
    x, _ = forms()

    assert (6 * x) / (2 * x) == 3


def test_which_is_larger_is_known_where_it_is_so_everywhere():
    x, y = forms()

    assert order(x + 5, y) == 1  # 6..10 against 0..4
    assert order(x, x + 1) == -1
    assert order(x, x) == 0
    assert order(x, y) is None
    assert order(X, y) is None
    assert maximum(x, 0.5) is x
    assert minimum(x, 0.5) == 0.5
    assert (x > 0) is True
    assert (x < 0.5) is False
    assert (x > 2).tolist() == [False, False, True]


def test_the_largest_of_several_and_which_it_is():
    x, y = forms()
    best, index = largest_of(x * 0.5, y, 10 - x)

    assert elements(best).tolist() == [9, 8, 5]
    assert np.broadcast_to(index, 3).tolist() == [2, 2, 2]
    best, index = largest_of(x, y)
    assert best.tolist() == [4, 2, 5]
    assert index.tolist() == [1, 0, 0]


@pytest.mark.parametrize("ask", [np.sqrt, np.add.reduce, np.asarray, lambda a: np.where(a > 2, a, 0), lambda a: a**2])
def test_numpy_takes_them(ask):
    x, _ = forms()

    assert np.array_equal(ask(x), ask(X))


def test_the_elements_of_one():
    x, _ = forms()

    assert (x + 1)[1] == 3
    assert len(x) == 3
    assert x.shape == (3,)
    assert (x + 1).mean() == (2 + 3 + 6) / 3
    assert floor(x / 2).tolist() == [0, 1, 2]
    assert where(x > 2, x, 0.0).tolist() == [0, 0, 5]
    assert X @ np.asarray(x) == 30
    assert (X + x).tolist() == [2, 4, 10]
    assert (2**x).tolist() == [2, 4, 32]


def test_nothing_is_known_of_what_is_no_number():
    bad = form(np.array([1.0, np.nan]))

    assert order(bad, 0) is None
    assert np.isnan(elements(maximum(bad, 0))[1])


def test_arrays_without_elements():
    assert elements(maximum(form(np.zeros(0)) + 1, 3)).shape == (0,)
