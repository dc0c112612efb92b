"""Every kind of finding of fits and of single runs has its sentence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

import rooflight.answers.diagnose
from rooflight.answers.diagnose.fitted.series import Axis
from rooflight.answers.diagnose.timed.oddities import Kind, Odd
from rooflight.values.diagnosis import Bound
from rooflight.words.diagnosis import benchmarks, fits, series

SOURCES = [
    path.read_text() for path in Path(next(iter(rooflight.answers.diagnose.__path__))).rglob("*.py")
]  # fmt: skip
# The words in said="...", or said="..." if ... else "...", that are no ceilings.
SAID = {
    word
    for text in SOURCES
    for said in re.findall(r"said=([^,\n]*)", text)
    for word in re.findall(r'"([\w-]+)"', said)
    if word not in get_args(Bound)
}


def test_each_has_a_sentence():
    known = fits._SAID.keys() | benchmarks._SAID.keys()
    assert {"split", "slower", "overload", "uncounted"} < SAID
    assert known >= SAID


@pytest.mark.parametrize("kind", get_args(Kind))
def test_each_oddity_has_words_whatever_is_known_of_it(kind):
    for odd in (Odd(kind, 0.5, 2.0), Odd(kind)):
        said = benchmarks.odd_words(odd)
        assert said
        assert "None" not in said


def test_each_axis_and_each_ceiling_has_a_name():
    assert all(series.along(axis) for axis in get_args(Axis))
    assert all(series.bound_words(bound) for bound in get_args(Bound))


def test_shares_are_whole_per_cent():
    assert series.percent(0.217) == "22 %"
