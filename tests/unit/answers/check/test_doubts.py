"""What a row leaves unsaid, under which a value above the ceiling is possible after all."""

from __future__ import annotations

import pytest

import rooflight

# Qwen3-8B in bf16 streams 15.1 GB a step: 3.35 TB/s over that are 221 tokens a second.
ROW = {
    "config_like": "Qwen/Qwen3-8B", "accelerator": "h100-sxm", "gpus": 1, "weights": "bf16", "batch": 1,
    "phase": "decode", "input_len": 512, "output_len": 256, "metric": "output_tok_s_per_user", "value": 1.5 * 221,
}  # fmt: skip


@pytest.mark.parametrize("name", ["qwen3-8b-mtp", "qwen3:8b-eagle3", "qwen3_8b_medusa"])
def test_a_name_that_speaks_of_drafts_leaves_speculation_open(name):
    (row,) = rooflight.check([{**ROW, "model": name}]).rows

    assert row.verdict == "cannot-judge"
    assert "the model's name speaks of speculative decoding" in row.reason


@pytest.mark.parametrize(("name", "said"), [("qwen3-8b", ""), ("qwen3-8b-mtp", "no"), ("smtp-8b", "")])
def test_another_name_and_a_row_that_says_no_do_not(name, said):
    (row,) = rooflight.check([{**ROW, "model": name, "speculative": said}]).rows

    assert row.verdict == "impossible"
