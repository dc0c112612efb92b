"""A move as fields: the question with these set is that of the deployment after the move."""

from __future__ import annotations

import json

import msgspec
import pytest

import rooflight
from rooflight.answers.outcome import outcome
from rooflight.library.questions import make_scenario
from rooflight.values.accelerator import WhatIf
from rooflight.words.analysis import analyzed

# Together they meet every family of moves that fields can say.
QUESTIONS = [
    ("llama-3.1-8b", {"on": "h100-sxm", "batch": 32}),
    ("llama-3.1-70b", {"on": "4xh100-sxm", "batch": 8, "graphs": False, "attention": "naive", "engine": "vllm"}),
    ("llama-3.1-70b", {"on": "h100-sxm", "tp": 4, "request_rate": 2.0, "max_num_batched_tokens": 8192}),
    ("qwen3-30b-a3b", {"on": "2xl40s", "batch": 4, "weights": "fp8", "activations": "bf16", "isl": 4096}),
    ("llama-3.1-70b", {"on": "rtx-4090", "engine": "llama.cpp", "n_gpu_layers": 10, "host_memory_bandwidth": "80GB/s"}),
    ("llama-3.1-8b", {"on": "h100-sxm", "batch": 16, "schedule": "alone", "memory": "40GiB"}),
    ("whisper-large-v3", {"on": "l4", "batch": 2}),
    ("qwen2.5-vl-7b", {"on": "h100-sxm", "images": "448x448", "isl": 300, "batch": 2}),
]


def with_fields(model, asked, fields):
    """The question's scenario with the fields of a move set."""
    merged = {**asked, **fields}
    times = {name: merged.pop(name, 1.0) for name in ("bandwidth_times", "peak_times")}
    return make_scenario(model, WhatIf(merged.pop("on"), **times), **merged)


def spans(value):
    """Numbers of an outcome, without what only names the machine."""
    found = msgspec.to_builtins(value)
    return {name: found[name] for name in found if name != "usd_per_million_tokens"}


def assert_alike(one, other, at=""):
    if isinstance(one, dict):
        assert one.keys() == other.keys(), at
        for name in one:
            assert_alike(one[name], other[name], f"{at}.{name}")
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-9), at
    else:
        assert one == other, at


@pytest.mark.parametrize("model, asked", QUESTIONS, ids=[f"{model} {asked}" for model, asked in QUESTIONS])
def test_the_question_with_the_fields_of_a_move_is_the_move(model, asked):
    found = rooflight.moves(model, **asked)
    evaluated = [one for one in found.moves if one.after is not None]
    said = [one for one in evaluated if one.fields is not None]
    assert said
    for one in said:
        after = outcome(with_fields(model, asked, one.fields))
        assert_alike(spans(after), spans(one.after), one.title)
    if found.combined is not None:
        after = outcome(with_fields(model, asked, found.combined.fields))
        assert_alike(spans(after), spans(found.combined.after), "combined")


def test_an_analysis_with_the_fields_has_the_numbers_of_the_move():
    """The step of the phase, and the run that the question is of."""
    model, asked = QUESTIONS[0]
    for one in rooflight.moves(model, **asked).moves:
        if one.after is None or one.fields is None or "draft_tokens" in one.fields:
            continue
        found = analyzed(with_fields(model, asked, one.fields))
        assert found.phases["decode"].time_s == one.after.decode.time_s, one.title
        assert found.phases["prefill"].time_s == one.after.prefill.time_s, one.title
        assert found.runs[found.run].output_tokens_per_s == one.after.tokens_per_s, one.title


def test_only_what_no_field_says_has_none():
    """Kernels, another shape of the model, a link that no card has: the rest are fields."""
    unsaid = {"fusion", "attention-heads", "attention-latent", "attention-window", "card-link"}
    for model, asked in QUESTIONS[:4]:
        for one in rooflight.moves(model, **asked).moves:
            evaluated = one.after is not None or one.verdict == "does-not-fit"
            assert (one.fields is None) == (one.kind in unsaid or not evaluated), one.title


def test_a_move_on_what_if_rates_is_said_of_the_card_as_built():
    """Twice 1.5 times the bandwidth is three times the card's own; another card has its own rates again."""
    found = rooflight.moves("llama-3.1-8b", WhatIf("2xh100-sxm", bandwidth_times=1.5), batch=4).moves
    by_kind = {one.kind: one.fields for one in found}
    assert by_kind["card-bandwidth"] == {"bandwidth_times": 3.0, "peak_times": 1.0}
    assert by_kind["replicas"]["on"] == "4xh100-sxm"
    other = next(one.fields for one in found if one.kind == "card")
    assert other["bandwidth_times"] == 1
    assert other["on"].startswith("2x")


def test_phases_after_a_move_are_dots_of_a_roofline():
    """What is done a second: of one sequence 2 FLOP for each of the weights that are not looked up, in the step."""
    before = rooflight.moves("llama-3.1-8b", "h100-sxm").before
    phase = rooflight.analyze("llama-3.1-8b", "h100-sxm").phases["decode"]
    assert before.decode.flop_per_s == pytest.approx(phase.flop / phase.time_s.expected)
    assert before.decode.intensity_flop_per_byte == phase.intensity_flop_per_byte


def test_a_row_of_the_table_has_the_fields_in_one_cell():
    """As JSON, where a null sets a default and what is left out stays as it is."""
    found = rooflight.moves("llama-3.1-8b", "h100-sxm", batch=4)
    rows = found.records()
    assert not any(name.startswith("fields.") for name in rows[0])
    for row, one in zip(rows, found.moves, strict=True):
        assert (None if not row["fields"] else json.loads(row["fields"])) == one.fields
