"""Totals of memory as drivers and runtimes printed them: the catalog has each, each as such."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest

import rooflight
from rooflight.catalog.accelerators import ids, with_memory
from rooflight.units import to_base

# As each tool prints a unit: torch's "MB" is MiB, Metal's is decimal.
_METAL = "gpu_working_set_default"
# Rows that are no total of the catalog's card, each with the reason.
OTHERWISE = {
    ("rtx-pro-6000-blackwell", "runtime_total"): "under Windows; starts under Linux were given 94.97 GiB",
    ("ascend-910b", "runtime_total"): "the 910B4 of 32 GB; the catalog's card is another",
    ("tpu-v7x", "usable_by_program"): "of a TensorCore, two a chip",
}
# Macs of macOS before 15, which wired two thirds up to 36 GB and three quarters above.
OLDER_MACOS = 2 / 3


def _bytes(row: dict[str, str]) -> float:
    unit = row["unit"]
    return to_base(float(row["value"]), unit)


@pytest.fixture(scope="module")
def rows(data: Path) -> list[dict[str, str]]:
    path = data / "facts" / "memory.csv"
    if not path.exists():
        pytest.skip("facts/memory.csv is not here")
    with path.open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["accelerator"] in ids()]


@pytest.mark.parametrize(
    ("kind", "quantities", "total"),
    [
        ("driver", ("driver_total",), "memory_bytes"),
        ("runtime", ("runtime_total", "usable_by_program"), "program_bytes"),
    ],
)
def test_each_total_is_one_of_those_printed(rows, kind, quantities, total):
    """Several rows of a card are other drivers, ECC, BIOS settings: one of them counts."""
    printed = defaultdict(list)
    for row in rows:
        if row["quantity"] in quantities and (row["accelerator"], row["quantity"]) not in OTHERWISE:
            printed[row["accelerator"]].append(_bytes(row))

    assert len(printed) >= {"driver": 50, "runtime": 28}[kind]
    wrong = {
        name: (getattr(rooflight.accelerator(name), total), values)
        for name, values in printed.items()
        if getattr(rooflight.accelerator(name), total) not in values
    }
    assert wrong == {}


def test_what_a_mac_may_wire_follows_its_size(rows):
    """A fact where the machine is the catalog's, by size elsewhere; older systems wired less."""
    machines = {}
    for row in rows:
        if row["quantity"] == _METAL and " GB machine" in row["note"]:
            size = float(row["note"].split(" GB machine")[0].split()[-1])
            machines[row["accelerator"], size, _bytes(row)] = size
    newest = 0
    for (name, size, printed), _ in machines.items():
        card = with_memory(rooflight.accelerator(name), to_base(size, "GiB"))
        own = rooflight.accelerator(name)
        if own.label_bytes == to_base(size, "GiB"):
            card = own
        if printed < 0.7 * to_base(size, "GiB") and printed != pytest.approx(card.program_bytes, rel=0.01):
            assert printed == pytest.approx(OLDER_MACOS * to_base(size, "GiB"), rel=0.01)
            continue
        newest += 1
        assert card.program_bytes == pytest.approx(printed, rel=0.005), (name, size)
    assert newest >= 8


def test_the_other_total_follows_by_rule(rows):
    """Cards of which both were printed: the rule is within 0.35 GiB of the runtime's, labels taken for it are not."""
    both = defaultdict(dict)
    for row in rows:
        if row["quantity"] in ("driver_total", "runtime_total"):
            both[row["accelerator"]][row["quantity"]] = _bytes(row)
    misses = []
    for name, found in both.items():
        if len(found) == 2 and (name, "runtime_total") not in OTHERWISE and "ECC off" not in name:
            by_rule = with_memory(rooflight.accelerator(name), found["driver_total"]).program_bytes
            misses.append(abs(by_rule - found["runtime_total"]) / to_base(1, "GiB"))
    assert len(misses) >= 12
    assert sorted(misses)[len(misses) // 2] < 0.1
    assert max(misses) < 0.35
