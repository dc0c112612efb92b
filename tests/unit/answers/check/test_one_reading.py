"""A claim and a row of a table that say the same get the same verdict and numbers, and those are analyze's."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.answers.check.names import Names
from rooflight.answers.check.outcome import Judged
from rooflight.answers.check.report import judged_claims, judged_rows
from rooflight.ingest.rows import given_rows
from rooflight.library.questions import make_scenario
from rooflight.serve.analyze import analyze

MODEL, CARD = "meta-llama/Meta-Llama-3-8B", "h100-sxm"
ROW = {"model": MODEL, "accelerator": CARD, "gpus": 1, "tp": 1, "input_len": 1024, "output_len": 256}
LOAD = {"isl": 1024, "osl": 256}
SPAN = ("ceiling", "expected", "low", "high")


def of_row(**fields) -> Judged:
    (found,) = judged_rows(given_rows([{**ROW, **fields}]), Names())
    return found


def of_claim(metric: str, value: float, **fields) -> Judged:
    fields = LOAD | fields
    (found,) = judged_claims(make_scenario(MODEL, CARD, **fields), {metric: value}, {*fields})
    return found


@pytest.mark.parametrize("batch", [None, 1, 2, 64])
@pytest.mark.parametrize("weights", [None, "bf16"])
@pytest.mark.parametrize("metric, value", [("output_tok_s", 300), ("tpot_ms", 3), ("tpot_ms", 20), ("ttft_ms", 5)])
def test_claims_and_rows_are_one(metric, value, weights, batch):
    stated = {name: one for name, one in (("weights", weights), ("batch", batch)) if one is not None}
    row, claim = of_row(metric=metric, value=value, **stated), of_claim(metric, value, **stated)

    assert (claim.verdict, claim.found) == (row.verdict, row.found)
    assert [getattr(claim.span, name) for name in SPAN] == [getattr(row.span, name) for name in SPAN]


def numbers(span, times=1000.0):
    return [getattr(span, name) * times for name in SPAN]


@pytest.mark.parametrize("batch", [1, 8, 2000])
def test_they_print_what_analyze_prints(batch):
    """Where memory does not hold all of them at once, too: the others wait."""
    answer = analyze(make_scenario(MODEL, CARD, **LOAD, batch=batch, engine="vllm"))
    decode = answer.phases.get("decode")
    rows = {("decode", "tpot_ms"): decode.time_s} if decode is not None else {}
    rows |= {
        ("prefill", "ttft_ms"): answer.phases["prefill"].time_s,
        ("e2e_offline", "e2e_latency_ms"): answer.runs["batch"].request_s,
        ("e2e_server", "e2e_latency_ms"): answer.runs["served"].request_s,
        ("e2e_server", "ttft_ms"): answer.runs["served"].ttft_s,
        ("e2e_server", "tpot_ms"): answer.runs["served"].tpot_s,
    }
    for (phase, metric), span in rows.items():
        # of prompts started together a row's first token is that of all, where analyze has a prefill of one
        many = 1 if (phase, metric) == ("prefill", "ttft_ms") else batch
        found = of_row(metric=metric, value=1e5, phase=phase, batch=many, engine="vllm")
        assert [getattr(found.span, name) for name in SPAN] == pytest.approx(numbers(span), rel=1e-12), (phase, metric)


def test_an_engine_of_a_version_is_of_its_time():
    old, new = (of_row(metric="tpot_ms", value=9, engine="vllm", engine_version=one) for one in ("0.6.3", "0.12.0"))
    assert (old.scenario.engine.era, new.scenario.engine.era) == ("2024", "2025")
    assert of_row(metric="tpot_ms", value=9, engine="vllm").scenario.engine == new.scenario.engine


@pytest.mark.parametrize("door", [of_claim, lambda metric, value: of_row(metric=metric, value=value)])
def test_a_rate_without_a_batch_is_held_against_every_batch(door):
    """One sequence gets 220 tok/s at most; 300 take two, and that is about what an engine gets of two."""
    found = door("output_tok_s", 300)
    assert (found.verdict, found.span.low) == ("ok", None)
    assert found.filled.least == 2
    assert 2 <= found.filled.usual <= 3
    at = of_row(metric="output_tok_s", value=300, batch=found.filled.usual)
    assert at.span.low * 0.8 < 300 < at.span.high * 1.25

    assert door("output_tok_s", 20).verdict == "slow"  # less than one sequence alone gets
    assert door("output_tok_s", 1e6).verdict in ("impossible", "cannot-judge")


def test_a_time_without_a_batch_is_not_slow_where_some_batch_explains_it():
    found = of_claim("tpot_ms", 20)
    assert found.verdict == "ok"
    assert found.filled.usual > 50
    assert found.span.ceiling == of_claim("tpot_ms", 20, batch=1).span.ceiling
    assert of_claim("tpot_ms", 20, batch=1).verdict == "slow"


def test_warnings_of_analyze_are_there():
    keys = {note.key for note in of_claim("ttft_ms", 1e6, isl=200_000).notes}
    assert "beyond_the_model" in keys
    far = {"gpus": 16, "tp": 16, "input_len": 128}
    assert "beyond_the_link" in {note.key for note in of_row(metric="tpot_ms", value=10, **far).notes}


def test_speculation_that_is_left_open_is_never_impossible():
    row = {"metric": "tpot_ms", "value": 2.5, "weights": "bf16", "batch": 1}
    assert of_row(**row).verdict == "impossible"
    assert "speculative decoding" in [one.kind for one in of_row(**row).found]
    assert of_row(**row, speculative="no").verdict == "impossible"
    assert "speculative decoding" not in [one.kind for one in of_row(**row, speculative="no").found]
    for said in ("unknown", "yes"):
        found = of_row(**row, speculative=said)
        assert (found.verdict, found.found[0].kind) == ("cannot-judge", "speculation")
    assert of_row(**{**row, "value": 0.05}, speculative="yes").verdict == "impossible"  # no draft gains ninety times


def test_drafts_that_are_stated_count():
    """A verify step of four rows takes a little more than a plain one, and yields (1 - 0.5^4) / 0.5 = 1.875 tokens."""
    row = {"metric": "tpot_ms", "value": 4, "weights": "bf16", "batch": 1}
    plain = of_row(**row).span.ceiling
    drafted = of_row(**row, draft_tokens=3, acceptance=0.5).span
    assert plain / 1.875 <= drafted.ceiling < plain / 1.8
    assert (
        drafted.ceiling == of_claim("tpot_ms", 4, weights="bf16", batch=1, draft_tokens=3, acceptance=0.5).span.ceiling
    )
    open_ = of_row(**{**row, "value": plain / 3}, draft_tokens=3)
    assert (open_.verdict, open_.found[0].kind) == ("cannot-judge", "acceptance")


def test_a_prefix_that_was_cached_is_not_computed():
    """A hit of three quarters leaves a quarter: 16k tokens at 0.75 prefill 4k."""
    row = {"metric": "ttft_ms", "value": 1e4, "phase": "prefill", "input_len": 16_000}
    hit, told = of_row(**row, prefix_hit=0.75), of_row(**row, cached_prefix=12_000)
    assert hit.span == told.span
    assert hit.span.ceiling < of_row(**row).span.ceiling / 3
    assert of_row(**row, prefix_hit=1).verdict != "cannot-judge"  # one token is computed


APART = {
    "metric": "tpot_ms", "value": 8, "mode": "disagg", "batch": 64, "gpus": 8, "tp": 2, "prefill_workers": 2,
    "prefill_tp": 1, "decode_workers": 3,
}  # fmt: skip


def test_a_disaggregated_row_is_a_run_apart():
    found = of_row(**APART)
    fields = {"tp": 2, "prefill_workers": 2, "prefill_tp": 1, "decode_workers": 3, "batch": 64}
    run = rooflight.analyze(MODEL, CARD, **LOAD, **fields).runs["apart"]
    assert [getattr(found.span, name) for name in SPAN] == pytest.approx(numbers(run.tpot_s), rel=1e-12)
    assert found.notes == ()  # 2 x 1 + 3 x 2 devices are the 8
    per_gpu = of_row(**{**APART, "metric": "output_tok_s_per_gpu", "value": 100})
    assert per_gpu.span.expected == pytest.approx(run.output_tokens_per_s.expected / 8)
    assert "not_the_workers" in {note.key for note in of_row(**{**APART, "gpus": 9}).notes}
    assert "not both stated" in of_row(**{**APART, "decode_workers": ""}).problem


def test_fast_names_what_would_be_as_expected():
    fast = of_row(metric="tpot_ms", value=5, weights="bf16", batch=8, engine="vllm")
    assert fast.verdict == "fast"
    assert 0 < len(fast.found) <= 3
    assert {one.kind for one in fast.found} <= {
        "speculative decoding",
        "number format",
        "fewer sequences",
        "newer engine",
    }


def test_a_first_token_of_many_prefills_is_a_queue():
    """40 s where a prompt takes tens of milliseconds."""
    found = of_row(metric="ttft_ms", value=40_000, phase="e2e_server", batch=64)
    (queue,) = found.found
    times, one_s, slots, per_s = queue.value
    assert times == pytest.approx(40 / one_s)
    assert 0 < slots <= 64
    assert per_s > 1


def test_what_does_not_fit_and_is_too_fast_is_both():
    sc = make_scenario("llama-3.1-70b", CARD, batch=1, weights="bf16")
    (fast,) = judged_claims(sc, {"output_tok_s": 1000})
    assert (fast.verdict, fast.limit is not None, fast.held is not None) == ("impossible", True, True)


def test_input_counted_as_output_comes_first():
    """5,000 tok/s of 3,200 + 800 tokens are 1,000 output tok/s."""
    sc = make_scenario(
        "deepseek-ai/DeepSeek-R1", "8xmi300x", tp=8, batch=32, isl=3200, osl=800, engine="sglang",
        weights="fp8-block128",
    )  # fmt: skip
    (found,) = judged_claims(sc, {"output_tok_s": 5000})
    assert found.found[0].kind == "total tokens"
    assert found.found[0].value == pytest.approx(5000 * 800 / 4000)
    formats = [one.value[0] for one in found.found if one.kind == "number format"]
    assert "nvfp4" not in formats  # which the card does not multiply in
