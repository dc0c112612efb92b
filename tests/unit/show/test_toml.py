"""Plain values as TOML, read again by Python's own reader."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from rooflight.show.toml import text

# TOML has no word for half a surrogate pair.
texts = st.text(st.characters(exclude_categories=("Cs",)))
scalars = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), texts
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(scalars), st.dictionaries(texts, inner), st.lists(st.dictionaries(texts, inner))),
    max_leaves=12,
)


@given(st.dictionaries(texts, values))
def test_what_is_written_is_read_again(value):
    assert tomllib.loads(text(value)) == value


def test_none_is_left_out():
    assert text({"a": None, "b": {"c": None, "d": 1}}) == "[b]\nd = 1\n"


def test_long_lists_go_over_lines():
    written = text({"seconds": [i + 0.5 for i in range(100)]})
    assert max(map(len, written.splitlines())) <= 120
    assert tomllib.loads(written)["seconds"] == [i + 0.5 for i in range(100)]
