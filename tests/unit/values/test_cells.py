"""Cells that a spreadsheet would run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.values.cells import harmless, plain


@pytest.mark.parametrize(
    "cell", ["=1+1", "+x", "-x", "@SUM(A1)", "\tx", "\rx", "\n=x", "-", "--1", "-inf", "- 1", "+1,5"]
)
def test_a_formula_is_written_with_an_apostrophe(cell):
    assert harmless(cell) == "'" + cell


@pytest.mark.parametrize("cell", ["", "-3.5", "+1", "-1e-5", "x=1", "llama-3", "'x", " =x", "1-2"])
def test_numbers_and_other_texts_stay(cell):
    assert harmless(cell) == cell == plain(cell)


@given(st.text(alphabet="=+-@\t\r'1x", max_size=5))
def test_what_was_written_is_read_again(cell):
    """Up to an apostrophe that was there already in front of a formula: both are one cell, before and after."""
    assert plain(harmless(plain(cell))) == plain(cell)
