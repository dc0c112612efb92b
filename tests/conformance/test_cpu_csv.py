"""Processors against the table in which their rates were worked out."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

import pytest

from rooflight.catalog import accelerators

# "peak derived at base clock, bf16 AMX"
_PEAK = re.compile(r"peak derived at base clock, (\w+)")
_FACTORS = re.compile(r"([\d.]+) (?:cores )?x ([\d.]+) (?:GHz )?x (\d+)")


def rows(data: Path) -> list[dict[str, str]]:
    with (data / "facts" / "cpu.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["accelerator"]]


def test_peaks_are_the_tables_and_its_arithmetic(data: Path) -> None:
    """Cores x clock x operations a cycle, as the table has it and the fact says where."""
    judged = 0
    for row in rows(data):
        match = _PEAK.match(row["quantity"])
        if match is None:
            continue
        card = accelerators.load(row["accelerator"])[0]
        (fact,) = (one for one in card.facts if one.what == "peak" and one.dtype == match[1])
        assert fact.value == pytest.approx(float(row["value"])), row
        assert fact.confidence == row["confidence"] == "C"
        for text in (row["arithmetic"], fact.where.replace(" (base clock)", "")):
            factors = _FACTORS.match(text)
            assert factors is not None, text
            product = math.prod(map(float, factors.groups()))  # cores, GHz, operations: GFLOP/s
            assert fact.value == pytest.approx(product / 1000, rel=1e-3)
        judged += 1
    assert judged == 11


def test_ceilings_hold_the_highest_clock(data: Path) -> None:
    """EPYC 9654 boosts to 3.7 GHz from 2.4: no ceiling is below what that clock would give."""
    for row in rows(data):
        if not row["quantity"].startswith("peak derived at max boost"):
            continue
        card = accelerators.load(row["accelerator"])[0]
        form = row["quantity"].rpartition(" ")[2]
        assert card.fast_flop_per_s[form] >= 0.999 * float(row["value"]) * 1e12


def test_cores_and_caches_are_the_tables(data: Path) -> None:
    for row in rows(data):
        card = accelerators.load(row["accelerator"])[0]
        if row["quantity"] == "cores" and "superchip" not in row["cpu"]:
            assert card.compute_units == float(row["value"]), row
        if row["quantity"] == "L3":
            assert card.last_level_cache_bytes == float(row["value"]) * 2**20, row


def test_stream_stays_below_the_bandwidth(data: Path) -> None:
    """STREAM triad of one socket, as measured by others, is below what the channels can carry."""
    for row in rows(data):
        if row["quantity"] == "STREAM triad per socket":
            card = accelerators.load(row["accelerator"])[0]
            assert card.memory_bytes_per_s is not None
            assert float(row["value"]) * 1e9 < card.memory_bytes_per_s
