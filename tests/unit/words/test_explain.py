"""What follows from values, in sentences: the examples that people work out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import rooflight
from rooflight.errors import BadInput, MissingFact, UnknownName

TESTS = Path(__file__).parents[2]
# Qwen2.5-7B in bf16 streams its 7,615,616,512 parameters less the table of 152,064 x 3,584.
STREAMED = 2 * (7_615_616_512 - 152_064 * 3_584)
KV = 2 * 28 * 4 * 128 * 2


def on_4090(**values):
    return rooflight.explain(model="qwen2.5-7b", on="rtx-4090", **values)


def test_tokens_a_second_come_to_bandwidth_and_arithmetic():
    """14.14 GB x 55 = 778 GB/s = 77 % of 1,008; 2 x 7.07 G x 55 = 0.78 TFLOP/s = 0.5 % of 165.2 (kind 10)."""
    found = on_4090(output_tok_s=55, context=0)

    assert found.values.get("weight_bytes") == pytest.approx(STREAMED, rel=1e-3)
    assert found.values.get("bytes_per_s") == pytest.approx(STREAMED * 55, rel=1e-3)
    assert found.values.get("mbu") == pytest.approx(0.771, abs=0.001)
    assert found.values.get("flop_per_s") == pytest.approx(2 * STREAMED / 2 * 55, rel=1e-3)
    assert found.values.get("mfu") == pytest.approx(0.0047, abs=0.0001)
    assert "778 GB/s = MBU 77 %" in found.answer
    assert "MFU 0.47 %" in found.answer
    assert any("batch not stated" in note for note in found.notes)


def test_each_value_says_how_it_follows():
    by_name = {one.name: one for one in on_4090(tpot_ms=20).derived}

    assert by_name["mbu"].formula == "bytes streamed a second / datasheet bandwidth"
    assert by_name["mbu"].numbers.endswith("/ 1.01 TB/s")
    assert by_name["weight_bytes"].numbers == "counted of the model"
    assert "rtx-4090" in by_name["memory_bytes_per_s"].numbers


def test_a_time_per_token_of_a_batch():
    """8 sequences at 25 ms: 320 tok/s, the weights once and 8 caches of 1,000 tokens and the new one's."""
    found = on_4090(batch=8, tpot_ms=25, context=1000)

    assert found.values.get("output_tokens_per_s") == pytest.approx(8 / 0.025)
    assert found.values.get("kv_bytes") == pytest.approx(8 * 1001 * KV)
    assert found.values.get("bytes_per_s") == pytest.approx((STREAMED + 8 * 1001 * KV) / 0.025, rel=1e-3)


def test_rate_and_time_say_how_many_decode():
    """760 tok/s x 95 ms = 72.2; (28.0 GB + 72 x 400 x 196,608 B) / 95 ms (kind 1)."""
    found = rooflight.explain(model="qwen2.5-14b", on="l40s", isl=300, osl=200, output_tok_s=760, tpot_ms=95)

    assert found.values.get("decoding") == pytest.approx(760 * 0.095)
    assert found.values.get("kv_bytes") == pytest.approx(72 * 400 * 196_608, rel=0.01)
    assert "72 sequences" in found.answer


def test_a_rate_beyond_one_sequence_is_not_called_impossible():
    """Without a batch nothing is impossible that some batch allows."""
    found = rooflight.explain(model="qwen2.5-14b", on="l40s", output_tok_s=760)

    assert found.possible
    assert "several decoded at once" in found.answer
    assert found.values.get("mbu") is None


def test_what_is_faster_than_physics_is_said():
    """15.2 GB in 3.33 ms are more than 3.35 TB/s."""
    found = rooflight.explain(model="llama-3.1-8b", on="h100-sxm", output_tok_s=300, batch=1)

    assert not found.possible
    assert "faster than physics allows" in found.answer


def test_a_prefill_comes_to_its_mfu():
    """30,000 prompt tokens a second of Llama-3.1-8B."""
    found = rooflight.explain(model="llama-3.1-8b", on="h100-sxm", prefill_tok_s=30_000, isl=3000)
    flop = rooflight.analyze("llama-3.1-8b", "h100-sxm", isl=3000).phases["prefill"].flop

    assert found.values.get("prefill_s") == pytest.approx(0.1)
    assert found.values.get("prefill_mfu") == pytest.approx(flop / 0.1 / 989.4e12, rel=1e-3)


def test_a_first_token_holds_more_than_its_prefill():
    found = rooflight.explain(model="llama-3.1-8b", on="h100-sxm", ttft_ms=100, isl=3000)

    assert any("queue" in note for note in found.notes)


def test_drafts_make_several_tokens_a_step():
    """With 3 drafts at 0.7 a step gives 1 + 0.7 + 0.49 + 0.343 = 2.533 tokens: 25 ms a token are steps of 63 ms."""
    found = rooflight.explain(model="llama-3.1-8b", on="h100-sxm", batch=4, tpot_ms=25, draft_tokens=3)

    assert found.values.get("step_s") == pytest.approx(0.025 * 2.533)
    assert "verify step" in found.answer


def test_several_formats_are_told_apart():
    phase = rooflight.analyze("llama-3.1-8b", "h100-sxm", weights="fp8", batch=64).phases["decode"]
    found = rooflight.explain(
        model="llama-3.1-8b", on="h100-sxm", weights="fp8", batch=64, tpot_ms=1000 * phase.time_s.expected
    )

    assert found.values.get("mfu") == pytest.approx(phase.mfu)
    assert any("several formats" in note for note in found.notes)


# Counters.


def test_dram_active_is_a_share_of_the_bandwidth():
    """0.55 x 3.35 TB/s = 1.84 TB/s (kind 14)."""
    found = rooflight.explain(on="h100-sxm", dram_active=0.55)

    assert found.values.get("dram_bytes_per_s") == pytest.approx(0.55 * 3.35e12)
    assert "1.84 TB/s" in found.answer


def test_counters_of_several_devices_are_of_all():
    assert rooflight.explain(on="8xh100-sxm", dram_active=0.5).values.get("dram_bytes_per_s") == pytest.approx(
        4 * 3.35e12
    )


def test_gpu_utilisation_says_only_that_a_kernel_ran():
    found = rooflight.explain(gpu_util=0.95)

    assert "only that some kernel ran" in found.answer
    assert found.values.get("idle") == pytest.approx(0.05)
    assert {one.name for one in found.derived} == {"idle"}


def test_tensor_and_sm_active_are_upper_bounds():
    found = rooflight.explain(on="h100-sxm", tensor_active=0.06, sm_active=0.5)

    assert found.values.get("tensor_flop_per_s") == pytest.approx(0.06 * 989.4e12, rel=1e-3)
    assert found.values.get("most_flop_per_s") == pytest.approx(0.5 * 989.4e12, rel=1e-3)
    assert "at most 59.4 TFLOP/s" in found.answer
    assert "of bandwidth it says nothing" in found.answer


def test_a_counter_at_rest_is_no_contradiction():
    found = rooflight.explain(on="h100-sxm", dram_active=0, tensor_active=0, gpu_util=1)

    assert found.possible
    assert found.values.get("dram_bytes_per_s") == 0


def test_cache_usage_is_a_share_of_the_pool():
    pool = rooflight.analyze("llama-3.1-8b", "h100-sxm").memory.kv_tokens
    found = rooflight.explain(model="llama-3.1-8b", on="h100-sxm", kv_cache_usage=0.75)

    assert found.values.get("cached_tokens") == pytest.approx(0.75 * pool)


# Kernels and intensities.


def test_bytes_in_a_time():
    """64 MB in 120 us = 533 GB/s, 16 % of 3.35 TB/s (kind 14)."""
    found = rooflight.explain(on="h100-sxm", bytes="64MB", time="120us")

    assert found.values.get("kernel_bytes_per_s") == pytest.approx(64e6 / 120e-6)
    assert found.values.get("kernel_of_bandwidth") == pytest.approx(64e6 / 120e-6 / 3.35e12)
    assert "533 GB/s, 16 %" in found.answer
    same = rooflight.explain(on="h100-sxm", bytes=64e6, time=120e-6)
    assert same.answer == found.answer


def test_bytes_and_flop_have_a_roof():
    """2 GFLOP over 64 MB = 31.25 FLOP/byte: 105 TFLOP/s at most, 16.7 TFLOP/s in 120 us."""
    found = rooflight.explain(on="h100-sxm", bytes="64MB", flop="2GFLOP", time="120us")

    assert found.values.get("attainable_flop_per_s") == pytest.approx(31.25 * 3.35e12)
    assert found.values.get("kernel_of_roof") == pytest.approx(2e9 / 120e-6 / (31.25 * 3.35e12))
    assert "memory binds" in found.answer


def test_more_than_the_bandwidth_came_from_a_cache():
    found = rooflight.explain(on="h100-sxm", bytes="64MB", time="10us")

    assert any("cache" in note for note in found.notes)


@pytest.mark.parametrize(("ai", "rate", "side"), [(32, 32 * 3.35e12, "below"), (500, 989.4e12, "at or above")])
def test_an_intensity_attains_the_smaller_of_two(ai, rate, side):
    found = rooflight.explain(on="h100-sxm", ai=ai)

    assert found.values.get("attainable_flop_per_s") == pytest.approx(rate, rel=1e-3)
    assert f"{side} the ridge point" in found.answer


def test_the_peak_is_that_of_the_format():
    assert rooflight.explain(on="h100-sxm", ai=5000, compute="fp8").values.get(
        "attainable_flop_per_s"
    ) == pytest.approx(1978.9e12, rel=1e-3)


# Rates.


def test_output_tokens_and_all_tokens():
    """isl 900, osl 100, 300 output tok/s = 3,000 total tok/s (kind 10)."""
    found = rooflight.explain(isl=900, osl=100, output_tok_s=300, gpus=4)

    assert found.values.get("total_tokens_per_s") == 3000
    assert found.values.get("output_tokens_per_s_per_accelerator") == 75
    assert "3,000 tok/s in and out" in found.answer


def test_values_that_cannot_be_together():
    """640 x 0.0222 = 14.2, not 32 (kind 8)."""
    found = rooflight.explain(batch=32, output_tok_s=640, tpot_ms=22.2)

    assert not found.possible
    assert "cannot be together" in found.answer
    assert "14.2 sequences, not 32" in found.answer


def test_with_lengths_the_rest_of_a_batch_waits():
    """32 x 500 / 640 = 25 s a request, of which 499 x 22.2 ms are tokens: a first token after 13.9 s."""
    found = rooflight.explain(batch=32, output_tok_s=640, tpot_ms=22.2, isl=1000, osl=500)

    assert found.possible
    assert found.values.get("ttft_s") == pytest.approx(25 - 499 * 0.0222)
    assert any("waits 13.9 s" in note for note in found.notes)


def test_guidellms_time_per_token_holds_the_first():
    """(0.24 + 249 x 0.04) / 250 = 40.8 ms."""
    found = rooflight.explain(guidellm_tpot_ms=40.8, tpot_ms=40, osl=250)

    assert found.values.get("ttft_s") == pytest.approx(0.24)


def test_chunks_turn_into_tokens():
    found = rooflight.explain(itl_ms=50, tokens_per_chunk=2.5)

    assert found.values.get("tpot_s") == pytest.approx(0.020)


def test_an_arrival_rate_and_a_time_are_in_flight():
    assert rooflight.explain(request_rate=3, e2e_latency_ms=8000).values.get("in_flight") == pytest.approx(24)


# Machines that were measured, and those of which a rate is not known.


def test_a_measured_machine_has_two_roofs():
    found = rooflight.explain(model="llama-3.1-8b", on=str(TESTS / "measured_h100.toml"), tpot_ms=8)
    card = rooflight.accelerator(str(TESTS / "measured_h100.toml"))

    assert found.values.get("mbu") == pytest.approx(found.values.get("bytes_per_s") / 3.35e12)
    assert found.values.get("of_measured_bandwidth") == pytest.approx(
        found.values.get("bytes_per_s") / card.memory_bytes_per_s
    )
    assert "measured there" in found.answer


def test_a_measured_machine_without_a_datasheet_has_its_own_roof():
    found = rooflight.explain(model="Qwen/Qwen3-0.6B", on=str(TESTS / "measured.toml"), tpot_ms=500)

    assert found.values.get("mbu") is None
    assert 0 < found.values.get("of_measured_bandwidth") < 1
    assert any("no datasheet" in note for note in found.notes)
    assert "memory binds" in rooflight.explain(on=str(TESTS / "measured.toml"), ai=3).answer


def test_without_a_peak_the_bytes_are_still_told():
    found = rooflight.explain(model="qwen2.5-7b", on="p100a", tpot_ms=50)

    assert found.values.get("mbu") is not None
    assert found.values.get("mfu") is None
    assert any("no published peak" in note for note in found.notes)
    with pytest.raises(MissingFact):
        rooflight.explain(on="p100a", tensor_active=0.5)


# What is no question.


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"gpu_util": 95}, BadInput), ({"dram_active": -1}, BadInput), ({"output_tok_s": 0}, BadInput),
        ({"bytes": "3XB"}, BadInput), ({"time": "fast"}, BadInput), ({"tpot_ms": float("nan")}, BadInput),
        ({"model": "llama-3.1-8b", "tpot_ms": 9}, BadInput), ({"term": "mfu", "batch": 3}, BadInput),
        ({"batc": 3}, UnknownName), ({"term": "nonsense"}, UnknownName), ({"batch": [1, 2]}, BadInput),
        ({"gpus": 2, "on": "4xh100", "dram_active": 0.5}, BadInput), ({"gpus": 1.5, "tpot_ms": 1}, BadInput),
    ],
)  # fmt: skip
def test_what_is_no_question_is_refused(values, error):
    with pytest.raises(error):
        rooflight.explain(**values)


def test_a_share_in_percent_is_told_as_a_share():
    with pytest.raises(BadInput) as caught:
        rooflight.explain(gpu_util=95)
    assert "0.95" in str(caught.value.try_this)


def test_values_without_a_consequence_say_so():
    found = rooflight.explain(itl_ms=50)

    assert found.answer.startswith("Nothing follows")
    assert any("--tokens-per-chunk" in note for note in found.notes)


def test_nothing_asked_lists_all_terms():
    found = rooflight.explain()

    assert {"mbu", "gpu-util"} <= {one.name for one in found.terms}
    assert rooflight.explain("GPU-Util").term.name == "gpu-util"
