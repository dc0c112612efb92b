"""Fits what serving engines get out of kernels and what their hosts take, to served and offline measurements.

    python calibration/fit_engines.py --data ../shared/data

writes src/rooflight/catalog/calibration/engines.toml and docs/accuracy.md. Kernel fits come first (fit_kernels.py).
A measured time is a sum of parts, each times a share of the engine's; the shares are found by least squares on the
logarithm, robust against rows that contradict the rest. Errors and intervals are of rows that the fit did not see:
fifths of the operating points, and each model left out in turn where an engine was seen with three or more.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from engine_first import fit_first
from engine_intervals import interval, widen
from engine_report import write_report
from engine_rows import TERMS, Row, rows
from engine_toml import write_toml
from scipy.optimize import least_squares

ROOT = Path(__file__).resolve().parents[1]
# What a fit may turn, with the range it is looked for in (spec.calibration.Engine's is wider).
FREE = {
    "body": (0.8, 2.5), "floors": (0.05, 1.2), "link": (1.0, 1.0), "experts": (0.8, 3.0),
    "steps": (0.0, 2e-2), "sequence_steps": (0.0, 1e-4), "expert_layers": (0.0, 1.2e-4),
}  # fmt: skip
START = {
    "body": 1.0, "floors": 0.4, "link": 1.0, "experts": 1.2, "steps": 1e-3, "sequence_steps": 1e-5,
    "expert_layers": 3e-5,
}  # fmt: skip
FIELDS = (
    "body_share", "floor_share", "link", "expert_share", "host_s", "host_per_sequence_s", "expert_layer_s",
)  # fmt: skip
LEAST_ROWS = 12
# A family whose fit is off by this much is not described by it: the engine's entry for all families stands in.
USELESS = 0.35
SERVING = ("vllm", "sglang", "tensorrt-llm")


def fit(found: Sequence[Row]) -> np.ndarray:
    """The shares that fit best, a (source, model, accelerator) with many rows weighing less each."""
    terms = np.array([row.terms for row in found])
    seconds = np.array([row.seconds for row in found])
    groups: dict[tuple[str, str, str], int] = {}
    for row in found:
        key = row.source, row.model, row.accelerator
        groups[key] = groups.get(key, 0) + 1
    weight = np.array([groups[row.source, row.model, row.accelerator] ** -0.25 for row in found])
    low, high = (np.array([FREE[name][side] for name in TERMS]) for side in (0, 1))
    high = high + 1e-9
    scale = np.where(high > 0, high, 1)
    start = np.clip([START[name] for name in TERMS], low, high)
    best = least_squares(
        lambda shares: weight * np.log(terms @ (shares * scale) / seconds),
        start / scale, bounds=(low / scale, high / scale), loss="soft_l1", f_scale=0.1,
    )  # fmt: skip
    return best.x * scale


def predicted(found: Sequence[Row], shares: np.ndarray) -> np.ndarray:
    """Predicted over measured."""
    return np.array([row.terms for row in found]) @ shares / np.array([row.seconds for row in found])


def held_out(found: Sequence[Row], parts: Sequence[object]) -> np.ndarray:
    """Predicted over measured, each part predicted from the other parts."""
    ratio = np.empty(len(found))
    for part in set(parts):
        mine = np.array([other == part for other in parts])
        others = [row for row, is_mine in zip(found, mine, strict=True) if not is_mine]
        shares = fit(others if len(others) >= LEAST_ROWS else found)
        ratio[mine] = predicted([row for row, is_mine in zip(found, mine, strict=True) if is_mine], shares)
    return ratio


def groups_of(found: Sequence[Row]) -> dict[tuple[str, str, str], list[Row]]:
    """Rows by (engine, family, era); family "" holds all of an engine, "generic" all served rows."""
    groups: dict[tuple[str, str, str], list[Row]] = {("generic", "", "2025"): []}
    for row in found:
        groups.setdefault((row.engine, row.family, row.era), []).append(row)
        groups.setdefault((row.engine, "", row.era), []).append(row)
        if row.engine in SERVING and row.era == "2025":
            groups["generic", "", "2025"].append(row)
    return {
        key: rows_
        for key, rows_ in groups.items()
        if sum(not row.what.startswith("prefill") for row in rows_) >= LEAST_ROWS
    }


def prefill_of(shares: np.ndarray, found: Sequence[Row]) -> dict[str, float]:
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


def entry_of(key: tuple[str, str, str], found: list[Row]) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """The TOML entry of a group, and its held-out ratios by fifths and by model."""
    everything, found = found, [row for row in found if not row.what.startswith("prefill")]
    shares = fit(found)
    order = np.random.default_rng(0).permutation(len(found))
    fifths = held_out(found, [int(place) % 5 for place in np.argsort(order)])
    models = held_out(found, [row.model for row in found])
    routed = np.array([row.routed for row in found])
    low, high = interval(fifths[~routed]) if (~routed).sum() >= LEAST_ROWS else interval(fifths)
    moe_low, moe_high = interval(fifths[routed]) if routed.sum() >= LEAST_ROWS else (low * 0.85, min(high * 1.25, 9.0))
    seen = sorted({row.accelerator for row in found})
    named = dict(zip(FIELDS, shares, strict=True))
    del named["link"]
    error = float(np.median(np.abs(fifths - 1)))
    return (
        {
            "id": key[0], "family": key[1], "era": key[2], "fitted_on": f"{len(found)} rows: {', '.join(seen)}",
            **named, "newcomers": 0.5 if key[0] == "sglang" else 1.0,
            **prefill_of(shares, everything), "low": low, "high": high, "moe_low": moe_low, "moe_high": moe_high,
            "error": f"median {error:.1%} held out by fifths, {np.median(np.abs(models - 1)):.1%} by model",
        },
        fifths,
        models,
    )  # fmt: skip


def main() -> None:
    """Fit, and write the two files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    data = parser.parse_args().data
    today = datetime.date.today().isoformat()
    first = fit_first(data)
    entries, report = [], []
    judged = groups_of(list(rows(data)))
    for key, found in sorted(judged.items(), key=lambda item: (item[0][0] != "generic", item[0])):
        entry, fifths, models = entry_of(key, found)
        if np.median(np.abs(fifths - 1)) > USELESS and key[1]:
            print(f"{' '.join(key):34} left out: {entry['error']}")
            continue
        if entries:
            widen(entry, entries[0], "low", "high", [row.model for row in found if not row.routed])
            widen(entry, entries[0], "moe_low", "moe_high", [row.model for row in found if row.routed])
        entry |= first.get(key[0], first["generic"])
        entries.append(entry)
        report.append((key, [row for row in found if not row.what.startswith("prefill")], fifths, models))
        print(f"{' '.join(key):34} {entry['error']}")
    write_toml(ROOT / "src/rooflight/catalog/calibration/engines.toml", entries, today)
    write_report(ROOT / "docs/accuracy.md", report, entries, today)


if __name__ == "__main__":
    main()
