"""Offline rows: prompts started together, saturated runs, as many prompts as users, cards passed in turn."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.answers.check.names import Names
from rooflight.answers.check.report import judged_rows
from rooflight.ingest.rows import given_rows
from rooflight.library.questions import make_scenario
from rooflight.serve import phases

ROW = {
    "model": "meta-llama/Meta-Llama-3.1-8B", "accelerator": "h100-sxm", "gpus": 1, "tp": 1, "engine": "tensorrt-llm",
    "input_len": 1024, "output_len": 256,
}  # fmt: skip


def of_row(**fields):
    (found,) = judged_rows(given_rows([{**ROW, **fields}]), Names())
    return found


def noted(found):
    return {note.key for note in found.notes}


def test_a_first_token_of_prompts_started_together_is_that_of_all_of_them():
    found = of_row(phase="prefill", metric="ttft_ms", value=100, batch=8)
    sc = make_scenario(ROW["model"], "h100-sxm", engine="tensorrt-llm", isl=1024, prefill_batch=8, batch=8)
    one, all_ = (phases.prefill(sc, prompts=prompts).span for prompts in (1, 8))

    assert "prompts_together" in noted(found)
    assert found.span.expected == pytest.approx(all_.expected * 1e3, rel=0.02)
    assert found.span.ceiling == pytest.approx(one.ceiling * 1e3, rel=1e-6)


def test_a_served_first_token_stays_one_prompts_own():
    found = of_row(phase="e2e_server", metric="ttft_ms", value=100, batch=8)

    assert "one_prompt" in noted(found)
    assert "prompts_together" not in noted(found)


def test_a_first_token_of_an_engine_that_is_not_known_may_be_one_prompts_own():
    """tt-metalium's tables give 53 ms at batch 32, which is one prompt of 128 tokens."""
    assert "one_prompt" in noted(of_row(phase="prefill", metric="ttft_ms", value=100, batch=8, engine="tt-metalium"))


def test_a_saturated_run_has_what_a_full_engine_gets():
    """Half as many as memory holds are in it; the ceiling is that of any number."""
    fields = {"phase": "e2e_offline", "metric": "output_tok_s"}
    found = of_row(**fields, value=10_000)
    expected = found.span.expected
    again = of_row(**fields, value=expected)

    assert (again.verdict, again.filled) == ("ok", None)
    assert again.span.low < expected < again.span.high < again.span.ceiling
    assert of_row(**fields, value=again.span.high * 1.1).verdict == "fast"


def test_a_run_of_fewer_prompts_than_memory_holds_is_not_saturated():
    """Nor is a slow one slow: fewer may have run at once."""
    fields = {"phase": "e2e_offline", "metric": "output_tok_s"}
    few = of_row(**fields, value=2_000, prompts=16)
    slow = of_row(**fields, value=500)

    assert few.span.low is None
    assert (slow.verdict, slow.span.low) == ("ok", None)


@pytest.mark.parametrize("column", ["prompts", "num_prompts", "num_requests"])
def test_as_many_prompts_as_users_are_no_steady_state(column):
    """Nobody replaces those that leave: the interval reaches down to steps without prompts."""
    fields = {"phase": "e2e_server", "metric": "tpot_ms", "value": 15, "batch": 64, "output_len": 100, "engine": "vllm"}
    steady, wave = of_row(**fields), of_row(**fields, **{column: 64})
    together = of_row(**(fields | {"phase": "e2e_offline"}))

    assert "one_wave" in noted(wave)
    assert wave.span.low == pytest.approx(min(steady.span.low, together.span.low))
    assert wave.span.low < 0.7 * steady.span.low
    assert wave.span.ceiling == steady.span.ceiling


def test_transformers_passes_cards_in_turn_and_its_habit_bounds_nothing():
    """Two cards in turn take as long as one, while cut matrices could be read at twice the rate."""
    fields = {"metric": "output_tok_s_per_user", "value": 20, "batch": 1, "phase": "decode", "tp": None}
    turn = of_row(**fields, gpus=2, engine="transformers")
    cut = of_row(**(fields | {"tp": 2}), gpus=2, engine="transformers")

    assert "layers_split" in noted(turn)
    assert (turn.scenario.layout.pp, turn.scenario.layout.tp) == (2, 1)
    assert turn.span.ceiling >= cut.span.ceiling
    assert turn.span.expected < cut.span.expected or turn.span.expected == pytest.approx(cut.span.expected, rel=0.1)


def test_routed_experts_in_transformers_take_as_long_as_a_loop_over_them():
    """Qwen2-57B-A14B, 28 layers of 64 experts: 4.8 tok/s on two A100 and 5.6 with int4 on one; memory allows 100."""
    row = {
        **ROW, "model": "Qwen/Qwen3-30B-A3B", "engine": "transformers", "phase": "decode", "batch": 1, "value": 5,
        "metric": "output_tok_s_per_user", "accelerator": "a100-sxm4-80gb",
    }  # fmt: skip
    found, old = rooflight.check([row, row | {"engine_version": "4.51.3"}]).rows

    # 48 layers x 128 experts x 2 products at 30 to 110 us: 0.37 to 1.35 s
    assert 1 / 1.35 < found.expected < 1 / 0.37
    # which is the fast end where nobody says that it was before version 5, which has kernels for all experts at once
    assert found.high > 10 * found.expected
    assert old.expected == found.expected
    assert old.high < 4 * old.expected
