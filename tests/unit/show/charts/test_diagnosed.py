"""Operators of a diagnosis under the roof."""

from __future__ import annotations

import pytest

from rooflight.errors import BadInput
from rooflight.show.charts.diagnosed import _dot, diagnosed
from rooflight.show.charts.draw import chart, usual
from rooflight.values.diagnosis import Diagnosis, KernelRow

GEMM = KernelRow(
    operator="gemm",
    calls=10,
    total_s=2e-3,
    share=0.8,
    flop_per_s=100e12,
    bytes_per_s=1e12,
    format="bf16",
    bound="memory",
)
COPY = KernelRow(operator="copy", calls=5, total_s=5e-4, share=0.2, bound="memory")


def test_a_dot_stands_at_its_rates():
    """100 TFLOP/s at 1 TB/s for 2 ms: 200 GFLOP, 2 GB, 100 FLOP/byte."""
    dot = _dot(GEMM)

    assert (dot.flop, dot.bytes) == (pytest.approx(200e9), pytest.approx(2e9))


def test_what_nobody_counted_has_no_place():
    assert _dot(COPY) is None


def test_the_chart_is_the_usual_one_of_a_diagnosis():
    found = Diagnosis(kernels=(GEMM, COPY), accelerator="h100-sxm")

    assert usual(found) == "roofline"
    assert "h100-sxm" in str(chart(found).to_dict())


def test_without_an_accelerator_there_is_no_roof():
    with pytest.raises(BadInput, match="no accelerator"):
        diagnosed(Diagnosis(kernels=(GEMM,)))
