"""The entries of an engine that is fitted as a tree (engine_tree.py): an entry a node, and what rows left out say."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from engine_intervals import unseen_card
from engine_judge import fifths
from engine_report import HeldOut, Judged, source_name
from engine_rows import Row
from engine_shares import FIELDS
from engine_tree import LIMITS, ROOT, SHARES, Node, Tree, fit_tree, nearest_node, paths_of, tree_ratio
from provenance import at_edge, data_of

from rooflight.catalog.calibration import line_of

# What is left out of a fit at once: tenths of the models, fifths of the points, each card alone.
MODEL_PARTS = 10
# An interval of so many rows counts as much as the one it leans on.
EQUAL_ROWS = 20
# Kinds of rows by the interval they set: names of its ends in an entry.
STEP, ROUTED, PROMPT = ("low", "high"), ("moe_low", "moe_high"), ("prefill_low", "prefill_high")
_TAIL = 0.1
_LEAST_LOW, _MOST_HIGH = 0.12, 9.0


def tree_groups(found: list[Row]) -> list[Judged]:
    """All nodes of an engine's tree, judged by fits that did not see the rows."""
    tree = fit_tree(found)
    out = tree_held_out(found, tree)
    intervals = _intervals(found, out, tree)
    own = [nearest_node(tree, row) for row in found]
    wider = _unseen(found, out, intervals, own)
    judged = []
    for node in sorted(tree, key=lambda node: (node != ROOT, node)):
        below = np.array([node in (*paths_of(row)[0], *paths_of(row)[1]) for row in found])
        mine = [row for row, is_mine in zip(found, below, strict=True) if is_mine]
        entry = _entry(node, mine, tree, out.of(below), found) | intervals[node] | {"unseen_card": wider}
        # each row is told of once: where it has its shares from
        exact = np.array([place == node for place in own])
        rows = [row for row, is_mine in zip(found, exact, strict=True) if is_mine]
        shown = node[0] if exact.any() else ""
        kept = exact if exact.any() else below
        key = (found[0].engine, f"{shown} {node[1]}".strip() if shown else "", found[0].era)
        blind = np.full(int(kept.sum()), np.nan)
        judged.append(Judged(key, rows if exact.any() else mine, out.of(kept), entry, blind))
    return judged


def tree_held_out(found: list[Row], tree: Tree) -> HeldOut:
    """Each part of the rows predicted by a fit of the others."""
    parts: tuple[Sequence[Hashable], ...] = (
        fifths([row.point for row in found]), _dealt([row.shape for row in found], MODEL_PARTS),
        [row.accelerator for row in found],
    )  # fmt: skip
    return HeldOut(*(_left_out(found, part, tree) for part in parts))


def _dealt(names: Sequence[str], parts: int) -> list[int]:
    several = sorted(set(names))
    drawn = np.random.default_rng(0).permutation(len(several))
    which = {name: int(place) % parts for name, place in zip(several, drawn, strict=True)}
    return [which[name] for name in names]


def _left_out(found: list[Row], parts: Sequence[Hashable], tree: Tree) -> np.ndarray:
    ratio = np.full(len(found), np.nan)
    for part in set(parts):
        mine = np.array([other == part for other in parts])
        others = [row for row, is_mine in zip(found, mine, strict=True) if not is_mine]
        if others:
            rows = [row for row, is_mine in zip(found, mine, strict=True) if is_mine]
            ratio[mine] = tree_ratio(rows, fit_tree(others, tree))
    return ratio


def kind_of(row: Row) -> tuple[str, str]:
    """Which interval a row sets."""
    if row.what.startswith("prefill"):
        return PROMPT
    return ROUTED if row.routed else STEP


def _intervals(found: list[Row], out: HeldOut, tree: Tree) -> dict[Node, dict[str, float]]:
    """Of each node, from the rows below it as points and as models left out; few rows lean on the node above."""
    kinds = [kind_of(row) for row in found]
    nodes = [paths_of(row) for row in found]
    need = np.column_stack([-np.log(out.fifths), -np.log(out.models)])
    intervals: dict[Node, dict[str, float]] = {}
    for node in sorted(tree, key=lambda node: (node != ROOT, line_of(node[0]) != "", bool(node[1]))):
        above = intervals.get(_above(node, tree), {})
        entry: dict[str, float] = {}
        for kind in (STEP, ROUTED, PROMPT):
            mine = [node in (*path[0], *path[1]) and one == kind for path, one in zip(nodes, kinds, strict=True)]
            ends = _ends(need[np.array(mine)], [above.get(name) for name in kind])
            entry |= dict(zip(kind, ends, strict=True))
        low, high = zip(*([entry[name] for name in kind] for kind in (STEP, ROUTED)), strict=True)
        entry |= dict(zip(("run_low", "moe_run_low"), low, strict=True))
        entry |= dict(zip(("run_high", "moe_run_high"), high, strict=True))
        intervals[node] = entry
    return intervals


def _above(node: Node, tree: Tree) -> Node:
    line = line_of(node[0])
    order = ((node[0], ""), (line, node[1]), (line, ""), ROOT)
    return next(one for one in order if one in tree and one != node) if node != ROOT else ROOT


def _ends(need: np.ndarray, above: Sequence[float | None]) -> tuple[float, float]:
    """Factors that hold eight of ten rows of `need` (logarithms of measured over predicted)."""
    known = need[np.isfinite(need)]
    share = len(known) / 2 / (len(known) / 2 + EQUAL_ROWS)
    default = [np.log(0.5), np.log(2.0)]
    base = [fallback if end is None else float(np.log(end)) for end, fallback in zip(above, default, strict=True)]
    own = np.quantile(known, [_TAIL, 1 - _TAIL]) if len(known) else np.array(base)
    low, high = np.exp(share * own + (1 - share) * np.array(base))
    return float(np.clip(low, _LEAST_LOW, 0.97)), float(np.clip(high, 1.03, _MOST_HIGH))


def _unseen(found: list[Row], out: HeldOut, intervals: dict[Node, dict[str, float]], own: Sequence[Node]) -> float:
    """How much wider intervals are on a card that no fit saw."""
    ends = np.array([
        [intervals[node][name] for name in kind_of(row)] for row, node in zip(found, own, strict=True)
    ])  # fmt: skip
    known = np.isfinite(out.accelerators)
    return unseen_card(out.accelerators[known], ends[known, 0], ends[known, 1])


def _entry(node: Node, mine: list[Row], tree: Tree, out: HeldOut, fitted: list[Row]) -> dict[str, Any]:
    """The TOML entry of a node, but for its intervals and the time to first token."""
    least, most = np.array([LIMITS[name] for name in SHARES]).T
    shares = dict(zip(SHARES, np.clip(np.exp(tree[node]), least, most), strict=True))
    prefill = float(shares["prefill"])
    by = ("by fifths", "by model", "by accelerator")
    errors = [f"{np.nanmedian(np.abs(ratio - 1)):.1%} {what}" for ratio, what in zip(out, by, strict=True)]
    edges = at_edge({name: float(np.log(shares[name])) for name in SHARES}, _ranges())
    cards = sorted({row.accelerator for row in mine})
    return {
        "id": fitted[0].engine, "family": node[0], "backend": node[1], "era": fitted[0].era,
        "fitted_on": f"{len(mine)} rows: {', '.join(cards)}",
        **{FIELDS[name]: float(share) for name, share in shares.items() if name in FIELDS},
        "unit_byte_s": 0.0, "cards": cards, "reserved_output": 0.5,
        "prefill_share": prefill, "prefill_kernels": True,
        "moe_prefill_share": float(np.clip(prefill * shares["routed_prefill"], 0.1, 40)),
        "error": "median, held out: " + ", ".join(errors),
        "data": data_of([row.line for row in fitted], {source_name(row.source) for row in fitted}),
        "at_edge": tuple(FIELDS.get(name, "moe_prefill_share") for name in edges),
        "not_fitted": _not_fitted(mine),
    }  # fmt: skip


def _ranges() -> dict[str, tuple[float, float]]:
    """Where shares may end, as logarithms."""
    return {name: (float(np.log(low)), float(np.log(high))) for name, (low, high) in LIMITS.items() if low}


def _not_fitted(mine: list[Row]) -> list[str]:
    """What no row below the node shows: the node above stands in."""
    decode = [row for row in mine if not row.what.startswith("prefill")]
    missing = [] if any(row.routed for row in decode) else ["expert_share", "expert_layer_s"]
    if not any(row.what.startswith("prefill") or row.whole for row in mine):
        missing.append("prefill_share")
    return missing
