"""The catalog against the table it was collected in, and its ceilings against every measured rate."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rooflight.catalog import accelerators
from rooflight.values.accelerator import Accelerator, Fact

# column -> what, number format, unit
COLUMNS = {
    "fp32_tflops": ("peak", "fp32", "TFLOP/s"),
    "tf32_tflops": ("peak", "tf32", "TFLOP/s"),
    "fp16_tensor_tflops": ("peak", "fp16", "TFLOP/s"),
    "fp16_tensor_fp16acc_tflops": ("peak-fp16-accumulate", "fp16", "TFLOP/s"),
    "bf16_tensor_tflops": ("peak", "bf16", "TFLOP/s"),
    "fp8_tflops": ("peak", "fp8", "TFLOP/s"),
    "fp8_fp16acc_tflops": ("peak-fp16-accumulate", "fp8", "TFLOP/s"),
    "int8_tops": ("peak", "int8", "TOP/s"),
    "fp6_tflops": ("peak", "fp6", "TFLOP/s"),
    "fp4_tflops": ("peak", "fp4", "TFLOP/s"),
    "int4_tops": ("peak", "int4", "TOP/s"),
    "memory_GB": ("memory-label", None, "GB"),
    "usable_GiB": ("memory-usable", None, "GiB"),
    "memory_bandwidth_GBps": ("memory-bandwidth", None, "GB/s"),
    "L2_MB": ("last-level-cache", None, "MB"),
    "SM_count": ("compute-units", None, ""),
    "interconnect_bidir_GBps_per_gpu": ("link", None, "GB/s"),
    "scaleup_domain": ("link-domain", None, ""),
    "pcie_GBps_per_direction": ("pcie", None, "GB/s"),
    "tdp_W": ("tdp", None, "W"),
    "release_year": ("release-year", None, ""),
}
FORMATS = {"fp8_e4m3": "fp8", "nvfp4": "fp4"}
PACKAGES = {"mi250": 2, "mi250x": 2, "tt-n300": 2}


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def facts_of(accelerator: Accelerator, what: str, dtype: str | None) -> list[Fact]:
    return [fact for fact in accelerator.facts if fact.what == what and fact.dtype == dtype]


def test_every_row_is_shipped(data: Path) -> None:
    """A file for each row, with the row's confidence; others stand beside them."""
    rows = {row["id"]: row["confidence"] for row in table(data / "accelerators.csv")}

    assert {a.id: a.confidence for a in accelerators.all_accelerators() if a.id in rows} == rows


# Cells that are blank in the table, found since (each with its source in the entry).
SINCE_FOUND = {
    ("apple-m4-max-32", "memory_bandwidth_GBps"), ("apple-m5", "fp32_tflops"), ("apple-m5", "memory_GB"),
    ("apple-m5", "SM_count"), ("apple-m5-pro", "memory_GB"), ("apple-m5-pro", "SM_count"),
    ("apple-m5-max-40", "SM_count"), ("apple-m5-ultra", "memory_bandwidth_GBps"),
    ("ascend-910b", "memory_bandwidth_GBps"), ("graviton4", "memory_bandwidth_GBps"),
    ("apple-m3-pro", "memory_GB"), ("apple-m4-max-32", "memory_GB"), ("p40", "int8_tops"),
    ("graviton4", "L2_MB"), ("graviton4", "SM_count"), ("graviton4", "boost_MHz"), ("mi308x", "memory_bandwidth_GBps"),
    ("qualcomm-ai100-ultra", "fp16_tensor_tflops"), ("qualcomm-ai100-ultra", "memory_bandwidth_GBps"),
    ("qualcomm-ai100-ultra", "L2_MB"), ("xeon-8480plus", "SM_count"), ("xeon-8480plus", "boost_MHz"),
    # of processors: worked out in facts/cpu.csv (test_cpu_csv)
    *((cpu, column) for cpu in ("epyc-9654", "epyc-9755", "grace", "graviton4", "xeon-6980p", "xeon-8480plus")
      for column in ("fp32_tflops", "bf16_tensor_tflops", "fp16_tensor_tflops", "int8_tops")),
}  # fmt: skip


def test_every_number_is_the_rows(data: Path) -> None:
    """Each cell is one fact with that value and unit, beside others in doubt; a blank cell is no fact, unless found."""
    wrong = []
    for row in table(data / "accelerators.csv"):
        accelerator, _ = accelerators.load(row["id"])
        for column, (what, dtype, unit) in COLUMNS.items():
            facts = facts_of(accelerator, what, dtype)
            ours = [(float(fact.value), fact.unit) for fact in facts if not fact.doubt]
            theirs = [(float(row[column]), unit)] if row[column] else []
            if ours != theirs and (row["id"], column) not in SINCE_FOUND:
                wrong.append(f"{row['id']} {column}: {ours} for {theirs}")

    assert not wrong, "\n".join(wrong)


def test_both_fp64_rates_and_the_clock_are_the_rows(data: Path) -> None:
    """Vector and matrix rates of fp64 stay apart; a processor's clock is its base clock."""
    for row in table(data / "accelerators.csv"):
        accelerator, _ = accelerators.load(row["id"])
        fp64 = {fact.note: fact.value for fact in facts_of(accelerator, "peak", "fp64")}
        clock = facts_of(accelerator, "base-clock" if row["kind"] == "cpu" else "boost-clock", None)
        columns = {"vector": row["fp64_tflops"], "tensor": row["fp64_tensor_tflops"]}

        assert fp64 == {note: float(cell) for note, cell in columns.items() if cell}, row["id"]
        if (row["id"], "boost_MHz") not in SINCE_FOUND:
            assert [fact.value for fact in clock] == ([float(row["boost_MHz"])] if row["boost_MHz"] else []), row["id"]


def test_rates_reach_the_accelerator_in_base_units(data: Path) -> None:
    """TFLOP/s x 10^12, GB/s x 10^9, halved for one way, divided where a row is a package."""
    for row in table(data / "accelerators.csv"):
        accelerator, _ = accelerators.load(row["id"])
        devices = PACKAGES.get(row["id"], 1)
        if row["memory_bandwidth_GBps"]:
            own = float(row["memory_bandwidth_GBps"])
            doubted = [float(one.value) for one in facts_of(accelerator, "memory-bandwidth", None) if one.doubt]
            # of figures in conflict the slower is printed
            assert accelerator.memory_bytes_per_s == pytest.approx(min(own, *doubted, own) * 1e9 / devices)
        if row["bf16_tensor_tflops"]:
            assert accelerator.peak_flop_per_s["bf16"] == pytest.approx(
                float(row["bf16_tensor_tflops"]) * 1e12 / devices
            )
        if row["interconnect_bidir_GBps_per_gpu"]:
            assert accelerator.link is not None
            both_ways = float(row["interconnect_bidir_GBps_per_gpu"])
            assert accelerator.link.bytes_per_s == pytest.approx(both_ways * 1e9 / 2 / devices)


def test_no_blanked_cell_came_back(data: Path) -> None:
    """What the collectors blanked because no source confirmed it is in no entry, unless a source was found since."""
    for row in table(data / "accelerators.csv"):
        accelerator, _ = accelerators.load(row["id"])
        for column in filter(None, row["blanked_fields"].split(",")):
            if column in COLUMNS and (row["id"], column) not in SINCE_FOUND:
                what, dtype, _ = COLUMNS[column]
                assert facts_of(accelerator, what, dtype) == [], f"{row['id']} {column}"


def test_no_measured_gemm_beats_the_ceiling_rate(data: Path) -> None:
    """Cards do exceed rated peaks (RTX 5090: by 21 %); none exceeds the rate a ceiling uses."""
    shipped, judged, beaten = set(accelerators.ids()), 0, []
    for row in table(data / "achieved.csv"):
        dtype = FORMATS.get(row["dtype"], row["dtype"])
        if not row["metric"].startswith("gemm") or row["accelerator"] not in shipped or row["unit"][0] != "T":
            continue
        accelerator, _ = accelerators.load(row["accelerator"])
        if dtype in accelerator.fast_flop_per_s:
            judged += 1
            measured = float(row["value"]) * 1e12
            if measured > accelerator.fast_flop_per_s[dtype]:
                beaten.append(f"{row['accelerator']} {dtype}: measured {measured:.4g}")

    assert judged > 60  # 69 rows of the table name a shipped card and a format it has a peak for
    assert not beaten, "\n".join(beaten)


def test_a_margin_leaves_only_a_little_room(data: Path) -> None:
    """The fastest measured against its rated peak, RTX 5090 bf16, comes within 10 % of its ceiling rate."""
    rows = [r for r in table(data / "achieved.csv") if (r["accelerator"], r["dtype"]) == ("rtx-5090", "bf16")]
    ceiling = accelerators.load("rtx-5090")[0].fast_flop_per_s["bf16"]

    assert 0.9 * ceiling < max(float(row["value"]) for row in rows) * 1e12 < ceiling


def test_launch_floors_are_at_most_what_was_measured(data: Path) -> None:
    """No kernel launch on record is faster than the floor assumed for its family."""
    shipped, judged = set(accelerators.ids()), 0
    for row in table(data / "achieved.csv"):
        if row["metric"] in ("kernel_launch_graph", "kernel_launch_stream") and row["accelerator"] in shipped:
            assumed = accelerators.load(row["accelerator"])[0].assumed
            floor_s = assumed.launch_graph_s if row["metric"].endswith("graph") else assumed.launch_eager_s
            judged += 1

            assert floor_s <= float(row["value"]) * 1e-6, row

    assert judged == 12  # six shipped cards, graph and stream
