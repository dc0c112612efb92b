"""A prompt alone (osl 0), and models that put out no tokens: the times are the prefill's, by whichever door."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rooflight
from rooflight.catalog import models
from rooflight.errors import BadInput
from rooflight.library.questions import make_scenario
from rooflight.serve import phases
from rooflight.words.verdicts import claimed
from rooflight.work import count
from rooflight.work.storage import linear_bytes

GENERATES = ["qwen2.5-7b", "llama-3.1-8b", "gemma-2-2b", "gpt-oss-20b", "deepseek-v2-lite"]
EMBEDS = ["e5-mistral-7b-instruct", "Qwen/Qwen3-Embedding-8B"]
CARD = "h100-sxm"


def scenario(model, **fields):
    return make_scenario(model, CARD, **fields)


@pytest.mark.parametrize("model", [*GENERATES, *EMBEDS])
@pytest.mark.parametrize("batch", [1, 8])
def test_there_is_a_prefill_and_nothing_else(model, batch):
    answer = rooflight.analyze(model, CARD, osl=0, batch=batch)
    prefill = answer.phases["prefill"]

    assert "decode" not in answer.phases
    assert prefill.tokens_per_s.ceiling == 1024 / prefill.time_s.ceiling
    for run in answer.runs.values():
        assert run.tpot_s is None
        assert run.output_tokens_per_s_per_user is None
        assert run.output_tokens_per_s.expected == 0
        assert run.ttft_s.expected == pytest.approx(run.request_s.expected, rel=1e-6)
        assert run.ttft_s.ceiling == pytest.approx(prefill.time_s.ceiling, rel=1e-9)
    alone = answer.runs["alone"]
    assert alone.request_s.ceiling == pytest.approx(prefill.time_s.ceiling, rel=1e-6)
    assert "no token is put out" in answer.answer


@pytest.mark.parametrize("model", GENERATES)
def test_the_head_neither_runs_nor_is_read(model):
    """It does for one position of each prompt where a token follows: 2 x hidden x rows FLOP, and its bytes."""
    some, none = (phases.prefill(scenario(model, osl=osl)).work for osl in (1, 0))
    head = models.load(model).head

    assert some.flop - none.flop == pytest.approx(2 * head.inputs * head.outputs, rel=1e-6)
    assert some.weight_bytes - none.weight_bytes == pytest.approx(
        linear_bytes(head, count.stored_format(head)), rel=1e-6
    )


def test_a_model_without_a_head_is_asked_for_no_tokens_unless_some_are_stated():
    """Where the length is left at its default: as osl 0, and it is said. Another length is obeyed, with a warning."""
    zero, usual, some = (rooflight.analyze(EMBEDS[0], CARD, batch=4, **osl) for osl in ({"osl": 0}, {}, {"osl": 16}))

    assert (zero.phases, zero.runs, zero.memory) == (usual.phases, usual.runs, usual.memory)
    assert usual.workload["osl"] == 0
    assert any("puts out no tokens" in note for note in usual.assumptions)
    assert "decode" in some.phases
    assert any("no vocabulary head" in warning for warning in some.warnings)
    assert not usual.warnings


def test_a_score_is_put_out_by_its_own_small_head(tmp_path):
    """A reward model: one output of the last position, no tokens."""
    config = {
        "model_type": "llama", "architectures": ["LlamaForRewardModel"], "hidden_size": 64, "num_attention_heads": 4,
        "num_key_value_heads": 2, "num_hidden_layers": 2, "intermediate_size": 96, "vocab_size": 100,
        "torch_dtype": "bfloat16",
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    answer = rooflight.analyze(str(tmp_path), CARD)

    assert "decode" not in answer.phases
    assert [op.flop for op in answer.phases["prefill"].operators if op.name == "score"] == [2 * 64 * 1]


@pytest.mark.parametrize("model", [GENERATES[0], GENERATES[3]])
def test_a_sweep_over_outputs_has_the_points_that_analyze_has(model):
    """Zero among the values, and alone, vectorised."""
    grid = rooflight.sweep(model, CARD, {"osl": [0, 1, 64], "isl": [128, 1024]}, phase="prefill").columns()
    for place, (osl, isl) in enumerate(zip(grid["osl"], grid["isl"], strict=True)):
        one = phases.prefill(scenario(model, osl=int(osl), isl=int(isl)))
        assert grid["time_s.ceiling"][place] == pytest.approx(one.span.ceiling, rel=1e-12)
        assert grid["time_s.roofline"][place] == pytest.approx(one.span.roofline, rel=1e-12)
        assert grid["time_s.expected"][place] == pytest.approx(one.span.expected, rel=1e-12)
        assert grid["bytes.weights"][place] == pytest.approx(one.work.weight_bytes, rel=1e-12)


def test_a_sweep_of_runs_has_no_time_per_token_where_there_is_none():
    found = rooflight.sweep(GENERATES[0], CARD, {"osl": [0, 1, 64], "batch": [1, 16]}, schedule="served").columns()
    one = rooflight.analyze(GENERATES[0], CARD, osl=0, batch=16).runs["served"]
    place = int(np.flatnonzero((found["osl"] == 0) & (found["batch"] == 16))[0])

    assert np.isnan(found["tpot_s.expected"][found["osl"] < 2]).all()
    assert np.isfinite(found["tpot_s.expected"][found["osl"] == 64]).all()
    assert found["ttft_s.expected"][place] == pytest.approx(one.ttft_s.expected, rel=1e-9)
    assert found["request_s.ceiling"][place] == pytest.approx(one.request_s.ceiling, rel=1e-9)


def test_a_sweep_of_prompts_alone_is_of_prefills():
    assert rooflight.sweep(GENERATES[0], CARD, {"osl": [0], "batch": [1, 8]}).phase == "prefill"
    with pytest.raises(BadInput, match="no decode step"):
        rooflight.sweep(GENERATES[0], CARD, {"osl": [0, 8]}, phase="decode")
    assert rooflight.sweep(EMBEDS[0], CARD, {"batch": [1, 8]}).phase == "prefill"


@pytest.mark.parametrize(("model", "fields"), [(GENERATES[0], {"osl": 0}), (EMBEDS[0], {})])
def test_compare_and_moves_have_the_run_that_analyze_has(model, fields):
    answer = rooflight.analyze(model, CARD, batch=8, **fields).runs["served"]
    compared = rooflight.compare(model, [CARD, "l4"], batch=8, **fields).compared[0]
    found = rooflight.moves(model, CARD, batch=8, **fields)

    assert compared.run.ttft_s == answer.ttft_s
    assert compared.run.tpot_s is None
    assert found.before.run == answer
    assert found.before.decode is None
    assert [one.phase for one in found.left] == ["prefill"]
    assert found.before.tokens_per_s.expected == pytest.approx(1024 * answer.requests_per_s.expected)
    assert all("decode" not in one.gains for one in found.moves if one.gains)


@pytest.mark.parametrize(("model", "fields"), [(GENERATES[0], {"osl": 0}), (EMBEDS[0], {})])
def test_check_judges_prompts_and_not_tokens(model, fields):
    answer = rooflight.analyze(model, CARD, isl=512, **fields)
    ceiling = answer.phases["prefill"].time_s.ceiling

    def judged(**claims):
        (row,) = claimed(scenario(model, isl=512, **fields), claims, {"isl", "osl", "batch"}).rows
        return row

    first = judged(ttft_ms=4 * ceiling * 1000)
    assert first.ceiling == pytest.approx(ceiling * 1000, rel=1e-6)
    assert judged(ttft_ms=0.1 * ceiling * 1000).verdict != "ok"
    for claim in ({"output_tok_s": 100.0}, {"tpot_ms": 10.0}, {"output_tok_s_per_user": 10.0}):
        row = judged(**claim)
        assert row.verdict == "cannot-judge"
        assert "no token is put out" in row.reason


@pytest.mark.parametrize(
    ("metric", "phase", "judged"),
    [
        ("total_tok_s", "e2e_offline", True), ("e2e_latency_ms", "e2e_offline", True), ("ttft_ms", "e2e_server", True),
        ("prefill_tok_s", "prefill", True), ("tpot_ms", "e2e_server", False), ("output_tok_s", "e2e_offline", False),
        ("output_tok_s_per_user", "e2e_server", False),
    ],
)  # fmt: skip
def test_a_row_without_output_is_judged_by_its_prompts(metric, phase, judged):
    row = {"model": GENERATES[0], "accelerator": CARD, "phase": phase, "batch": 4, "input_len": 512, "output_len": 0}
    value = 100.0 if metric.endswith("_ms") else 3000.0
    (found,) = rooflight.check({**row, "gpus": 1, "weights": "bf16", "metric": metric, "value": value}).rows

    assert (found.ceiling is not None) == judged
    assert ("no token is put out" in found.reason) != judged


def test_the_embedding_model_holds_no_head_in_memory():
    """Its weights are those of the file: no head to load or to stream."""
    model = models.load("Qwen/Qwen3-Embedding-8B")

    assert count.weight_bytes(model) == 2 * count.parameters(model)
    assert count.streamed_weight_bytes(model) == 2 * (count.parameters(model) - model.embedding_parameters)
