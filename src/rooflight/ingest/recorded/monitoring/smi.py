"""What nvidia-smi prints: --query-gpu's CSV, dmon, the long text of -q, the table; alone or one after another."""

from __future__ import annotations

import re

from msgspec.structs import replace

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.monitoring.condensed import condensed
from rooflight.ingest.recorded.monitoring.smi_rows import (
    dmon_header,
    dmon_row,
    drawn,
    header,
    mig_enabled,
    of_processes,
    queried,
    time_of,
)  # fmt: skip
from rooflight.ingest.recorded.monitoring.smi_text import BEGIN, Asked
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.values.recorded import Recorded, Watched

_DRAWN = "| NVIDIA-SMI "
_HELP = ("NVIDIA System Management Interface --", "List of valid properties to query for the switch")
_DMON = re.compile(r"^# ?(?:(?:Date|Time)\s+)*gpu[,\s]", re.MULTILINE)
_VERSION = re.compile(r"(?:Driver Version|DRIVER version)\s*:\s*([\d.]+)")
_RECORD = "nvidia-smi --query-gpu=timestamp,index,name,utilization.gpu,utilization.memory,memory.used,memory.total," \
    "power.draw,power.limit,clocks.sm,clocks.max.sm,clocks_event_reasons.active --format=csv -l 1"  # fmt: skip
_PROCESSES = "rows of processes"
_ITS_HELP = "its help"
_FIXED = frozenset({
    "subject", "kind", "span", "start", "device", "memory_total_bytes", "power_limit_w", "max_sm_clock_hz",
    "max_memory_clock_hz",
})  # fmt: skip
# Lines in which the header of a query is looked for: a program's own output may come first.
_FIRST = 40


_MIG = re.compile(r"^\| MIG devices:|^ +MIG Mode\s*\n +Current +: Enabled", re.MULTILINE)


def looks(head: Head) -> bool:
    """Any of its outputs in the start of a text, or its help."""
    text = head.text
    if head.json or "\x00" in text[:4096]:
        return False
    if BEGIN in text or _DRAWN in text or any(words in text for words in _HELP):
        return True
    return _DMON.search(text) is not None or any(header(line) is not None for line in text.splitlines()[:_FIRST])


def read(source: Source) -> Recorded:
    """All GPUs and moments in it. Raises BadConfig where it has none."""
    text = source.text
    scan = _Scan()
    for number, line in enumerate(text.splitlines(), start=1):
        scan.take(number, line)
    scan.end()
    watched = _together(scan.watched)
    if not watched:
        raise _nothing(source.name, scan)
    version = _VERSION.search(text)
    mig = scan.mig or _MIG.search(text) is not None
    return Recorded(
        file=source.name, format="", tool="nvidia-smi", version=version[1] if version else "",
        watched=condensed(watched), lacks=_lacks(watched, mig=mig), notes=scan.notes(watched),
    )  # fmt: skip


class _Scan:
    """A text read line by line: outputs in any order, each told by its first line."""

    def __init__(self) -> None:
        self.watched: list[Watched] = []
        self.refused: dict[str, None] = {}
        self.mig = False
        self._odd: list[int] = []
        self._query: tuple[tuple[str, str], ...] | None = None
        self._dmon: tuple[str, ...] | None = None
        self._asked: Asked | None = None
        self._start: str | None = None
        self._before = ""

    def take(self, number: int, line: str) -> None:
        """One line of it."""
        if self._query is not None and line[:1].isdigit():
            self._row(number, line)
        elif BEGIN in line:
            self.end()
            self._asked = Asked()
        elif (columns := header(line)) is not None:
            self.end()
            self._query = columns
            self._refuse(_PROCESSES if of_processes(columns) else None)
        elif (names := dmon_header(line)) is not None:
            self.end()
            self._dmon = names
            self._refuse(_PROCESSES if "pid" in names else None)
        elif line.startswith(("+--", "####")):
            self.end()
        elif any(words in line for words in _HELP):
            self._refuse(_ITS_HELP)
        elif self._asked is not None:
            self._asked.take(line)
        elif line.startswith("|"):
            found = drawn(self._before, line, self._start)
            self.watched += [] if found is None else [found]
        elif line.strip() and line[0] != "#":
            self._row(number, line)
        self._before = line

    def _row(self, number: int, line: str) -> None:
        """A row of the table that is open; without one, a time perhaps."""
        if self._query is not None:
            if of_processes(self._query):
                return
            found = queried(self._query, line)
            self.mig = self.mig or mig_enabled(self._query, line)
        elif self._dmon is not None:
            if "pid" in self._dmon:
                return
            found = dmon_row(self._dmon, line)
        else:
            self._start = (time_of(line) if line[0].isalpha() else None) or self._start
            return
        if found is None:
            self._odd.append(number)
        else:
            self.watched.append(found)

    def _refuse(self, what: str | None) -> None:
        if what is not None:
            self.refused[what] = None

    def end(self) -> None:
        """Nothing more of what was open comes."""
        if self._asked is not None:
            self.watched += self._asked.watched()
        self._query = self._dmon = self._asked = None

    def notes(self, watched: tuple[Watched, ...]) -> tuple[str, ...]:
        """What was odd."""
        found = []
        if self._odd:
            count, first = f"{len(self._odd):,}", f"{self._odd[0]:,}"
            found.append(f"rows with too few or too many cells are left out: {count}, the first in line {first}")
        if self.refused:
            found.append(f"what else stands in it says nothing of time and is not read: {', '.join(self.refused)}")
        if any(one.start for one in watched):
            found.append("its times are the machine's own, whose zone it does not say")
        return tuple(found)


def _together(watched: list[Watched]) -> tuple[Watched, ...]:
    """Rows, where two outputs of the same second tell of one GPU as one row with all that either says."""
    found: dict[tuple[str, str, int], Watched] = {}
    for at, one in enumerate(watched):
        key = (one.subject, one.start or "", -1 if one.start else at)
        before = found.get(key)
        if before is None:
            found[key] = one
        else:
            new = {name: value for name in one.__struct_fields__ if (value := getattr(before, name)) is not None}
            found[key] = replace(one, **new)
    return tuple(one for one in found.values() if _says(one))


def _says(one: Watched) -> bool:
    """Whether a row has any value of the moment, not only what the GPU is and may do."""
    return any(getattr(one, name) is not None for name in one.__struct_fields__ if name not in _FIXED)


def _lacks(watched: tuple[Watched, ...], *, mig: bool) -> tuple[str, ...]:
    found = ["how long the memory interface and the tensor cores were active (DCGM says it, nvidia-smi does not)"]
    if all(one.gpu_util is None for one in watched):
        found.append("the utilisation of MIG slices (DCGM's exporter says it)" if mig else "utilization.gpu")
    if all(one.throttled is None for one in watched):
        found.append("whether clocks are lowered (clocks_event_reasons.active)")
    return tuple(found)


def _nothing(name: str, scan: _Scan) -> BadConfig:
    if _PROCESSES in scan.refused:
        return BadConfig(
            f"{name} has rows of processes: how much memory each holds, and nothing of what the GPU did over time",
            where=name, got="nvidia-smi's list of processes", want="values of the GPU itself", try_this=_RECORD,
        )  # fmt: skip
    if scan.refused:
        return BadConfig(
            f"{name} is nvidia-smi's help, which has no values", where=name, got="names of columns",
            want="what nvidia-smi prints when it is asked for them", try_this=_RECORD,
        )  # fmt: skip
    return BadConfig(
        f"{name} says of a GPU what it is, and not what it did", where=name, got="no value of a moment",
        want="utilisation, power, clocks or memory", try_this=_RECORD,
    )  # fmt: skip


FORMAT = Format(name="nvidia-smi", words="nvidia-smi: --query-gpu as CSV, dmon, -q, the table", looks=looks, read=read)
