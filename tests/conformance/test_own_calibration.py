"""Your own calibration on real rows: made of half of the runs, judged on the other half of them.

Every engine and accelerator with enough runs in the collected tables is a deployment of somebody's. Runs are halved by
the hash of what was run, so that the rows of one never fall into both halves.
"""

from __future__ import annotations

import csv
import statistics
import zlib
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from rooflight.answers.calibrate.report import calibrated
from rooflight.answers.calibrate.rows import counted, key, why_not
from rooflight.answers.check.names import Names
from rooflight.answers.check.outcome import Judged
from rooflight.answers.check.report import RowBlock, judged_block
from rooflight.ingest.rows import given_rows
from rooflight.values.own import OwnCalibration

# Half a minute: half of the rows are calibrated on, the other half judged twice.
pytestmark = pytest.mark.slow
FILES = ("measured.csv", "served.csv", "served2.csv")
# Runs of a deployment below which half of them is too little to judge by.
FEWEST = 12
# Of a large group no more than these: a calibration is made of a few rows.
MOST = 40
# Rows of an engine on an accelerator that are looked at: of some nothing is expected.
ENOUGH = 2 * MOST


class Group(NamedTuple):
    """A deployment's rows left out of its calibration: errors and coverage before and after, and ceilings alike."""

    name: str
    before: list[float]
    after: list[float]
    inside_before: list[bool]
    inside_after: list[bool]
    same_bounds: bool


def usable(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if not (row.get("use") or "score").startswith("no")]


def some(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Of each engine on each accelerator of which there are enough rows, so many by their hash."""
    by_place: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        by_place[row["engine"], row["accelerator"]].append(row)
    kept = [sorted(ones, key=lambda row: zlib.crc32(repr(row).encode()))[:ENOUGH] for ones in by_place.values()]
    return [row for ones in kept if len(ones) >= FEWEST for row in ones]


def off(one: Judged) -> float:
    return abs(one.span.expected - one.row.value) / one.row.value


def within(one: Judged) -> bool:
    return one.span.low <= one.row.value <= one.span.high


def side(one: Judged) -> int:
    row = one.row
    run = (
        row.model,
        row.gpus,
        row.tp,
        row.ep,
        row.dp,
        row.weights,
        row.batch,
        row.input_len,
        row.output_len,
        row.depth,
    )
    return zlib.crc32(repr(run).encode()) % 2


def halves(ones: list[Judged]) -> tuple[list[Judged], list[Judged]]:
    ones = sorted(ones, key=lambda one: zlib.crc32(repr(one.row).encode()))[:MOST]
    return [one for one in ones if side(one) == 0], [one for one in ones if side(one) == 1]


def judged(rows, names) -> list[Judged]:
    return [one for one in judged_block(names, RowBlock(rows, first=False)) if why_not(one) is None]


@pytest.fixture(scope="module")
def groups(data) -> list[Group]:
    configs = [data / "configs", data / "configs_reconstructed"]
    names, found = Names(configs), []
    for file in FILES:
        by_key: dict[tuple[str, ...], list[Judged]] = defaultdict(list)
        for one in judged(list(given_rows(some(usable(data / file)))), names):
            by_key[key(one)].append(one)
        for deployment, ones in by_key.items():
            own, others = halves(ones)
            if min(len(own), len(others)) < FEWEST // 2:
                continue
            entries = calibrated(own).entries
            made = OwnCalibration(date="2026-11-29", rooflight="test", entries=entries)
            again = list(judged_block(Names(configs, made), RowBlock([one.asked for one in others], first=False)))
            # a rate without a batch that is below what is expected of a full engine has no interval
            pairs = [(one, two) for one, two in zip(others, again, strict=True) if why_not(two) is None]
            found.append(Group(
                f"{file} {' '.join(deployment)}", [off(one) for one, _ in pairs], [off(two) for _, two in pairs],
                [within(one) for one, _ in pairs], [within(two) for _, two in pairs],
                all(one.span.ceiling == two.span.ceiling for one, two in pairs),
            ))  # fmt: skip
    return found


def test_the_error_on_the_other_half_falls_in_all(groups):
    """Figures by file, in the mean of the deployments' medians, as a user of one of them sees it."""
    for file in FILES:
        mine = [group for group in groups if group.name.startswith(f"{file} ")]
        before = statistics.fmean(statistics.median(group.before) for group in mine)
        after = statistics.fmean(statistics.median(group.after) for group in mine)
        assert len(mine) >= 4
        assert after < before, file
    all_before = statistics.median([error for group in groups for error in group.before])
    all_after = statistics.median([error for group in groups for error in group.after])
    assert all_after < 0.9 * all_before


def test_few_deployments_are_worse_off(groups):
    """By more than a tenth of their median error and a hundredth in all: one of ten at most."""
    worse = [
        group.name for group in groups
        if statistics.median(group.after) > 1.1 * statistics.median(group.before) + 0.01
    ]  # fmt: skip
    assert len(worse) <= 0.1 * len(groups), worse


def test_intervals_hold_about_eight_of_ten(groups):
    inside = statistics.fmean(one for group in groups for one in group.inside_after)
    assert 0.72 <= inside <= 0.9


def test_no_ceiling_moves(groups):
    assert all(group.same_bounds for group in groups)


def test_rows_that_count_have_slopes(data):
    """A served run's token hangs on steps, its first token on first tokens."""
    names = Names([data / "configs", data / "configs_reconstructed"])
    rows = judged(list(given_rows(usable(data / "served.csv")[:40])), names)
    for one in counted(rows):
        place = {"step": 0, "first": 2}.get(one.seen.quantity)
        assert place is None or one.seen.slopes[place] > 0.2
