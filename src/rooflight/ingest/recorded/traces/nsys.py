"""Nsight Systems' reports as text: summaries and traces of `nsys stats`, as CSV or as columns, several in one file.

Columns: https://docs.nvidia.com/nsight-systems/UserGuide/index.html#report-scripts
"""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections.abc import Iterator

import msgspec

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.ingest.recorded.traces.calls import Calls
from rooflight.ingest.recorded.traces.families import MULTIPLYING, moved_by_engines, number_format, operator
from rooflight.ingest.recorded.traces.timeline import LONGEST_NAME, MOST_DEVICES, Timeline
from rooflight.units import to_base, ungrouped
from rooflight.values.recorded import Launched, Recorded, Traced
from rooflight.values.sample import Timing

NAME = "nsys"
_WANT = "kernels of nsys stats: nsys stats --report cuda_gpu_trace,cuda_api_sum --format csv FILE.nsys-rep"
# Names of columns by version: gpukernsum of 2020 to 2022 said Average and Minimum and had no median; cuda_gpu_kern_sum
# since 2022.4 says Avg, Med, Min; cudaapisum and cuda_api_sum count Num Calls, memory operations Count.
_COLUMNS = {
    "total": ("Total Time",),
    "count": ("Instances", "Num Calls", "Calls", "Count"),
    "mean": ("Avg", "Average"),
    "median": ("Med", "Median"),
    "low": ("Min", "Minimum"),
    "high": ("Max", "Maximum"),
    "deviation": ("StdDev", "Std Dev"),
    "name": ("Name", "Operation", "Kernel Name"),
    "category": ("Category",),
    "start": ("Start",),
    "length": ("Duration", "Dur"),
    "call": ("CorrId", "CorrID"),
    "device": ("Device",),
    "range": ("Range", "Style"),
}
_KEYS = {name.lower(): key for key, names in _COLUMNS.items() for name in names}
_UNITS = {"ns": 1e-3, "nsec": 1e-3, "us": 1, "usec": 1, "ms": 1e3, "msec": 1e3, "s": 1e6, "sec": 1e6}
_CELL = re.compile(r"\s*(.*?)\s*(?:\(\s*([a-z%A-Z/]+)\s*\))?\s*$")
_HEADER = re.compile(
    r"^[^\w\n]{0,40}(?:Time ?\(%\)|(?:Start|Total Time|Name)\b).*\b(?:Total Time|Duration|Avg|Count)\b.*", re.M
)
_LINE = re.compile(r"([^\r\n]*)(?:\r\n?|\n|$)")
_RULE = re.compile(r"^\s*-+(?:\s+-+){2,}\s*$")
_REPORT = re.compile(r"[(/\[](\w*?(?:kern|gpu|api|mem|osrt|nvtx|openmp|vulkan|dx12)\w*?)(?:\.py)?[)\]:]", re.IGNORECASE)
_VERSION = re.compile(r"nsight-systems[/\\](?:cli[/\\])?(\d{4}\.\d+(?:\.\d+)*)")
_API = re.compile(r"^(?:cu|hip)[A-Z_]|^(?:cuda|hip)[A-Z]")
_NUMBERED = re.compile(r"^(.*?)\s*\((\d+)\)$")
# A header's cell, and what is printed in front of a report.
_LONGEST_CELL, _LONGEST_LINE = 100, 400
# More than any profile holds: of calls, and of microseconds.
_MOST_CALLS, _MOST = 1 << 40, 1e18
# Of runs that spread evenly about their mean, eight of ten lie within so many standard deviations.
_EIGHT_OF_TEN = 1.2816


class _Table(msgspec.Struct):
    """A report: what its columns are, the unit of each in microseconds, and its rows as they stand.

    of_host     its rows are calls of the host, of CUDA or of the system
    """

    of_host: bool
    keys: list[str | None]
    units: list[float]
    rows: list[list[str]]

    @property
    def anchor(self) -> int:
        """The column whose number makes a line a row."""
        return self.keys.index("total" if "total" in self.keys else "start")

    def records(self) -> Iterator[dict[str, str]]:
        """Rows by the names of _COLUMNS; of two columns for one name the first."""
        return map(self.record, self.rows)

    def record(self, row: list[str]) -> dict[str, str]:
        """One row, likewise."""
        found: dict[str, str] = {}
        for key, cell in zip(self.keys, row, strict=False):
            if key is not None:
                found.setdefault(key, cell.strip())
        return found

    def us(self, record: dict[str, str], key: str) -> float | None:
        """A time of a row in microseconds; None where it is none."""
        value = _number(record.get(key, ""))
        return None if value is None else value * self.units[self.keys.index(key)]


def looks(head: Head) -> bool:
    """A header of one of its reports, whatever was printed in front of it."""
    lines = (found.group() for found in _HEADER.finditer(head.text))
    return any(_keys(_cells(line)) or _keys(re.split(r"\s{2,}", line.strip())) for line in lines)


def read(source: Source) -> Recorded:
    """All reports of a file. Raises BadConfig where none is of kernels or of the calls that launch them."""
    text = source.text
    trace = _Trace()
    tables, odd = _tables(text, trace)
    notes = [f"{odd:,} of its lines could not be understood and were left out"] if odd else []
    kernels, calls = _summed([table for table in tables if "start" not in table.keys], notes)
    timeline, names = trace.timeline, trace.names
    if timeline.kernels:
        timeline.close(list(names))
        kernels = timeline.launched()
    if not kernels and not calls.launches:
        raise BadConfig(f"{source.name} holds no kernels", where=source.name, got="other reports", want=_WANT)
    devices = timeline.devices({label: name for label, name in names.items() if name})
    traced = Traced(
        devices=devices,
        kernels=kernels,
        timeline=bool(devices),
        launches=calls.launches,
        launch_s=to_base(calls.launching, "us"),
        graph_launches=calls.graph_launches,
        synchronize_s=to_base(calls.waiting, "us") if calls.launches else None,
    )
    lacks = [] if kernels else ["kernels of a device"]
    lacks += [] if devices else ["when kernels began and ended (nsys export --type sqlite says it)"]
    lacks += ["shapes of its operators", "marks of an engine's steps"]
    version = _VERSION.search(text)
    return Recorded(
        file=source.name, format=NAME, tool="Nsight Systems", version=version[1] if version else "", traced=traced,
        lacks=tuple(lacks), notes=tuple(notes),
    )  # fmt: skip


def _tables(text: str, trace: _Trace) -> tuple[list[_Table], int]:
    """Reports in their order, and how many lines within them are no rows. Rows of traces are taken as they pass."""
    tables: list[_Table] = []
    report, odd, spans = "", 0, None
    open_table: _Table | None = None
    lines = (found[1] for found in _LINE.finditer(text))
    for line, following in itertools.pairwise(itertools.chain(lines, [""])):
        if not line.strip():
            open_table = None
            continue
        if _RULE.match(line):
            continue
        if _HEADER.match(line):
            open_table, spans = _begun(line, following, report)
            tables += [open_table] if open_table else []
        elif open_table is None:
            found = _REPORT.findall(line[:_LONGEST_LINE])
            report = found[-1].lower() if found else report
        else:
            row = _cells(line) if spans is None else [line[first:last] for first, last in spans]
            if len(row) == len(open_table.keys) and _number(row[open_table.anchor]) is not None:
                if "start" in open_table.keys:
                    trace.add(open_table, row)
                else:
                    open_table.rows.append(row)
            elif found := _REPORT.findall(line[:_LONGEST_LINE]):
                open_table, report = None, found[-1].lower()
            else:
                odd += 1
    return tables, odd


def _begun(line: str, following: str, report: str) -> tuple[_Table | None, list[tuple[int, int | None]] | None]:
    """The report whose header a line is, None for one that is not read; and where its columns stand without commas."""
    spans: list[tuple[int, int | None]] | None = None
    if _RULE.match(following) and "," not in following:
        ends = [found.span() for found in re.finditer("-+", following)]
        spans = [*ends[:-1], (ends[-1][0], None)]
        cells = [line[first:last].strip() for first, last in spans]
    else:
        cells = _cells(line)
    keys = _keys(cells)
    if keys is None or "range" in keys or "nvtx" in report:
        return None, None
    said = [found[2] if (found := _CELL.match(cell[:_LONGEST_CELL])) else None for cell in cells]
    units = [_UNITS.get(unit or "ns", _UNITS["ns"]) for unit in said]
    called = any(cell.strip().lower() in ("num calls", "calls") for cell in cells)
    of_host = called and not any(word in report for word in ("kern", "gpu"))
    return _Table(of_host=of_host, keys=keys, units=units, rows=[]), spans


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line], skipinitialspace=True), [])
    except csv.Error:
        return []


def _keys(cells: list[str]) -> list[str | None] | None:
    """What columns are, None where they are no header of a report with names and times."""
    keys = [_KEYS.get(found[1].lower()) if (found := _CELL.match(cell[:_LONGEST_CELL])) else None for cell in cells]
    known = set(keys)
    return keys if "name" in known and ({"total", "count"} <= known or {"start", "length"} <= known) else None


def _summed(tables: list[_Table], notes: list[str]) -> tuple[tuple[Launched, ...], Calls]:
    """Kernels and copies of summaries, each counted once, and calls of the host."""
    calls, found = Calls(), dict[bool, list[Launched]]()
    for table in tables:
        rows: dict[bool, list[Launched]] = {}
        for record in table.records():
            name, total, count = record.get("name", ""), table.us(record, "total"), _number(record.get("count", ""))
            if not name or total is None or count is None or not 1 <= count < _MOST_CALLS:
                continue
            if not table.of_host:
                rows.setdefault(moved_by_engines(name), []).append(_launched(table, record, total, int(count)))
            elif _API.match(name):
                calls.add(name, total, int(count))
        for moved, of in rows.items():
            if moved in found:
                notes.append(f"a second summary of {'copies' if moved else 'kernels'} was left out")
            found.setdefault(moved, of)
    return tuple(sorted((one for of in found.values() for one in of), key=lambda one: -one.total_s)), calls


def _launched(table: _Table, record: dict[str, str], total: float, count: int) -> Launched:
    """A row of a summary. Its interval is the mean's, widened by its deviation and within its extremes."""
    name = record["name"][:LONGEST_NAME]
    family = operator(name)
    mean = total / count
    middle = table.us(record, "median")
    low, high = table.us(record, "low"), table.us(record, "high")
    deviation = table.us(record, "deviation")
    if deviation is not None:
        width = _EIGHT_OF_TEN * deviation
        low, high = max(mean - width, low or 0.0), min(mean + width, math.inf if high is None else high)
    middle = mean if middle is None else middle
    return Launched(
        name=name,
        operator=family,
        calls=count,
        total_s=to_base(total, "us"),
        time_s=Timing(
            median=to_base(middle, "us"),
            low=to_base(min(middle if low is None else low, middle), "us"),
            high=to_base(max(middle if high is None else high, middle), "us"),
            n=count,
        ),
        format=number_format(name) if family in MULTIPLYING else None,
    )


class _Trace:
    """Kernels one by one, of the first report that has them; which devices there are, with their names."""

    def __init__(self) -> None:
        self.timeline = Timeline(to_base(1, "us"))
        self.names: dict[str, str | None] = {}
        self._numbers: dict[str, int] = {}
        self._first: _Table | None = None

    def add(self, table: _Table, row: list[str]) -> None:
        """A row of a report."""
        self._first = self._first or table
        record = table.record(row)
        start, length = table.us(record, "start"), table.us(record, "length")
        if table is not self._first or start is None or length is None or length < 0:
            return
        call = _number(record.get("call", ""))
        number = self.timeline.named(record.get("name", ""))
        device = self._device(record.get("device", ""))
        self.timeline.add(device, number, start, length, -1 if call is None else int(call), -1)

    def _device(self, said: str) -> int:
        """The number of a device, which is called as "NVIDIA A100 (0)"."""
        said = said if said in self._numbers or len(self._numbers) < MOST_DEVICES else "others"
        if said not in self._numbers:
            found = _NUMBERED.match(said[:_LONGEST_CELL])
            label = f"gpu {found[2]}" if found else "gpu"
            self.names.setdefault(label, (found[1] if found else said)[:_LONGEST_CELL] or None)
            self._numbers[said] = list(self.names).index(label)
        return self._numbers[said]


def _number(text: str) -> float | None:
    """A number as printed, with or without commas between thousands; None for anything else."""
    try:
        value = float(ungrouped(text.strip()))
    except ValueError:
        return None
    return value if abs(value) < _MOST else None


FORMAT = Format(name=NAME, words="reports of Nsight Systems (nsys stats)", looks=looks, read=read)
