"""Where a workload of some intensity stands, by arithmetic: the smaller of peak and intensity times bandwidth."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.studio.roof import placed, roof_of

# H100 SXM: 3.35 TB/s and 989.4 TFLOP/s in bf16, 1978.9 in fp8.
BANDWIDTH, PEAK, PEAK_8 = 3.35e12, 989.4e12, 1978.9e12
LLAMA = "meta-llama/Meta-Llama-3.1-8B"


@pytest.mark.parametrize(
    ("on", "intensity", "most", "said"),
    [
        ("h100-sxm", 1, BANDWIDTH, "memory-bound"),
        ("h100-sxm", 100, 100 * BANDWIDTH, "memory-bound"),
        ("h100-sxm", 0.01, 0.01 * BANDWIDTH, "memory-bound"),
        ("h100-sxm", 295, 295 * BANDWIDTH, "memory-bound"),  # 989.4 / 3.35 = 295.3
        ("h100-sxm", 296, PEAK, "compute-bound"),
        ("h100-sxm", 1e6, PEAK, "compute-bound"),
        ("8xh100-sxm", 100, 8 * 100 * BANDWIDTH, "memory-bound"),
        ("8xh100-sxm", 1000, 8 * PEAK, "compute-bound"),
    ],
)
def test_a_workload_does_what_the_roof_leaves_it(on, intensity, most, said):
    found = placed(rooflight.analyze(LLAMA, on), intensity)

    assert (found.x, found.y) == (intensity, pytest.approx(most, rel=1e-3))
    assert said in found.text
    assert "the ridge is at 295" in found.text


def test_the_roof_is_that_of_the_format_with_most_flop():
    """Weights of 8 bits, multiplied in 8 bits."""
    plain, eight = (roof_of(rooflight.analyze(LLAMA, "2xh100-sxm", weights=weights)) for weights in (None, "fp8"))

    assert (plain.format, eight.format) == ("bf16", "fp8")
    assert plain.flop_per_s == pytest.approx(2 * PEAK, rel=1e-3)
    assert eight.flop_per_s == pytest.approx(2 * PEAK_8, rel=1e-3)
    assert plain.bytes_per_s == eight.bytes_per_s == pytest.approx(2 * BANDWIDTH)
    assert plain.bandwidth_words == "3.35 TB/s"
    assert eight.peak_words.startswith("fp8 ")


def test_a_card_without_a_peak_has_its_slope_alone():
    """tt-p150: 512 GB/s, no compute peak published."""
    answer = rooflight.analyze("meta-llama/Llama-2-7b-hf", on="tt-p150")
    found = placed(answer, 1e5)

    assert roof_of(answer).flop_per_s is None
    assert roof_of(answer).peak_words == "not known"
    assert found.y == pytest.approx(1e5 * answer.accelerator.memory_bytes_per_s)
    assert found.text.endswith("by its memory.")


def test_shares_of_the_peak_are_said():
    """100 of 295.3 FLOP/byte: 34 %."""
    assert "34 % of its bf16 peak" in placed(rooflight.analyze(LLAMA, "h100-sxm"), 100).text


def test_a_scenario_that_does_not_fit_has_a_roof_of_its_formats():
    """Its peak is that of bf16, and not the first of the card's table, FP64."""
    answer = rooflight.analyze("meta-llama/Meta-Llama-3.1-70B", "h100-sxm")

    assert not answer.fits
    assert roof_of(answer).format == "bf16"
    assert "the ridge is at 295" in placed(answer, 20).text
