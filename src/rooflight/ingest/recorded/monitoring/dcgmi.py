"""What dcgmi dmon prints: a row of the profiler's counters for each accelerator or MIG slice and second."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.monitoring.aliases import reasons
from rooflight.ingest.recorded.monitoring.columns import Column, amount
from rooflight.ingest.recorded.monitoring.condensed import condensed
from rooflight.ingest.recorded.monitoring.smi_rows import made
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.values.recorded import Recorded, Watched

# The short names of fields (dcgmi dmon -l; dcgm_fields.cpp in https://github.com/NVIDIA/DCGM): shares are of 1.
_COLUMNS = {
    "GPUTL": Column("gpu_util", "%"),
    "MCUTL": Column("memory_util", "%"),
    "GRACT": Column("engine_active", ""),
    "SMACT": Column("sm_active", ""),
    "SMOCC": Column("sm_occupancy", ""),
    "TENSO": Column("tensor_active", ""),
    "DRAMA": Column("dram_active", ""),
    "FP32A": Column("fp32_active", ""),
    "FP16A": Column("fp16_active", ""),
    "POWER": Column("power_w", "W"),
    "TMPTR": Column("temperature_c", "C"),
    "SMCLK": Column("sm_clock_hz", "MHz"),
    "MMCLK": Column("memory_clock_hz", "MHz"),
    "FBUSD": Column("memory_used_bytes", "MiB"),
    "FBTTL": Column("memory_total_bytes", "MiB"),
    "PCITX": Column("pcie_tx", "B/s"),
    "PCIRX": Column("pcie_rx", "B/s"),
    "NVLTX": Column("nvlink_tx", "B/s"),
    "NVLRX": Column("nvlink_rx", "B/s"),
}
_REASONS = "DVCCTR"
_WANTED = {
    "dram_active": "how long the memory interface was active (field 1005)",
    "tensor_active": "how long tensor cores were active (field 1004)",
}
_HEADER = re.compile(r"^# ?Entity\s+(?=[A-Z0-9]{3,6}\b)", re.MULTILINE)
_ROW = re.compile(r"^\s*(GPU|GPU-I|GPU-CI)\s+(\d+)\s+(\S.*)$")


def looks(head: Head) -> bool:
    """Its header line."""
    return not head.json and _HEADER.search(head.text) is not None


def read(source: Source) -> Recorded:
    """Every row. Raises BadConfig where none has a value."""
    names: list[str] = []
    found: list[Watched] = []
    odd = 0
    for line in source.text.splitlines():
        if _HEADER.match(line):
            names = line.lstrip("# ").split()[1:]
        elif names and (matched := _ROW.match(line)) is not None:
            cells = matched[3].split()
            if len(cells) == len(names):
                found.append(_watched(matched[1], matched[2], names, cells))
            else:
                odd += 1
    watched = condensed(tuple(found))
    if not watched:
        raise BadConfig(
            f"{source.name} has no rows of dcgmi", where=source.name, got="a header alone", want="a row for each GPU",
            try_this="dcgmi dmon -e 203,1001,1002,1004,1005,155,100",
        )  # fmt: skip
    notes = (f"rows with too few or too many cells are left out: {odd:,}",) if odd else ()
    lacks = [what for name, what in _WANTED.items() if all(getattr(one, name) is None for one in watched)]
    return Recorded(file=source.name, format="", tool="dcgmi", watched=watched, lacks=tuple(lacks), notes=notes)


def _watched(kind: str, which: str, names: Sequence[str], cells: Sequence[str]) -> Watched:
    row = dict(zip(names, cells, strict=True))
    values = {
        column.field: value
        for name, column in _COLUMNS.items()
        if name in row and (value := amount(row[name], column.unit)) is not None
    }
    mask = amount(row.get(_REASONS, ""), "")
    more: dict[str, Any] = {}
    if "nvlink_tx" in values and "nvlink_rx" in values:
        more["nvlink_bytes_per_s"] = values["nvlink_tx"] + values["nvlink_rx"]
    if kind != "GPU":
        # which accelerator a slice is of, and its profile, stand nowhere
        more |= {"subject": f"mig {which}", "mig": "not stated"}
    throttled = None if mask is None or mask < 0 else reasons(int(mask))
    return replace(made(which, values, throttled=throttled), **more)


FORMAT = Format(name="dcgmi-dmon", words="dcgmi dmon", looks=looks, read=read)
