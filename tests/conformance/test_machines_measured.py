"""Every machine that public measurements name is found by its name."""

from __future__ import annotations

import csv
from pathlib import Path

from rooflight.catalog import spelled
from rooflight.errors import RooflightError

# Of these no source with a memory bandwidth was found: an Arm board of 2025 and a RISC-V one.
NOT_FOUND = {"minisforum-ms-r1", "dc-roma-mainboard-ii-8-core-risc-v"}


def rows(data: Path) -> list[dict[str, str]]:
    with (data / "measured2.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_machine_is_found(data: Path) -> None:
    missing = set()
    for name in {row["accelerator"] for row in rows(data)}:
        try:
            spelled.accelerator(name)
        except RooflightError:
            missing.add(name)

    assert missing == NOT_FOUND


def test_a_count_in_front_is_read_with_dashes_too() -> None:
    card, count = spelled.accelerator("2-x-intel-xeon-gold-6138")

    assert (card.id, count) == ("xeon-gold-6138", 2)
