"""rocm-smi's and amd-smi's CSV and JSON."""

from __future__ import annotations

import json

import pytest

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.read import recorded
from rooflight.units import to_base


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "recorded"
        path.write_text(text)
        return recorded(path)

    return read


ROCM = {
    "Temperature (Sensor junction) (C)": "45.0", "Average Graphics Package Power (W)": "90.0", "GPU use (%)": "98",
    "sclk clock speed:": "(1502Mhz)", "VRAM Total Memory (B)": "68702699520", "VRAM Total Used Memory (B)": "1000",
    "Memory Activity": "N/A",
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "WARNING: low power\n\n" + ",".join(["device", *ROCM]) + "\n" + ",".join(["card1", *ROCM.values()]) + "\n",
        json.dumps({"card1": ROCM, "system": {"Driver version": "6.8"}}),
    ],
    ids=["csv", "json"],
)
def test_rocm_smi(read, text):
    """Units stand in the names, the clock in brackets."""
    found = read(text)
    (one,) = found.watched

    assert (found.format, one.subject, one.gpu_util, one.power_w, one.temperature_c) == (
        "amd-smi",
        "gpu 1",
        0.98,
        90,
        45,
    )
    assert (one.sm_clock_hz, one.memory_total_bytes, one.memory_used_bytes) == (to_base(1502, "MHz"), 68702699520, 1000)


def test_amd_smi_monitor(read):
    names = "timestamp,gpu,power_usage,max_power,hotspot_temperature,gfx_clk,gfx,mem,vram_used,vram_total"
    text = f"{names}\n1700000000,3,600,750,71,2100,95,40,1000,196592\n"
    (one,) = read(text).watched

    assert (one.subject, one.power_w, one.power_limit_w, one.gpu_util, one.memory_util) == (
        "gpu 3",
        600,
        750,
        0.95,
        0.4,
    )
    assert (one.sm_clock_hz, one.memory_total_bytes) == (to_base(2100, "MHz"), to_base(196_592, "MiB"))


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: {"gpu_data": rows}], ids=["list", "gpu_data"])
def test_amd_smi_metric(read, wrap):
    """Values with their units in a tree; what is not available is a word."""
    row = {
        "gpu": 0,
        "usage": {"gfx_activity": {"value": 50, "unit": "%"}, "umc_activity": "N/A"},
        "power": {"socket_power": {"value": 600, "unit": "W"}},
        "clock": {"gfx_0": {"clk": {"value": 2100, "unit": "MHz"}, "max_clk": {"value": 2100, "unit": "MHz"}}},
        "mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}},
    }
    (one,) = read(json.dumps(wrap([row]))).watched

    assert (one.gpu_util, one.memory_util, one.power_w) == (0.5, None, 600)
    assert (one.sm_clock_hz, one.max_sm_clock_hz) == (to_base(2100, "MHz"), to_base(2100, "MHz"))
    assert one.memory_total_bytes == to_base(196_592, "MiB")


def test_columns_without_values_are_refused(read):
    with pytest.raises(BadConfig, match="no values of an accelerator"):
        read(json.dumps({"card0": {"GPU use (%)": "N/A"}}))


def test_amd_smi_metric_as_csv_has_temperatures_where_monitor_has_shares(read):
    """The header of `amd-smi metric -p -c -t -u -w 1 --csv`: "mem" is the memory's temperature, not how busy it is."""
    names = (
        "timestamp,gpu,gfx_activity,umc_activity,mm_activity,socket_power,gfx_0_clk,gfx_0_max_clk,mem_0_clk,edge,"
        "hotspot,mem"
    )
    found = read(
        f"{names}\n1700000000,3,95,80,N/A,1180,2100,2400,2000,N/A,78,60\n1700000001,3,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,78,60\n"
    )
    one, other = found.watched

    assert (one.subject, one.gpu_util, one.memory_util, one.power_w, one.temperature_c) == (
        "gpu 3",
        0.95,
        0.8,
        1180,
        78,
    )
    assert (one.sm_clock_hz, one.max_sm_clock_hz) == (to_base(2100, "MHz"), to_base(2400, "MHz"))
    assert one.memory_clock_hz == to_base(2000, "MHz")
    # 1.7e9 s after 1970
    assert one.start == "2023-11-14T22:13:20.000Z"
    assert (other.gpu_util, other.memory_util, other.temperature_c) == (None, None, 78)


def test_memory_alone_of_amd_smi_metric_as_csv(read):
    (one,) = read("gpu,total_vram,used_vram,free_vram\n0,196592,150000,46592\n").watched

    assert (one.memory_total_bytes, one.memory_used_bytes) == (to_base(196592, "MiB"), to_base(150000, "MiB"))
