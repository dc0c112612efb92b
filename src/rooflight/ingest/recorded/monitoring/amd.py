"""What rocm-smi and amd-smi print as CSV or JSON: one moment of each AMD accelerator."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.monitoring.columns import Column, amount
from rooflight.ingest.recorded.monitoring.condensed import condensed
from rooflight.ingest.recorded.monitoring.smi_rows import made
from rooflight.ingest.recorded.monitoring.totals import clock
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.values.recorded import Recorded, Watched

# rocm-smi (https://github.com/ROCm/rocm_smi_lib, python_smi_tools/rocm_smi.py): units stand in the names.
_ROCM = {
    "GPU use (%)": Column("gpu_util", "%"),
    "GPU Memory Read/Write Activity (%)": Column("memory_util", "%"),
    "Memory Activity (%)": Column("memory_util", "%"),
    "VRAM Total Memory (B)": Column("memory_total_bytes", "B"),
    "VRAM Total Used Memory (B)": Column("memory_used_bytes", "B"),
    "Current Socket Graphics Package Power (W)": Column("power_w", "W"),
    "Average Graphics Package Power (W)": Column("power_w", "W"),
    "Max Graphics Package Power (W)": Column("power_limit_w", "W"),
    "Temperature (Sensor junction) (C)": Column("temperature_c", "C"),
    "Temperature (Sensor edge) (C)": Column("temperature_c", "C"),
    "sclk clock speed:": Column("sm_clock_hz", "MHz"),
    "mclk clock speed:": Column("memory_clock_hz", "MHz"),
}
_ROCM_NAMES = ("Card Series", "Card series", "Card Model", "Card model")
# amd-smi monitor, and the paths of amd-smi metric (https://github.com/ROCm/amdsmi, amdsmi_cli); its MB are 2^20 bytes.
_AMD = {
    "gfx": Column("gpu_util", "%"),
    "usage.gfx_activity": Column("gpu_util", "%"),
    "mem": Column("memory_util", "%"),
    "usage.umc_activity": Column("memory_util", "%"),
    "vram_used": Column("memory_used_bytes", "MiB"),
    "mem_usage.used_vram": Column("memory_used_bytes", "MiB"),
    "vram_total": Column("memory_total_bytes", "MiB"),
    "mem_usage.total_vram": Column("memory_total_bytes", "MiB"),
    "power_usage": Column("power_w", "W"),
    "power.socket_power": Column("power_w", "W"),
    "power.average_socket_power": Column("power_w", "W"),
    "max_power": Column("power_limit_w", "W"),
    "gfx_clk": Column("sm_clock_hz", "MHz"),
    "gfx_clock": Column("sm_clock_hz", "MHz"),
    "clock.gfx_0.clk": Column("sm_clock_hz", "MHz"),
    "clock.gfx_0.max_clk": Column("max_sm_clock_hz", "MHz"),
    "mem_clock": Column("memory_clock_hz", "MHz"),
    "clock.mem_0.clk": Column("memory_clock_hz", "MHz"),
    "clock.mem_0.max_clk": Column("max_memory_clock_hz", "MHz"),
    "hotspot_temperature": Column("temperature_c", "C"),
    "temperature.hotspot": Column("temperature_c", "C"),
}
# amd-smi metric --csv leaves the paths out (AMDSMILogger.flatten_dict of amdsmi_cli/amdsmi_logger.py): edge, hotspot
# and mem are temperatures there, as they are not in amd-smi monitor.
_METRIC = {
    "gfx_activity": Column("gpu_util", "%"),
    "umc_activity": Column("memory_util", "%"),
    "socket_power": Column("power_w", "W"),
    "average_socket_power": Column("power_w", "W"),
    "gfx_0_clk": Column("sm_clock_hz", "MHz"),
    "gfx_0_max_clk": Column("max_sm_clock_hz", "MHz"),
    "mem_0_clk": Column("memory_clock_hz", "MHz"),
    "mem_0_max_clk": Column("max_memory_clock_hz", "MHz"),
    "hotspot": Column("temperature_c", "C"),
    "used_vram": Column("memory_used_bytes", "MiB"),
    "total_vram": Column("memory_total_bytes", "MiB"),
}
_MONITOR = {name: column for name, column in _AMD.items() if name not in ("gfx", "mem")}
_EPOCH = re.compile(r"\d{9,11}(?:\.\d{1,9})?")
_CSV = re.compile(
    r"^device,.*(?:GPU use|VRAM Total|Package Power|Temperature \(Sensor)|"
    r"^(?:timestamp,)?gpu,.*(?:power_usage|socket_power|gfx|used_vram)",
    re.MULTILINE,
)
_KEYS = (
    {"GPU use (%)"}, {"VRAM Total Memory (B)"}, {"gpu", "gfx_activity"}, {"gpu", "power_usage"},
    {"gpu", "socket_power"},
)  # fmt: skip
# rocm-smi writes "(1502Mhz)"
_CLOCK = re.compile(r"^\(?(\d+)M[Hh]z\)?$")
_MEBI = {"MB": "MiB", "GB": "GiB", "KB": "KiB"}
_DEEP = 6


def looks(head: Head) -> bool:
    """Either tool's CSV header or JSON keys."""
    if head.json:
        return any(keys <= head.keys for keys in _KEYS)
    return _CSV.search(head.text[:8192]) is not None


def read(source: Source) -> Recorded:
    """Every accelerator in it. Raises BadConfig where there is none."""
    rows = list(_of_json(source.document) if source.head.json else _of_csv(source.text))
    watched = tuple(one for row in rows if (one := _watched(row)) is not None)
    if not watched:
        raise BadConfig(
            f"{source.name} has no values of an accelerator", where=source.name, got="columns without any value",
            want="utilisation, power, clocks or memory", try_this="amd-smi monitor --csv",
        )  # fmt: skip
    lacks = ("how long matrix units and memory were active (the device metrics exporter says it)",)
    return Recorded(file=source.name, format="", tool="amd-smi", watched=condensed(watched), lacks=lacks)


def _of_csv(text: str) -> Iterator[Mapping[str, str]]:
    """Rows by their header's names, whatever stands before it; headers may come again."""
    names: list[str] | None = None
    try:
        for cells in csv.reader(text.splitlines()):
            if _CSV.match(",".join(cells)):
                names = [cell.strip() for cell in cells]
            elif names is not None and len(cells) == len(names):
                yield dict(zip(names, (cell.strip() for cell in cells), strict=True))
    except csv.Error:
        return


def _of_json(document: Any) -> Iterator[Mapping[str, str]]:
    """rocm-smi's {"card0": {...}}, amd-smi's [{"gpu": 0, ...}] or {"gpu_data": [...]}, with paths as names."""
    if isinstance(document, dict):
        document = document.get("gpu_data", document)
    if isinstance(document, dict):
        for name, values in document.items():
            if name.startswith("card") and isinstance(values, dict):
                yield {"device": name} | {key: str(value) for key, value in values.items()}
    elif isinstance(document, list):
        for one in document:
            if isinstance(one, dict):
                yield dict(_flat(one, "", 0))


def _flat(values: Mapping[str, Any], path: str, depth: int) -> Iterator[tuple[str, str]]:
    """Leaves by their path; {"value": 3, "unit": "W"} is a leaf."""
    for key, value in values.items():
        here = f"{path}{key}"
        if isinstance(value, dict) and {"value", "unit"} <= value.keys():
            unit = str(value["unit"])
            yield here, f"{value['value']} {_MEBI.get(unit, unit)}"
        elif isinstance(value, dict):
            if depth < _DEEP:
                yield from _flat(value, f"{here}.", depth + 1)
        elif not isinstance(value, list):
            yield here, str(value)


def _watched(row: Mapping[str, str]) -> Watched | None:
    values: dict[str, float] = {}
    ours = {**_METRIC, **_MONITOR} if _METRIC.keys() & row.keys() else _AMD
    for name, column in (*_ROCM.items(), *ours.items()):
        cell = _CLOCK.sub(r"\1 MHz", row.get(name, ""))
        found = amount(cell, column.unit)
        if found is not None:
            values.setdefault(column.field, found)
    if not values:
        return None
    which = row.get("device", row.get("gpu", "")).removeprefix("card")
    device = next((row[name] for name in _ROCM_NAMES if row.get(name)), None)
    stamp = row.get("timestamp", "")
    # seconds since 1970; a time of day says no day
    start = clock(float(stamp)) if _EPOCH.fullmatch(stamp) else None
    return made(which, values, device=device, start=start)


FORMAT = Format(name="amd-smi", words="rocm-smi or amd-smi as CSV or JSON", looks=looks, read=read)
