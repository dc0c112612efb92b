"""Wrong numbers that other tools and pages ship: we ship the right one, or none."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

import pytest

import rooflight.catalog
from rooflight.catalog import accelerators

ROWS = list(csv.DictReader((Path(__file__).parent / "conflicts.csv").read_text().splitlines()))
SOURCES = tomllib.loads((Path(rooflight.catalog.__path__[0]) / "sources.toml").read_text(encoding="utf-8"))


def printed(device: str, field: str) -> list[float]:
    """The figures of one kind as the entry prints them; of peaks the dense ones."""
    what, _, dtype = field.partition("-") if field.startswith("peak-") else (field, "", "")
    facts = accelerators.load(device)[0].facts
    return [
        float(fact.value)
        for fact in facts
        if fact.what == what
        and fact.kind in ("dense", None, "both-ways", "one-way")
        and (not dtype or fact.dtype == dtype)
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['device']}-{row['field']}-{row['source']}")
def test_the_wrong_number_is_not_shipped(row: dict[str, str]) -> None:
    """No figure within half a percent of the wrong one; none at all where the right answer is that there is none."""
    ours = printed(row["device"], row["field"])

    assert row["source"] in SOURCES
    if row["right"]:
        assert ours == [pytest.approx(float(row["right"]), rel=1e-3)], row["why"]
    else:
        assert ours == [], row["why"]
    assert not any(value == pytest.approx(float(row["wrong"]), rel=5e-3) for value in ours if row["wrong"]), row["why"]
