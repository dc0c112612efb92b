"""A question's fields in the schema, with the studio's own limits."""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path

import pytest
from pydantic import ValidationError

import rooflight
from rooflight.studio.app import make_app
from rooflight.studio.question import MACHINE, MOST, Question, bounds, scenario_of
from rooflight.values.question import FIELDS, asked
from rooflight.words.analysis import analyzed


def test_every_field_may_be_asked():
    assert len(FIELDS) == 66
    assert set(Question.model_fields) == {
        *FIELDS, "name", "model", "config", "gguf", "on", "machine", "bandwidth_times", "peak_times", "usd_per_hour",
    }  # fmt: skip


def test_defaults_are_the_librarys():
    assert not [name for name, field in FIELDS.items() if Question.model_fields[name].default != field.default]
    assert Question().asked() == asked(None, None, {})


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


def test_auto_stands_for_the_librarys_default():
    load, layout = Question(engine="auto", kv_cache="auto", weights="auto").asked()

    assert (layout.engine, layout.kv_cache, layout.weights) == (None, None, None)
    assert load.context is None


def test_a_number_that_came_as_text_is_a_number():
    """As an address and a text box have it; with a unit it stays as it was written."""
    assert Question(memory="8e10") == Question(memory=80e9)
    assert Question(memory="80GB").memory == "80GB"
    assert Question(memory="nan").memory == "nan"


@pytest.mark.parametrize("size", [math.nan, math.inf])
def test_a_size_that_is_no_number_is_refused(size):
    """As JSON of other tools has it."""
    with pytest.raises(ValidationError, match="is no size"):
        Question(weight_bytes=size)


MEASURED = (Path(__file__).parents[2] / "measured_h100.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("on", "count"), [
    ("h100-sxm", 1), ("1xh100-sxm", 1), ("4xh100-sxm", 4), ("4 x H100 SXM", 4), ("8x NVIDIA H100 SXM", 8),
    ("h100-sxm+l40s", 2), ("2xh100-sxm+l40s", 3), (MACHINE, 1), (f"1x{MACHINE}", 1), (f"2x{MACHINE}", 2),
])  # fmt: skip
def test_a_machine_is_one_card_several_of_a_kind_or_unlike_ones(on, count):
    found = analyzed(scenario_of(Question(on=on, machine=MEASURED)))

    assert found.deployment["devices"] == count
    assert (found.accelerator.id == "our-h100") == on.endswith(MACHINE)


@pytest.mark.parametrize(("on", "fields"), [
    ("4xh100-sxm", {"tp": 2, "dp": 2}), ("4xh200-sxm", {"model": "llama-3.1-70b", "batch": 8}),
    ("rtx-4090+rtx-3090", {}),
    ("2xrtx-4090+rtx-3090", {"weights": "fp8"}), ("h100-sxm", {"tp": 4}), ("h100-sxm", {"dp": 2, "request_rate": 1.5}),
])  # fmt: skip
def test_a_machine_is_that_of_the_library(studio, on, fields):
    own = rooflight.analyze(fields.get("model", Question().model), on,
                            **{name: value for name, value in fields.items() if name != "model"})  # fmt: skip

    assert studio.post("/api/analyze", {"on": on, **fields}).json() == json.loads(json.dumps(own.to_dict()))


@pytest.mark.parametrize(("on", "said"), [
    ("0xh100-sxm", "0x is not a number"), ("-1xh100-sxm", "-1x is not a number"), ("1.5xh100-sxm", "1.5x is not"),
    ("99999999999xh100-sxm", "is not a number"), ("2x", "of which accelerator"), ("2xnonsense", "no accelerator"),
    ("h100-sxm+nonsense", "no accelerator"), ("h100-sxm+", "accelerator"), ("nonsense", "no accelerator"),
    ("this", "no accelerator"), ("8xthis", "no accelerator"), (" ", "accelerator"), (MACHINE, "no machine's file"),
    (f"2x{MACHINE}", "no machine's file"), (f"0x{MACHINE}", "0x is not a number"), (f"my {MACHINE}", "no accelerator"),
    (f"h100-sxm+{MACHINE}", "no accelerator"),
])  # fmt: skip
@pytest.mark.parametrize("route", ["analyze", "picture"])
def test_what_is_wrong_with_a_machine_belongs_to_on(studio, route, on, said):
    body = {"on": on}
    answer = studio.post(f"/api/{route}", body if route == "analyze" else {"scenarios": [{}, body], "focus": 1})
    (problem,) = answer.json()["problems"]

    assert answer.status_code == 422
    assert problem["field"] == "on"
    assert said in problem["what"]


@pytest.mark.parametrize("on", [f"0x{MACHINE}", f"my {MACHINE}", f"h100-sxm+{MACHINE}", f"9999999999x{MACHINE}"])
def test_a_machines_file_is_under_its_own_name_alone(studio, on):
    (problem,) = studio.post("/api/analyze", {"on": on, "machine": MEASURED}).json()["problems"]

    assert problem["field"] == "on"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"batch": 1 << 17}, "batch"), ({"isl": 1 << 23}, "isl"), ({"tp": 1025}, "tp"), ({"pp": 0}, "pp"),
        ({"gpu_memory_utilization": 0}, "gpu_memory_utilization"), ({"graphs": "perhaps"}, "graphs"),
        ({"attention": "fast"}, "attention"), ({"draft_tokens": -1}, "draft_tokens"), ({"tp": 0}, "tp"),
        ({"cached_prefix": 1024}, "cached_prefix"), ({"chunk_tokens": 2000}, "chunk_tokens"), ({"pp": 99}, "pp"),
        ({"ep": 2}, "ep"), ({"activations": "bf17"}, "activations"), ({"engine": "none"}, "engine"),
        ({"compute": "nf4"}, "compute"), ({"kv_cache": "fp9"}, "kv_cache"), ({"memory": "much"}, "memory"),
        ({"memory": "9" * 50}, "memory"), ({"usd_per_hour": 0}, "usd_per_hour"),
        ({"usd_per_hour": 5e-324}, "usd_per_hour"), ({"name": "x" * 41}, "name"),
        ({"bandwidth_times": 0.01}, "bandwidth_times"), ({"prefill_on": "nonsense"}, "prefill_on"),
        ({"host_cpu": "nonsense", "n_gpu_layers": 4}, "host_cpu"), ({"on": "2xh100-sxm", "tp": 3}, "on"),
        ({"request_rate": 1, "batch": 0}, "batch"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("route", ["analyze", "picture", "view"])
def test_a_refusal_belongs_to_its_field(studio, route, body, field):
    """Of a scenario of a page, and of a page that comes with what a view asks, as of one alone."""
    page = {"scenarios": [{}, body], "focus": 1}
    path, sent = {"analyze": ("analyze", body), "picture": ("picture", page), "view": ("view/memory", {"page": page})}[
        route
    ]
    problem = studio.post(f"/api/{path}", sent).json()["problems"][0]

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


@pytest.mark.parametrize("config", [{"x": "\ud83d"}, {"\ud83d": 1}, {"x": [{"_name_or_path": "a\udfffb"}]}])
def test_a_config_with_half_a_letter_is_refused(config):
    """JSON can write half a surrogate pair, which no answer could hold: pydantic refuses it in text, not in dicts."""
    with pytest.raises(ValueError, match="half a surrogate pair"):
        Question(config=config)
