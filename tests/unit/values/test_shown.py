"""Values show themselves in a few lines, and stay what they were: equal, frozen, copied."""

import copy
import functools
import pickle

import msgspec
import pytest
from rich.pretty import pretty_repr

import rooflight
from rooflight.values.shown import Brief

MODEL = "llama-3.1-8b"
# A line of a terminal, four times.
SHORT = 640


@functools.cache
def asked(name, **options):
    return getattr(rooflight, name)(MODEL, on="h100-sxm", **options)


@functools.cache
def swept():
    return rooflight.sweep(MODEL, "h100-sxm", {"batch": range(1, 500)})


def answer():
    return asked("analyze")


MAKERS = {
    "Analysis": answer,
    "Phase": lambda: answer().phases["decode"],
    "Run": lambda: answer().runs["served"],
    "MemoryBlock": lambda: answer().memory,
    "ModelBlock": lambda: answer().model,
    "AcceleratorBlock": lambda: answer().accelerator,
    "OperatorBlock": lambda: answer().phases["decode"].operators[0],
    "Span": lambda: answer().phases["decode"].time_s,
    "Model": lambda: rooflight.model(MODEL),
    "Accelerator": lambda: rooflight.accelerator("h100-sxm"),
    "ModelCatalog": rooflight.models,
    "AcceleratorCatalog": rooflight.accelerators,
    "Sweep": swept,
    "SweepBlock": lambda: next(iter(swept())),
    "RunBlock": lambda: next(swept().runs()),
    "Landmarks": lambda: asked("landmarks"),
    "Comparison": lambda: rooflight.compare(MODEL, on=["h100-sxm", "h200-sxm"]),
    "Compared": lambda: rooflight.compare(MODEL, on=["h100-sxm"]).compared[0],
    "Moves": lambda: asked("moves"),
    "Move": lambda: asked("moves").moves[0],
    "Outcome": lambda: asked("moves").before,
    "Report": lambda: asked("claim", tpot_ms=10.0),
    "Verdict": lambda: asked("claim", tpot_ms=10.0).rows[0],
}


@functools.cache
def value(name):
    return MAKERS[name]()


@pytest.mark.parametrize("name", MAKERS)
def test_a_repr_is_a_few_lines_and_names_its_type(name):
    text = repr(value(name))

    assert len(text) <= SHORT
    assert isinstance(value(name), getattr(rooflight, name))
    assert type(value(name)).__name__ in text
    assert "\n" not in text


@pytest.mark.parametrize("name", MAKERS)
def test_rich_shows_no_more_than_repr(name):
    if name in ("ModelCatalog", "AcceleratorCatalog"):
        assert len(pretty_repr(value(name), max_length=3)) <= SHORT
    else:
        assert len("".join(pretty_repr(value(name)).split())) <= SHORT


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
    named = {name for name in MAKERS if isinstance(value(name), Brief)} - {"Sweep"}
    assert {name for name in named if not name.endswith("Catalog")} <= structs


def test_a_value_is_equal_to_its_copies():
    made = answer()
    for copied in (copy.copy(made), pickle.loads(pickle.dumps(made)), msgspec.structs.replace(made)):
        assert copied == made
    assert msgspec.structs.replace(made, answer="another") != made
    assert copy.copy(made.phases) == made.phases == pickle.loads(pickle.dumps(made.phases))


def test_parts_have_documents_of_their_own():
    made = answer()
    whole = made.to_dict()

    assert made.phases["decode"].to_dict() == whole["phases"]["decode"]
    assert made.runs["alone"].to_dict() == whole["runs"]["alone"]
    assert made.memory.to_dict() == whole["memory"]
