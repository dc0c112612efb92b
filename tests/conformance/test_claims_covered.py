"""Every claim of the collection that prints a number, and has a right one, is in our table."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

OURS = Path(__file__).parents[1] / "published" / "claims.csv"
# A number that is not the tail of a name (H100, L2, W8A8).
NUMBER = re.compile(r"(?<![A-Za-z0-9.,])\d")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def collected(data):
    """Claims by id."""
    return {row["id"]: row for row in rows(data / "claims_in_articles.csv")}


@pytest.fixture(scope="module")
def ours():
    """Our rows by the claim they belong to: a claim of two numbers has a row `b`."""
    table: dict[str, list[dict[str, str]]] = {}
    for row in rows(OURS):
        table.setdefault(row["id"].rstrip("bc"), []).append(row)
    return table


def test_every_claim_with_numbers_on_both_sides_is_in_the_table(collected, ours):
    wanted = {
        name
        for name, row in collected.items()
        if NUMBER.search(row["claimed_value"]) and NUMBER.search(row["right_value"])
    }

    assert len(wanted) > 80
    assert wanted - set(ours) == set()
    assert set(ours) - set(collected) == set()


def test_claimed_numbers_are_the_ones_the_articles_print(collected, ours):
    """Each number of ours stands in the claim (or, one of a list of batch sizes, in its text)."""
    for name, table in ours.items():
        text = (collected[name]["claimed_value"] + " " + collected[name]["claim"]).replace(",", "")
        printed = {float(number) for number in re.findall(r"(?<![A-Za-z0-9.])\d+(?:\.\d+)?", text)}
        for row in table:
            assert float(row["claimed"]) in printed, row["id"]


def test_verdicts_do_not_contradict_the_collection(collected, ours):
    for name, table in ours.items():
        verdict = collected[name]["verdict"]
        said = {row["verdict"] for row in table}
        if verdict == "right":
            assert "wrong" not in said, name
        if verdict.startswith(("WRONG", "IMPOSSIBLE")):
            assert "wrong" in said, name


def test_articles_are_numbered_as_in_the_collection(collected, ours):
    for name, table in ours.items():
        assert {row["article"] for row in table} == {str(int(collected[name]["article_file"][:3]))}, name
