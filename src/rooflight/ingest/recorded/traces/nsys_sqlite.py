"""Nsight Systems' export: the SQLite file that `nsys export` and `nsys stats` write beside a report.

Its tables: https://docs.nvidia.com/nsight-systems/UserGuide/index.html#sqlite-schema-reference
"""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rooflight.errors import BadConfig
from rooflight.ingest.packed import DAMAGED
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.ingest.recorded.traces.calls import Calls
from rooflight.ingest.recorded.traces.timeline import MOST_DEVICES, MOST_KERNELS, Timeline
from rooflight.units import to_base
from rooflight.values.recorded import Recorded, Traced

NAME = "nsys-sqlite"
_WANT = "an export of Nsight Systems with its kernels"
_EXPORT = "nsys export --type sqlite FILE.nsys-rep, then rooflight diagnose FILE.sqlite"
_SQLITE = b"SQLite format 3\0"
_REPORT = b"NVIDIA Tegra Profiler Report"
# A file that does not lie on a disk of its own is copied there first, up to so many bytes.
_MOST_SPOOLED = 4 << 30
_MOST_STRING = 1 << 20
_MOST_STRINGS = 1_000_000
# Steps of SQLite's machine that reading takes at most, asked about once in so many: a real export needs 20 a row.
_STEPS, _MOST_STEPS = 1 << 20, 500
_NS_PER_US = 1e3
# Tables and the columns that are read of them; what is missing is NULL. Exports before 2021 say no graphs.
_KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
_GRAPH = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_COPY = {"CUPTI_ACTIVITY_KIND_MEMCPY": "Memcpy", "CUPTI_ACTIVITY_KIND_MEMSET": "Memset"}
# ENUM_CUDA_MEMCPY_OPER's, the CUpti_ActivityMemcpyKind of CUPTI
_KINDS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
_CALLS = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
_PLAIN_TABLE = re.compile(r"\s*CREATE TABLE\b", re.IGNORECASE)


class _Export:
    """An export that is open for reading; of its tables those that are plain ones."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base
        self._base.text_factory = lambda raw: raw.decode("utf-8", "replace")
        for limit, value in ((sqlite3.SQLITE_LIMIT_LENGTH, _MOST_STRING), (sqlite3.SQLITE_LIMIT_ATTACHED, 0)):
            self._base.setlimit(limit, value)
        self._base.execute("PRAGMA trusted_schema=OFF")
        self._base.execute("PRAGMA query_only=ON")
        self._base.set_authorizer(_only_reading)
        self._steps = 0
        self._base.set_progress_handler(self._count, _STEPS)
        rows = self._base.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        self.tables = {str(name) for name, sql in rows if isinstance(sql, str) and _PLAIN_TABLE.match(sql)}
        self._strings: dict[int, str] | None = None

    def _count(self) -> int:
        self._steps += 1
        return int(self._steps > _MOST_STEPS)

    def rows(self, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Values of columns, None where a table has no such column; nothing where there is no such table."""
        if table not in self.tables:
            return
        there = {str(one[0]) for one in self._base.execute(f'SELECT * FROM "{table}" LIMIT 0').description or ()}
        chosen = ", ".join(f'"{one}"' if one in there else "NULL" for one in columns)
        yield from self._base.execute(f'SELECT {chosen} FROM "{table}"')

    def string(self, number: Any) -> str:
        """A text by its number in StringIds; "" for none."""
        if self._strings is None:
            self._strings = {}
            for key, value in self.rows("StringIds", "id", "value"):
                if isinstance(key, int) and isinstance(value, str) and len(self._strings) < _MOST_STRINGS:
                    self._strings[key] = value[:4000]
        return self._strings.get(number, "") if isinstance(number, int) else ""


def _only_reading(action: int, *_names: str | None) -> int:
    """Allows what a SELECT of columns needs: no functions, which a hostile table may call, and no other file."""
    allowed = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
    return sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY


def looks(head: Head) -> bool:
    """An SQLite file, or a report that has to be exported to one first."""
    return head.raw.startswith((_SQLITE, _REPORT))


def read(source: Source) -> Recorded:
    """All of an export. Raises BadConfig for a report itself, and where no kernels are in it."""
    if source.head.raw.startswith(_REPORT):
        got = "a report of Nsight Systems, which its own program alone reads"
        raise BadConfig(f"{source.name} has to be exported", where=source.name, got=got, want=_WANT, try_this=_EXPORT)
    with _on_disk(source) as path:
        try:
            address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
            with contextlib.closing(sqlite3.connect(address, uri=True)) as base:
                return _recorded(_Export(base), source)
        except (sqlite3.Error, OverflowError) as error:
            got = str(error)[:200]
            raise BadConfig(f"{source.name} cannot be read", where=source.name, got=got, want=_WANT) from None


@contextlib.contextmanager
def _on_disk(source: Source) -> Iterator[Path]:
    """Where an export lies: where the user says, or a copy of what came packed or through a pipe."""
    if source.path is not None and source.path.is_file():
        yield source.path
        return
    with tempfile.TemporaryDirectory() as folder:
        path, count = Path(folder) / "export.sqlite", 0
        with path.open("wb") as file:
            try:
                while part := source.file.read1(1 << 20):
                    count += len(part)
                    if count > min(_MOST_SPOOLED, shutil.disk_usage(folder).free + count - len(part)):
                        got = f"more than {_MOST_SPOOLED:,} bytes, or than there is room for"
                        raise BadConfig(f"{source.name} is too large", where=source.name, got=got, want="a plain file")
                    file.write(part)
            except DAMAGED as error:
                source.cut = f"it cannot be read to its end: {str(error)[:160]}"
        yield path


def _recorded(export: _Export, source: Source) -> Recorded:
    if not {_KERNEL, _GRAPH, *_COPY, *_CALLS} & export.tables:
        got = "tables " + ", ".join(sorted(export.tables)[:6])[:200] if export.tables else "no tables"
        raise BadConfig(f"{source.name} holds no profile", where=source.name, got=got, want=_WANT, try_this=_EXPORT)
    timeline, calls, devices, notes = Timeline(to_base(1, "us")), Calls(), _Devices(export), list[str]()
    odd = _kernels(export, timeline, devices, notes)
    first, last = _calls(export, timeline, calls)
    odd += _marks(export, timeline)
    timeline.close(devices.labels)
    traced = Traced(
        devices=timeline.devices(devices.names),
        kernels=timeline.launched(),
        steps=timeline.steps(min(first, timeline.first)),
        launches=calls.launches,
        launch_s=to_base(calls.launching, "us"),
        graph_launches=calls.graph_launches,
        host_s=to_base(last - first, "us") if last > first else None,
        synchronize_s=to_base(calls.waiting, "us"),
    )
    if odd:
        notes.append(f"{odd:,} of its rows could not be understood and were left out")
    if timeline.left_out:
        notes.append(f"only its first {MOST_KERNELS:,} kernels were counted, {timeline.left_out:,} were not")
    lacks = ["shapes of its operators"] if traced.devices else ["kernels of a device"]
    lacks += [] if traced.steps else ["marks of an engine's steps"]
    versions = dict(export.rows("META_DATA_EXPORT", "name", "value"))
    version = str(versions.get("EXPORT_PRODUCT_VERSION") or versions.get("EXPORT_SCHEMA_VERSION") or "")[:60]
    return Recorded(
        file=source.name, format=NAME, tool="Nsight Systems", version=version, traced=traced, lacks=tuple(lacks),
        notes=tuple(notes),
    )  # fmt: skip


class _Devices:
    """Devices as kernels number them: each process counts its own, and one table says which card that is."""

    def __init__(self, export: _Export) -> None:
        cards = {number: str(name or "")[:100] for number, name in export.rows("TARGET_INFO_GPU", "id", "name")}
        self._cards: dict[tuple[int | None, int], int] = {}
        for card, device, process in export.rows("TARGET_INFO_CUDA_DEVICE", "gpuId", "cudaId", "pid"):
            if isinstance(card, int) and isinstance(device, int):
                self._cards[(process, device)] = card
                self._cards.setdefault((None, device), card)
        self._known: dict[tuple[int, Any], int] = {}
        self.labels: list[str] = []
        self._named = cards
        self.names: dict[str, str | None] = {}

    def number(self, process: int, device: Any) -> int:
        """The number of a process's device."""
        found = self._known.get((process, device))
        if found is None:
            card = self._cards.get((process, device), self._cards.get((None, device), device))
            label = f"gpu {str(card)[:20]}" if len(self.labels) < MOST_DEVICES else "gpu others"
            if label not in self.labels:
                self.labels.append(label)
                self.names[label] = self._named.get(card) or None
            found = self.labels.index(label)
            if len(self._known) < _MOST_STRINGS:
                self._known[(process, device)] = found
        return found


def _kernels(export: _Export, timeline: Timeline, devices: _Devices, notes: list[str]) -> int:
    """Kernels, graphs that were recorded as a whole, and copies; how many rows of these are none."""
    odd = 0
    common = ("start", "end", "deviceId", "globalPid", "correlationId")
    for table, names in (
        (_KERNEL, ("demangledName", "shortName")),
        (_GRAPH, ()),
        *((one, ("copyKind",)) for one in _COPY),
    ):
        whole = 0
        for start, end, device, process, call, *named in export.rows(table, *common, *names):
            if not (isinstance(start, int) and isinstance(end, int) and start <= end):
                odd += 1
                continue
            number = process >> 24 & 0xFFFFFF if isinstance(process, int) else 0
            if table == _KERNEL:
                name = export.string(named[0]) or export.string(named[1]) or "kernel"
            elif table == _GRAPH:
                name, whole = "CUDA graph", whole + 1
            else:
                name = f"{_COPY[table]} {_KINDS.get(named[0], '')}".rstrip()
            timeline.add(
                devices.number(number, device), timeline.named(name), start / _NS_PER_US, (end - start) / _NS_PER_US,
                _call(number, call), -1,
            )  # fmt: skip
        if whole:
            notes.append(
                f"{whole:,} graphs were recorded as a whole, without their kernels: "
                "nsys profile --cuda-graph-trace=node records these"
            )
    return odd


def _call(process: int, call: Any) -> int:
    """The number of a call, which processes count each for themselves."""
    return process << 32 | call & 0xFFFFFFFF if isinstance(call, int) else -1


def _calls(export: _Export, timeline: Timeline, calls: Calls) -> tuple[float, float]:
    """Calls of the host; when the first began and the last ended."""
    first, last = float("inf"), float("-inf")
    for table in _CALLS:
        for start, end, name, thread, number in export.rows(
            table, "start", "end", "nameId", "globalTid", "correlationId"
        ):
            if not (isinstance(start, int) and isinstance(end, int) and start <= end):
                continue
            begun, ended = start / _NS_PER_US, end / _NS_PER_US
            first, last = min(first, begun), max(last, ended)
            kind = calls.add(export.string(name), ended - begun)
            process = thread >> 24 & 0xFFFFFF if isinstance(thread, int) else 0
            if kind.starts or kind.waits:
                timeline.called(_call(process, number), begun)
    return first, last


def _marks(export: _Export, timeline: Timeline) -> int:
    """Marks of engines among the ranges of NVTX; how many rows of these are none."""
    odd = 0
    for start, end, text, number in export.rows("NVTX_EVENTS", "start", "end", "text", "textId"):
        if end is None:
            continue  # a moment
        if isinstance(start, int) and isinstance(end, int) and start <= end:
            name = text if isinstance(text, str) else export.string(number)
            timeline.marked(name, start / _NS_PER_US, (end - start) / _NS_PER_US)
        else:
            odd += 1
    return odd


FORMAT = Format(name=NAME, words="an SQLite export of Nsight Systems (nsys export)", looks=looks, read=read)
