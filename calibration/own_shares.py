"""How much of what expected times are off is common to an engine on an accelerator, to a model there, and to neither.

    PYTHONPATH=src python calibration/own_shares.py --data DATA

What `rooflight calibrate` takes for granted (answers/calibrate/shrink.py: BETWEEN, MODELS, WITHIN) is the mean of its
table. Errors are logarithms of measured over expected time, in standard deviations of the engine's own interval, of
rows that state a batch, in engines and accelerators with six rows of the quantity and more.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from rooflight.answers.calibrate.rows import QUANTITY, why_not
from rooflight.answers.calibrate.shrink import EIGHT_OF_TEN
from rooflight.answers.check.names import Names
from rooflight.answers.check.outcome import Judged
from rooflight.answers.check.report import RowBlock, judged_block
from rooflight.ingest.rows import given_rows

FILES = {"measured": ("measured.csv",), "served": ("served.csv", "served2.csv")}
FEWEST = 6


def judged(data: Path, file: str, names: Names) -> Iterator[Judged]:
    """Rows of a table that count for a calibration, those of unlabelled speculation left out."""
    with (data / file).open() as table:
        rows = [row for row in csv.DictReader(table) if not (row.get("use") or "score").startswith("no")]
    for one in judged_block(names, RowBlock(list(given_rows(rows)), first=False)):
        if isinstance(one, Judged) and why_not(one) is None:
            yield one


def error(one: Judged) -> float:
    """In standard deviations of its interval."""
    span = one.span
    assert span.low is not None  # why_not leaves out rows without an interval
    assert span.high is not None
    wide = math.log(span.high / span.low) / (2 * EIGHT_OF_TEN)
    return math.log(one.row.measures.speed_over(span.expected, one.row.value)) / wide


def shares(rows: list[Judged]) -> tuple[int, float, float, float]:
    """(rows, shares of the squared errors between groups, between models in them, within)."""
    groups: dict[object, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in rows:
        sc = one.scenario
        groups[sc.engine.id, sc.engine.era, sc.accelerator.id][sc.model.id].append(error(one))
    between = models = within = count = 0.0
    for group in groups.values():
        ones = [value for values in group.values() for value in values]
        if len(ones) < FEWEST:
            continue
        mean, count = sum(ones) / len(ones), count + len(ones)
        between += len(ones) * mean**2
        for values in group.values():
            own = sum(values) / len(values)
            models += len(values) * (own - mean) ** 2
            within += sum((value - own) ** 2 for value in values)
    whole = between + models + within or math.nan
    return int(count), between / whole, models / whole, within / whole


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    names = Names([data / "configs", data / "configs_reconstructed"])
    for name, files in FILES.items():
        rows = [one for file in files for one in judged(data, file, names)]
        for quantity in ("step", "prefill", "first", "request"):
            mine = [one for one in rows if QUANTITY.get(one.row.timed, "request") == quantity]
            if mine:
                count, *found = shares(mine)
                print(f"{name:<9}{quantity:<9}{count:>6} rows  " + "  ".join(f"{share:.2f}" for share in found))


if __name__ == "__main__":
    main()
