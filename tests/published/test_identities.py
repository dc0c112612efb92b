"""Dense rates follow from compute units, clock and operations a unit and clock. A typing error breaks the product."""

from __future__ import annotations

import pytest

from rooflight.catalog import accelerators
from rooflight.values.accelerator import Accelerator

# bf16 (fp16 where there is none) FLOP a unit and clock, fp32 accumulation; the clock where it is not the entry's boost
EXACT = [
    ("a100-sxm4-40gb", 2048, None),
    ("a100-sxm4-80gb", 2048, None),
    ("a100-pcie-80gb", 2048, None),
    ("a30", 2048, None),
    ("a10", 1024, None),  # GDDR6, full rate
    ("a10g", 512, None),  # its sibling at half rate
    ("a40", 1024, None),
    ("l4", 1024, None),
    ("l40", 512, None),
    ("h100-sxm", 4096, None),
    ("h200-sxm", 4096, None),
    ("h100-pcie", 4096, 1620),  # the datasheet's rate is not at the boost clock
    ("gh200-96gb", 4096, 1830),
    ("rtx-pro-6000-blackwell", 1024, None),
    ("rtx-5090", 512, None),
    ("rtx-4090", 512, None),
    ("rtx-6000-ada", 1024, None),
    ("rtx-a6000", 1024, None),
    ("rtx-3090", 512, None),
    ("gb10", 1024, None),
    ("mi210", 1024, None),
    ("mi250", 1024, None),
    ("mi250x", 1024, None),
    ("mi300a", 2048, None),
    ("mi300x", 2048, None),
    ("mi325x", 2048, None),
    ("mi350x", 4096, None),
    ("mi355x", 4096, None),
    ("rx-7900-xtx", 512, None),
    ("rx-9070-xt", 1024, None),
    ("max-1550", 4096, None),
    ("max-1100", 4096, None),
]
# printed below units x boost x k: the ceiling must still hold at the boost clock
BELOW = [("b200", 8192), ("gb200", 8192), ("b300", 8192), ("l40s", 1024), ("h100-nvl", 4096), ("h200-nvl", 4096)]
BELOW += [("h100-pcie", 4096), ("gh200-96gb", 4096), ("gh200-144gb", 4096)]


def printed(accelerator: Accelerator, what: str, dtype: str | None = None) -> float:
    return next(float(f.value) for f in accelerator.facts if f.what == what and f.dtype == dtype)


@pytest.mark.parametrize(("device", "per_clock", "clock_mhz"), EXACT)
def test_rate_is_units_times_clock_times_operations(device: str, per_clock: int, clock_mhz: int | None) -> None:
    """Within 0.2 %: clocks are printed to 1 MHz in 1500, rates to three or four digits."""
    accelerator, _ = accelerators.load(device)
    clock = clock_mhz or printed(accelerator, "boost-clock")

    expected_tflop_per_s = printed(accelerator, "compute-units") * clock * per_clock / 1e6

    assert printed(accelerator, "peak", "bf16") == pytest.approx(expected_tflop_per_s, rel=2e-3)


def test_mi100_multiplies_bf16_at_half_the_fp16_rate() -> None:
    """CDNA1: 1024 FLOP a unit and clock in fp16, 512 in bf16, 120 units at 1502 MHz."""
    mi100, _ = accelerators.load("mi100")

    assert mi100.peak_flop_per_s["fp16"] == pytest.approx(120 * 1502e6 * 1024, rel=1e-3)
    assert mi100.peak_flop_per_s["bf16"] == pytest.approx(120 * 1502e6 * 512, rel=1e-3)


@pytest.mark.parametrize(("device", "per_clock"), BELOW)
def test_ceiling_holds_at_the_boost_clock(device: str, per_clock: int) -> None:
    """A part whose printed peak is below units x boost x operations can still run at its boost clock."""
    accelerator, _ = accelerators.load(device)
    at_boost = printed(accelerator, "compute-units") * printed(accelerator, "boost-clock") * 1e6 * per_clock

    assert accelerator.peak_flop_per_s["bf16"] < at_boost < accelerator.fast_flop_per_s["bf16"]


@pytest.mark.parametrize(
    ("device", "wide", "narrow", "ratio"),
    [
        ("h100-sxm", "bf16", "fp8", 2.0),
        ("tpu-v5p", "bf16", "fp8", 1.0),  # fp8 without a faster path
        ("gaudi3", "bf16", "fp8", 1.0),
        ("rubin", "bf16", "fp8", 4.375),
        ("b300", "fp8", "fp4", 3.0),
        ("mi355x", "fp8", "fp4", 2.0),
        ("trainium3", "fp8", "fp4", 1.0),
        ("b300", "bf16", "int8", 153.5 / 2250),  # cut in this generation
    ],
)
def test_formats_are_not_multiples_of_each_other(device: str, wide: str, narrow: str, ratio: float) -> None:
    """Each format's rate is a fact of its own; doubling a wider one would be wrong on half of these."""
    peaks = accelerators.load(device)[0].peak_flop_per_s

    assert peaks[narrow] / peaks[wide] == pytest.approx(ratio, rel=2e-3)
