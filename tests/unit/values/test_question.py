"""The table of a question's fields, and what is written down beside it because a type checker runs nothing."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Sequence
from typing import get_args, get_type_hints

import numpy as np
import pytest

import rooflight
from rooflight import Deployment, Workload
from rooflight.errors import BadInput, UnknownName
from rooflight.values.field import Field
from rooflight.values.question import FIELDS, Fields, SeveralFields, asked, split, swept

# Filled in by a scenario, asked by nobody.
FILLED = "media_tokens"
# Your own calibration: a value of its own, given beside the question and never by a visitor of a page.
BESIDE = "calibration"
ASKED = [name for name in Workload.__struct_fields__ if name != FILLED]
LAID_OUT = [name for name in Deployment.__struct_fields__ if name != BESIDE]
HINTS = {**get_type_hints(Workload), **get_type_hints(Deployment)}
del HINTS[FILLED], HINTS[BESIDE]


def test_every_field_of_the_two_values_is_in_the_table():
    assert list(FIELDS) == [*ASKED, *LAID_OUT]
    assert len(FIELDS) == 66
    assert all(getattr(Workload(), name, None) == FIELDS[name].default for name in ASKED)
    assert all(getattr(Deployment(), name, None) == FIELDS[name].default for name in LAID_OUT)


@pytest.mark.parametrize("field", FIELDS.values(), ids=list(FIELDS))
def test_a_row_is_whole(field):
    assert field.words.endswith((".", "..."))
    assert field.checked(field.default) == field.default
    assert bool(field.choices) == (field.kind == "choice")
    assert bool(field.unit) == (field.kind in ("count", "degree", "rate", "amount") or field.name == "cpu_offload_gb")
    assert field.option.startswith("--")
    assert "_" not in field.option


def test_no_two_fields_share_a_spelling():
    spellings = [name for field in FIELDS.values() for name in (field.option, *field.aliases)]
    assert len(spellings) == len(set(spellings))


def test_the_keywords_written_for_type_checkers_are_those_of_the_table():
    assert get_type_hints(Fields) == HINTS


def test_the_keywords_of_compare_take_lists_where_a_value_makes_a_deployment():
    """`batch` is an argument of its own there."""
    several = swept("deployments", "rows")
    keywords = get_type_hints(SeveralFields)

    assert set(keywords) == set(FIELDS) - {"batch"}
    for name, hint in keywords.items():
        expected = HINTS[name] | Sequence[HINTS[name]] if name in several else HINTS[name]
        assert set(get_args(hint)) == set(get_args(expected))
        assert get_args(hint) or hint == expected


@pytest.mark.parametrize("function", ["analyze", "sweep", "moves", "compare"])
def test_signatures_and_help_show_every_field(function):
    """What runs the code, a notebook's Shift-Tab among them, sees what a type checker sees."""
    shown = inspect.signature(getattr(rooflight, function)).parameters

    assert set(FIELDS) <= set(shown)
    for name in set(FIELDS) - {"batch"}:
        assert shown[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert shown[name].default == FIELDS[name].default
    assert FIELDS["kv_cache"].words in inspect.getdoc(getattr(rooflight, function))


def test_axes():
    """A dimension each, a deployment each, and whose habits."""
    assert swept("points") == ("batch", "prefill_batch", "isl", "osl", "context")
    assert swept("deployments") == ("tp", "pp", "ep", "dp", "weights", "kv_cache")
    assert swept("rows") == ("engine",)


def test_fields_by_name_stand_on_top_of_those_given_whole():
    load, layout = asked(Workload(batch=8, isl=7), Deployment(pp=2), {"batch": 3, "weights": "fp8"})

    assert load == Workload(batch=3, isl=7)
    assert layout == Deployment(pp=2, weights="fp8")


def test_an_unknown_field_is_told_its_near_names():
    with pytest.raises(UnknownName) as caught:
        split({"batch": 1, "kv_cahce": "fp8"})

    assert caught.value.got == "kv_cahce"
    assert "kv_cache" in caught.value.try_this
    assert "gpu_memory_utilization" in caught.value.want


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch", 0), ("batch", np.array([1, 0])), ("batch", "8"), ("context", -1), ("chunk_tokens", 2**41), ("tp", 0),
        ("dp", 2**21), ("dp", 4.0), ("gpu_memory_utilization", 0), ("gpu_memory_utilization", "0.9"), ("weights", 8),
        ("engine", b"vllm"), ("attention", "fast"), ("attention", None), ("graphs", 1), ("pp", None), ("isl", None),
        ("n_gpu_layers", "20"), ("n_gpu_layers", float("nan")), ("n_gpu_layers", 1.5), ("n_cpu_moe", True),
        ("n_cpu_moe", -1), ("cpu_offload_gb", True), ("cpu_offload_gb", -1), ("cpu_offload_gb", float("nan")),
    ],
)  # fmt: skip
def test_a_value_out_of_bounds_is_refused_with_the_fields_name(name, value):
    with pytest.raises(BadInput) as caught:
        FIELDS[name].checked(value)

    assert caught.value.where.fields == (name,)


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("batch", 8.0, 8), ("batch", np.int64(8), 8), ("context", 0, 0), ("context", None, None), ("tp", None, None),
        ("tp", np.int32(2), 2), ("gpu_memory_utilization", 1, 1.0), ("graphs", np.bool_(False), False),
        ("weights", np.str_("fp8"), "fp8"),
    ],
)  # fmt: skip
def test_a_value_is_kept_in_its_own_type(name, value, kept):
    found = FIELDS[name].checked(value)

    assert found == kept
    assert type(found) is type(kept)


def test_a_field_is_an_option_of_its_name():
    assert Field(words="x", name="kv_cache").option == "--kv-cache"
    assert Field(words="x", name="graphs", spelled="--eager").option == "--eager"


@pytest.mark.parametrize(
    ("asking", "named"),
    [
        (lambda: rooflight.analyze("llama-3.1-8b", ["h100"]), "on"),
        (lambda: rooflight.analyze("llama-3.1-8b", "h100", workload=5), "workload"),
        (lambda: rooflight.compare("llama-3.1-8b", []), "on"),
        (lambda: rooflight.compare("llama-3.1-8b", ["h100"], prices={"h100": -1}), 'prices={"h100": -1}'),
        (lambda: rooflight.sweep("llama-3.1-8b", [], {"batch": [1]}), "on"),
        (lambda: Deployment(attention=np.array(["flash"])), "attention"),
        (lambda: Deployment(attention=np.array([1, 2])), "attention"),
        (lambda: Deployment(gpu_memory_utilization=1 << 2000), "gpu_memory_utilization"),
        (
            lambda: rooflight.compare("llama-3.1-8b", ["h100"], prices={"h100": 1 << 2000}),
            f'prices={{"h100": {1 << 2000}}}',
        ),
        (lambda: rooflight.moves("llama-3.1-8b", "h100", prices={"h100": 10**400}), f'prices={{"h100": {10**400}}}'),
        (lambda: rooflight.check(5), "source"),
    ],
)
def test_what_is_of_no_such_kind_is_refused_by_its_name(asking, named):
    with pytest.raises(BadInput) as caught:
        asking()

    assert caught.value.where == named


def test_a_choice_is_kept_as_the_table_spells_it():
    class Kernel(str, enum.Enum):  # noqa: UP042 - its str() is no value
        NAIVE = "naive"

    assert type(Deployment(attention=Kernel.NAIVE).attention) is str
    assert Deployment(attention=Kernel.NAIVE) == Deployment(attention="naive")
