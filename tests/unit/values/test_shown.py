"""Values show themselves in a few lines, and stay what they were: equal, frozen, copied."""

import copy
import pickle

import msgspec
import pytest
from rich.pretty import pretty_repr

import rooflight
from rooflight.values.shown import Brief

MODEL = "llama-3.1-8b"
ANSWER = rooflight.analyze(MODEL, on="h100-sxm")
# A line of a terminal, four times.
SHORT = 640
VALUES = {
    "Analysis": ANSWER,
    "Phase": ANSWER.phases["decode"],
    "Run": ANSWER.runs["served"],
    "MemoryBlock": ANSWER.memory,
    "ModelBlock": ANSWER.model,
    "AcceleratorBlock": ANSWER.accelerator,
    "OperatorBlock": ANSWER.phases["decode"].operators[0],
    "Span": ANSWER.phases["decode"].time_s,
    "Model": rooflight.model(MODEL),
    "Accelerator": rooflight.accelerator("h100-sxm"),
    "ModelCatalog": rooflight.models(),
    "AcceleratorCatalog": rooflight.accelerators(),
    "Sweep": rooflight.sweep(MODEL, "h100-sxm", {"batch": range(1, 500)}),
    "SweepBlock": next(iter(rooflight.sweep(MODEL, "h100-sxm", {"batch": range(1, 500)}))),
    "RunBlock": next(rooflight.sweep(MODEL, "h100-sxm", {"batch": range(1, 500)}).runs()),
    "Landmarks": rooflight.landmarks(MODEL, on="h100-sxm"),
    "Comparison": rooflight.compare(MODEL, on=["h100-sxm", "h200-sxm"]),
    "Compared": rooflight.compare(MODEL, on=["h100-sxm"]).compared[0],
    "Moves": rooflight.moves(MODEL, on="h100-sxm"),
    "Move": rooflight.moves(MODEL, on="h100-sxm").moves[0],
    "Outcome": rooflight.moves(MODEL, on="h100-sxm").before,
    "Report": rooflight.claim(MODEL, on="h100-sxm", tpot_ms=10.0),
    "Verdict": rooflight.claim(MODEL, on="h100-sxm", tpot_ms=10.0).rows[0],
}


@pytest.mark.parametrize("name", VALUES)
def test_a_repr_is_a_few_lines_and_names_its_type(name):
    text = repr(VALUES[name])

    assert len(text) <= SHORT
    assert isinstance(VALUES[name], getattr(rooflight, name))
    assert type(VALUES[name]).__name__ in text
    assert "\n" not in text


@pytest.mark.parametrize("name", VALUES)
def test_rich_shows_no_more_than_repr(name):
    if name in ("ModelCatalog", "AcceleratorCatalog"):
        assert len(pretty_repr(VALUES[name], max_length=3)) <= SHORT
    else:
        assert len("".join(pretty_repr(VALUES[name]).split())) <= SHORT


def test_every_field_that_a_repr_names_is_there():
    """One that is gone would make the repr raise."""
    waiting, structs = [Brief], set()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if issubclass(kind, msgspec.Struct):
            structs.add(kind.__name__)
            assert kind.brief, kind
            assert all(hasattr(kind, name) for name in kind.brief), kind
    named = {name for name, value in VALUES.items() if isinstance(value, Brief)} - {"Sweep"}
    assert {name for name in named if not name.endswith("Catalog")} <= structs


def test_a_value_is_equal_to_its_copies():
    for copied in (copy.copy(ANSWER), pickle.loads(pickle.dumps(ANSWER)), msgspec.structs.replace(ANSWER)):
        assert copied == ANSWER
    assert msgspec.structs.replace(ANSWER, answer="another") != ANSWER
    assert copy.copy(ANSWER.phases) == ANSWER.phases == pickle.loads(pickle.dumps(ANSWER.phases))


def test_parts_have_documents_of_their_own():
    whole = ANSWER.to_dict()

    assert ANSWER.phases["decode"].to_dict() == whole["phases"]["decode"]
    assert ANSWER.runs["alone"].to_dict() == whole["runs"]["alone"]
    assert ANSWER.memory.to_dict() == whole["memory"]
