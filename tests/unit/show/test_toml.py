"""Plain values as TOML, read again by Python's own reader."""

from __future__ import annotations

import tomllib

from rooflight.show.toml import text


def test_none_is_left_out_wherever_it_stands():
    value = {"a": None, "b": {"c": None, "d": 1}, "e": [{"f": None, "g": (1.5, 2e-7)}]}
    assert tomllib.loads(text(value)) == {"b": {"d": 1}, "e": [{"g": [1.5, 2e-7]}]}
