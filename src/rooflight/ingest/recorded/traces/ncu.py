"""Nsight Compute's CSV: counters of kernels that were profiled one by one, of the details page or the raw page."""

from __future__ import annotations

import re

import msgspec

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.ingest.recorded.traces.cells import Sheet, decimal_commas, number, sheets
from rooflight.ingest.recorded.traces.counted import Profiled, Read, traced, wanted
from rooflight.values.recorded import Recorded

# https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#clock-control
CLOCKS = "Nsight Compute holds the multiprocessors at their base clock unless --clock-control none is given"
COMMAND = "ncu --import FILE.ncu-rep --page raw --csv > FILE.csv"
_KERNEL = frozenset(("Kernel Name", "Function Name", "Demangled Name"))
# A metric by its own name: unit__what.rollup, as https://docs.nvidia.com/nsight-compute/ProfilingGuide lists them.
_METRIC = re.compile(r"(derived__)?[a-z0-9]+__\w+(\.(sum|avg|max|min|pct|ratio)\b[\w.]*)?", re.IGNORECASE)
_ROLLED = re.compile(r"[a-z0-9]+__\w+\.(sum|avg|max|min|pct|ratio)\b", re.IGNORECASE)
# A unit in brackets behind a column's name, as exports of the user interface have it.
_BRACKETS = re.compile(r"(.*\S)\s*\[([^\]]*)\]")
_SAID = re.compile(r"==(ERROR|WARNING|PROF)==\s*(.*)")
# A card as NVIDIA's libraries name it.
_CARD = re.compile(
    r"NVIDIA (?:GeForce |Quadro |Tesla |TITAN |Graphics )?(?:RTX |GTX |GH|GB|[ABHLTVP])[A-Z]*\s?\d{1,4}\w*"
    r"(?: (?:Ti|SUPER|Ada|Generation|Laptop|GPU|PCIe|NVL|HBM\w*|SXM\w*|\d+GB))*(?![\w.])"
)


def _is_header(cells: tuple[str, ...]) -> bool:
    names = frozenset(cells)
    if _KERNEL.isdisjoint(names):
        return False
    long = "Metric Name" in names and bool(names & {"Metric Value", "Average"})
    return long or any(_ROLLED.match(name) for name in names)


def _looks(head: Head) -> bool:
    """A header among the first lines, or what ncu says of itself. A wide header may end behind the head."""
    for line in head.text.splitlines():
        if "Kernel Name" in line or "Function Name" in line:
            if "Metric Name" in line and ("Metric Value" in line or "Average" in line):
                return True
            if _ROLLED.search(line) and line.count(",") > 1:
                return True
        if line.startswith("==PROF==") or "ERR_NVGPUCTRPERM" in line:
            return True
    return False


def _read(source: Source) -> Recorded:
    found = sheets(source.text, _is_header)
    if not found.sheets:
        raise _no_table(source)
    cells = [cell for sheet in found.sheets for cell in _values(sheet)]
    commas = decimal_commas(cells)
    kernels: list[Profiled] = []
    for part, sheet in enumerate(found.sheets):
        read = _long if sheet.place("Metric Name") is not None else _wide
        kernels += read(sheet, part, commas)
    if not kernels:
        raise _no_kernel(source)
    notes = [CLOCKS, *(["numbers have decimal commas"] if commas else [])]
    if found.lost:
        notes.append(f"{found.lost:,} lines among the rows are none of the table's")
    card = _card_of(found.before) if not any(one.card for one in kernels) else None
    if card is not None:
        kernels = [msgspec.structs.replace(one, card=card) for one in kernels]
        notes.append(f"the device is {card} by what the program printed")
    return traced(source.name, "Nsight Compute", kernels, notes)


def _values(sheet: Sheet) -> list[str]:
    """The cells that hold numbers, to tell how they are written."""
    place = sheet.place("Metric Value", "Average")
    if place is not None:
        return [row[place] for _, row in sheet.rows]
    columns = [at for at, name in enumerate(sheet.columns) if _METRIC.fullmatch(_named(name)[0])]
    return [row[at] for _, row in sheet.rows[:200] for at in columns]


def _long(sheet: Sheet, part: int, commas: bool) -> list[Profiled]:
    """A row a metric (the details page), a summary of several runs with their mean."""
    at = {
        "id": sheet.place("ID"), "process": sheet.place("Process ID"), "device": sheet.place("Device"),
        "name": sheet.place("Metric Name"), "unit": sheet.place("Metric Unit"),
        "value": sheet.place("Metric Value", "Average"), "calls": sheet.place("Invocations"),
        "kernel": sheet.place("Kernel Name", "Function Name", "Demangled Name"),
        "grid": sheet.place("Grid Size"), "block": sheet.place("Block Size"),
    }  # fmt: skip
    found: dict[tuple[str, ...], tuple[Profiled, Read]] = {}
    for _, row in sheet.rows:

        def cell(name: str, row: tuple[str, ...] = row) -> str:
            place = at[name]
            return "" if place is None else row[place].strip()

        key = (cell("process"), cell("id"), cell("kernel"), cell("device"), cell("grid"), cell("block"))
        if key not in found:
            one = Profiled(
                name=cell("kernel"), device=cell("device"), grid=cell("grid"), block=cell("block"),
                calls=int(number(cell("calls")) or 1), part=part,
            )  # fmt: skip
            found[key] = one, Read()
        if wanted(cell("name")):
            found[key][1].add(cell("name"), cell("unit"), cell("value"), commas)
    return [read.of(one) for one, read in found.values()]


def _wide(sheet: Sheet, part: int, commas: bool) -> list[Profiled]:
    """A row a kernel (the raw page), under a row of units."""
    kernel = sheet.place("Kernel Name", "Function Name", "Demangled Name")
    ident, device = sheet.place("ID"), sheet.place("Device")
    grid, block = sheet.place("Grid Size"), sheet.place("Block Size")
    metrics = [(at, *_named(name)) for at, name in enumerate(sheet.columns) if wanted(_named(name)[0])]
    units: tuple[str, ...] = ()
    found = []
    for _, row in sheet.rows:
        named = "" if kernel is None else row[kernel].strip()
        if not named and (ident is None or not row[ident].strip()):
            units = row
            continue
        one = Profiled(
            name=named, device="" if device is None else row[device].strip(),
            grid="" if grid is None else row[grid], block="" if block is None else row[block], part=part,
        )  # fmt: skip
        read = Read()
        for at, name, bracketed in metrics:
            read.add(name, bracketed or (units[at] if units else ""), row[at], commas)
        found.append(read.of(one))
    return found


def _named(column: str) -> tuple[str, str]:
    """A column's metric and its unit, where that stands in brackets behind it."""
    found = _BRACKETS.fullmatch(column.strip())
    return (found[1], found[2]) if found else (column.strip(), "")


def _card_of(lines: tuple[str, ...]) -> str | None:
    """The one card that a program named before the table; None where it named none or several."""
    named = {found.group().strip() for line in lines for found in _CARD.finditer(line)}
    return named.pop() if len(named) == 1 else None


def _no_table(source: Source) -> BadConfig:
    said = [found[2].strip() for line in source.head.text.splitlines() if (found := _SAID.match(line))]
    worst = next((line for line in said if "ERR_" in line or "No kernels" in line), said[-1] if said else "no table")
    return BadConfig(
        f"{source.name} has no table of Nsight Compute", where=source.name, got=worst[:160],
        want="the CSV of a report's kernels", try_this=COMMAND,
    )  # fmt: skip


def _no_kernel(source: Source) -> BadConfig:
    return BadConfig(
        f"{source.name} has no kernel", where=source.name, got="a header without rows", want="rows of profiled kernels",
        try_this="ncu --set full --csv --page raw PROGRAM > FILE.csv, run as who may read counters",
    )  # fmt: skip


FORMAT = Format(name="ncu-csv", words="Nsight Compute CSV (details page, raw page)", looks=_looks, read=_read)
