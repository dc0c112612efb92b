"""Of true served runs none is impossible; of the same made faster, so many are."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rooflight.answers.check.names import Names
from rooflight.answers.check.outcome import Judged
from rooflight.answers.check.report import RowBlock, judged_block
from rooflight.ingest.rows import given_rows

# One of so many runs is judged.
EACH = 2
# Least share of runs whose token is called impossible at so many times the speed, first token and later ones together;
# of all 1,197 it is 5 % at twice and 49 % at four times. The 5 % that a draining run is given cost 4 points of the
# latter, a blank cache format, read as narrow as suites have it, 3 to 5.
CAUGHT = {2: 0.04, 4: 0.45}


@pytest.fixture(scope="module")
def runs(data: Path) -> list[dict[str, str]]:
    """Rows of runs that nobody doubts, both metrics of each."""
    kept: dict[str, list[dict[str, str]]] = {}
    for name in ("served.csv", "served2.csv"):
        with (data / name).open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["use"] == "score":
                    kept.setdefault(f"{name} {row['id'].rsplit('-', 1)[0]}", []).append(row)
    return [row for rows in list(kept.values())[::EACH] for row in rows]


def caught(runs, times):
    """The share that is called impossible of claims whose times are those of the runs, divided.

    Judged as rows past the first thousands of a file are: why they are fast, which takes longest, is not asked.
    """
    claims = [row | {"value": repr(float(row["value"]) / times)} for row in runs]
    judged = judged_block(Names(), RowBlock(list(given_rows(claims)), first=False))
    found = [one for one in judged if one.asked.row is None or one.asked.row.metric == "tpot_ms"]
    return sum(isinstance(one, Judged) and one.verdict == "impossible" for one in found) / len(found)


def test_no_true_run_is_impossible(runs):
    assert caught(runs, 1) == 0


@pytest.mark.parametrize("times", CAUGHT)
def test_claims_that_are_too_fast_are_caught(runs, times):
    assert caught(runs, times) >= CAUGHT[times]
