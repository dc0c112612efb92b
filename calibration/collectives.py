"""Collectives of NCCL and its kin by kind of link, and across machines, from a table of timed ones.

    python calibration/collectives.py --data measured_collectives.csv

The table: one timed collective a row (accelerator, system, gpus, library, collective, bytes, time_us, source, note).
Bytes are of the tensor as nccl-tests has it: what is summed, the whole that is gathered or scattered, what a device
sends to all. oneCCL's all_gather counts what one device brings, so those rows are multiplied.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from provenance import at_edge, data_of
from scipy.optimize import least_squares
from write_toml import _table

from rooflight.catalog import accelerators
from rooflight.roofline.collectives import near_parts, piped_s
from rooflight.values.calibration import Collectives, Error, LinkFit, NetworkFit
from rooflight.work.formulas import all_to_all_bytes

TARGET = Path(__file__).parent.parent / "src/rooflight/catalog/calibration/collectives.toml"
SOURCE = "calibration/collectives.py, fitted to published timings of collectives"
# kind of link -> the systems it is fitted on
KINDS = {
    "nvlink-3": ("a100_sxm",), "nvlink-4": ("h100_sxm", "h200_sxm"), "nvlink-5": ("b200_sxm", "gb200", "gb300"),
    "pcie-staged": ("l40s",), "pcie-oneccl": ("b60",),
}  # fmt: skip
OURS = {"all_reduce": "all_reduce", "all_gather": "all_gather", "reduce_scatter": "reduce_scatter",
        "alltoall": "all_to_all"}  # fmt: skip
_NEAR = {"latency_s": (1e-6, 1e-4, 8e-6), "hop_s": (1e-9, 2e-5, 1e-6), "efficiency": (0.05, 1.29, 0.7),
         "start_share": (1e-3, 1.0, 0.3), "ramp": (1e-3, 2.9, 0.5)}  # fmt: skip
_SHARED_ROOT = {"contention": (1e-2, 2.9, 1.0)}
_FAR = {"message_s": (1e-6, 5e-5, 1.5e-5), "efficiency": (0.3, 0.95, 0.87)}
_START = {"start_s": (1e-6, 1e-4, 2e-5)}
_PIPED = {"first_messages": (0.1, 10.0, 2.0), "ramp": (0.05, 2.9, 1.0)}
# Machines of 8 across a network of 50 GB/s a device: (pattern of the system, machines)
MACHINES = (("p5.48xlarge", 2), ("p5en.48xlarge", 16), ("HGX H100 + SHARP", 8))
_PER_MACHINE, _NETWORK_BYTES_PER_S = 8, 50e9  # lint: a fact of those systems (400 Gb/s a device)


def read(path: Path) -> list[dict[str, str]]:
    """The rows that may be fitted: broken clusters, rows without a time and one cold start are left out."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    timed = [row for row in rows if row["time_us"] and "do not calibrate" not in row["note"]]
    return [row for row in timed if not (row["system"] == "p5en.48xlarge" and row["bytes"] == "8")]


def tensor_bytes(row: dict[str, str]) -> float:
    """The size of the tensor as nccl-tests has it."""
    whole = int(row["gpus"]) if row["library"] == "oneccl" and row["collective"] == "all_gather" else 1
    return float(row["bytes"]) * whole


def near_rows(rows: list[dict[str, str]], systems: tuple[str, ...], name: str) -> list[dict[str, str]]:
    """Rows of one machine of these systems, from the tables of single machines."""
    return [
        row for row in rows if row["system"] in systems and row["collective"] == name and "DeepEP" not in row["library"]
    ]


def _rate(row: dict[str, str]) -> float:
    card = accelerators.load(row["accelerator"])[0]
    return card.link.bytes_per_s if card.link else float(card.pcie_bytes_per_s or 0)


def near_fit(rows: list[dict[str, str]], what: str, kind: str) -> LinkFit:
    """A collective on a kind of link."""
    devices = np.array([float(row["gpus"]) for row in rows])
    given: dict[str, Any] = {"what": what, "devices": devices,
             "payload_bytes": np.array([tensor_bytes(row) for row in rows]),
             "bytes_per_s": np.array([_rate(row) for row in rows])}  # fmt: skip
    ranges = _NEAR | (_SHARED_ROOT if kind == "pcie-staged" else {})

    def seconds(fit: LinkFit) -> Any:
        latency, bytes_s = near_parts(**given, fit=fit)
        return piped_s(latency_s=latency, bytes_s=bytes_s, ramp=fit.ramp)

    return _fitted(
        rows, ranges, LinkFit, seconds, f"fitted on {', '.join(dict.fromkeys(r['accelerator'] for r in rows))}"
    )


Fit = TypeVar("Fit", LinkFit, NetworkFit)


def _fitted(
    rows: list[dict[str, str]], ranges: dict[str, Any], kind: type[Fit], seconds: Callable[[Fit], Any], basis: str
) -> Fit:
    taken = np.array([float(row["time_us"]) * 1e-6 for row in rows])  # lint: microseconds of the table
    names = list(ranges)
    low, high, start = (np.log([ranges[name][i] for name in names]) for i in range(3))

    def struct(point: np.ndarray) -> Fit:
        return kind(**dict(zip(names, np.exp(point).tolist(), strict=True)), low=0.9, high=1.1)

    found = least_squares(
        lambda point: np.log(seconds(struct(point)) / taken), start, bounds=(low, high), loss="soft_l1", f_scale=0.1
    )
    fitted = struct(found.x)
    ratio = taken / seconds(fitted)
    least, most = np.quantile(ratio, [0.1, 0.9])
    error = Error(
        rows=len(rows), median=round(float(np.median(abs(1 / ratio - 1))), 4),
        coverage=round(float(np.mean((ratio >= least) & (ratio <= most))), 3),
        held_out="nothing: error of the fit itself",
    )  # fmt: skip
    lines = [",".join(row.values()) for row in rows]
    sources = sorted({re.sub(r"@.*", "", row["source"].split(" aic-core")[0]) for row in rows})
    return msgspec.structs.replace(
        fitted, **{name: float(f"{getattr(fitted, name):.4g}") for name in names}, error=error, basis=basis,
        low=round(min(float(least), 0.95), 3), high=round(max(float(most), 1.05), 3), data=data_of(lines, sources),
        at_edge=at_edge(dict(zip(names, found.x, strict=True)),
                        {name: (low[i], high[i]) for i, name in enumerate(names)}),
    )  # fmt: skip


def network_fit(rows: list[dict[str, str]], near: LinkFit) -> NetworkFit:
    """all_reduce across machines whose devices NVLink 4 joins."""
    told = [(row, count) for name, count in MACHINES for row in rows if row["system"] == name]
    used = [row for row, _ in told]
    machines = np.array([float(count) for _, count in told])
    payload = np.array([float(row["bytes"]) for row in used])
    latency, within = near_parts(what="all_reduce", payload_bytes=payload, devices=float(_PER_MACHINE),
                                 bytes_per_s=np.array([_rate(row) for row in used]), fit=near)  # fmt: skip

    def seconds(fit: NetworkFit) -> Any:
        across = 2 * (machines - 1) / machines * payload / _PER_MACHINE / (_NETWORK_BYTES_PER_S * fit.efficiency)
        start = fit.message_s * (fit.first_messages + 2 * np.log2(machines))
        return piped_s(latency_s=latency + start, bytes_s=np.maximum(within, across), ramp=fit.ramp)

    return _fitted(used, _FAR | _PIPED, NetworkFit, seconds, "fitted on h100-sxm and h200-sxm, 2 to 16 machines of 8")


def experts_fit(rows: list[dict[str, str]], library: str) -> NetworkFit:
    """Dispatch and combine of 8 of 256 experts across machines of 8 H100: H200's rows of this table are copies."""
    used = [
        row
        for row in rows
        if row["library"] == library and row["system"] == "h100_sxm" and int(row["gpus"]) > _PER_MACHINE
    ]
    tokens = np.array([float(re.search(r"per rank (\d+)", row["note"])[1]) for row in used])  # type: ignore[index]
    keep = tokens <= 8192  # longer ones go in pieces
    used, tokens = [row for row, kept in zip(used, keep, strict=True) if kept], tokens[keep]
    machines = np.array([float(row["gpus"]) / _PER_MACHINE for row in used])
    row_bytes = np.array([7168 * (2.0 if row["collective"] == "moe_combine" else 1 + 4 / 128) for row in used])
    if library == "DeepEP normal":  # its test limits a token to 4 of 8 machines
        sent = np.array([
            all_to_all_bytes(tokens=1, row_bytes=1, chosen=8, devices=int(n), groups=8 if n == 8 else 1,
                             chosen_groups=4 if n == 8 else 1)
            for n in machines
        ]) * tokens * row_bytes  # fmt: skip
    else:
        sent = tokens * 8 * row_bytes * (machines - 1) / machines

    def seconds(fit: NetworkFit) -> Any:
        return fit.start_s + fit.message_s * np.log2(machines) + sent / (_NETWORK_BYTES_PER_S * fit.efficiency)

    return _fitted(used, _START | _FAR, NetworkFit, seconds, f"fitted on {library}, h100-sxm, 2 to 8 machines of 8")


def by_hand(library: dict[str, LinkFit]) -> dict[str, LinkFit]:
    """PCIe that nobody timed over all sizes: hosts with a switch, and cards without peer access."""
    found = {}
    for what in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all"):
        base = library[f"pcie-staged/{what}"]
        rest = {
            "error": None,
            "data": None,
            "at_edge": (),
            "low": round(base.low / 1.4, 3),
            "high": round(base.high * 1.4, 3),
        }
        found[f"pcie-switched/{what}"] = msgspec.structs.replace(
            base, **rest, efficiency=0.59, start_share=0.0, contention=0.5,
            not_fitted=("latency_s", "hop_s", "ramp", "efficiency", "contention"),
            basis="latencies of L40S; rates by hand: RTX PRO 6000, 256 MiB at 38, 26, 20 GB/s (bus) on 2, 4, 8",
        )  # fmt: skip
        found[f"pcie-peers/{what}"] = msgspec.structs.replace(
            found[f"pcie-switched/{what}"], contention=0.1,
            basis="pcie-switched's, contention by hand: TensorRT-LLM's runs on 4 and 8 L40S fall no faster",
        )  # fmt: skip
        found[f"pcie-no-peer/{what}"] = msgspec.structs.replace(
            base, **rest, latency_s=round(2.36 * base.latency_s, 8), hop_s=round(2.36 * base.hop_s, 8),
            not_fitted=("latency_s", "hop_s", "ramp", "efficiency", "contention"),
            basis="L40S's, latencies 2.36 times: 8 RTX 4090 start an all_reduce after 42 us, 8 L40S after 18",
        )  # fmt: skip
    return found


def main() -> None:
    """Fit everything, write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the table of timed collectives")
    parser.add_argument("--out", type=Path, default=TARGET)
    options = parser.parse_args()
    rows = read(options.data)
    library = {
        f"{kind}/{ours}": near_fit(part, ours, kind)
        for kind, systems in KINDS.items() for name, ours in OURS.items() if (part := near_rows(rows, systems, name))
    }  # fmt: skip
    library["pcie-oneccl/all_to_all"] = msgspec.structs.replace(
        library["pcie-oneccl/all_gather"], error=None, data=None, basis="not measured: all_gather's"
    )
    library |= by_hand(library)
    network = {
        "all_reduce": network_fit(rows, library["nvlink-4/all_reduce"]),
        "all_to_all": experts_fit(rows, "DeepEP low latency"),
        "all_to_all_once": experts_fit(rows, "DeepEP normal"),
    }
    found = Collectives(
        date=datetime.now(UTC).date().isoformat(), source=SOURCE, nvlink=("nvlink-3", "nvlink-4", "nvlink-5"),
        fabric="nvlink-3", pcie={"Ada": "pcie-peers", "Xe2": "pcie-oneccl"}, switched="pcie-switched",
        no_peer_to_peer="pcie-no-peer", library=library, network=network,
    )  # fmt: skip
    options.out.write_text(text(found), encoding="utf-8")


def text(found: Collectives) -> str:
    """As TOML."""
    plain = msgspec.to_builtins(found)
    head = ["# Collectives of NCCL and its kin. Ours, fitted by calibration/collectives.py; the fields are explained,",
            "# with their plausible ranges, in values/calibration.py. low and high hold 80 % of the rows."]  # fmt: skip
    lines = [f'{name} = "{plain[name]}"' for name in ("date", "source", "fabric", "switched", "no_peer_to_peer")]
    lines.append(f"nvlink = {list(found.nvlink)}".replace("'", '"'))
    lines += ["", "[pcie]", *(f'{name} = "{kind}"' for name, kind in found.pcie.items())]
    for part in ("library", "network"):
        for key, fit in plain[part].items():
            lines += _table(f'{part}."{key}"', fit)
    return "\n".join([*head, "", *lines]) + "\n"


if __name__ == "__main__":
    main()
