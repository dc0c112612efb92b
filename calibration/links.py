"""Collectives: what an engine gets from the best of its own kernels and NCCL, by link and size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from provenance import at_edge, data_of
from rows import PACKAGE, SYSTEMS, TABLES, read
from scipy.optimize import least_squares

from rooflight.catalog import accelerators
from rooflight.roofline import expected
from rooflight.values.calibration import Error, LinkFit

# link, collective -> systems it is fitted on, and what to say about it
LINKS = {
    "nvlink-switch": ("h100_sxm", "h200_sxm"),
    "nvlink": ("a100_sxm",),
    "nvlink-5": ("b200_sxm", "gb200"),
    "pcie": ("b60",),
    "pcie-l40s": ("l40s",),
}
OPERATIONS = {"all_reduce": "all_reduce", "all_gather": "all_gather", "reduce_scatter": "reduce_scatter",
              "alltoall": "all_to_all"}  # fmt: skip
_START = {"latency_s": 5e-6, "hop_s": 1e-6, "sync_s": 2e-6, "efficiency": 0.7, "start_share": 0.3}
# What between two devices nothing shows: one step takes them no longer than two.
_SEVERAL = ("sync_s", "hop_s", "start_share")
_BOUNDS = {"latency_s": (5e-7, 1e-4), "hop_s": (1e-9, 2e-5), "sync_s": (1e-9, 5e-5), "efficiency": (0.05, 1.29),
           "start_share": (1e-3, 1.0)}  # fmt: skip


def measured(data: Path) -> pd.DataFrame:
    """Best seconds by system, collective, devices and payload; kernels launched one by one are left out."""
    table = read(data, TABLES["links"])
    for column in ("system", "op_name", "kernel_source", "backend"):
        table[column] = table[column].astype(str)
    table = table[~((table["kernel_source"].str.contains("eager")) & (table["system"] != "b60"))]
    # oneCCL counts what one device contributes to an all_gather, NCCL the whole
    gathered = (table["backend"] == "oneccl") & (table["op_name"] == "all_gather")
    payload: Any = table["bytes"].astype(float) * np.where(gathered, table["num_gpus"].astype(float), 1.0)
    table = table.assign(payload=payload, seconds=table["latency_ms"] / 1000, devices=table["num_gpus"].astype(float))
    # L40S: beyond two cards the tested host stages through its memory (a quarter of the rate, then an eighth)
    table = table[(table["system"] != "l40s") | (table["devices"] == 2)]
    best = table.groupby(["system", "op_name", "devices", "payload"])["seconds"].min().reset_index()
    return pd.concat([best, _summed_on_l40s(best)])


def _summed_on_l40s(best: pd.DataFrame) -> pd.DataFrame:
    """L40S has no usable all_reduce: its reduce_scatter and all_gather in turn stand for it."""
    parts = [best[(best["system"] == "l40s") & (best["op_name"] == name)] for name in ("reduce_scatter", "all_gather")]
    both = parts[0].merge(parts[1], on=["system", "devices", "payload"], suffixes=("", "_gather"))
    both = both.assign(op_name="all_reduce", seconds=both["seconds"] + both["seconds_gather"])
    return both[["system", "op_name", "devices", "payload", "seconds"]]


def rate_bytes_per_s(system: str) -> float:
    """One-way link rate of a system's device, PCIe where it has no other link."""
    card = accelerators.load(SYSTEMS[system])[0]
    return card.link.bytes_per_s if card.link else float(card.pcie_bytes_per_s or 0)


def fit_links(data: Path) -> dict[str, LinkFit]:
    """All links and collectives, as "link/collective"."""
    table = measured(data)
    fits = {}
    for link, systems in LINKS.items():
        for name, ours in OPERATIONS.items():
            part = table[table["system"].isin(systems) & (table["op_name"] == name)]
            if len(part):
                fits[f"{link}/{ours}"] = _fit(part, ours, systems)
    return fits


def _fit(part: pd.DataFrame, operation: str, systems: tuple[str, ...]) -> LinkFit:
    given = {
        "payload_bytes": part["payload"].to_numpy(float), "devices": part["devices"].to_numpy(float),
        "link_bytes_per_s": np.array([rate_bytes_per_s(system) for system in part["system"]]),
    }  # fmt: skip
    seconds = part["seconds"].to_numpy(float)
    several, reduces = part["devices"].nunique() > 1, operation == "all_reduce"
    names = [name for name in _START if reduces or name != "sync_s"]
    names = [name for name in names if several or name not in ("hop_s", "start_share")]
    formula: Any = expected.all_reduce_s if reduces else expected.exchange_s

    def struct(point: np.ndarray) -> LinkFit:
        values = {"hop_s": 0.0} | dict(zip(names, np.exp(point).tolist(), strict=True))
        return LinkFit(**values, low=0.9, high=1.1)

    ranges = {name: tuple(np.log(_BOUNDS[name])) for name in names}

    def residual(point: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(formula(**given, fit=struct(point)) / seconds))

    bounds = np.array(list(ranges.values())).T
    start = np.log(np.array([_START[name] for name in names]))
    found = least_squares(
        residual, start, bounds=(bounds[0], bounds[1]), loss="soft_l1", f_scale=0.1, max_nfev=200,
    )  # fmt: skip
    fitted = struct(found.x)
    ratio = seconds / formula(**given, fit=fitted)
    low, high = np.quantile(ratio, [0.1, 0.9])
    inside = float(np.mean((ratio >= low) & (ratio <= high)))
    error = Error(
        rows=len(part), median=round(float(np.median(abs(1 / ratio - 1))), 4), coverage=round(inside, 3),
        held_out="nothing: error of the fit itself",
    )  # fmt: skip
    rounded = {name: float(f"{getattr(fitted, name):.4g}") for name in ("hop_s", *names)}
    basis = f"fitted on {', '.join(SYSTEMS[system] for system in systems)}"
    lines = [",".join(map(str, row)) for row in part.itertuples(index=False)]
    return msgspec.structs.replace(
        fitted, **rounded, low=round(min(float(low), 0.95), 3), high=round(max(float(high), 1.05), 3), error=error,
        basis=basis, data=data_of(lines, [f"{PACKAGE}, table {TABLES['links']}"]),
        at_edge=at_edge(dict(zip(names, found.x, strict=True)), ranges),
        not_fitted=() if several else _SEVERAL[0 if reduces else 1 :],
    )  # fmt: skip
