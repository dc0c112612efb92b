"""The words of a sweep, and how its rows are thinned."""

from __future__ import annotations

import msgspec
import pytest

import rooflight
from rooflight.show import runs
from rooflight.show import sweep as show
from rooflight.show.goals import goal_blocks
from rooflight.values.sweep import Landmarks

MARK = Landmarks(
    accelerator="h100-sxm", devices=4, tp=4, pp=1, ep=1, dp=1, weights="bf16", kv_cache="bf16", isl=1024,
    osl=256, context=1152, ridge_batch=45_327, compute_batch=None, knee_batch=132, kv_limit=343, compute_isl=280,
)  # fmt: skip


def test_the_sentence():
    assert show.answer("m", [MARK]) == (
        "m on 4 x h100-sxm (bf16 weights, 1,152 tokens of context): the KV cache holds at most 343 sequences; "
        "the knee, from which doubling the decode batch gains less than half, is at batch 132; "
        "decode meets the ridge point at batch 45,327 (beyond what fits)."
    )


def test_the_sentence_is_about_a_deployment_that_fits():
    none = msgspec.structs.replace(MARK, accelerator="rtx-4090", devices=1, kv_limit=0)
    assert show.answer("m", [none, MARK]).startswith("m on 4 x h100-sxm")
    assert show.answer("m", [none, MARK]).endswith("(1 more line below.)")
    assert show.answer("m", [none]) == "m does not fit on rtx-4090 with 1,152 tokens of context."
    never = msgspec.structs.replace(MARK, ridge_batch=None)
    assert "the ridge point at no batch below 2^20." in show.answer("m", [never])


def test_the_sentence_of_prefill_is_about_the_prompt():
    assert show.answer("m", [MARK], "prefill") == (
        "m on 4 x h100-sxm (bf16 weights): prefill of one prompt is compute-bound from 280 tokens on."
    )


@pytest.mark.parametrize("points", [1, 39, 40, 41, 1000, 30_000])
def test_thinned_rows_are_even_and_few(points):
    sweep = rooflight.sweep("deepseek-ai/DeepSeek-V3", "8xh200-sxm", {"batch": range(1, points + 1)})
    rows = list(show.thinned(sweep, sweep.points, True))
    step = -(-points // show.TEXT_ROWS)
    assert [row.batch for row in rows] == list(range(1, points + 1, step))


def test_columns_are_the_paths_of_a_row():
    sweep = rooflight.sweep("deepseek-ai/DeepSeek-V3", "8xh200-sxm", {"batch": [1, 2]})
    table = show.flat_rows(show.rows(sweep))
    values = dict(zip(table.header, next(iter(table.rows)), strict=True))
    row = next(show.rows(sweep))
    assert values["time_s.ceiling"] == row.time_s.ceiling
    assert values["bytes.kv_read"] == row.bytes.kv_read
    assert values["batch"] == 1


def test_several_deployments_have_a_table_of_landmarks():
    sweep = rooflight.sweep("deepseek-ai/DeepSeek-V3", ["8xh200-sxm", "8xb200"], {"batch": [1, 2]})
    head = show.summary(sweep, "deepseek-ai/DeepSeek-V3")
    tables = [block for block in show.blocks(sweep, head) if hasattr(block, "heads")]
    assert tables[0].rows[0][0] == "8 x h200-sxm, tp 8"
    assert [table.title.split(",")[0] for table in tables[1:]] == ["Decode on 8 x h200-sxm", "Decode on 8 x b200"]
    assert all(len(table.rows) == 2 for table in tables)


def test_columns_of_runs_are_the_paths_of_a_row():
    sweep = rooflight.sweep("deepseek-ai/DeepSeek-V3", "8xh200-sxm", {"batch": [1, 2]}, schedule="served")
    table = runs.flat_rows(runs.rows(sweep.runs()))
    values = dict(zip(table.header, next(iter(table.rows)), strict=True))
    row = next(runs.rows(sweep.runs()))
    assert values["ttft_s.expected"] == row.ttft_s.expected
    assert values["prefill_share"] == row.prefill_share
    assert len(values) == len(sweep.columns())


@pytest.mark.parametrize("points", [39, 41, 7000])
def test_thinned_runs_are_even_and_few(points):
    sweep = rooflight.sweep("deepseek-ai/DeepSeek-V3", "8xh200-sxm", {"batch": range(1, points + 1)}, schedule="batch")
    step = -(-points // show.TEXT_ROWS)
    few = [row.batch for row in runs.thinned(sweep.runs(), sweep.points)]
    assert few == list(range(1, points + 1, step))


def test_goals_name_what_tells_deployments_apart():
    sweep = rooflight.sweep(
        "deepseek-ai/DeepSeek-V3", ["8xh200-sxm", "8xb200"], {"ep": [1, 8]}, ttft_slo_ms=500, tpot_slo_ms=1
    )
    table, reasons = goal_blocks(sweep.goals())
    assert table.heads[:2] == ("on", "ep")
    assert table.heads[-1] == "must be\ncached"
    assert [row[:2] for row in table.rows] == [(on, ep) for on in ("8 x h200-sxm", "8 x b200") for ep in ("1", "8")]
    assert {row[4] for row in table.rows} == {"none"}
    assert len(reasons.items) == 4
    (tokens, *_) = goal_blocks(rooflight.sweep("deepseek-ai/DeepSeek-V3", "8xb200", {}, tpot_slo_ms=50).goals())
    assert "must be\ncached" not in tokens.heads
    assert goal_blocks(()) == []


def test_the_sentence_of_goals():
    def said(**slo):
        sweep = rooflight.sweep("deepseek-ai/DeepSeek-V3", ["8xh200-sxm", "8xb200"], {}, **slo)
        return show.summary(sweep, "m").answer

    assert said(tpot_slo_ms=1).startswith(
        "m on 8 x h200-sxm does not keep TPOT within 1 ms at 1,024 tokens in and 256 out"
    )
    assert "(nor does any other): one request alone takes" in said(tpot_slo_ms=1)
    assert "keeps TPOT within 9 s with any number of requests of 1,024 tokens in" in said(tpot_slo_ms=9000)
