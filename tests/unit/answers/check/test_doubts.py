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


def test_a_stated_limit_of_sequences_counts():
    """One at a time: 3.35 TB/s over 15.1 GB are 221 tokens a second of all, whatever waits."""
    row = {**ROW, "model": "qwen3-8b", "batch": 64, "metric": "output_tok_s", "max_num_seqs": 1, "value": 1000}
    capped, free = rooflight.check([row, {**row, "max_num_seqs": ""}]).rows

    assert (capped.verdict, free.verdict) == ("impossible", "slow")
    assert capped.ceiling == pytest.approx(221, rel=0.02)


@pytest.mark.parametrize("row", [
    {"model": "Qwen/Qwen3-30B-A3B", "metric": "ttft_ms", "phase": "prefill", "value": 5, "output_len": ""},
    {"model": "qwen3-8b", "value": 1000},
    {"model": "qwen3-8b", "metric": "output_tok_s", "phase": "e2e_server", "value": 9e5, "batch": 64},
])  # fmt: skip
def test_the_sentence_of_a_ceiling_divides_to_it(row):
    """What it says is moved, at the rate that it says, takes the ceiling's time."""
    from rooflight.answers.check.names import Names
    from rooflight.answers.check.report import judged_rows
    from rooflight.ingest.rows import given_rows

    (found,) = judged_rows(given_rows([{**ROW, "input_len": 1024, **row}]), Names())
    limit, load = found.limit, found.scenario.workload
    seconds = limit.amount / limit.rate
    said = found.span.ceiling
    per = {"ttft_ms": said / 1000, "output_tok_s_per_user": 1 / said, "output_tok_s": load.batch * load.osl / said}

    assert seconds == pytest.approx(per[found.row.metric], rel=0.01)
