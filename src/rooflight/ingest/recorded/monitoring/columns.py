"""Names of nvidia-smi's columns and sections, as fields of Watched: one table for each of its forms."""

from __future__ import annotations

import functools
from typing import NamedTuple

from rooflight.ingest.recorded.monitoring.aliases import reasons
from rooflight.units import to_base, ungrouped


class Column(NamedTuple):
    """Where a value goes. unit: where neither the header nor the cell says one ("%", "C" or what `units` knows)."""

    field: str
    unit: str


# nvidia-smi --help-query-gpu; a name without ".sm" is the graphics clock's, which compute shares.
QUERY = {
    "utilization.gpu": Column("gpu_util", "%"),
    "utilization.memory": Column("memory_util", "%"),
    "memory.used": Column("memory_used_bytes", "MiB"),
    "memory.total": Column("memory_total_bytes", "MiB"),
    "power.draw": Column("power_w", "W"),
    "power.draw.average": Column("power_w", "W"),
    "power.draw.instant": Column("power_w", "W"),
    "enforced.power.limit": Column("power_limit_w", "W"),
    "power.limit": Column("power_limit_w", "W"),
    "clocks.current.sm": Column("sm_clock_hz", "MHz"),
    "clocks.sm": Column("sm_clock_hz", "MHz"),
    "clocks.current.graphics": Column("sm_clock_hz", "MHz"),
    "clocks.gr": Column("sm_clock_hz", "MHz"),
    "clocks.max.sm": Column("max_sm_clock_hz", "MHz"),
    "clocks.max.graphics": Column("max_sm_clock_hz", "MHz"),
    "clocks.max.gr": Column("max_sm_clock_hz", "MHz"),
    "clocks.current.memory": Column("memory_clock_hz", "MHz"),
    "clocks.mem": Column("memory_clock_hz", "MHz"),
    "clocks.max.memory": Column("max_memory_clock_hz", "MHz"),
    "clocks.max.mem": Column("max_memory_clock_hz", "MHz"),
    "temperature.gpu": Column("temperature_c", "C"),
}

# nvidia-smi dmon -h: the graphics clock is "pclk", framebuffer memory "fb"; rates over PCIe in MB/s.
DMON = {
    "sm": Column("gpu_util", "%"),
    "mem": Column("memory_util", "%"),
    "pwr": Column("power_w", "W"),
    "gtemp": Column("temperature_c", "C"),
    "temp": Column("temperature_c", "C"),
    "pclk": Column("sm_clock_hz", "MHz"),
    "mclk": Column("memory_clock_hz", "MHz"),
    "fb": Column("memory_used_bytes", "MiB"),
    "rxpci": Column("pcie_rx", "MB/s"),
    "txpci": Column("pcie_tx", "MB/s"),
    "pviol": Column("power_violation", "%"),
    "tviol": Column("thermal_violation", ""),
}

# nvidia-smi -q: a section and a name in it, newer spellings beside older ones.
SECTIONS = {
    ("utilization", "gpu"): Column("gpu_util", "%"),
    ("utilization", "memory"): Column("memory_util", "%"),
    ("fb memory usage", "used"): Column("memory_used_bytes", "MiB"),
    ("fb memory usage", "total"): Column("memory_total_bytes", "MiB"),
    ("gpu power readings", "average power draw"): Column("power_w", "W"),
    ("gpu power readings", "power draw"): Column("power_w", "W"),
    ("power readings", "power draw"): Column("power_w", "W"),
    ("gpu power readings", "instantaneous power draw"): Column("power_w", "W"),
    ("gpu power readings", "current power limit"): Column("power_limit_w", "W"),
    ("power readings", "enforced power limit"): Column("power_limit_w", "W"),
    ("power readings", "power limit"): Column("power_limit_w", "W"),
    ("clocks", "sm"): Column("sm_clock_hz", "MHz"),
    ("clocks", "memory"): Column("memory_clock_hz", "MHz"),
    ("max clocks", "sm"): Column("max_sm_clock_hz", "MHz"),
    ("max clocks", "memory"): Column("max_memory_clock_hz", "MHz"),
    ("temperature", "gpu current temp"): Column("temperature_c", "C"),
    ("pci", "tx throughput"): Column("pcie_tx", "kB/s"),
    ("pci", "rx throughput"): Column("pcie_rx", "kB/s"),
}

# The words of a reason that slows what runs; clocks_throttle_reasons until driver 535, clocks_event_reasons since.
REASONS = {
    "sw_power_cap": "power",
    "hw_slowdown": "hw-slowdown",
    "hw_thermal_slowdown": "thermal",
    "hw_power_brake_slowdown": "power-brake",
    "sw_thermal_slowdown": "thermal",
    "sync_boost": "sync-boost",
}
EVENTS = ("clocks_event_reasons.", "clocks_throttle_reasons.")
# Of a cell with a number in it.
_WIDEST = 48
_SPELLED = {"KB/s": "kB/s", "Kib": "KiB"}


def amount(cell: str, unit: str) -> float | None:
    """A cell in base units, by its own unit or else the given one; None: "[N/A]", "-", "[Unknown Error]" or such."""
    return _amount(cell, unit) if len(cell) <= _WIDEST else None


@functools.lru_cache(maxsize=4096)
def _amount(cell: str, unit: str) -> float | None:
    """A recording has the same few cells again and again."""
    words = cell.strip().split()
    if not words or len(words) > 2:
        return None
    try:
        value = float(ungrouped(words[0].removesuffix("%")))
    except ValueError:
        return None
    if value != value or abs(value) == float("inf"):
        return None
    said = words[1] if len(words) == 2 else "%" if words[0].endswith("%") else unit
    said = _SPELLED.get(said, said)
    if said == "%":
        return value / 100
    if said in ("", "C"):
        return value
    try:
        return to_base(value, said)
    except ValueError:
        return None


def slowed(names: dict[str, str]) -> tuple[str, ...] | None:
    """Why clocks are lowered, from columns by their names behind the dot; None: they do not say it."""
    mask = names.get("active", "").strip()
    if mask.lower().startswith("0x"):
        try:
            return reasons(int(mask, 16))
        except ValueError:
            pass
    stated = {name: names[name].strip().lower() for name in REASONS if name in names}
    told = {name: word for name, word in stated.items() if word in ("active", "not active")}
    if not told:
        return None
    return tuple(dict.fromkeys(REASONS[name] for name, word in told.items() if word == "active"))
