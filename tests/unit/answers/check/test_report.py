"""Rows judged: what is possible, what is not, what cannot be told, and why, as values."""

from __future__ import annotations

import json

import msgspec
import pytest

from rooflight.answers.check import causes
from rooflight.answers.check.names import Names
from rooflight.answers.check.outcome import Finding, Judged, NoCeiling
from rooflight.answers.check.report import judged_claims, judged_rows
from rooflight.catalog.calibration import engine_named
from rooflight.errors import BadInput
from rooflight.ingest.rows import given_rows
from rooflight.library.questions import make_scenario
from rooflight.serve.metrics import metric_span, of_step
from rooflight.span import Span
from rooflight.values.measurement import Measurement
from rooflight.work.step import operators
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

    def span(step, sc, row):
        return msgspec.structs.replace(of_step(step, sc, row), low=None, high=None)

    monkeypatch.setattr("rooflight.answers.check.spans.of_step", span)


def check(rows, configs=()) -> list[Judged | NoCeiling]:
    return list(judged_rows(given_rows(rows), Names(configs)))


def one(**changes) -> Judged:
    (found,) = check([{**BASE, **changes}])
    return found


def ceiling(found: Judged) -> float:
    return found.span.ceiling


def noted(found: Judged) -> dict:
    """What was taken for granted: values by key."""
    return {note.key: note.value for note in found.notes}


def kinds(found: Judged) -> list[str]:
    return [finding.kind for finding in found.found]


def test_a_value_below_the_ceiling_is_possible():
    found = one(value=150)
    assert found.verdict == "ok"
    assert ceiling(found) == pytest.approx(3.35e12 / 15_009_849_344, rel=1e-3)
    assert found.over == pytest.approx(150 / ceiling(found))
    assert found.span.low is found.span.high is None
    assert (found.bound, found.limit, found.found) == (None, None, ())


def test_a_time_is_judged_the_other_way_round():
    slow, fast = one(metric="tpot_ms", value=10), one(metric="tpot_ms", value=2)
    assert (slow.verdict, fast.verdict) == ("ok", "impossible")
    assert slow.over == pytest.approx(ceiling(slow) / 10)
    assert fast.over == pytest.approx(ceiling(fast) / 2)


def test_above_the_ceiling_says_why_and_what_would_do():
    """A decode step moves the weights through the memory."""
    found = one(value=300)
    assert (found.verdict, found.bound) == ("impossible", "memory")
    assert found.limit.amount == pytest.approx(15_009_849_344, rel=1e-3)
    assert found.limit.rate == 3.35e12
    assert (found.limit.prompt, found.limit.form) == (False, None)
    assert found.found[0] == Finding("more devices", 2)


def test_a_prefill_is_limited_by_its_products():
    """2 FLOP a parameter and token, of 6.98 G beside tables and head, and causal attention over the prompt."""
    found = one(value=1e6, metric="prefill_tok_s", phase="prefill", input_len=4096)
    assert (found.bound, found.limit.form, found.limit.prompt) == ("compute", "bf16", True)
    assert found.limit.amount == pytest.approx(2 * 6.98e9 * 4096 + 32 * 4 * 4096 * 4096**2 / 2, rel=0.001)
    assert found.limit.rate > 0.9 * 989.4e12


def test_half_a_per_cent_is_rounding():
    most = ceiling(one())
    assert one(value=most * 1.004).verdict == "ok"
    assert one(value=most * 1.006).verdict == "impossible"


def test_no_usual_mistake_makes_up_for_a_factor_of_a_hundred_thousand():
    found = one(value=3e7, metric="prefill_tok_s", phase="prefill", input_len=64)
    assert found.verdict == "impossible"
    assert found.found == ()


def test_a_format_the_row_does_not_state_makes_nothing_impossible():
    """300 tok/s need 8-bit weights: said bf16 it cannot be, said nothing it cannot be told."""
    found = one(value=300, weights="")
    assert found.verdict == "cannot-judge"
    assert found.found == (Finding("weights", "fp8"),)
    assert found.over > 1
    assert one(value=3000, weights="").verdict == "impossible"  # no format is narrow enough


def test_devices_the_row_does_not_state_neither():
    found = one(value=300, gpus="", tp="")
    assert found.verdict == "cannot-judge"
    assert found.found == (Finding("devices", 2),)
    assert noted(one(value=100, gpus="", tp=""))["gpus"] == 1


def test_a_blank_layout_is_the_fastest_legal_one():
    """At batch 1 every cut helps: 8 devices by tp 8 read an eighth each."""
    blank, best = one(gpus=8, tp=""), one(gpus=8, tp=8)
    assert ceiling(blank) == ceiling(best)
    assert noted(blank) == {"layout": (8, 1, 1, 1)}
    assert ceiling(one(gpus=8, tp=1, dp=8)) < ceiling(best) / 4


def test_engines_that_split_layers_are_pipelines():
    found = one(gpus=2, tp="", engine="llama.cpp")
    assert noted(found) == {"layers_split": 2}
    assert found.span.expected == one(gpus=2, tp=1, pp=2, engine="llama.cpp").span.expected
    # its habit is in no ceiling: the fastest cuts matrices
    assert ceiling(found) == pytest.approx(ceiling(one(gpus=2, tp=2)))


def test_a_degree_that_does_not_divide_the_heads_is_bounded_by_the_next_that_does():
    """32 heads in 12 parts: 16 parts are smaller, so their ceiling lies above."""
    found = one(gpus=12, tp=12)
    assert noted(found) == {"heads": (12, 16), "beyond_the_link": (16, 8, ("tp",), "network", 50e9)}
    assert ceiling(found) == pytest.approx(ceiling(one(gpus=16, tp=16)))


def test_degrees_that_are_not_the_devices_are_said():
    for tp in (1, 3):
        assert noted(one(gpus=8, tp=tp, pp=1, dp=1)) == {
            "not_the_devices": (tp, 1, 1, 8),
            "layout": (8, 1, 1, 1),
        }


def test_degrees_left_blank_take_what_the_others_leave():
    assert ceiling(one(gpus=8, tp="", pp=2, dp=1)) == ceiling(one(gpus=8, tp=4, pp=2, dp=1))


def test_replicas_are_taken_for_devices_that_are_left():
    found = one(gpus=4, tp=2, batch=64, metric="output_tok_s")
    assert ceiling(found) == pytest.approx(ceiling(one(gpus=4, tp=2, dp=2, batch=64, metric="output_tok_s")))
    assert noted(found)["layout"] == (2, 1, 2, 1)


def test_a_blank_batch_is_the_one_that_is_fastest():
    alone = one(batch="")
    assert noted(alone) == {"alone": None}
    assert ceiling(alone) == ceiling(one())
    run = {"phase": "e2e_offline", "metric": "output_tok_s", "input_len": 128, "output_len": 128}
    full, some = one(batch="", **run), one(batch=64, **run)
    assert ceiling(full) > ceiling(some)
    assert noted(full)["filled_batch"] == pytest.approx((80 * 2**30 - 16.06e9) / (131_072 * (128 + 64 - 1)), rel=0.01)
    none = one(batch="", model="meta-llama/Meta-Llama-3-70B", **run)
    assert (none.verdict, none.problem, none.held) == ("cannot-judge", None, None)
    assert none.scenario.model.id == "meta-llama/Meta-Llama-3-70B"


def test_lengths_left_blank_leave_a_ceiling_but_no_expectation(monkeypatch):
    expecting(monkeypatch)
    found = one(batch="", phase="e2e_offline", metric="output_tok_s", input_len="", output_len="")
    assert found.verdict == "ok"
    assert found.span.low is found.span.high is None
    assert "decode_alone" in noted(found)
    assert one(phase="e2e_offline", metric="e2e_latency_ms", input_len="").verdict == "cannot-judge"
    assert one(phase="prefill", metric="ttft_ms", input_len="").verdict == "cannot-judge"


def test_tokens_cached_before_count_in_prefill_and_decode():
    deep = one(phase="prefill", metric="prefill_tok_s", input_len=2048, depth=32768)
    assert ceiling(deep) < ceiling(one(phase="prefill", metric="prefill_tok_s", input_len=2048))
    assert ceiling(one(depth=32768)) == ceiling(one(input_len=32768)) < ceiling(one())


def test_the_shape_of_another_model_may_stand_in():
    found = one(model="my-finetune", config_like="meta-llama/Meta-Llama-3-8B")
    assert ceiling(found) == ceiling(one())
    assert noted(found) == {"config_like": "meta-llama/Meta-Llama-3-8B"}


def test_the_format_a_checkpoint_comes_in_is_its_own():
    """DeepSeek-V3 is stored in fp8 blocks: a row that says fp8 ran that, not one scale a tensor."""
    base = {"model": "deepseek-ai/DeepSeek-V3", "gpus": 8, "tp": 8, "value": 20}
    own, blocks, said = (one(**base, weights=name) for name in ("", "fp8-block128", "fp8"))

    assert ceiling(said) == ceiling(own) == pytest.approx(ceiling(blocks))


def test_weights_that_fit_nowhere_stated_leave_nothing_to_expect():
    """70.6 G parameters in bf16 on one card of 80 GB: whatever ran, it was not that; the ceiling stays."""
    found = one(model="llama-3.1-70b", value=1)

    assert found.verdict == "cannot-judge"
    assert kinds(found) == ["too big"]
    assert found.span.low is found.span.high is None
    assert ceiling(found) > 1


def test_what_an_impossible_row_leaves_out_of_memory_is_said():
    found = one(model="llama-3.1-70b", value=1000)

    assert found.verdict == "impossible"
    assert noted(found) == {"weights_beyond": 1}


def test_contradictions_of_a_row_are_said():
    assert noted(one(ep=8)) == {"ep_left_out": 8}
    assert noted(one(accelerator="8xh100-sxm", gpus=4, tp=4)) == {"gpus_counted": (8, 4)}


def test_a_gguf_file_may_have_been_multiplied_in_int8():
    """llama.cpp narrows the inputs of its integer formats; a 4090 has four times bf16's rate in int8."""
    given = {"accelerator": "rtx-4090", "phase": "prefill", "metric": "prefill_tok_s", "input_len": 1024}
    found = one(**given, weights="q4_0", value=16_500)

    assert found.verdict == "cannot-judge"
    assert kinds(found) == ["int8"]
    assert one(**given, weights="q4_0", compute="int8", value=16_500).verdict == "ok"
    assert one(**given, weights="q4_0", value=165_000).verdict == "impossible"
    assert one(**given, weights="int4", value=16_500).verdict != "ok"  # AWQ's kernels multiply in 16 bits


@pytest.mark.parametrize(
    ("engine", "weights", "said"),
    [("tensorrt-llm", "fp8", True), ("TRTLLM", "nvfp4", True), ("tensorrt-llm", "bf16", False), ("vllm", "fp8", False)],
)
def test_converted_checkpoints_bring_their_cache_format(engine, weights, said):
    found = one(engine=engine, weights=weights, value=1)

    assert noted(found).get("checkpoint_cache") == (("fp8", weights) if said else None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"engine": "vllm", "weights": "fp8"}, True),
        ({"engine": "sglang", "weights": "nvfp4"}, True),
        ({"engine": "sglang", "weights": "fp8"}, False),  # its runs say otherwise
        ({"engine": "vllm", "weights": "bf16"}, False),
        ({"engine": "vllm", "weights": "fp8", "weights_as_given": ""}, False),  # a run of one's own
        ({"engine": "vllm", "weights": "fp8", "kv_cache": "bf16"}, False),
        ({"engine": "vllm", "weights": "fp8", "phase": "decode"}, False),
    ],
)
def test_a_served_row_that_leaves_its_cache_blank_is_read_as_suites_have_it(given, said):
    row = {"phase": "e2e_server", "metric": "tpot_ms", "input_len": 1024, "output_len": 128, "value": 50}
    row["weights_as_given"] = given["weights"]
    found = one(**row | given)

    assert noted(found).get("suite_cache") == (("fp8", given["weights"]) if said else None)


def test_an_engine_that_is_not_calibrated_is_said():
    assert noted(one(engine="foo")) == {"uncalibrated_engine": "foo"}
    assert noted(one(engine="vLLM")) == {}


def test_models_are_files_in_the_folders_given(tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps(LLAMA_8B))
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "config.json").write_text(json.dumps(LLAMA_8B))
    rows = [{**BASE, "model": "mine"}, {**BASE, "model": "theirs"}]
    assert [ceiling(row) for row in check(rows, configs=[tmp_path])] == [ceiling(one())] * 2
    with pytest.raises(BadInput, match="is no folder of configs"):
        check(rows, configs=[tmp_path / "none"])


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"model": "nonsense"}, "there is no model 'nonsense'"),  # no size stands in it either
        ({"model": "bert-base-uncased"}, "no token is put out"),
        ({"model": "../../etc/passwd"}, "there is no model"),
        ({"model": "someone/unknown-model"}, "there is no model"),  # never fetched from the hub
        ({"model": "x" * 5000}, "there is no model"),
        ({"accelerator": "h1000"}, "no accelerator is called 'h1000'"),
        ({"accelerator": "/etc/passwd"}, "is no accelerator's id"),
        ({"has_accelerator": False, "accelerator": "h1000"}, "nothing is known of the accelerator h1000"),
        (
            {"accelerator": "cerebras-wse3", "phase": "prefill", "metric": "ttft_ms", "input_len": 100},
            "cerebras-wse3 has no dense bf16 peak",
        ),
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
    assert isinstance(found, NoCeiling)
    assert found.verdict == "cannot-judge"
    assert words in found.problem


def test_one_bad_row_stops_no_other():
    found = check([{**BASE, "value": "x"}, BASE, {"model": 3}, {**BASE, "value": 1e6}])
    assert [row.verdict for row in found] == ["cannot-judge", "ok", "cannot-judge", "impossible"]
    assert [row.asked.line for row in found] == [1, 2, 3, 4]


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
    assert check([row])[0].verdict == "ok"
    with pytest.raises(BadInput, match="a row must map columns to values"):
        check([["h100-sxm", 5.0]])


def test_many_rows_get_what_each_would_alone():
    """Rows of one scenario are computed together as arrays."""
    rows = [{**BASE, "batch": batch, "input_len": 100 * batch, "metric": "output_tok_s"} for batch in range(1, 40)]
    together = [ceiling(row) for row in check(rows)]
    alone = [ceiling(check([row])[0]) for row in rows]
    assert together == pytest.approx(alone, rel=1e-12)


def expecting(monkeypatch, factor: float = 1.5) -> None:
    """As if it were calibrated: 1.5 times the ceiling's time expected, 1.2 to 2 times it the interval."""

    def span(_step, sc, row):
        most, time = metric_span(sc, row).ceiling, row.measures.time
        of = {name: most * times if time else most / times for name, times in (("fast", 1.2), ("slow", 2.0))}
        ends = {"low": of["fast"], "high": of["slow"]} if time else {"low": of["slow"], "high": of["fast"]}
        return Span(ceiling=most, roofline=most, expected=most * factor if time else most / factor, **ends)

    monkeypatch.setattr("rooflight.answers.check.spans.of_step", span)


@pytest.mark.parametrize(
    "share, verdict", [(0.95, "fast"), (0.8, "ok"), (0.55, "ok"), (0.45, "slow"), (0.1, "slow"), (1.2, "impossible")]
)
def test_the_interval_parts_fast_ok_and_slow(monkeypatch, share, verdict):
    """Between 1 / 2 and 1 / 1.2 of the ceiling's speed is as expected."""
    most = ceiling(one())
    expecting(monkeypatch)
    rate, time = one(value=most * share), one(metric="tpot_ms", value=1000 / most / share)
    assert rate.verdict == time.verdict == verdict
    assert rate.span.low < rate.span.expected < rate.span.high < rate.span.ceiling
    assert time.span.ceiling < time.span.low < time.span.expected < time.span.high


def test_slow_names_the_largest_candidates(monkeypatch):
    expecting(monkeypatch)
    found = one(value=20)
    assert 0 < len(found.found) <= 4
    shares = [cause.share for cause in found.found]
    assert shares == sorted(shares, reverse=True)
    served = one(metric="ttft_ms", phase="e2e_server", input_len=512, output_len=64, value=5000)
    assert kinds(served)[0] == "queue"


def test_a_batch_that_is_stated_is_not_fewer(monkeypatch):
    expecting(monkeypatch)
    alone, together = one(value=20, metric="output_tok_s"), one(value=80, metric="output_tok_s", batch=8)
    assert {"sequences", "fewer sequences"} & {*kinds(alone), *kinds(together)} == set()


def test_collectives_of_few_bytes_are_looked_at(monkeypatch):
    """An all-reduce of a token's 8 KB has no bytes to speak of, but it waits; one device has none."""
    expecting(monkeypatch)
    assert "collectives" in kinds(one(value=20, gpus=4, tp=4))
    assert "collectives" not in kinds(one(value=20))


def test_launches_count_at_what_a_framework_takes_for_them(monkeypatch):
    """Qwen3-0.6B: 28 layers of small kernels, more host than memory."""
    expecting(monkeypatch)
    found = one(model="Qwen/Qwen3-0.6B", value=50)
    assert kinds(found)[0] == "launches"


def test_consumer_cards_add_up_fp16_twice_as_fast_as_bf16():
    """An RTX 3090: 71 TFLOP/s in bf16, 142 in fp16 with fp16 sums; int4 weights leave open which of them ran."""
    row = {"accelerator": "rtx-3090", "phase": "prefill", "metric": "prefill_tok_s", "input_len": 4096}
    flop = 2 * 6.98e9
    value = 110e12 / flop  # 7,900 tok/s
    open_, said = (one(**row, weights="int4-g128", value=value, compute=form) for form in ("", "bf16"))
    assert open_.verdict == "cannot-judge"
    assert kinds(open_) == ["fp16"]
    assert said.verdict == "impossible"
    assert one(**row, weights="int4-g128", value=2 * value).verdict == "impossible"


@pytest.mark.parametrize(
    "changes",
    [
        {"metric": "tpot_ms", "value": 90},
        {"metric": "prefill_tok_s", "phase": "prefill", "input_len": 512, "value": 900},
        {"metric": "ttft_ms", "phase": "e2e_server", "input_len": 512, "output_len": 64, "value": 5000},
        {"metric": "output_tok_s", "phase": "e2e_offline", "input_len": 512, "output_len": 64, "value": 2},
        {"metric": "output_tok_s", "gpus": 4, "tp": 2, "dp": 2, "batch": 64, "value": 2},
    ],
)
def test_a_slow_row_evaluates_each_step_once_for_its_bounds_and_once_for_what_is_expected(monkeypatch, changes):
    expecting(monkeypatch)
    steps = []

    def seen(model, step, *rest):
        steps.append(step)
        return operators(model, step, *rest)

    monkeypatch.setattr("rooflight.scenario.steps.operators", seen)
    assert one(**changes).verdict == "slow"
    assert 0 < max(steps.count(step) for step in steps) <= 2


def test_a_claim_of_a_stated_format_leaves_nothing_open():
    """300 tok/s are impossible in bf16; where the format is not said, as in a row, it cannot be told."""
    sc = make_scenario("meta-llama/Meta-Llama-3-8B", "h100-sxm", batch=1, isl=1, osl=99, weights="bf16")
    blank = make_scenario("meta-llama/Meta-Llama-3-8B", "h100-sxm", batch=1, isl=1, osl=99)
    (open_,) = judged_claims(blank, {"output_tok_s": 300})
    assert (open_.verdict, open_.found) == ("cannot-judge", (Finding("weights", "fp8"),))
    assert Finding("more devices", 2) in open_.others
    (above,) = judged_claims(sc, {"output_tok_s": 300})
    (below,) = judged_claims(sc, {"output_tok_s": 150})
    assert (above.verdict, above.bound, above.found[0]) == ("impossible", "memory", Finding("more devices", 2))
    assert (below.verdict, below.bound) == ("ok", "memory")


def test_claims_about_what_does_not_fit_are_impossible():
    sc = make_scenario("llama-3.1-70b", "h100-sxm")
    found = list(judged_claims(sc, {"output_tok_s": 1, "tpot_ms": 9000}))
    assert [(one.verdict, one.held.fits) for one in found] == [("impossible", False)] * 2


def test_a_host_that_was_not_measured_is_nothing_to_look_at(monkeypatch):
    """DeepSpeed on Ampere: its host ended at the edge of its search range."""
    row = Measurement(
        model="meta-llama/Meta-Llama-3-8B", accelerator="a100-sxm4-80gb", metric="tpot_ms", value=80, phase="decode",
    )  # fmt: skip
    sc = make_scenario("meta-llama/Meta-Llama-3-8B", "a100-sxm4-80gb", engine="deepspeed")
    monkeypatch.setattr(causes, "eager_s", lambda sc: 0.0)
    assert "host" not in {one.kind for one in causes.causes(sc, row, 3.0)}

    known = msgspec.structs.replace(engine_named("deepspeed", "Ampere"), at_edge=())
    under = msgspec.structs.replace(sc, engine=known)
    assert "host" in {one.kind for one in causes.causes(under, row, 3.0)}
