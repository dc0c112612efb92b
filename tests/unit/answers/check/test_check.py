"""Rows judged: what is possible, what is not, and what cannot be told."""

from __future__ import annotations

import json

import msgspec
import pytest

import rooflight
from rooflight.answers.check import judge as checking
from rooflight.answers.check import reasons
from rooflight.answers.check.judge import check
from rooflight.catalog.calibration import engine_named
from rooflight.errors import BadInput
from rooflight.library import make_scenario
from rooflight.serve.metrics import counted_tokens, in_metric, row_seconds
from rooflight.values.measurement import Measurement
from unit.cli.conftest import LLAMA_8B

# Llama-3-8B streams 15,009,849,344 bytes of weights a step: 4.48 ms on an H100's 3.35 TB/s, 223 tok/s.
BASE = {
    "model": "meta-llama/Meta-Llama-3-8B",
    "accelerator": "h100-sxm",
    "gpus": 1,
    "tp": 1,
    "weights": "bf16",
    "phase": "decode",
    "batch": 1,
    "input_len": 0,
    "output_len": 1,
    "metric": "output_tok_s_per_user",
    "value": 100,
}


@pytest.fixture(autouse=True)
def uncalibrated(monkeypatch):
    """Nothing is expected, whatever is calibrated by now; `expecting` puts numbers in its place."""

    def span(sc, row):
        plain = row_seconds(sc, row)
        return in_metric(msgspec.structs.replace(plain, low=None, high=None), row.metric, counted_tokens(sc, row))

    monkeypatch.setattr("rooflight.answers.check.spans.metric_span", span)
    monkeypatch.setattr(checking, "metric_span", span)


def one(**changes):
    (verdict,) = check({**BASE, **changes}).rows
    return verdict


def test_a_value_below_the_ceiling_is_possible():
    found = one(value=150)
    assert found.verdict == "ok"
    assert found.reason == "at or under its ceiling; no expectation is calibrated for it"
    assert found.ceiling == pytest.approx(3.35e12 / 15_009_849_344, rel=1e-3)
    assert found.over_ceiling == pytest.approx(150 / found.ceiling)
    assert found.expected is found.low is found.high is None


def test_a_time_is_judged_the_other_way_round():
    slow, fast = one(metric="tpot_ms", value=10), one(metric="tpot_ms", value=2)
    assert (slow.verdict, fast.verdict) == ("ok", "impossible")
    assert slow.over_ceiling == pytest.approx(slow.ceiling / 10)
    assert fast.over_ceiling == pytest.approx(2 * fast.ceiling / 4)


def test_above_the_ceiling_says_why_and_what_would_do():
    found = one(value=300)
    assert found.verdict == "impossible"
    assert found.bound == "memory"
    assert found.mix_up == "for 2 devices"
    assert found.reason.startswith(
        "300 tok/s per user is impossible: the ceiling is 223 tok/s, because each decode step moves 15 GB through "
        "memory of 3.35 TB/s (h100-sxm); it would be right for 2 devices (or "
    )


def test_half_a_per_cent_is_rounding():
    ceiling = one().ceiling
    assert one(value=ceiling * 1.004).verdict == "ok"
    assert one(value=ceiling * 1.006).verdict == "impossible"


def test_no_usual_mistake_makes_up_for_a_factor_of_a_hundred_thousand():
    found = one(value=3e7, metric="prefill_tok_s", phase="prefill", input_len=64)
    assert found.verdict == "impossible"
    assert found.mix_up is None
    assert "none of the usual mix-ups explains it" in found.reason


def test_a_format_the_row_does_not_state_makes_nothing_impossible():
    """300 tok/s need 8-bit weights: said bf16 it cannot be, said nothing it cannot be told."""
    found = one(value=300, weights="")
    assert found.verdict == "cannot-judge"
    assert found.reason.startswith("above the ceiling of bf16 weights, possible for fp8 weights")
    assert found.over_ceiling > 1
    assert one(value=3000, weights="").verdict == "impossible"  # no format is narrow enough


def test_devices_the_row_does_not_state_neither():
    found = one(value=300, gpus="", tp="")
    assert found.verdict == "cannot-judge"
    assert "possible for 2 devices: the row does not say how many it ran on" in found.reason
    assert "gpus not stated: taken as 1" in one(value=100, gpus="", tp="").reason


def test_a_blank_layout_is_the_fastest_legal_one():
    """At batch 1 every cut helps: 8 devices by tp 8 read an eighth each."""
    blank, best = one(gpus=8, tp=""), one(gpus=8, tp=8)
    assert blank.ceiling == best.ceiling
    assert "layout not stated: the fastest legal one, tp 8" in blank.reason
    assert one(gpus=8, tp=1, dp=8).ceiling < best.ceiling / 4


def test_engines_that_split_layers_are_pipelines():
    found = one(gpus=2, tp="", engine="llama.cpp")
    assert "layout not stated: llama.cpp splits layers, so pp 2" in found.reason
    assert found.ceiling == pytest.approx(one(gpus=2, tp=1, pp=2).ceiling)


def test_a_degree_that_does_not_divide_the_heads_is_bounded_by_the_next_that_does():
    """32 heads in 12 parts: 16 parts are smaller, so their ceiling lies above."""
    found = one(gpus=12, tp=12)
    assert "tp 12 does not divide the heads" in found.reason
    assert found.ceiling == pytest.approx(one(gpus=16, tp=16).ceiling)


def test_degrees_that_are_not_the_devices_are_said():
    found = one(gpus=8, tp=3, pp=1, dp=1)
    assert "tp 3 x pp 1 x dp 1 is not 8 devices: the fastest legal layout of 8 counts" in found.reason


def test_replicas_are_taken_for_devices_that_are_left():
    found = one(gpus=4, tp=2, batch=64, metric="output_tok_s")
    assert found.ceiling == pytest.approx(one(gpus=4, tp=2, dp=2, batch=64, metric="output_tok_s").ceiling)
    assert "tp 2 x dp 2" in found.reason


def test_a_blank_batch_is_the_one_that_is_fastest():
    alone = one(batch="")
    assert "batch not stated: one sequence, the fastest" in alone.reason
    assert alone.ceiling == one().ceiling
    run = {"phase": "e2e_offline", "metric": "output_tok_s", "input_len": 128, "output_len": 128}
    full, some = one(batch="", **run), one(batch=64, **run)
    assert full.ceiling > some.ceiling
    assert "batch not stated: as many sequences as memory holds at most, 2,5" in full.reason
    # (80 GB - 16.06 GB) / (131,072 bytes x (128 + 64 - 1) tokens) = 2,554
    assert one(batch="", model="meta-llama/Meta-Llama-3-70B", **run).reason.endswith("do not fit on 1 x h100-sxm")


def test_lengths_left_blank_leave_a_ceiling_but_no_expectation(monkeypatch):
    expecting(monkeypatch)
    found = one(batch="", phase="e2e_offline", metric="output_tok_s", input_len="", output_len="")
    assert found.verdict == "ok"
    assert found.expected is None
    assert "input_len and output_len are not both stated" in found.reason
    assert one(phase="e2e_offline", metric="e2e_latency_ms", input_len="").verdict == "cannot-judge"
    assert one(phase="prefill", metric="ttft_ms", input_len="").verdict == "cannot-judge"


def test_tokens_cached_before_count_in_prefill_and_decode():
    deep = one(phase="prefill", metric="prefill_tok_s", input_len=2048, depth=32768)
    assert deep.ceiling < one(phase="prefill", metric="prefill_tok_s", input_len=2048).ceiling
    assert one(depth=32768).ceiling == one(input_len=32768).ceiling < one().ceiling


def test_the_shape_of_another_model_may_stand_in():
    found = one(model="my-finetune", config_like="meta-llama/Meta-Llama-3-8B")
    assert found.ceiling == one().ceiling
    assert "counted with the config of meta-llama/Meta-Llama-3-8B" in found.reason


def test_the_format_a_checkpoint_comes_in_is_its_own():
    """DeepSeek-V3 is stored in fp8 blocks: a row that says fp8 ran that, not one scale a tensor."""
    base = {"model": "deepseek-ai/DeepSeek-V3", "gpus": 8, "tp": 8, "value": 20}
    own, blocks, said = (one(**base, weights=name) for name in ("", "fp8-block128", "fp8"))

    assert said.ceiling == own.ceiling == pytest.approx(blocks.ceiling)


def test_weights_that_fit_nowhere_stated_leave_nothing_to_expect():
    """70.6 G parameters in bf16 on one card of 80 GB: whatever ran, it was not that; the ceiling stays."""
    found = one(model="llama-3.1-70b", value=1)

    assert found.verdict == "cannot-judge"
    assert "weights of meta-llama/Meta-Llama-3.1-70B alone are more than 1 x h100-sxm hold" in found.reason
    assert found.expected is None
    assert found.ceiling is not None


def test_what_an_impossible_row_leaves_out_of_memory_is_said():
    found = one(model="llama-3.1-70b", value=1000)

    assert found.verdict == "impossible"
    assert found.reason.endswith("the weights alone are more than 1 x h100-sxm hold")


def test_contradictions_of_a_row_are_said():
    assert "ep 8 left out: the model has no routed experts" in one(ep=8).reason
    assert "the accelerator says 8 devices, gpus 4: 4 count" in one(accelerator="8xh100-sxm", gpus=4, tp=4).reason


def test_a_gguf_file_may_have_been_multiplied_in_int8():
    """llama.cpp narrows the inputs of its integer formats; a 4090 has four times bf16's rate in int8."""
    given = {"accelerator": "rtx-4090", "phase": "prefill", "metric": "prefill_tok_s", "input_len": 1024}
    found = one(**given, weights="q4_0", value=16_500)

    assert found.verdict == "cannot-judge"
    assert "above the ceiling of bf16 arithmetic, possible in int8" in found.reason
    assert one(**given, weights="q4_0", compute="int8", value=16_500).verdict == "ok"
    assert one(**given, weights="q4_0", value=165_000).verdict == "impossible"
    assert one(**given, weights="int4", value=16_500).verdict != "ok"  # AWQ's kernels multiply in 16 bits


@pytest.mark.parametrize(
    ("engine", "weights", "said"),
    [("tensorrt-llm", "fp8", True), ("TRTLLM", "nvfp4", True), ("tensorrt-llm", "bf16", False), ("vllm", "fp8", False)],
)
def test_converted_checkpoints_bring_their_cache_format(engine, weights, said):
    found = one(engine=engine, weights=weights, value=1)

    assert ("kv_cache not stated: fp8" in found.reason) is said


def test_an_engine_that_is_not_calibrated_is_said():
    assert "no engine 'foo' is calibrated" in one(engine="foo").reason
    assert "calibrated:" not in one(engine="vLLM").reason


def test_models_are_files_in_the_folders_given(tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps(LLAMA_8B))
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "config.json").write_text(json.dumps(LLAMA_8B))
    rows = [{**BASE, "model": "mine"}, {**BASE, "model": "theirs"}]
    assert [row.ceiling for row in check(rows, configs=[tmp_path]).rows] == [one().ceiling] * 2
    with pytest.raises(BadInput, match="is no folder of configs"):
        check(rows, configs=[tmp_path / "none"])


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"model": "nonsense-9b"}, "there is no model 'nonsense-9b'"),
        ({"model": "../../etc/passwd"}, "there is no model"),
        ({"model": "someone/unknown-model"}, "there is no model"),  # never fetched from the hub
        ({"model": "x" * 5000}, "there is no model"),
        ({"accelerator": "h1000"}, "no accelerator is called 'h1000'"),
        ({"accelerator": "/etc/passwd"}, "is no accelerator's id"),
        ({"has_accelerator": False}, "nothing is known of the accelerator h100-sxm"),
        ({"accelerator": "cerebras-wse3"}, "cerebras-wse3 has no dense bf16 peak"),
        ({"weights": "int3.7"}, "there is no number format 'int3.7'"),
        ({"gpus": 10**9, "tp": ""}, "want at most 4,096"),
        ({"pp": 33, "gpus": 33}, "33 pipeline stages are more than the 32 layers"),
        ({"phase": "e2e_offline", "metric": "tpot_ms", "input_len": 9}, "no token comes after the first"),
        ({"value": -1}, "value is -1"),
        ({"batch": -4}, "batch is -4"),
    ],
)
def test_what_cannot_be_judged_says_why(changes, words):
    found = one(**changes)
    assert found.verdict == "cannot-judge"
    assert words in found.reason
    assert found.ceiling is None


def test_one_bad_row_stops_no_other():
    report = check([{**BASE, "value": "x"}, BASE, {"model": 3}, {**BASE, "value": 1e6}])
    assert [row.verdict for row in report.rows] == ["cannot-judge", "ok", "cannot-judge", "impossible"]
    assert (report.summary.rows, report.summary.judged, report.summary.impossible) == (4, 2, 1)
    assert report.answer == "1 of 4 rows is faster than physics allows; 2 cannot be judged."
    assert [row.line for row in report.rows] == [1, 2, 3, 4]


def test_measurements_are_rows_too():
    row = Measurement(
        model=BASE["model"],
        accelerator="h100-sxm",
        metric="tpot_ms",
        value=5.0,
        phase="decode",
        batch=1,
        weights="bf16",
    )
    assert check([row]).rows[0].verdict == "ok"
    with pytest.raises(BadInput, match="a row must map columns to values"):
        check([["h100-sxm", 5.0]])


def test_the_public_function_gives_the_document():
    document = rooflight.check(BASE).to_dict()
    assert document["schema"] == "rooflight.check/1"
    assert document["summary"]["ok"] == 1
    assert document["rows"][0]["given"]["value"] == "100"


def test_many_rows_get_what_each_would_alone():
    """Rows of one scenario are computed together as arrays."""
    rows = [{**BASE, "batch": batch, "input_len": 100 * batch, "metric": "output_tok_s"} for batch in range(1, 40)]
    together = [row.ceiling for row in check(rows).rows]
    alone = [check(row).rows[0].ceiling for row in rows]
    assert together == pytest.approx(alone, rel=1e-12)


def expecting(monkeypatch, factor: float = 1.5) -> None:
    """As if it were calibrated: 1.5 times the ceiling's time expected, 1.2 to 2 times it the interval."""

    def span(sc, row):
        seconds = row_seconds(sc, row)
        times = {"expected": factor, "low": 1.2, "high": 2.0}
        full = type(seconds)(
            ceiling=seconds.ceiling,
            roofline=seconds.roofline,
            **{name: times[name] * seconds.ceiling for name in times},
        )
        return in_metric(full, row.metric, counted_tokens(sc, row))

    monkeypatch.setattr("rooflight.answers.check.spans.metric_span", span)
    monkeypatch.setattr(checking, "metric_span", span)


@pytest.mark.parametrize(
    "share, verdict", [(0.95, "fast"), (0.8, "ok"), (0.55, "ok"), (0.45, "slow"), (0.1, "slow"), (1.2, "impossible")]
)
def test_the_interval_parts_fast_ok_and_slow(monkeypatch, share, verdict):
    """Between 1 / 2 and 1 / 1.2 of the ceiling's speed is as expected."""
    ceiling = one().ceiling
    expecting(monkeypatch)
    rate, time = one(value=ceiling * share), one(metric="tpot_ms", value=1000 / ceiling / share)
    assert rate.verdict == time.verdict == verdict
    assert rate.low < rate.expected < rate.high < rate.ceiling
    assert time.ceiling < time.low < time.expected < time.high


def test_slow_names_the_largest_candidates(monkeypatch):
    expecting(monkeypatch)
    found = one(value=20)
    assert found.reason.startswith("7.4x slower than expected (the 112 to 186 tok/s expected); look at: ")
    served = one(metric="ttft_ms", phase="e2e_server", input_len=512, output_len=64, value=5000)
    assert "waiting in the queue behind other prompts" in served.reason


def test_one_sequence_cannot_be_fewer(monkeypatch):
    expecting(monkeypatch)
    alone, together = one(value=20, metric="output_tok_s"), one(value=80, metric="output_tok_s", batch=8)
    assert "fewer sequences" not in alone.reason
    assert "fewer sequences at once than 8" in together.reason


def test_collectives_of_few_bytes_are_looked_at(monkeypatch):
    """An all-reduce of a token's 8 KB has no bytes to speak of, but it waits; one device has none."""
    expecting(monkeypatch)
    assert "collectives between the devices" in one(value=20, gpus=4, tp=4).reason
    assert "collectives" not in one(value=20).reason


def test_launches_count_at_what_a_framework_takes_for_them(monkeypatch):
    """Qwen3-0.6B: 28 layers of small kernels, more host than memory."""
    expecting(monkeypatch)
    found = one(model="Qwen/Qwen3-0.6B", value=50)
    assert "look at: kernels launched one by one" in found.reason


def test_consumer_cards_add_up_fp16_twice_as_fast_as_bf16():
    """An RTX 3090: 71 TFLOP/s in bf16, 142 in fp16 with fp16 sums; int4 weights leave open which of them ran."""
    row = {"accelerator": "rtx-3090", "phase": "prefill", "metric": "prefill_tok_s", "input_len": 4096}
    flop = 2 * 6.98e9
    value = 110e12 / flop  # 7,900 tok/s
    open_, said = (one(**row, weights="int4-g128", value=value, compute=form) for form in ("", "bf16"))
    assert open_.verdict == "cannot-judge"
    assert "possible in fp16, which rtx-3090 adds up faster" in open_.reason
    assert said.verdict == "impossible"
    assert one(**row, weights="int4-g128", value=2 * value).verdict == "impossible"


def test_errors_and_coverage_are_counted(monkeypatch):
    """Expected 1 / 1.5 of the ceiling: half, a third below, twice and equal."""
    ceiling = one().ceiling
    expecting(monkeypatch)
    shares = (1 / 1.5, 0.75 / 1.5, 1 / 3, 1 / 1.25)
    summary = check([{**BASE, "value": ceiling * share} for share in shares]).summary
    errors = [0, 1 / 0.75 - 1, 1, 1 - 1.25 / 1.5]
    assert summary.mean_error == pytest.approx(sum(errors) / 4)
    assert summary.median_error == pytest.approx(sorted(errors)[1], abs=1e-3)
    assert summary.coverage == 3 / 4
    assert (summary.ok, summary.slow) == (3, 1)


def test_a_host_that_was_not_measured_is_nothing_to_look_at(monkeypatch):
    """transformers on Ampere: its host ended at the edge of its search range."""
    row = Measurement(
        model="meta-llama/Meta-Llama-3-8B", accelerator="a100-sxm4-80gb", metric="tpot_ms", value=80, phase="decode",
    )  # fmt: skip
    sc = make_scenario("meta-llama/Meta-Llama-3-8B", "a100-sxm4-80gb", engine="transformers")
    monkeypatch.setattr(reasons, "eager_s", lambda sc: 0.0)
    assert "host time between steps" not in reasons.candidates(sc, row, 3.0)

    known = msgspec.structs.replace(engine_named("transformers", "Ampere"), at_edge=())
    assert "host time between steps" in reasons.candidates(msgspec.structs.replace(sc, engine=known), row, 3.0)
