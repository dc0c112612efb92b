"""Kernels that we timed ourselves on an H100 (calibration/time_kernels.py), which no fit saw."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path

import pytest

from rooflight.catalog.accelerators import load
from rooflight.catalog.calibration import calibration
from rooflight.roofline.expected import gemm_s

CARD = load("h100-sxm")[0]
LINES = (Path(__file__).parent / "own_kernels_h100.csv").read_text().splitlines()[1:]
ROWS = list(csv.DictReader(LINES))
ELEMENT_BYTES = {"bf16": 2, "fp8": 1}


def fewest_bytes(row: dict[str, str]) -> float:
    """From memory: of a copy what the cache cannot hold, of a GEMM its weights, of attention nothing."""
    if row["kind"] == "copy":
        return max(int(row["tokens"]) - CARD.last_level_cache_bytes, 0)
    return int(row["inputs"]) * int(row["outputs"]) * ELEMENT_BYTES[row["format"]] if row["kind"] == "gemm" else 0


def flop(row: dict[str, str]) -> float:
    tokens = int(row["tokens"])
    if row["kind"] == "gemm":
        return 2 * tokens * int(row["inputs"]) * int(row["outputs"])
    if row["kind"] == "copy":
        return 0
    return 4 * int(row["inputs"]) * int(row["outputs"]) * tokens * (tokens + 1) / 2  # heads x head_dim x causal pairs


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(value for value in row.values() if value))
def test_no_kernel_beats_its_ceiling(row):
    rate = CARD.fast_flop_per_s[row["format"] or "bf16"]

    assert float(row["seconds"]) >= fewest_bytes(row) / CARD.memory_bytes_per_s
    assert float(row["seconds"]) >= flop(row) / rate


def test_bf16_gemms_are_expected_to_a_tenth():
    """The median over 110 shapes: decode, small batches, prefill; each with weights of its own, so none is cached."""
    fit = calibration("Hopper").gemm["bf16"]
    errors = []
    for row in ROWS:
        if (row["kind"], row["format"]) != ("gemm", "bf16"):
            continue
        tokens, inputs, outputs = (int(row[name]) for name in ("tokens", "inputs", "outputs"))
        expected = gemm_s(
            tokens=tokens,
            step_tokens=tokens,
            inputs=inputs,
            flop=flop(row),
            moved_bytes=2 * (inputs * outputs + tokens * (inputs + outputs)),
            quantised_bytes=0,
            cached=0.0,
            flop_per_s=CARD.peak_flop_per_s["bf16"],
            memory_bytes_per_s=CARD.memory_bytes_per_s,
            compute_units=CARD.compute_units,
            fit=fit,
        )
        errors.append(abs(expected / float(row["seconds"]) - 1))

    assert len(errors) == 110
    assert statistics.median(errors) <= 0.10
