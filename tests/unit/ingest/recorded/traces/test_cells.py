"""Numbers and units as profilers print them."""

from __future__ import annotations

import pytest

from rooflight.ingest.recorded.traces.cells import decimal_commas, number, timing, unit


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("54,207,744", 54_207_744), ("97.32", 97.32), ("1,234 (600; 634)", 1234), ("45.5%", 45.5), ("n/a", None),
        ("[N/A]", None), ("", None), ("nan", None), ("inf", None), ("1e3", 1000), ("1 234 567", 1_234_567),
        ("words", None),
    ],
)  # fmt: skip
def test_numbers(text, value):
    assert number(text) == value


@pytest.mark.parametrize(("text", "value"), [("97,32", 97.32), ("1.234.567", 1_234_567), ("1.234,5", 1234.5)])
def test_numbers_with_decimal_commas(text, value):
    assert number(text, commas=True) == value


@pytest.mark.parametrize(
    ("cells", "commas"),
    [
        (["1,234"], False), (["97,32"], True), (["97,32", "1.234"], True), (["97.32", "1,234"], False),
        (["1,342,177,280", "7"], False), (["0,125"], True), ([], False),
    ],
)  # fmt: skip
def test_decimal_commas_need_a_number_that_can_be_nothing_else(cells, commas):
    assert decimal_commas(cells) is commas


@pytest.mark.parametrize(
    ("text", "base", "factor"),
    [
        ("byte", "B", 1), ("Kbyte", "B", 1e3), ("Gbyte/second", "B/s", 1e9), ("Tbyte/s", "B/s", 1e12), ("%", "%", 0.01),
        ("nsecond", "s", 1e-9), ("us", "s", 1e-6), ("cycle/nsecond", "Hz", 1e9), ("Ghz", "Hz", 1e9),
        ("byte/ns", "B/s", 1e9), ("inst", "inst", 1), ("", "", 1),
    ],
)  # fmt: skip
def test_units(text, base, factor):
    found = unit(text)

    assert found is not None
    assert found == (base, pytest.approx(factor))


def test_eight_of_ten_runs_lie_between():
    """Of 1 to 11 the median is 6; the second and the last but one hold nine, eight of ten lie between."""
    found = timing([float(n) for n in range(11, 0, -1)])

    assert (found.low, found.median, found.high, found.n) == (2, 6, 10, 11)


def test_the_median_of_two_is_between_them():
    assert timing([1.0, 3.0]).median == 2
