"""MFU and MBU: by hand, in analyze and in check."""

from __future__ import annotations

from pathlib import Path

import pytest

import rooflight
from rooflight.library.questions import make_scenario
from rooflight.serve import phases
from rooflight.serve.efficiency import Demand, demand, efficiency, printed

TESTS = Path(__file__).parents[2]
# Qwen2.5-7B in bf16: 7,615,616,512 parameters less the table of 152,064 x 3,584, at 2 bytes; 28 layers of 4 KV heads of
# 128, so 57,344 bytes a token. An RTX 4090 has 1,008 GB/s and 165.2 TFLOP/s dense with fp32 accumulation.
STREAMED = 2 * (7_615_616_512 - 152_064 * 3_584)
KV = 2 * 28 * 4 * 128 * 2


def test_mbu_is_bytes_over_the_time_at_the_datasheets_bandwidth():
    """14.1 GB of weights, 1,000 cached tokens and the new one's cache in 20 ms of 1,008 GB/s."""
    sc = make_scenario("qwen2.5-7b", "rtx-4090", context=1000)
    found = efficiency(demand(sc, phases.decode(sc)), 0.020)

    # the looked-up row of the table counts as activation; of the weights nothing else is left out
    assert found.mbu == pytest.approx((STREAMED + 1001 * KV) / (0.020 * 1008e9), rel=1e-3)


def test_mfu_is_flop_over_the_time_at_the_datasheets_peak():
    """2 FLOP a streamed weight and sequence, and 4 x 28 heads x 128 a cached token and layer for attention."""
    sc = make_scenario("qwen2.5-7b", "rtx-4090", context=1000, batch=8)
    found = efficiency(demand(sc, phases.decode(sc)), 0.020)

    flop = 8 * (2 * STREAMED / 2 + 4 * 28 * 128 * 1001 * 28)
    assert found.mfu == pytest.approx(flop / (0.020 * 165.2e12), rel=1e-3)


def test_both_are_of_all_devices():
    """Four replicas with a sequence each stream four times the bytes through four times the bandwidth."""
    one = rooflight.analyze("qwen2.5-7b", "rtx-4090", batch=1).phases["decode"]
    four = rooflight.analyze("qwen2.5-7b", "4xrtx-4090", batch=4, tp=1, dp=4).phases["decode"]

    assert (four.mfu, four.mbu) == (pytest.approx(one.mfu), pytest.approx(one.mbu))


def test_each_format_has_its_own_peak():
    """FP8 products at twice the rate, attention and the head in bf16 at theirs."""
    phase = rooflight.analyze("llama-3.1-8b", "h100-sxm", weights="fp8", batch=64).phases["decode"]
    peaks = rooflight.accelerator("h100-sxm").peak_flop_per_s
    seconds = sum(flop / peaks[form] for form, flop in phase.flop_by_format.items())

    assert set(phase.flop_by_format) == {"fp8", "bf16"}
    assert phase.mfu == pytest.approx(seconds / phase.time_s.expected)


def test_activations_are_no_bytes_of_mbu():
    phase = rooflight.analyze("llama-3.1-8b", "h100-sxm", batch=32).phases["prefill"]
    moved = phase.bytes.weights + phase.bytes.kv_read + phase.bytes.kv_write

    assert phase.mbu == pytest.approx(moved / (phase.time_s.expected * 3.35e12))
    assert phase.bytes.activations > 0


def test_without_a_published_peak_there_is_no_mfu():
    phase = rooflight.analyze("qwen2.5-7b", "p100a").phases["decode"]

    assert phase.mfu is None
    assert phase.mbu == pytest.approx((phase.bytes.total - phase.bytes.activations) / phase.time_s.expected / 448e9)


def test_a_measured_machine_is_held_against_its_datasheet():
    """tests/measured_h100.toml: an H100 as its datasheet says it, slower as measured."""
    card = rooflight.accelerator(str(TESTS / "measured_h100.toml"))
    phase = rooflight.analyze("llama-3.1-8b", card).phases["decode"]

    assert printed(card).id == "h100-sxm"
    moved = phase.bytes.weights + phase.bytes.kv_read + phase.bytes.kv_write
    assert phase.mbu == pytest.approx(moved / phase.time_s.expected / 3.35e12)


def test_a_part_of_a_device_has_no_datasheet():
    """tests/measured.toml: two cores of a Xeon of 56."""
    card = rooflight.accelerator(str(TESTS / "measured.toml"))
    sc = make_scenario("Qwen/Qwen3-0.6B", card)

    assert printed(card) is None
    assert demand(sc, phases.decode(sc, bounds_only=True)) == Demand(None, None)
    assert efficiency(Demand(None, None), 1.0).mbu is None


# What check makes of a value's own time.


def test_a_claim_has_the_efficiency_of_its_time():
    """55 tok/s of one sequence: 14.1 GB x 55 = 777 GB/s and the cache, 77 % of 1,008."""
    (one,) = rooflight.claim("qwen2.5-7b", "rtx-4090", output_tok_s=55, batch=1, context=0).rows

    assert one.mbu == pytest.approx(STREAMED * 55 / 1008e9, rel=1e-3)
    assert one.mfu == pytest.approx(STREAMED * 55 / 165.2e12, rel=1e-2)
    assert f"MBU {100 * STREAMED * 55 / 1008e9:.0f} %" in one.reason


def test_a_rate_and_its_time_have_the_same_efficiency():
    """64 sequences at 20 ms a token are 3,200 tok/s, each 50, each of two devices 1,600."""
    values = {"tpot_ms": 20, "output_tok_s": 3200, "output_tok_s_per_user": 50, "output_tok_s_per_gpu": 1600}
    found = rooflight.claim("llama-3.1-8b", "2xh100-sxm", batch=64, **values).rows

    assert len({round(one.mbu, 12) for one in found}) == 1


def test_a_batch_that_nobody_states_has_no_efficiency():
    (one,) = rooflight.claim("llama-3.1-8b", "h100-sxm", output_tok_s=300).rows

    assert (one.mfu, one.mbu) == (None, None)


def test_a_run_has_no_efficiency_of_a_step():
    (one,) = rooflight.claim("llama-3.1-8b", "h100-sxm", e2e_latency_ms=9000, batch=8).rows

    assert (one.mfu, one.mbu) == (None, None)


def test_a_prefill_has_its_mfu():
    """analyze's own expected time gives analyze's own MFU."""
    phase = rooflight.analyze("llama-3.1-8b", "h100-sxm", isl=2000).phases["prefill"]
    (one,) = rooflight.claim("llama-3.1-8b", "h100-sxm", isl=2000, ttft_ms=1000 * phase.time_s.expected).rows

    assert one.mfu == pytest.approx(phase.mfu)
    assert "MFU" in one.reason


def test_rows_of_a_file_get_what_each_gets_alone():
    """Many rows of one scenario are computed as arrays."""
    row = {"model": "llama-3.1-8b", "accelerator": "h100-sxm", "gpus": 1, "phase": "decode", "input_len": 500,
           "output_len": 100, "metric": "tpot_ms", "value": 12}  # fmt: skip
    rows = [{**row, "batch": batch} for batch in range(1, 20)]
    together = rooflight.check(rows).rows
    alone = [rooflight.check(one).rows[0] for one in rows]

    assert [one.mbu for one in together] == pytest.approx([one.mbu for one in alone])
    assert [one.mfu for one in together] == pytest.approx([one.mfu for one in alone])
    assert together[0].mbu < together[-1].mbu
