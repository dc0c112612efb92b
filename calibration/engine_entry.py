"""What the fits of served and of offline runs share: groups of rows, what held-out rows say, and the TOML entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from engine_intervals import ends, interval, unseen_card
from engine_judge import left_out, parts_of
from engine_report import SOURCES, HeldOut, Judged, Key, bounds
from engine_rows import TERMS, UNSHARED, Row, timed
from engine_shares import FIELDS, LEAST_ROWS, OWN, Shares, on_family, predicted, ranges, shares_of, unseen
from provenance import at_edge, data_of

from rooflight.catalog.calibration import NEWEST
from rooflight.values.calibration import Data

MODELS_TO_JUDGE_BY = 3
# Names of an interval's ends, of dense models and of routed experts: of a step, and of a whole request.
STEP = ("low", "high"), ("moe_low", "moe_high")
WHOLE = ("run_low", "run_high"), ("moe_run_low", "moe_run_high")


def held_out(found: Sequence[Row], fit: Callable[[Sequence[Row]], Shares]) -> HeldOut:
    """Each part of the rows predicted by a fit of the others."""
    return HeldOut(*(left_out(found, part, fit, predicted) for part in parts_of(found)))


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

    What only some engines have (engine_shares.OWN) is 0 of others by definition, no fit's doing.
    """
    edges = at_edge(dict(zip(TERMS, shares, strict=True)), ranges(found, tied=tied))
    usual = OWN if tied else ("beside", "fp4_floors", *OWN)
    missing = [FIELDS[name] for name in unseen(found) if name not in usual]
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
    if key[1] not in UNSHARED[2]:
        named["unshared_kv_share"] = 0.0  # rows of these families show it, and say nothing of others
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
                entry = bounds_.get(on_family(row.engine, row.family), bounds_.get(row.engine, bounds_[""]))
                low, high = ends(entry, "moe_" if row.routed else "", row.requests)
                inside[place] = low <= 1 / predicted([row], shares)[0] <= high
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
