"""Timed collectives (facts/measured_collectives.csv): what sizes mean, none beats its ceiling, how near fits are."""

from __future__ import annotations

import csv
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from rooflight.catalog.accelerators import load
from rooflight.catalog.calibration import collectives
from rooflight.roofline.collectives import library_s
from rooflight.roofline.links import links_of, near_bytes_per_s
from rooflight.values.work import Exchange
from rooflight.work.formulas import across_bytes, all_reduce_bytes, all_to_all_bytes

CALIBRATION = Path(__file__).parents[2] / "calibration"
OURS = {"all_reduce": "all_reduce", "all_gather": "all_gather", "reduce_scatter": "reduce_scatter",
        "alltoall": "all_to_all"}  # fmt: skip
# Systems of several domains, the devices of one and the network of a device: nodes of 8 at 8 x 50 GB/s, racks of 72.
ACROSS = {
    "p5.48xlarge": (8, 2, "400Gb/s"), "p5en.48xlarge": (8, 16, "400Gb/s"), "HGX H100 + SHARP": (8, 8, "400Gb/s"),
    "GB200 NVL72, 2 racks": (72, 2, "800Gb/s"), "GB200 NVL72, 20 racks": (72, 20, "800Gb/s"),
    "2x8 H100": (8, 2, "400Gb/s"), "2x8 A100, 8x100 Gb/s RoCE": (8, 2, "100Gb/s"),
    "2x DGX Spark, one QSFP cable": (1, 2, "200Gb/s"),
}  # fmt: skip


@pytest.fixture(scope="module")
def rows(data: Path) -> list[dict[str, str]]:
    path = data / "facts/measured_collectives.csv"
    if not path.is_file():
        pytest.skip("no table of timed collectives here")
    with path.open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if "do not calibrate" not in row["note"]]


def tensor_bytes(row: dict[str, str]) -> float:
    """As nccl-tests has it: all of what is gathered. oneCCL's all_gather counts what one device brings."""
    each = row["library"] == "oneccl" and row["collective"] == "all_gather"
    return float(row["bytes"]) * (int(row["gpus"]) if each else 1)


def shape_of(row: dict[str, str]) -> Exchange:
    local, domains, _ = ACROSS.get(row["system"], (int(row["gpus"] or 1), 1, None))
    return Exchange(
        what=OURS[row["collective"]], payload_bytes=tensor_bytes(row), devices=local * domains, local=local,
        domains=domains,
    )  # fmt: skip


def links(row: dict[str, str]):
    return links_of(load(row["accelerator"])[0], ACROSS.get(row["system"], (0, 0, None))[2])


def expected_s(row: dict[str, str]) -> float:
    host = "pcie-staged" if row["accelerator"] == "l40s" else None  # the one host of PCIe cards that was timed
    return float(library_s(shape_of(row), load(row["accelerator"])[0], links(row), collectives(), pcie=host))


def ceiling_s(row: dict[str, str]) -> float:
    """Least bytes over each level's rate; zero latency."""
    shape, found = shape_of(row), links(row)
    payload = shape.payload_bytes
    if shape.what == "all_reduce":
        within = all_reduce_bytes(payload_bytes=payload, devices=shape.local, in_switch=found.reduces)
        across = across_bytes(payload_bytes=payload, local=shape.local, domains=shape.domains)
    else:
        within, across = payload * (shape.local - 1) / shape.local, payload * (shape.domains - 1) / shape.domains
        across = across if shape.what == "all_to_all" else across / shape.local
    near = near_bytes_per_s(found, shape.local)
    return max(within / near if near else 0.0, across / found.far_bytes_per_s if across else 0.0)


def library_rows(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Rows of collective libraries on cards with a link (or a network) that the catalog knows."""
    named = [row for row in rows if row["accelerator"] and row["collective"] in OURS]
    return [row for row in named if row["system"] in ACROSS or not load(row["accelerator"])[0].unrated_link]


def timed(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [row for row in library_rows(rows) if row["time_us"] and row["time_us"] != "983.2"]  # a cold start


def median(values: list[float]) -> float:
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def test_sizes_mean_what_nccl_tests_means_and_oneccl_gathers_another(rows):
    """Bus bandwidth of a large tensor as nccl-tests computes it: all_gather and alltoall (n - 1)/n of its bytes.

    Were NCCL's bytes one device's part, all_gather on eight would run at eight times what its links carry. Were
    oneCCL's the whole, it would gather at 1/n of the speed it scatters at; both move the same bytes.
    """
    largest = {(r["system"], r["gpus"], r["collective"]): r for r in rows if r["bytes"] == str(2**29) and r["time_us"]}
    checked = 0
    for (system, gpus, what), row in largest.items():
        scatters = largest.get((system, gpus, "reduce_scatter"))
        if what not in ("all_gather", "alltoall") or scatters is None:
            continue
        speed, other = (float(one["bytes"]) / float(one["time_us"]) for one in (row, scatters))
        times = int(gpus) if row["library"] == "oneccl" else 1
        assert 0.6 < speed * times / other < 1.5, (system, gpus, what)
        if times > 1:
            assert speed / other < 1.1 / times
        else:
            link = load(row["accelerator"])[0].link
            assert link is None or speed * int(gpus) * 1e6 > link.bytes_per_s  # bytes a microsecond
        checked += 1
    assert checked >= 30


def test_a_page_of_nccl_tests_agrees_with_the_sizes(rows):
    """H200: 361 GB/s of bus bandwidth gathering 16 GiB (nccl-tests); the table's 512 MiB come within a tenth."""
    page = next(
        float(r["busbw_GBps"]) for r in rows if r["system"] == "8xH200 node" and r["collective"] == "all_gather"
    )
    wanted = ("h200_sxm", "all_gather", "8", str(2**29))
    row = next(r for r in rows if (r["system"], r["collective"], r["gpus"], r["bytes"]) == wanted)
    table = 2**29 * 7 / 8 / float(row["time_us"]) / 1e3
    assert table == pytest.approx(page, rel=0.1)


def test_no_collective_beats_its_ceiling(rows):
    fast = [row for row in timed(rows) if float(row["time_us"]) * 1e-6 < ceiling_s(row)]
    assert not fast

    for row in library_rows(rows):  # printed as bus bandwidth only
        if row["time_us"] or not row["busbw_GBps"] or not row["gpus"]:
            continue
        one = {**row, "bytes": str(2**32)}
        factor = (2 if row["collective"] == "all_reduce" else 1) * (int(row["gpus"]) - 1) / int(row["gpus"])
        assert 2**32 * factor / (float(row["busbw_GBps"]) * 1e9) > ceiling_s(one), row["system"]


def test_no_dispatch_or_combine_beats_its_ceiling(rows):
    """DeepEP on 2 to 8 nodes of 8 H100: a node gets a row once; its throughput kernels' test reaches 4 of 8 nodes."""
    checked = 0
    for row in rows:
        if "DeepEP" not in row["library"] or row["system"] != "h100_sxm" or not row["time_us"] or int(row["gpus"]) <= 8:
            continue
        nodes = int(row["gpus"]) // 8
        limited = row["library"] == "DeepEP normal" and nodes == 8
        tokens = float(re.search(r"per rank (\d+)", row["note"])[1])
        sent = all_to_all_bytes(
            tokens=tokens, row_bytes=7168 * (2 if row["collective"] == "moe_combine" else 1), chosen=8, devices=nodes,
            groups=8 if limited else 1, chosen_groups=4 if limited else 1,
        )  # fmt: skip
        assert float(row["time_us"]) * 1e-6 > sent / 50e9, row
        checked += 1
    assert checked > 150


@pytest.mark.parametrize("what", ["all_reduce", "reduce_scatter", "all_gather", "alltoall"])
def test_what_is_expected_is_near_what_was_timed(rows, what):
    """Within 15 % in the median, of every system by itself; of all-reduces across nodes of eight too."""
    errors: dict[str, list[float]] = {}
    for row in timed(rows):
        if row["collective"] == what:
            error = abs(expected_s(row) / (float(row["time_us"]) * 1e-6) - 1)
            errors.setdefault(row["system"], []).append(error)
    for system, found in errors.items():
        if len(found) >= 20:
            assert median(found) < 0.15, (system, median(found))
    assert median([error for found in errors.values() for error in found]) < 0.10


def test_two_nodes_start_after_tens_of_microseconds(rows):
    """69 us on two nodes, 167 on sixteen; one node of eight 16."""
    small = [row for row in timed(rows) if row["system"] in ("p5.48xlarge", "p5en.48xlarge") and row["bytes"] == "16"]

    assert len(small) == 2
    for row in small:
        assert expected_s(row) == pytest.approx(float(row["time_us"]) * 1e-6, rel=0.15)


def fits() -> ModuleType:
    for name in ("scipy", "pandas"):
        pytest.importorskip(name)
    spec = importlib.util.spec_from_file_location("fit_collectives", CALIBRATION / "collectives.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(CALIBRATION))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(CALIBRATION))
    return module


@pytest.mark.slow
@pytest.mark.parametrize("what", ["all_reduce", "reduce_scatter"])
def test_a_system_left_out_is_near(rows, what):
    """Within 25 % in the median of all: fitted without one system of a kind, or on the kind next to it."""
    module = fits()
    kin = {
        "nvlink-3": ("h100_sxm", "h200_sxm", "b200_sxm", "gb200", "gb300"),
        "pcie-staged": ("b60",),
        "pcie-oneccl": ("l40s",),
    }
    errors = []
    for kind, systems in module.KINDS.items():
        for left_out in systems:
            others = [one for one in systems if one != left_out] or kin[kind]
            fit = module.near_fit(module.near_rows(rows, tuple(others), what), OURS[what], kind)
            for row in module.near_rows(rows, (left_out,), what):
                latency, bytes_s = module.near_parts(
                    what=OURS[what], payload_bytes=float(row["bytes"]), devices=float(row["gpus"]),
                    bytes_per_s=module._rate(row), fit=fit,
                )  # fmt: skip
                seconds = module.piped_s(latency_s=latency, bytes_s=bytes_s, ramp=fit.ramp)
                errors.append(abs(seconds / (float(row["time_us"]) * 1e-6) - 1))
    assert len(errors) > 400
    assert median(errors) < 0.25
