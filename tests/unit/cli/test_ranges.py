"""Lists and ranges of a sweep, as written on the command line."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.cli import ranges
from rooflight.errors import BadInput


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("7", [7]),
        ("1,2,4,8", [1, 2, 4, 8]),
        ("1:4", [1, 2, 3, 4]),
        ("1:512:x2", [2**power for power in range(10)]),  # 512 is hit, so it is in
        ("1:500:x2", [2**power for power in range(9)]),  # 512 is beyond
        ("128:512:128", [128, 256, 384, 512]),
        ("128:512:+128", [128, 256, 384, 512]),
        ("128:500:+128", [128, 256, 384]),
        ("5:5", [5]),
        ("1:10:x1.5", [1, 2, 3, 5, 8]),  # 1, 1.5, 2.25, 3.375, 5.06, 7.59 rounded, each once
        ("1,2,4:64:x4", [1, 2, 4, 16, 64]),
        ("2,2,1", [2, 1]),
        ("1_024,2_048", [1024, 2048]),
        (" 1 , 2 ", [1, 2]),
    ],
)
def test_numbers(text, values):
    assert list(ranges.numbers(text, "--batch")) == values


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "whole number"),
        ("x", "whole number"),
        ("1,,2", "whole number"),
        ("-3", "whole number"),
        ("nan", "whole number"),
        ("1e3", "whole number"),
        ("1:2:3:4", "4 parts"),
        ("8:1", "above"),
        ("1:8:x1", "does not grow"),
        ("1:8:x", "does not grow"),
        ("1:8:xnan", "does not grow"),
        ("1:8:x-2", "does not grow"),
        ("0:8:x2", "stays 0"),
        ("1:8:0", "never arrives"),
        ("1:8:-1", "whole number"),
        ("9" * 40, "whole number"),
        ("1:1000000000000", "too many"),
        ("1,024", "reads as a list"),
    ],
)
def test_refused_in_words(text, word):
    with pytest.raises(BadInput) as caught:
        ranges.numbers(text, "--batch")
    assert word in caught.value.what
    assert caught.value.where == "--batch"


def test_a_prefix_is_refused_with_both_readings():
    with pytest.raises(BadInput) as caught:
        ranges.numbers("8k", "--context")
    assert caught.value.try_this == "8000 or 8192"


def test_thousands_with_a_comma_get_a_hint():
    with pytest.raises(BadInput) as caught:
        ranges.numbers("1,024", "--isl")
    assert caught.value.try_this == "1024"


def test_names():
    assert ranges.names("fp8, bf16,fp8", "--weights") == ("fp8", "bf16")
    with pytest.raises(BadInput):
        ranges.names("fp8,,bf16", "--weights")


def test_points_are_limited_and_counted():
    assert ranges.check_points({"batch": 1000, "context": 1000, "accelerators": 1}) == 1_000_000
    with pytest.raises(BadInput) as caught:
        ranges.check_points({"batch": 100_000, "context": 1000, "tp": 1})
    assert "100,000,000 points" in caught.value.what
    assert caught.value.got == "100,000 of batch x 1,000 of context"


@given(start=st.integers(1, 1000), length=st.integers(0, 1000), step=st.integers(1, 50))
def test_arithmetic_ranges_hold_what_they_say(start, length, step):
    """Every value lies in the range, neighbours are a step apart, and one more step would leave it."""
    values = list(ranges.numbers(f"{start}:{start + length}:{step}", "--batch"))
    assert values[0] == start
    assert all(later - earlier == step for earlier, later in pairwise(values))
    assert start + length - step < values[-1] <= start + length


@given(start=st.integers(1, 100), stop=st.integers(100, 10**6), factor=st.floats(1.01, 10))
def test_geometric_ranges_grow_to_the_end(start, stop, factor):
    values = list(ranges.numbers(f"{start}:{stop}:x{factor}", "--batch"))
    assert values == sorted(set(values))
    assert values[0] == start
    assert values[-1] <= stop


@given(st.text(max_size=40))
def test_any_text_is_numbers_or_refused(text):
    with suppress(BadInput):
        assert all(0 <= value <= ranges.LARGEST for value in list(ranges.numbers(text, "--batch"))[:1000])
