"""Rates and sizes of caches in the catalog are those of the table they were taken from."""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from pathlib import Path

import pytest

from rooflight.catalog import accelerators

# Of an L2 the catalog has the rate of the largest set that is no larger than the cache and still on the plateau: from
# the next smaller set to this one it falls by less than this share.
FALL = 0.14


def rows(data: Path) -> list[dict[str, str]]:
    with (data / "facts" / "cache.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def of(data: Path, card: str) -> list[dict[str, str]]:
    """The rows of a card: `a100-pcie-80gb/sxm (file a100_80)` is either of two, `v100` the PCIe one by its clock."""
    either = "a100-pcie-80gb/sxm (file a100_80)"
    names = {"a100-sxm4-80gb": either, "a100-pcie-80gb": either, "v100-pcie-32gb": "v100"}
    return [row for row in rows(data) if row["accelerator"] == names.get(card, card)]


def facts(what: str):
    for card in accelerators.ids():
        for fact in accelerators.load(card)[0].facts:
            if fact.what == what:
                yield card, fact


def test_measured_l1_rates_are_the_tables(data: Path) -> None:
    judged = 0
    for card, fact in facts("cache-bandwidth"):
        if fact.level == "L1" and fact.kind == "measured":
            found = [row for row in of(data, card) if row["level"] == "L1" and "peak bandwidth" in row["quantity"]]
            assert [float(row["value"]) for row in found] == [fact.value], card
            judged += 1
    assert judged >= 8  # a100 (two), a40, l40, mi100, mi210, mi300x, v100


def test_derived_l1_rates_are_units_times_bytes_a_cycle_times_clock(data: Path) -> None:
    judged = 0
    for card, fact in facts("cache-bandwidth"):
        if fact.kind != "derived":
            continue
        units, bytes_a_cycle, megahertz = map(float, re.findall(r"[\d.]+", fact.where))
        assert fact.value == pytest.approx(units * bytes_a_cycle * megahertz / 1e6, rel=5e-3)
        assert units == accelerators.load(card)[0].compute_units
        (row,) = (row for row in of(data, card) if row["kind"] == "derived")
        assert (float(row["value"]), row["confidence"]) == (fact.value, fact.confidence)
        judged += 1
    assert judged >= 6  # h100-sxm, h200-sxm, b200, l40s, rtx-4090, rtx-5090


def test_l2_rates_are_of_the_largest_set_on_the_plateau(data: Path) -> None:
    judged = 0
    for card, fact in facts("cache-bandwidth"):
        if fact.level != "L2" or fact.kind != "measured":
            continue
        curve = {
            int(match[1]): float(row["value"])
            for row in of(data, card)
            if (match := re.search(r"total set (\d+) MB", row["quantity"]))
        }
        (size,) = (level.bytes for level in accelerators.load(card)[0].levels if level.name == "L2")
        sets = [megabytes for megabytes in curve if megabytes * 1e6 <= size]
        last = next(
            (before for before, after in pairwise(sets) if curve[after] < (1 - FALL) * curve[before]),
            sets[-1],
        )
        assert fact.value == curve[last], (card, last)
        assert f"a set of {last} MB" in fact.note
        judged += 1
    assert judged >= 7  # a100 (two), h100-pcie, h200-sxm, l40, mi100, mi210


def test_l1_sizes_are_the_tables(data: Path) -> None:
    judged = 0
    for card, fact in facts("cache-size"):
        if fact.kind != "per-unit":
            continue
        names = {"v100-pcie-32gb": "v100-sxm2-32gb", "a100-pcie-80gb": "a100-sxm4-80gb"}  # the same chips
        found = [
            row
            for row in rows(data)
            if row["accelerator"] == names.get(card, card) and row["level"] == "L1" and row["unit"] == "kB"
        ]
        assert [float(row["value"]) for row in found] == [fact.value], card
        judged += 1
    assert judged >= 8
