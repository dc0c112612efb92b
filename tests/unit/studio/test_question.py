"""A question's fields in the schema, with the studio's own limits."""

from __future__ import annotations

import functools
import json

import pytest

import rooflight
from rooflight.studio.app import make_app
from rooflight.studio.question import MOST, Change, Question, bounds
from rooflight.values.question import FIELDS


def test_every_field_may_be_asked_and_may_have_been_different():
    assert len(FIELDS) == 66
    assert set(Question.model_fields) == {
        *FIELDS, "model", "config", "machine", "samples", "cards", "focus", "bandwidth_times", "peak_times", "before",
    }  # fmt: skip
    assert set(Change.model_fields) == {*FIELDS, "model"}


def test_defaults_are_the_librarys_but_for_tp():
    """A card is asked about without a count, and the page shows its number."""
    different = {name for name, field in FIELDS.items() if Question.model_fields[name].default != field.default}

    assert different == {"tp"}
    assert Question().asked()[1].tp == 1


@functools.cache
def properties():
    return make_app().openapi()["components"]["schemas"]["Question"]["properties"]


@pytest.mark.parametrize(("name", "field"), FIELDS.items())
def test_the_schema_says_limits_and_words(name, field):
    shown = properties()[name]
    told = next((one for one in shown.get("anyOf", [shown]) if one.get("type") != "null"), shown)
    least, most = bounds(field)

    assert told["description"].startswith(field.words)
    if field.kind in ("count", "degree"):
        assert (told["minimum"], told["maximum"]) == (least, most)
        assert most == MOST[field.unit] < field.most
    if field.choices:
        assert tuple(told["enum"]) == field.choices


def test_what_was_before_may_have_been_the_default():
    now = Question(context=5, engine="vllm", dp=2, before=Change(context=-1, engine="auto", dp=1, kv_cache="auto"))
    load, layout = now.as_before().asked()

    assert load.context is None
    assert (layout.engine, layout.dp, layout.kv_cache) == (None, 1, None)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"batch": 1 << 17}, "batch"), ({"isl": 1 << 23}, "isl"), ({"tp": 1025}, "tp"), ({"pp": 0}, "pp"),
        ({"gpu_memory_utilization": 0}, "gpu_memory_utilization"), ({"graphs": "perhaps"}, "graphs"),
        ({"attention": "fast"}, "attention"), ({"draft_tokens": -1}, "draft_tokens"), ({"tp": None}, "tp"),
        ({"cached_prefix": 1024}, "cached_prefix"), ({"chunk_tokens": 2000}, "chunk_tokens"), ({"pp": 99}, "pp"),
        ({"ep": 2}, "ep"), ({"activations": "bf17"}, "activations"), ({"engine": "none"}, "engine"),
        ({"compute": "nf4"}, "compute"), ({"kv_cache": "fp9"}, "kv_cache"),
    ],
)  # fmt: skip
def test_a_refusal_belongs_to_its_field(studio, body, field):
    problem = studio.post("/api/analyze", body).json()["problems"][0]

    assert problem["field"] == field
    assert "--" not in f"{problem['where']} {problem['try']}"


def test_a_draft_of_the_catalog_is_that_of_the_library(studio):
    body = {"draft_model": "llama-3.2-1b", "draft_tokens": 4}
    found = studio.post("/api/analyze", body).json()

    assert found == json.loads(json.dumps(rooflight.analyze(Question().model, "h100-sxm", **body).to_dict()))


@pytest.mark.parametrize("name", ["./config.json", "/etc/passwd", "no-such-model", "org/not-there"])
def test_a_draft_is_no_path_and_nothing_is_fetched(studio, name):
    problem = studio.post("/api/analyze", {"draft_model": name, "draft_tokens": 4}).json()["problems"][0]

    assert problem["field"] == "draft_model"


def test_a_draft_without_tokens_is_refused(studio):
    assert studio.post("/api/analyze", {"draft_model": "llama-3.2-1b"}).json()["problems"][0]["field"] == "draft_model"
