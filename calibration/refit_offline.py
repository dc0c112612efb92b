"""Refits the offline entries of some engines; all others stay as they stand in the catalog.

    python calibration/refit_offline.py --data DATA --only vllm --only transformers

What fit_engines.py finds from all rows at once (intervals of all engines, waits before a first token, how much wider an
unseen card is) is taken from the catalog: run that one before a release.
"""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path
from typing import Any

from engine_offline import offline_groups
from engine_rows import ENGINES, OFFLINE, Row, raw_runs, rows_of
from engine_toml import write_toml

from rooflight.catalog import tables
from rooflight.catalog.calibration import NEWEST

FOLDER = Path(__file__).resolve().parents[1] / "src/rooflight/catalog/calibration/engines"
# What an entry has from all rows at once.
_OF_ALL = ("unseen_card", "server_s", "queue", "first_low", "first_high", "first_data")


def main() -> None:
    """Refit, and write the engines' files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with measured.csv and configs")
    parser.add_argument("--only", action="append", required=True, help="an engine; may be given again")
    options = parser.parse_args()
    everyone = tables.read(FOLDER / "generic.toml")["engine"][0]
    for name in options.only:
        found = offline(options.data, name)
        entries = [entry for entry in tables.read(FOLDER / f"{name}.toml")["engine"] if entry["era"] == NEWEST]
        old = {(one["family"], one["era"]): one for one in tables.read(FOLDER / f"{name}.toml")["engine"]}
        for group in offline_groups(found, everyone):
            print(f"{' '.join(group.key):34} {group.entry['error']}")
            entries.append(_completed(group.entry, old.get(group.key[1:], old["", group.key[2]])))
        entries.sort(key=lambda entry: (entry["family"], entry["era"]))
        write_toml(FOLDER, entries, datetime.datetime.now(datetime.UTC).date().isoformat())


def offline(data: Path, name: str) -> list[Row]:
    """The offline rows of an engine that fits are made of."""
    mine = [run[""] for run in raw_runs(data, OFFLINE) if ENGINES.get(run[""]["engine"]) == name]
    return [row for raw in mine for row in rows_of((raw,), data) if row.era != NEWEST]


def _completed(entry: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """The entry with what all rows together said of it."""
    kept = {name: old[name] for name in _OF_ALL if name in old}
    waits = [name for name in ("server_s", "queue") if name in old.get("not_fitted", ())]
    return entry | kept | {"not_fitted": (*entry["not_fitted"], *waits)}


if __name__ == "__main__":
    main()
