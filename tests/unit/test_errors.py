"""Errors say what is wrong, where, what was got, what is wanted and what to try; the parts stay apart."""

from __future__ import annotations

import re

import pytest

from rooflight import errors
from rooflight.errors import BadConfig, BadInput, MissingExtra, MissingFact, Named, RooflightError, UnknownName

ALL = [BadInput, UnknownName, BadConfig, MissingExtra, MissingFact]


@pytest.mark.parametrize("kind", ALL)
def test_all_are_rooflight_errors(kind):
    """One except clause catches whatever rooflight raises on purpose."""
    assert issubclass(kind, RooflightError)


def test_the_tree_in_the_docstring_is_the_tree():
    drawn = set(re.findall(r"\b([A-Z]\w+(?:Error|Input|Name|Config|Extra|Fact|State|There|Answer))\b", errors.__doc__))
    types = {name: value for name, value in vars(errors).items() if isinstance(value, type)}
    defined = {name for name, value in types.items() if issubclass(value, Exception)}

    assert drawn == defined


@pytest.mark.parametrize(
    ("kind", "status"), [(BadInput, 2), (UnknownName, 2), (BadConfig, 2), (MissingExtra, 2), (MissingFact, 3)]
)
def test_exit_status_tells_bad_questions_from_missing_facts(kind, status):
    assert kind("x").exit_status == status


def test_a_missing_fact_is_no_bad_input():
    """The question was fine."""
    assert not issubclass(MissingFact, BadInput)


def test_the_text_shows_every_part_on_a_line():
    error = MissingFact("no fp4 peak", where="card.toml", got="bf16, fp8", want="a fact", try_this="--compute bf16")

    assert str(error).splitlines() == [
        "no fp4 peak",
        "  at    card.toml",
        "  got   bf16, fp8",
        "  want  a fact",
        "  try   --compute bf16",
    ]


def test_a_name_is_a_keyword_in_python_and_an_option_where_options_are_given():
    """What a caller gave in between is text, whatever it looks like."""

    def dashed(name, value):
        return f"--{name}" if value is None else f"--{name} {value}"

    odd = Named("{on}, {tp} or {dp}", on="{tp}", tp=4)
    error = BadInput("wrong", where=Named.of("pp", "dp"), got="{tp}", try_this=odd)

    assert error.where == "pp, dp"
    assert error.where.fields == ("pp", "dp")
    assert error.to_dict()["try"] == 'on="{tp}", tp=4 or dp'
    error.spell(dashed)
    assert error.to_dict() | {"error": 0} == {
        "error": 0, "what": "wrong", "where": "--pp, --dp", "got": "{tp}", "want": None,
        "try": "--on {tp}, --tp 4 or --dp",
    }  # fmt: skip


def test_a_named_mapping_is_written_as_one():
    assert Named("{prices}", prices={"h100": 2.5, "l4": "USD"}) == 'prices={"h100": 2.5, "l4": USD}'


def test_parts_that_are_not_known_are_left_out():
    assert str(BadInput("wrong")) == "wrong"
    assert str(BadInput("wrong", got=0)).splitlines() == ["wrong", "  got   0"]  # zero is something


def test_the_parts_are_there_for_json():
    error = UnknownName("no such model", where="MODEL", got=["lama"], want="an id", try_this="llama")

    assert error.to_dict() == {
        "error": "UnknownName",
        "what": "no such model",
        "where": "MODEL",
        "got": "['lama']",
        "want": "an id",
        "try": "llama",
    }


def test_the_exceptions_own_argument_is_the_plain_sentence():
    assert BadConfig("not JSON", where="config.json").args == ("not JSON",)
