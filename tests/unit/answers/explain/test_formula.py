"""Formulas as text: worked out, and shown with names or with numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.answers.explain.formula import names, rendered, worked
from rooflight.answers.explain.relations import RELATIONS
from rooflight.words.quantities import QUANTITIES, called, shown, unit

amounts = st.floats(1e-3, 1e3)


@given(a=amounts, b=amounts, c=amounts)
def test_a_formula_is_worked_out_as_python_does(a, b, c):
    values = {"a": a, "b": b, "c": c}

    assert worked("a + b * (c - 1)", values) == a + b * (c - 1)
    assert worked("min(a, b * c) / max(b, c)", values) == min(a, b * c) / max(b, c)
    assert worked("1 / a - b", values) == 1 / a - b


@given(a=amounts, b=amounts, c=amounts)
def test_what_is_shown_keeps_its_brackets(a, b, c):
    """What a reader works out from the line with numbers is the value."""
    values = {"a": a, "b": b, "c": c}
    for formula in ("(a - b) / (c + 1)", "a * (b + c)", "a / b - c", "1 / a"):
        line = rendered(formula, lambda name: repr(values[name])).replace(" x ", " * ")
        assert worked(line, {}) == pytest.approx(worked(formula, values))


def test_nothing_but_arithmetic_is_worked_out():
    for text in ("__import__('os')", "a ** 2", "a.b", "a if b else c", "[1]", "'x'"):
        with pytest.raises((ValueError, KeyError)):
            worked(text, {"a": 1.0})


def test_names_are_those_of_the_formula():
    assert names("min(a, b * a) / 2") == ("a", "b")


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda one: f"{one.target} = {one.formula}")
def test_every_value_of_a_relation_has_a_unit_and_a_name(relation):
    for name in (relation.target, *names(relation.formula)):
        assert QUANTITIES[name][1]


# In units: what each base unit is made of, as powers of byte, FLOP, second, token, request.
BASES = {
    "s": {"s": 1}, "B": {"B": 1}, "B/s": {"B": 1, "s": -1}, "FLOP": {"F": 1}, "FLOP/s": {"F": 1, "s": -1},
    "FLOP/byte": {"F": 1, "B": -1}, "share": {}, "": {}, "requests/s": {"s": -1}, "tok/s": {"s": -1},
    "tokens": {}, "requests": {}, "sequences": {},
}  # fmt: skip


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda one: f"{one.target} = {one.formula}")
def test_the_units_of_a_formula_are_those_of_its_target(relation):
    """A second twice as long changes both sides alike, and so do a byte and a FLOP."""
    values = {name: 1.5 + len(name) / 7 for name in (*names(relation.formula), relation.target)}
    before = worked(relation.formula, values)
    for base in ("s", "B", "F"):
        scaled = {name: value * 3.0 ** BASES[unit(name)].get(base, 0) for name, value in values.items()}
        after = worked(relation.formula, scaled)
        assert after == pytest.approx(before * 3.0 ** BASES[unit(relation.target)].get(base, 0)), base


def test_a_value_is_shown_in_its_unit():
    assert shown("mbu", 0.7712) == "77 %"
    assert shown("mfu", 0.00451) == "0.45 %"
    assert shown("bytes_per_s", 776e9) == "776 GB/s"
    assert shown("output_tokens_per_s", 3000.0) == "3,000 tok/s"
    assert shown("decoding", 1.0) == "1 sequence"
    assert called("tpot_s") == "time per output token"
