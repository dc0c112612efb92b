"""Unlike cards and a prefill pool at every door of Python: heeded, or refused by the field's name."""

from __future__ import annotations

import json

import pytest

import rooflight
from rooflight.errors import BadInput

BOTH = "rtx-4090+rtx-3090"
MODEL = "llama-3.1-8b"


def decode_s(analysis):
    return analysis.phases["decode"].time_s.ceiling


def test_analyze_names_the_cards_and_what_each_holds():
    found = rooflight.analyze(MODEL, BOTH)
    block = found.to_dict()["accelerator"]

    assert (block["id"], block["count"]) == (BOTH, 2)
    assert [(one["accelerator"], one["layers"]) for one in block["split"]] == [("rtx-4090", 16), ("rtx-3090", 16)]
    assert f"on {BOTH}" in found.answer
    assert "of 32, rtx-4090 16, rtx-3090 16" in " ".join(found.assumptions)
    assert "split" not in rooflight.analyze(MODEL, "2xrtx-3090").to_dict()["accelerator"]


def test_two_doors_print_one_number():
    one = rooflight.analyze(MODEL, BOTH)
    swept = rooflight.sweep(MODEL, BOTH, {"batch": [1]}).columns()["time_s.ceiling"]
    (row,) = [row for row in rooflight.compare(MODEL, [BOTH, "rtx-3090"]).compared if row.accelerator == BOTH]

    assert swept.tolist() == [decode_s(one)]
    assert row.run == one.runs["alone"]


def test_what_does_not_fit_names_no_layout_of_cards_that_are_joined():
    said = rooflight.analyze("llama-3.1-70b", BOTH).answer

    assert "Cards with more memory between them would hold it" in said
    assert "2 x rtx" not in said


def test_moves_change_each_card():
    """Twice the bandwidth of each halves a ceiling that memory binds; a card of several kinds is no card to try."""
    found = rooflight.moves(MODEL, BOTH, batch=1)
    twice = next(one for one in found.moves if one.kind == "card-bandwidth")

    assert twice.gains["decode"].ceiling == pytest.approx(2, rel=0.01)
    with pytest.raises(BadInput, match="unlike cards"):
        rooflight.moves(MODEL, "rtx-4090", cards=[BOTH])


def test_a_claim_is_held_against_any_spread():
    """15.1 GB over 936 + 1,008 GB/s are 7.8 ms: more than half of what cards in turn take."""
    found = rooflight.claim(MODEL, BOTH, tpot_ms=12.0, batch=1, weights="bf16").to_dict()
    (one,) = found["rows"]

    assert one["ceiling"] == pytest.approx(15.1 / (0.936 + 1.008), rel=0.02)
    assert one["expected"] > 15
    assert one["verdict"] == "fast"
    assert (
        rooflight.claim(MODEL, BOTH, tpot_ms=7.0, batch=1, weights="bf16").to_dict()["rows"][0]["verdict"]
        == "impossible"
    )


def test_rows_that_state_no_spread_are_judged_alike():
    row = {
        "model": MODEL, "accelerator": BOTH, "metric": "tpot_ms", "value": 22, "batch": 1, "weights": "bf16",
        "input_len": 512, "output_len": 128,
    }  # fmt: skip
    stated = rooflight.check({**row, "pp": 2, "gpus": 2}).rows[0]
    blank = rooflight.check(row).rows[0]

    assert (stated.verdict, blank.verdict) == ("ok", "ok")
    assert stated.ceiling == blank.ceiling


def test_values_are_explained_against_any_spread():
    """55 to 127 tok/s are more than cards in turn give, and possible all the same."""
    assert rooflight.explain(model=MODEL, on=BOTH, output_tok_s=70).possible
    assert not rooflight.explain(model=MODEL, on=BOTH, tpot_ms=7, batch=1).possible


@pytest.mark.parametrize("ask", [
    lambda: rooflight.accelerator(BOTH),
    lambda: rooflight.changed(BOTH, memory_bytes=1e9),
    lambda: rooflight.moves(MODEL, "l40s", prefill_on="h100-sxm"),
    lambda: rooflight.compare(MODEL, ["l40s", "h100-sxm"], prefill_on="h100-sxm"),
    lambda: rooflight.explain(model=MODEL, on="l40s", prefill_on="h100-sxm", ttft_ms=40),
    lambda: rooflight.analyze(MODEL, BOTH, prefill_on="h100-sxm"),
    lambda: rooflight.analyze(MODEL, BOTH, dp=2),
    lambda: rooflight.analyze(MODEL, BOTH, n_gpu_layers=4),
])  # fmt: skip
def test_what_is_not_known_is_refused(ask):
    with pytest.raises(BadInput):
        ask()


def test_results_of_a_benchmark_are_of_one_kind_of_card(tmp_path):
    result = {
        "model_id": "meta-llama/Meta-Llama-3.1-8B", "backend": "vllm", "endpoint_type": "openai", "num_prompts": 10,
        "request_rate": "inf", "max_concurrency": 1, "duration": 60.0, "completed": 10, "total_input_tokens": 5120,
        "total_output_tokens": 1280, "request_throughput": 0.16, "output_throughput": 21.3, "mean_ttft_ms": 300,
        "mean_tpot_ms": 45,
    }  # fmt: skip
    path = tmp_path / "result.json"
    path.write_text(json.dumps(result))

    assert rooflight.check(path, on=BOTH).rows
    with pytest.raises(BadInput):
        rooflight.check(path, on="l40s", prefill_on="h100-sxm")
    for fields in ({"on": BOTH}, {"on": "l40s", "prefill_on": "h100-sxm"}):
        with pytest.raises(BadInput):
            rooflight.diagnose(path, **fields)


def test_a_prefill_pool_is_named_in_the_answer():
    found = rooflight.analyze(MODEL, "l40s", prefill_on="2xh100-sxm", batch=4)
    run = found.to_dict()["runs"]["apart"]

    assert "on 2 x h100-sxm is" in found.answer
    assert (run["prefill"]["accelerator"], run["prefill"]["tp"]) == ("h100-sxm", 2)
    assert run["decode"]["accelerator"] == "l40s"
    assert found.to_dict()["deployment"]["prefill_on"] == "2xh100-sxm"
    assert "P prefill" not in str(found)


def test_a_sweep_of_tp_cuts_over_all_or_splits_by_layers():
    swept = rooflight.sweep(MODEL, BOTH, {"tp": [1, 2], "batch": [1]}).columns()

    assert list(zip(swept["tp"], swept["pp"], swept["dp"], strict=True)) == [(1, 2, 1), (2, 1, 1)]
    by_analyze = [decode_s(rooflight.analyze(MODEL, BOTH, tp=tp)) for tp in (1, 2)]
    assert swept["time_s.ceiling"].tolist() == by_analyze
