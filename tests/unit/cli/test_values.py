"""Option values read from text."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.cli import ranges, values
from rooflight.errors import BadInput, UnknownName


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("32", 32),
        ("4_096", 4096),
        ("4,096", 4096),
        ("1,048,576", 2**20),
        (" 7 ", 7),
        ("-3", -3),
        ("2.5", 2.5),
    ],
)
def test_whole(text, number):
    """What is a number but not whole, or not positive, is left for the check of the value it becomes."""
    assert values.whole(text, "--batch") == number


@pytest.mark.parametrize(("text", "digits"), [("1e3", "1000"), ("+4", "4"), ("4.0", "4"), ("٤", "4")])
def test_other_spellings_are_refused_with_the_digits_as_in_a_sweep(text, digits):
    with pytest.raises(BadInput) as caught:
        values.whole(text, "--batch")
    assert caught.value.try_this == digits
    with pytest.raises(BadInput):
        ranges.numbers(text, "--batch")


def test_huge_and_odd_numbers_stay_numbers():
    assert values.whole("1e99", "--batch") == 1e99
    assert values.whole("9" * 400, "--batch") == math.inf
    assert math.isnan(values.whole("nan", "--batch"))


@pytest.mark.parametrize("text", ["x", "", "4,09", "4__0", "4_", "12;3", "0x10", "8 k k"])
def test_not_a_number(text):
    with pytest.raises(BadInput) as caught:
        values.whole(text, "--isl")
    assert caught.value.where == "--isl"


@pytest.mark.parametrize(
    ("text", "hint"), [("8k", "8000 or 8192"), ("1M", "1000000 or 1048576"), ("2Ki", "2000 or 2048")]
)
def test_prefixes_are_refused_with_both_readings(text, hint):
    with pytest.raises(BadInput) as caught:
        values.whole(text, "--context")
    assert caught.value.try_this == hint


def test_share():
    assert values.share("0.85", "--gpu-memory-utilization") == 0.85
    with pytest.raises(BadInput) as caught:
        values.share("90%", "--gpu-memory-utilization")
    assert caught.value.try_this == "0.9"


@pytest.mark.parametrize("text", ["x", "nan", "inf", "-1", "24 GB"])
def test_amount_refuses(text):
    with pytest.raises(BadInput):
        values.amount(text, "--memory-min")


def test_one_of_suggests():
    assert values.one_of("NVIDIA", ("amd", "nvidia"), "--vendor") == "nvidia"
    with pytest.raises(UnknownName) as caught:
        values.one_of("nvida", ("amd", "nvidia"), "--vendor")
    assert caught.value.try_this == "nvidia"


@given(st.text(max_size=40))
def test_any_text_is_a_number_or_refused(text):
    with suppress(BadInput):
        assert isinstance(values.whole(text, "--batch"), int | float)
