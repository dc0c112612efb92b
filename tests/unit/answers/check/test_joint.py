"""Values of one run together: what was in flight, what contradicts what, and pairs that no schedule gives."""

from __future__ import annotations

import pytest

from rooflight.answers.check.joint import load_of, runs
from rooflight.answers.check.names import Names
from rooflight.answers.check.report import judged_claims, judged_rows
from rooflight.ingest.rows import given_rows
from rooflight.library.questions import make_scenario
from rooflight.values.measurement import Measurement

# Qwen2.5-14B on an L40S, 300 in and 200 out: 760 tok/s at 95 ms a token.
RATE, TOKEN_MS = 760.0, 95.0
LENGTHS = {"isl": 300, "osl": 200}


def row(metric: str, value: float, **fields) -> Measurement:
    fields = {"phase": "decode", "input_len": 300, "output_len": 200} | fields
    return Measurement(model="m", accelerator="l40s", metric=metric, value=value, **fields)


def claims(values, *, on="l40s", model="qwen2.5-14b", given=None, **fields):
    given = {*fields} if given is None else given
    return {one.row.metric: one for one in judged_claims(make_scenario(model, on, **fields), values, given)}


def judged(*rows):
    return list(judged_rows(given_rows(rows), Names()))


def test_rate_times_time_is_what_decodes():
    load = load_of([row("output_tok_s", RATE), row("tpot_ms", TOKEN_MS)], 200)
    assert load.in_flight == pytest.approx(760 * 0.095)
    assert load.decoding


def test_with_a_first_token_it_is_littles_law():
    """X = 760 / 200 requests a second, each of 2 s and 199 tokens of 95 ms."""
    load = load_of([row("output_tok_s", RATE), row("tpot_ms", TOKEN_MS), row("ttft_ms", 2000)], 200)
    assert load.in_flight == pytest.approx(760 / 200 * (2 + 199 * 0.095))
    whole = load_of([row("output_tok_s", RATE), row("e2e_latency_ms", 20_000)], 200)
    assert whole.in_flight == pytest.approx(760 / 200 * 20)
    assert not load.decoding
    assert not whole.decoding


def test_rates_of_each_device_and_of_all_tokens_are_rates_of_all():
    """Of 8 devices; 500 tokens a request of which 200 are output."""
    each = load_of([row("output_tok_s_per_gpu", RATE / 8, gpus=8), row("tpot_ms", TOKEN_MS)], 200)
    total = load_of([row("total_tok_s", RATE * 500 / 200), row("tpot_ms", TOKEN_MS)], 200)
    assert each.rate == pytest.approx(RATE)
    assert total.rate == pytest.approx(RATE)
    assert load_of([row("tpot_ms", TOKEN_MS), row("ttft_ms", 3)], 200) is None


def test_a_rate_and_a_time_imply_the_batch_that_nobody_states():
    """72 in flight read 28.0 GB of weights and 72 x 400 x 196,608 B of cache a step at 864 GB/s: 39 ms."""
    found = claims({"output_tok_s": RATE, "tpot_ms": TOKEN_MS}, **LENGTHS)
    rate, token = found["output_tok_s"], found["tpot_ms"]

    assert {one.scenario.workload.batch for one in found.values()} == {72}
    assert token.span.ceiling == pytest.approx((28.0e9 + 72 * 400 * 196_608) / 864e9 * 1000, rel=0.02)
    assert rate.span.ceiling == pytest.approx(72 / token.span.ceiling * 1000)
    assert rate.verdict == token.verdict
    assert all("implied_batch" in {note.key for note in one.notes} for one in found.values())


def test_a_batch_that_rate_and_time_contradict_leaves_both_open():
    """640 x 0.0222 = 14.2 in flight, not 32: one verdict on one run."""
    fields = {"model": "Qwen/Qwen3-32B", "on": "h100-sxm", "weights": "fp8", "batch": 32, "isl": 1000, "osl": 500}
    found = claims({"output_tok_s": 640, "tpot_ms": 22.2}, **fields)

    assert {one.verdict for one in found.values()} == {"cannot-judge"}
    load = found["tpot_ms"].load
    assert load.in_flight == pytest.approx(640 * 0.0222)
    assert load.wait_ms == pytest.approx((32 * 500 / 640 - 499 * 0.0222) * 1000)  # the rest of 32 / X seconds
    agreed = claims({"output_tok_s": 32 / 0.0222, "tpot_ms": 22.2}, **fields)
    assert {one.verdict for one in agreed.values()} <= {"ok", "slow", "fast"}


def test_waiting_for_a_first_token_is_no_contradiction():
    """The same with the first token that makes 32 in flight."""
    fields = {"model": "Qwen/Qwen3-32B", "on": "h100-sxm", "weights": "fp8", "batch": 32, "isl": 1000, "osl": 500}
    wait_ms = (32 * 500 / 640 - 499 * 0.0222) * 1000
    found = claims({"output_tok_s": 640, "tpot_ms": 22.2, "ttft_ms": wait_ms}, **fields, schedule="served")
    assert all(one.load is None for one in found.values())


SERVED = {
    "model": "meta-llama/Meta-Llama-3-8B", "accelerator": "h100-sxm", "gpus": 1, "tp": 1, "weights": "bf16",
    "phase": "e2e_server", "batch": 128, "input_len": 4000, "output_len": 100,
}  # fmt: skip


def test_a_pair_that_no_schedule_gives_is_impossible_though_each_alone_is_possible():
    """128 prompts of 4,000 tokens are 128 x 60 TFLOP = 7.7 PFLOP, over 7 s at 1.07 PFLOP/s; each is done in 1 s."""
    first, token = {**SERVED, "metric": "ttft_ms", "value": 400}, {**SERVED, "metric": "tpot_ms", "value": 6}
    alone = [judged(one)[0] for one in (first, token)]
    assert all(one.over < 1 for one in alone)

    found = judged(first, token)
    assert [one.verdict for one in found] == ["impossible"] * 2
    pair = found[0].pair
    assert pair.ceiling_ms > 7000 > pair.first_ms + 99 * pair.token_ms
    assert pair.least_token_ms == pytest.approx((pair.ceiling_ms - 400) / 99)


def test_a_pair_within_a_twentieth_of_the_ceiling_may_be_of_a_run_that_drains():
    first, token = {**SERVED, "metric": "ttft_ms", "value": 400}, {**SERVED, "metric": "tpot_ms", "value": 6}
    least = judged(first, token)[0].pair.ceiling_ms
    near = {**token, "value": (least / 1.04 - 400) / 99}
    assert "impossible" not in [one.verdict for one in judged(first, near)]


def test_a_finite_run_has_fewer_in_flight():
    """16 prompts are no 128 in flight."""
    first, token = ({**SERVED, "metric": name, "value": value, "prompts": 16}
                    for name, value in (("ttft_ms", 400), ("tpot_ms", 6)))  # fmt: skip
    found = judged(first, token)
    assert [one.scenario.workload.batch for one in found] == [16, 16]
    assert "fewer_prompts" in {note.key for note in found[0].notes}


def test_a_batch_that_one_row_of_a_run_states_is_that_of_all():
    rows = [{**SERVED, "metric": name, "value": 1e4, "run": "x"} for name in ("ttft_ms", "tpot_ms", "output_tok_s")]
    del rows[1]["batch"], rows[2]["batch"]
    found = judged(*rows)
    assert {one.row.batch for one in found} == {128}
    assert "run_batch" in {note.key for note in found[1].notes}


def test_rows_are_of_one_run_by_its_name_or_by_all_else():
    base = {**SERVED, "id": "a", "mine": "kept"}
    rows = [
        {**base, "metric": "ttft_ms", "value": 1}, {**base, "id": "b", "metric": "tpot_ms", "value": 1},
        {**base, "metric": "tpot_ms", "value": 1, "mine": "other"},
        {**base, "metric": "tpot_ms", "value": 1, "run": "x", "mine": "1"},
        {**base, "metric": "ttft_ms", "value": 1, "run": "x", "mine": "2"},
    ]  # fmt: skip
    assert runs(list(given_rows(rows))) == [(0, 1), (3, 4)]
    twice = [rows[0], rows[1], {**rows[1], "value": 2}]
    assert runs(list(given_rows(twice))) == []
