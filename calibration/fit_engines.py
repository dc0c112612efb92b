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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from engine_accuracy import accuracy
from engine_evenness import try_all
from engine_first import FIELDS as FIRST_FIELDS
from engine_first import Waits, first_ratio, fit_first, fit_waits
from engine_intervals import interval, unseen_card, widen
from engine_judge import left_out, parts_of
from engine_report import SOURCES, HeldOut, Judged, Key, bounds, write_report
from engine_rows import TERMS, Row, rows, timed
from engine_shares import FIELDS, LEAST_ROWS, Shares, fit_alone, fit_tied, predicted, ranges, shares_of, unseen
from engine_shares import with_prefill as with_prefill_share
from engine_steady import ROUNDS, fit_served
from engine_toml import write_toml
from provenance import at_edge, data_of

from rooflight.catalog.calibration import NEWEST
from rooflight.values.calibration import Data

ROOT = Path(__file__).resolve().parents[1]
# A family whose fit is off by this much is not described by it: the engine's entry for all families stands in.
USELESS = 0.35
GENERIC = ("generic", "", NEWEST)
MODELS_TO_JUDGE_BY = 3
# Names of an interval's ends, of dense models and of routed experts: of a step, and of a whole request.
STEP = ("low", "high"), ("moe_low", "moe_high")
WHOLE = ("run_low", "run_high"), ("moe_run_low", "moe_run_high")


def held_out(found: Sequence[Row], fit: Callable[[Sequence[Row]], Shares]) -> HeldOut:
    """Each part of the rows predicted by a fit of the others."""
    return HeldOut(*(left_out(found, part, fit, predicted) for part in parts_of(found)))


def requests(found: Sequence[Row], tokens: HeldOut, fit: Callable[[Sequence[Row]], Waits]) -> HeldOut:
    """Whole requests in place of their steps: the first token predicted without the same rows; nan where unknown."""
    known = np.array([row.first is not None for row in found])
    with_first = [row for row in found if row.first is not None]
    first_s = np.array([row.first.seconds if row.first is not None else np.nan for row in found])
    rest_s = np.array([row.seconds * (row.osl - 1) for row in found])
    whole = []
    for ratio, part in zip(tokens, parts_of(found), strict=True):
        first = np.full(len(found), np.nan)
        mine = [which for which, has in zip(part, known, strict=True) if has]
        first[known] = left_out(with_first, mine, fit, first_ratio)
        whole.append((first * first_s + ratio * rest_s) / (first_s + rest_s))
    return HeldOut(*whole)


def groups_of(found: Sequence[Row]) -> dict[Key, list[Row]]:
    """Rows by (engine, family, era); family "" holds all of an engine."""
    groups: dict[Key, list[Row]] = {}
    for row in found:
        groups.setdefault((row.engine, row.family, row.era), []).append(row)
        groups.setdefault((row.engine, "", row.era), []).append(row)
    return {key: rows_ for key, rows_ in groups.items() if len(timed(rows_)) >= LEAST_ROWS}


def prefill_of(shares: Shares, found: Sequence[Row]) -> dict[str, float]:
    """What lone prefills take beyond the shares of everything else, and its interval; nothing where none was timed."""
    alone = [row for row in found if row.what.startswith("prefill")]
    if len(alone) < LEAST_ROWS:
        return {}
    ratio = 1 / predicted(alone, shares)
    middle, low, high = np.quantile(ratio, [0.5, 0.1, 0.9])
    return {
        "prefill_share": float(np.clip(middle, 0.3, 20)),
        "prefill_low": float(np.clip(low / middle, 0.15, 0.97)),
        "prefill_high": float(np.clip(high / middle, 1.03, 9)),
    }


def intervals(
    found: Sequence[Row], out: HeldOut, names: tuple[tuple[str, str], tuple[str, str]] = STEP
) -> dict[str, float]:
    """Low and high of dense and of routed: half of new operating points of known models, half of models left out."""
    kinds = [np.array([row.routed is routed for row in found]) for routed in (False, True)]
    few = len({row.shape for row in found}) < MODELS_TO_JUDGE_BY
    both = [np.concatenate([out.fifths[kind], out.models[kind][: 0 if few else None]]) for kind in kinds]
    both = [ratio[np.isfinite(ratio)] for ratio in both]
    enough = [kind.sum() >= LEAST_ROWS for kind in kinds]
    dense = interval(both[0] if enough[0] else np.concatenate(both))
    routed = interval(both[1]) if enough[1] else (dense[0] * 0.85, min(dense[1] * 1.25, 9.0))
    return dict(zip((*names[0], *names[1]), (*dense, *routed), strict=True))


def provenance_of(
    found: Sequence[Row], shares: np.ndarray, *, fitted: Sequence[Row], tied: bool
) -> dict[str, Data | tuple[str, ...]]:
    """What a fit of the rows `fitted` says of its entry for `found`: the data, and what the rows did not set.

    unit_byte_s of engines without kernels of their own is 0 by definition, no fit's doing.
    """
    edges = at_edge(dict(zip(TERMS, shares, strict=True)), ranges(found, tied=tied))
    missing = [FIELDS[name] for name in unseen(found) if name not in ("link", "unit_bytes")]
    if len(found) - len(timed(found)) < LEAST_ROWS:
        missing.append("prefill_share")
    sources = {SOURCES.get(row.source, row.source) for row in fitted}
    return {
        "data": data_of([row.line for row in fitted], sources),
        "at_edge": tuple(FIELDS[name] for name in edges), "not_fitted": tuple(missing),
    }  # fmt: skip


def entry_of(key: Key, found: list[Row], shares: Shares, out: HeldOut, *, fitted: Sequence[Row]) -> dict[str, Any]:
    """The TOML entry of a group, but for its intervals and the time to first token.

    fitted  the rows that the shares come from: the group's own, or those of all engines that were fitted together
    """
    judged, mine = timed(found), shares_of(shares, *key[:2])
    named = dict(zip(FIELDS.values(), mine, strict=True))
    del named["link"]
    by = ("by fifths", "by model", "by accelerator")
    errors = [
        f"{np.nanmedian(np.abs(ratio - 1)):.1%} {what}"
        for ratio, what in zip(out, by, strict=True)
        if np.isfinite(ratio).any()
    ]
    return {
        "id": key[0], "family": key[1], "era": key[2],
        "fitted_on": f"{len(judged)} rows: {', '.join(sorted({row.accelerator for row in judged}))}",
        **named, "cards": sorted({row.accelerator for row in judged}),
        "reserved_output": 1.0 if key[0] == "tensorrt-llm" else 0.5,
        **prefill_of(shares, found),
        "error": "median, held out: " + ", ".join(errors),
        **provenance_of(found, mine, fitted=timed(fitted), tied=key[2] == NEWEST),
    }  # fmt: skip


def served_groups(found: list[Row], shares: Shares) -> list[Judged]:
    """The serving engines, fitted together; first the mean of all."""
    out = held_out(found, fit_tied)
    everyone = held_out(found, lambda rows_: {"": fit_tied(rows_)[""]})
    whole = requests(found, out, fit_waits)
    of_all = requests(found, everyone, lambda rows_: {"": fit_waits(rows_)[""]})
    entry = entry_of(GENERIC, found, {"": shares[""]}, everyone, fitted=found)
    entry |= intervals(found, everyone) | intervals(found, of_all, WHOLE)
    judged = [Judged(GENERIC, found, everyone, entry, np.full(len(found), np.nan), of_all)]
    unseen = blind(found, fit_tied, served_intervals)
    bounds_, wholes = served_intervals(found, out), served_intervals(found, whole, WHOLE)
    for key, rows_ in groups_of(found).items():
        mine = np.array([row.engine == key[0] and key[1] in ("", row.family) for row in found])
        entry = entry_of(key, rows_, shares, out.of(mine), fitted=found) | bounds_[key[0]] | wholes[key[0]]
        judged.append(Judged(key, rows_, out.of(mine), entry, unseen[mine], whole.of(mine)))
    return judged


def served_intervals(
    found: Sequence[Row], out: HeldOut, names: tuple[tuple[str, str], tuple[str, str]] = STEP
) -> dict[str, dict[str, float]]:
    """By engine: all engines' interval, wider for dense models where one strays more ("" where it has few rows)."""
    pool = intervals(found, out, names)
    low, high = names[0]
    bounds_ = {"": pool}
    for engine in {row.engine for row in found}:
        mine = np.array([row.engine == engine for row in found])
        if mine.sum() >= LEAST_ROWS:
            own = intervals([row for row in found if row.engine == engine], out.of(mine), names)
            bounds_[engine] = pool | {low: min(pool[low], own[low]), high: max(pool[high], own[high])}
    return bounds_


def own_interval(found: Sequence[Row], out: HeldOut) -> dict[str, dict[str, float]]:
    """The interval of an engine fitted by itself."""
    return {"": intervals(found, out)}


def blind(
    found: Sequence[Row],
    fit: Callable[[Sequence[Row]], Shares],
    bounds_of: Callable[[Sequence[Row], HeldOut], dict[str, dict[str, float]]],
) -> np.ndarray:
    """Whether each row is inside an interval made, like the fit, without its model; nan where too little is left."""
    inside = np.full(len(found), np.nan)
    for shape in {row.shape for row in found}:
        others = [row for row in found if row.shape != shape]
        if len(others) < LEAST_ROWS or len({row.shape for row in others}) < MODELS_TO_JUDGE_BY - 1:
            continue
        bounds_, shares = bounds_of(others, held_out(others, fit)), fit(others)
        for place, row in enumerate(found):
            if row.shape == shape:
                entry = bounds_.get(row.engine, bounds_[""])
                low, high = ("moe_low", "moe_high") if row.routed else ("low", "high")
                inside[place] = entry[low] <= 1 / predicted([row], shares)[0] <= entry[high]
    return inside


def cards_left_out(judged: Sequence[Judged]) -> dict[str, float]:
    """By era, how much wider intervals must be on a card of a known family that no fit saw."""
    factors: dict[str, float] = {}
    for era in {group.key[2] for group in judged}:
        needs = [(group.out.accelerators, *bounds(group)) for group in judged if group.key[2] == era and group.key[1]]
        ratio, low, high = (np.concatenate(parts) for parts in zip(*needs, strict=True))
        known = np.isfinite(ratio)
        factors[era] = unseen_card(ratio[known], low[known], high[known])
    return factors


def offline_groups(found: list[Row], everyone: dict[str, Any]) -> list[Judged]:
    """Each engine and family by itself; those seen with few models have intervals nearer to everyone's."""
    judged = []
    for key, group in groups_of(found).items():
        rows_, shares = alone(group)
        mine = timed(rows_)
        out = held_out(mine, fit_alone)
        entry = entry_of(key, rows_, shares, out, fitted=rows_) | own_interval(mine, out)[""]
        entry |= batch_interval(mine, out, entry)
        if key[1] and np.median(np.abs(out.fifths - 1)) > USELESS:
            print(f"{' '.join(key):34} left out: {entry['error']}")
            continue
        for routed in (False, True):
            shapes = [row.shape for row in mine if row.routed is routed]
            for names in (STEP[routed], WHOLE[routed]):
                widen(entry, everyone, *names, shapes)
        unseen = blind(mine, fit_alone, own_interval) if key[1] else np.full(len(mine), np.nan)
        judged.append(Judged(key, mine, out, entry, unseen))
    return judged


def alone(found: list[Row]) -> tuple[list[Row], Shares]:
    """The rows of an engine fitted by itself, and its shares: prompts of batches take its prefill_share beyond them."""
    scaled = found
    for _ in range(ROUNDS):
        shares = fit_alone(timed(scaled))
        beyond = prefill_of(shares, found).get("prefill_share", 1.0)
        if beyond == 1.0 or not any(row.whole for row in found):
            break
        scaled = with_prefill_share(found, beyond)
    return scaled, shares


def batch_interval(found: Sequence[Row], out: HeldOut, step: dict[str, Any]) -> dict[str, float]:
    """The interval of batches from end to end, where enough were timed; else that of steps."""
    whole = np.array([row.whole for row in found])
    if whole.sum() >= LEAST_ROWS:
        return intervals([row for row in found if row.whole], out.of(whole), WHOLE)
    return dict(zip((*WHOLE[0], *WHOLE[1]), (step[name] for name in (*STEP[0], *STEP[1])), strict=True))


def main() -> None:
    """Fit, and write engines and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with served*.csv, measured.csv, configs")
    parser.add_argument("--out", type=Path, default=ROOT / "src/rooflight/catalog/calibration/engines")
    parser.add_argument("--report", type=Path, default=ROOT / "docs/accuracy.md")
    options = parser.parse_args()
    data = options.data
    found = list(rows(data))
    solved = fit_served([row for row in found if row.served], data)
    first = fit_first(solved.rows)
    waits = {group.engine: group.entry for group in first}
    judged = served_groups(solved.rows, solved.shares)
    offline = [row for row in found if not row.served and row.era != NEWEST]
    judged += offline_groups(offline, judged[0].entry)
    judged.sort(key=lambda group: (group.key != GENERIC, group.key))
    wider = cards_left_out(judged)
    for group in judged:
        group.entry["unseen_card"] = wider[group.key[2]]
        group.entry.update(waits.get(group.key[0], waits["generic"]))
        if group.key[0] not in waits:  # nobody timed its first tokens: the mean of those that were
            group.entry["not_fitted"] += FIRST_FIELDS
            del group.entry["first_data"]
        print(f"{' '.join(group.key):34} {group.entry['error']}")
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    entries = [group.entry for group in judged]
    write_toml(options.out, entries, today)
    tried = try_all(solved, offline, data)
    write_report(options.report, judged, first, tried, accuracy(data, entries, today), today)


if __name__ == "__main__":
    main()
