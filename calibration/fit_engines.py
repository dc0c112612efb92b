"""Fits what serving engines get out of kernels and what their hosts take, to served and offline measurements.

    python calibration/fit_engines.py --data DATA [--out FILE --report FILE]

writes src/rooflight/catalog/calibration/engines/ and docs/accuracy.md, or what is named. Kernel fits come first
(fit_kernels.py): those of the catalog are taken.
A measured time is a sum of parts, each times a share of the engine's (engine_shares.py finds them). Errors and
intervals are of rows that the fit did not see: fifths of the operating points, each model left out in turn, and each
accelerator left out in turn.
"""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path
from typing import Any

import msgspec
from engine_accuracy import accuracy
from engine_checked import checked_rows
from engine_entry import cards_left_out
from engine_evenness import try_all
from engine_first import FIELDS as FIRST_FIELDS
from engine_first import fit_first
from engine_offline import offline_groups
from engine_report import write_report
from engine_rows import offline_rows, rows
from engine_served import GENERIC, served_groups
from engine_steady import fit_served
from engine_toml import write_toml

from rooflight.catalog.calibration import NEWEST, engine_named

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Fit, and write engines and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with served*.csv, measured.csv, configs")
    parser.add_argument("--out", type=Path, default=ROOT / "src/rooflight/catalog/calibration/engines")
    parser.add_argument("--only", help="one engine of offline runs; its file alone is written, no report")
    parser.add_argument("--report", type=Path, default=ROOT / "docs/accuracy.md")
    options = parser.parse_args()
    data = options.data
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    if options.only:
        write_toml(options.out, one_engine(options.only, data), today)
        return
    found = [*rows(data), *checked_rows(data)]
    solved = fit_served([row for row in found if row.served], data)
    first = fit_first(solved.rows)
    waits = {group.engine: group.entry for group in first}
    judged = served_groups(solved.rows, solved.shares)
    offline = [row for row in found if not row.served and row.era != NEWEST]
    judged += offline_groups(offline, judged[0].entry)
    judged.sort(key=lambda group: (group.key != GENERIC, group.key))
    wider = cards_left_out(judged)
    for group in judged:
        group.entry.setdefault("unseen_card", wider[group.key[2]])
        group.entry.update(waits.get(group.key[0], waits["generic"]))
        if group.key[0] not in waits:  # nobody timed its first tokens: the mean of those that were
            group.entry["not_fitted"] = [*group.entry["not_fitted"], *FIRST_FIELDS]
            del group.entry["first_data"]
        print(f"{' '.join(group.key):34} {group.entry['error']}")
    entries = [group.entry for group in judged]
    write_toml(options.out, entries, today)
    tried = try_all(solved, offline, data)
    write_report(options.report, judged, first, tried, accuracy(data, entries, today), today)


def one_engine(name: str, data: Path) -> list[dict[str, Any]]:
    """The entries of an engine of offline runs; first tokens and everyone's intervals are the catalog's."""
    found = [row for row in (*offline_rows(data), *checked_rows(data)) if row.engine == name and row.era != NEWEST]
    everyone = msgspec.to_builtins(engine_named(None))
    judged = sorted(offline_groups(found, everyone), key=lambda group: group.key)
    wider = cards_left_out(judged)
    first = {field: everyone[field] for field in (*FIRST_FIELDS, "first_low", "first_high")}
    for group in judged:
        group.entry.setdefault("unseen_card", wider[group.key[2]])
        group.entry.update(first)
        group.entry["not_fitted"] = [*group.entry["not_fitted"], *FIRST_FIELDS]
        print(f"{' '.join(group.key):34} {group.entry['error']}")
    return [group.entry for group in judged]


if __name__ == "__main__":
    main()
