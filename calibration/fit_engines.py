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
from engine_asked import asked, caught, fitted
from engine_checked import checked_rows
from engine_entry import cards_left_out
from engine_evenness import try_all
from engine_first import FIELDS as FIRST_FIELDS
from engine_first import fit_first
from engine_offline import offline_groups
from engine_page import Page, write_page
from engine_points import held_points
from engine_report import Judged
from engine_rows import offline_rows, rows
from engine_served import GENERIC, served_groups
from engine_shares import on_family
from engine_slices import merged, whole_busy
from engine_steady import fit_served
from engine_toml import with_others, write_toml

from rooflight.catalog.calibration import NEWEST, engine_named

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Fit, and write engines and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with served*.csv, measured.csv, configs")
    parser.add_argument("--out", type=Path, default=ROOT / "src/rooflight/catalog/calibration/engines")
    parser.add_argument("--only", help="the entries of one engine of offline runs, and no page")
    parser.add_argument("--report", type=Path, default=ROOT / "docs/accuracy.md")
    parser.add_argument("--evenness", action="store_true", help="also fit under other evenness of routing (slow)")
    parser.add_argument("--served", action="store_true", help="only the served engines' entries, and no page")
    options = parser.parse_args()
    data = options.data
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    if options.only:
        write_toml(options.out, with_others(options.out, one_engine(options.only, data)), today)
        return
    found = [*rows(data), *checked_rows(data)]
    solved = fit_served([row for row in found if row.served], data)
    first = fit_first(solved.rows)
    waits = {group.engine: group.entry for group in first}
    judged = served_groups(solved.rows, solved.shares)
    offline = [row for row in found if not row.served and row.era != NEWEST]
    if not options.served:
        judged += offline_groups(offline, judged[0].entry)
    judged.sort(key=lambda group: (group.key != GENERIC, group.key))
    wider = cards_left_out(judged)
    for group in judged:
        _complete(group, waits, wider[group.key[2]])
        print(f"{' '.join(group.key):34} {group.entry['error']}")
    entries = [group.entry for group in judged]
    if options.served:
        write_toml(options.out, with_others(options.out, entries), today)
        return
    write_toml(options.out, entries, today)
    with fitted(entries, today):
        points = [*held_points(judged, first), *asked(data)]
        claims = {times: caught(data, times) for times in (2.0, 4.0)}
    write_page(
        options.report,
        Page(
            date=today, data=data, judged=judged, points=points, claims=claims,
            tried=try_all(solved, offline, data) if options.evenness else (), against=accuracy(data, entries, today),
        ),
    )  # fmt: skip


def _complete(group: Judged, waits: dict[str, dict[str, Any]], wider: float) -> None:
    """Give an entry what others decide: its interval on other cards (its own of other families), its first tokens."""
    engine, family, era = group.key
    name = on_family(engine, family) if era == NEWEST and family else engine
    found = merged({"unseen_card": wider}, group.entry, waits.get(name, waits["generic"]))
    whole_busy(found)
    if name not in waits:  # nobody timed its first tokens: the mean of those that were
        found["not_fitted"] = [*found["not_fitted"], *FIRST_FIELDS]
        del found["first_data"]
    group.entry.clear()
    group.entry.update(found)


def one_engine(name: str, data: Path) -> list[dict[str, Any]]:
    """The entries of an engine of offline runs; first tokens and everyone's intervals are the catalog's."""
    found = [row for row in (*offline_rows(data), *checked_rows(data)) if row.engine == name and row.era != NEWEST]
    everyone = msgspec.to_builtins(engine_named(None))
    judged = sorted(offline_groups(found, everyone), key=lambda group: group.key)
    wider = cards_left_out(judged)
    ends = ("first_low", "first_high", "moe_first_low", "moe_first_high")
    first = {field: everyone[field] for field in (*FIRST_FIELDS, *ends)}
    for group in judged:
        group.entry.setdefault("unseen_card", wider[group.key[2]])
        group.entry.update(first)
        group.entry["not_fitted"] = [*group.entry["not_fitted"], *FIRST_FIELDS]
        print(f"{' '.join(group.key):34} {group.entry['error']}")
    return [group.entry for group in judged]


if __name__ == "__main__":
    main()
