"""Public measurements on unlike cards: layers split over a 4090 and a 3090 Ti, as their authors wrote them down."""

from __future__ import annotations

import csv

import rooflight


def test_no_row_on_two_unlike_cards_is_above_its_ceiling(data):
    """exllama of 2023, Llama-65B and Llama-2-70B in GPTQ: every row is possible, and inside the interval."""
    with (data / "measured.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["accelerator"] == "mixed-rtx-4090+rtx-3090-ti"]
    found = rooflight.check(rows, configs=[data / "configs"]).rows

    assert len(found) == 12
    assert {row.verdict for row in found} == {"ok"}
