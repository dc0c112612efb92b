"""Lines of nvidia-smi that are tables: --query-gpu's CSV, dmon's columns, and the picture that it draws by default."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from rooflight.ingest.recorded.monitoring.columns import DMON, EVENTS, QUERY, amount, slowed
from rooflight.values.recorded import Watched

# Columns by which a CSV is known as a query for GPUs, and as one for something else.
_GPU = ("utilization.", "memory.", "power.", "clocks.", "clocks_", "temperature.", "fan.speed", "pstate", "enforced.")
_PROCESS = frozenset({"process_name", "used_gpu_memory", "used_memory", "max_memory_usage", "retired_pages.address"})
_HINT = re.compile("|".join(re.escape(name) for name in (*_GPU, *sorted(_PROCESS))), re.IGNORECASE)
_NAME = re.compile(r"[a-z][\w.]*")
_ITSELF = ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id")
_DRAWN = re.compile(r"^\|\s+(\d{1,3})\s+(\S.*?)\s+(?:On|Off|N/A|TCC|WDDM|MCDM|Disabled|Enabled)\s*\|")
_DRAWN_VALUES = re.compile(
    r"^\|\s*\S+\s+(\d+|N/A)C?\s+\S+\s+(\S+?)W?\s*/\s*(\S+?)W?\s*\|\s*(\d+)MiB\s*/\s*(\d+)MiB\s*\|\s*(\d+%|N/A)"
)
_STAMP = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}", re.ASCII)
_LONGEST = 1 << 16
# Of a line of the picture.
_WIDEST = 400


def header(line: str) -> tuple[tuple[str, str], ...] | None:
    """The columns of a query's first line as (name, unit); None: it is no such line."""
    if _HINT.search(line) is None or len(line) > _LONGEST:
        return None
    cells = [cell.strip().strip('"') for cell in line.split(",")]
    pairs = []
    for cell in cells:
        name, bracket, unit = cell.partition("[")
        whole = bracket and unit.endswith("]")
        pairs.append((name.strip().lower(), unit[:-1]) if whole else (cell.lower(), ""))
    names = {name for name, _ in pairs}
    if len(cells) == 1:
        return tuple(pairs) if names <= QUERY.keys() and pairs[0][1] else None
    named = any(name.startswith(_GPU) for name in names) or not names.isdisjoint(_PROCESS)
    return tuple(pairs) if named and all(_NAME.fullmatch(name) for name in names) else None


def of_processes(columns: Sequence[tuple[str, str]]) -> bool:
    """Whether a query's columns are of processes or memory pages, not of GPUs."""
    return any(name in _PROCESS for name, _ in columns)


class _Plan(NamedTuple):
    """Where in a query's rows what stands: amounts as (place, field, unit), the first that has a value counting."""

    width: int
    amounts: tuple[tuple[int, str, str], ...]
    events: tuple[tuple[int, str], ...]
    itself: tuple[int, ...]
    device: int | None
    time: int | None
    mig: int | None


@functools.lru_cache(maxsize=8)
def _planned(columns: tuple[tuple[str, str], ...]) -> _Plan:
    names = [name for name, _ in columns]
    place = {name: at for at, name in enumerate(names)}
    return _Plan(
        width=len(columns),
        amounts=tuple(
            (place[name], column.field, columns[place[name]][1] or column.unit)
            for name, column in QUERY.items() if name in place
        ),
        events=tuple(
            (at, name.removeprefix(prefix))
            for prefix in EVENTS for at, name in enumerate(names) if name.startswith(prefix)
        ),
        itself=tuple(place[name] for name in _ITSELF if name in place),
        device=place.get("name", place.get("gpu_name")), time=place.get("timestamp"), mig=place.get("mig.mode.current"),
    )  # fmt: skip


def queried(columns: tuple[tuple[str, str], ...], line: str) -> Watched | None:
    """A row of --query-gpu; None: it has not as many cells as columns."""
    plan = _planned(columns)
    cells = [cell.strip(' "\t') for cell in line.split(",")]
    if len(cells) != plan.width:
        return None
    values: dict[str, float] = {}
    for at, field, unit in plan.amounts:
        if field not in values:
            found = amount(cells[at], unit)
            if found is not None:
                values[field] = found
    return made(
        next((cells[at] for at in plan.itself if cells[at]), ""), values,
        device=None if plan.device is None else cells[plan.device],
        start=None if plan.time is None else time_of(cells[plan.time]),
        throttled=slowed({name: cells[at] for at, name in plan.events}),
    )  # fmt: skip


def mig_enabled(columns: tuple[tuple[str, str], ...], line: str) -> bool:
    """Whether a row says that its GPU is divided."""
    plan = _planned(columns)
    cells = line.split(",") if plan.mig is not None else []
    return plan.mig is not None and len(cells) == plan.width and cells[plan.mig].strip() == "Enabled"


def dmon_header(line: str) -> tuple[str, ...] | None:
    """The columns of a dmon line such as "# gpu  pwr  gtemp"; None: it is none."""
    if not line.startswith("#"):
        return None
    names = tuple(line.lstrip("#").replace(",", " ").lower().split())
    known = sum(name in DMON or name == "pid" for name in names)
    return names if "gpu" in names[:3] and (known > 1 or 0 < known == len(names) - names.index("gpu") - 1) else None


def dmon_row(columns: Sequence[str], line: str) -> Watched | None:
    """A row of dmon; None: it has not as many cells as columns."""
    cells = line.replace(",", " ").split()
    if len(cells) != len(columns):
        return None
    row = dict(zip(columns, cells, strict=True))
    if not row["gpu"].isdigit():
        return None
    values = {
        column.field: found
        for name, column in DMON.items()
        if name in row and (found := amount(row[name], column.unit)) is not None
    }
    reasons = {"power": values.pop("power_violation", None), "thermal": values.pop("thermal_violation", None)}
    told = {name: value for name, value in reasons.items() if value is not None}
    throttled = tuple(name for name, value in told.items() if value > 0) if told else None
    date, time = row.get("date", ""), row.get("time", "")
    start = time_of(f"{date[:4]}/{date[4:6]}/{date[6:8]} {time}") if len(date) == 8 else None
    return made(row["gpu"], values, start=start, throttled=throttled)


def drawn(first: str, second: str, start: str | None) -> Watched | None:
    """A GPU of the picture, which has two lines for each."""
    one, two = _DRAWN.match(first[:_WIDEST]), _DRAWN_VALUES.match(second[:_WIDEST])
    if one is None or two is None:
        return None
    cells = {
        "temperature_c": (two[1], "C"), "power_w": (two[2], "W"), "power_limit_w": (two[3], "W"),
        "memory_used_bytes": (two[4], "MiB"), "memory_total_bytes": (two[5], "MiB"), "gpu_util": (two[6], "%"),
    }  # fmt: skip
    values = {name: found for name, (cell, unit) in cells.items() if (found := amount(cell, unit)) is not None}
    # a long name is cut there
    return made(one[1], values, device=None if one[2].endswith("...") else one[2], start=start)


def made(
    which: str, values: Mapping[str, float], *, device: str | None = None, start: str | None = None,
    throttled: tuple[str, ...] | None = None,
) -> Watched:  # fmt: skip
    """A moment of one GPU from its values by field; a rate over PCIe is both ways together."""
    fields: dict[str, Any] = {name: value for name, value in values.items() if name in Watched.__struct_fields__}
    if "pcie_rx" in values and "pcie_tx" in values:
        fields["pcie_bytes_per_s"] = values["pcie_rx"] + values["pcie_tx"]
    return Watched(
        subject=f"gpu {which}".strip(), kind="device", device=device or None, start=start, throttled=throttled, **fields
    )


def time_of(text: str) -> str | None:
    """A time as nvidia-smi writes it ("2026/07/03 08:33:53.415", "Fri Jul  3 08:33:38 2026"), in ISO 8601; its zone
    is the machine's, which it does not say."""
    if _STAMP.fullmatch(text):
        try:
            return datetime.fromisoformat(text.replace("/", "-")).isoformat(timespec="milliseconds")
        except ValueError:
            return None
    for form in ("%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S", "%a %b %d %H:%M:%S %Y"):
        try:
            found = datetime.strptime(text.strip(), form)
        except ValueError:
            continue
        return found.isoformat(timespec="milliseconds" if found.microsecond else "seconds")
    return None
