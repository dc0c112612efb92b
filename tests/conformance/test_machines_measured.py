"""Every machine that public measurements name: found by its name, and no honest row above its ceiling."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import rooflight
from rooflight.catalog import accelerators, spelled
from rooflight.errors import RooflightError
from rooflight.values.measurement import Report

# Of these no source with a memory bandwidth was found: an Arm board of 2025 and a RISC-V one.
NOT_FOUND = {"minisforum-ms-r1", "dc-roma-mainboard-ii-8-core-risc-v"}
# Rows above the ceiling of what they state, each with the arithmetic.
NOT_AS_STATED = {
    # a checkpoint named MXFP4-Q4: its attention and head are in 4 bits too, where the row says mxfp4, which leaves them
    # in 16: 76.7 tok/s x 3.72 GB = 285 GB/s of 273; with 1.2 GB less a token it is 193
    "m2-llmfit-0154",
    # "ollama default (assumed)": 31 G weights in 4.5 bits are 17 GB a token, 47.2 tok/s of it 820 GB/s of 614, and 33.2
    # of it 580 of 307: drafts, or another model under that tag
    "m2-llmfit-0180", "m2-llmfit-0208",
}  # fmt: skip
# Runs whose rows are wrong as recorded, by their name in the source; test_check_measured.WRONG has the arithmetic.
WRONG_RUNS = ("_tp1x4_", "_tp1x1_", "_tp1x2_")


def rows(data: Path) -> list[dict[str, str]]:
    with (data / "measured2.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def judged(data: Path) -> Report:
    return rooflight.check(data / "measured2.csv", configs=[data / "configs", data / "configs_reconstructed"])


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


def test_rows_whose_table_knew_nothing_of_the_card_are_judged(judged: Report) -> None:
    """What is left over lacks a model or a length, no card."""
    unknown = [row for row in judged.rows if row.given["has_accelerator"] == "False"]

    assert {row.given["accelerator"] for row in unknown if "nothing is known of" in row.reason} == NOT_FOUND
    assert sum(row.verdict != "cannot-judge" for row in unknown) > 250


def test_no_row_is_above_its_ceiling(judged: Report) -> None:
    """Unified memory and processors among them: Apple's, Strix Halo, GB10, Ryzen, Xeon."""
    above = [row for row in judged.rows if row.verdict == "impossible"]
    wrong = {row.given["id"] for row in above if any(run in row.given["source"] for run in WRONG_RUNS)}

    assert {row.given["id"] for row in above} <= NOT_AS_STATED | wrong
    assert {row.given["model"] for row in above if row.given["id"] in wrong} == {"gemma-4-12b"}
    assert len(wrong) == 20


def test_processors_and_unified_memory_are_judged_and_below(judged: Report) -> None:
    kinds = {card.id: card.kind for card in accelerators.all_accelerators()}
    seen = {"cpu": 0, "apu": 0}
    for row in judged.rows:
        if row.over_ceiling is None or row.given["id"] in NOT_AS_STATED or row.given["speculative"]:
            continue
        try:
            kind = kinds.get(spelled.accelerator(row.given["accelerator"])[0].id, "gpu")
        except RooflightError:
            continue
        if kind in seen and "drafts" not in row.reason:
            seen[kind] += 1
            assert row.over_ceiling <= 1, (row.given["id"], row.reason)

    assert seen["cpu"] > 100
    assert seen["apu"] > 400
