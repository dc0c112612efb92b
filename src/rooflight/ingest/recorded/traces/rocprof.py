"""rocprof's CSV (v1, v2, v3) and what rocprofiler-compute keeps: dispatches, counters, sums by name, the machine."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.ingest.recorded.traces.amd import Dispatch, counted, profile
from rooflight.ingest.recorded.traces.cells import Sheet, number, sheets
from rooflight.ingest.recorded.traces.families import number_format, operator
from rooflight.units import to_base
from rooflight.values.recorded import DeviceTrace, Launched, Record, Recorded, Stated, Traced
from rooflight.values.sample import Origin, Sample, Timing

# Columns by version (case, "-", "_" and blanks do not count): rocprof v1 https://github.com/ROCm/rocprofiler
# (test/tool), rocprofv2, rocprofv3 https://rocm.docs.amd.com/projects/rocprofiler-sdk, rocprofiler-compute (omniperf).
_KERNEL = ("KernelName", "Kernel_Name")
_START = ("BeginNs", "Start_Timestamp")
_END = ("EndNs", "End_Timestamp")
_DEVICE = ("gpu-id", "GPU_ID", "Agent_Id")
_DISPATCH = ("Dispatch_Id", "Index")
# One of them is in every header, and in hardly a row: what is asked first of each line.
_MARKS = frozenset((*_KERNEL, "Name", "Direction", "HBMBw", "gpu_arch", "gpu_model", "gpu_soc"))
_NS = to_base(1, "us") / 1000
_GB, _GFLOP = to_base(1, "GB/s"), to_base(1, "GFLOP/s")
_HOST_CALL = re.compile(r"(hip|hsa|roctx|rocm)_?[A-Za-z]")
_HOST_LAUNCH = re.compile(r"hip(Ext)?(Module)?Launch(Cooperative)?Kernel|hipGraphLaunch|hipExtLaunch")
# domain_stats.csv of v3: sums of whole kinds of calls, none of them a kernel.
_DOMAINS = re.compile(r"[A-Z]+(_[A-Z]+)*")
_COPIES = ("memory_copy", "copy")
# roofline.csv: the machine's own rates by micro-benchmarks, GB/s and GFLOP/s, with what they lay between.
_MEASURED = {
    "HBMBw": "hbm", "L2Bw": "l2", "L1Bw": "l1", "LDSBw": "lds", "FP32Flops": "fp32 vector", "FP64Flops": "fp64 vector",
    "MFMABF16Flops": "bf16", "MFMAF16Flops": "fp16", "MFMAF32Flops": "fp32", "MFMAF64Flops": "fp64",
    "MFMAI8Ops": "int8",
}  # fmt: skip


def _kind(columns: tuple[str, ...]) -> str | None:
    """Which table it is by its columns."""
    sheet = Sheet(columns, ())

    def has(*names: str) -> bool:
        return sheet.place(*names) is not None

    if has(*_KERNEL) and has("Counter_Name") and has("Counter_Value"):
        return "counters"
    if has(*_KERNEL) and ((has(*_START) and has(*_END)) or has(*_DEVICE)):
        return "dispatches"
    if has("Name") and has("Calls") and has("TotalDurationNs"):
        return "stats"
    if has("Direction") and has(*_START) and has(*_END):
        return "copies"
    if has("HBMBw") and has("device"):
        return "roofline"
    if has("gpu_arch", "gpu_model", "gpu_soc") and has("rocm_version", "hbm_bw"):
        return "machine"
    return None


def _is_header(cells: tuple[str, ...]) -> bool:
    return len(cells) > 3 and not _MARKS.isdisjoint(cells) and _kind(cells) is not None


def _looks(head: Head) -> bool:
    return any(
        _is_header(tuple(cell.strip('"') for cell in line.strip().split(",")))
        for line in head.text.splitlines()[:200]
        if line.count(",") > 2
    )


def _read(source: Source) -> Recorded:
    found = sheets(source.text, _is_header)
    by_kind: dict[str, list[Sheet]] = {}
    for sheet in found.sheets:
        by_kind.setdefault(_kind(sheet.columns) or "", []).append(sheet)
    notes = [f"{found.lost:,} lines among the rows are none of the table's"] if found.lost else []
    kind = next((one for one in _READERS if one in by_kind), None)
    if kind is None or not any(sheet.rows for sheet in by_kind[kind]):
        raise BadConfig(
            f"{source.name} has no row", where=source.name, got="a header alone", want="rows of rocprof's tables",
            try_this="rocprofv3 --kernel-trace --output-format csv -- PROGRAM",
        )  # fmt: skip
    read = _READERS[kind](source, by_kind, notes)
    if read.traced is None and not read.records and not read.samples:
        raise BadConfig(
            f"{source.name} has no kernel", where=source.name, got="rows without a name or times", want="dispatches",
            try_this="rocprofv3 --kernel-trace --output-format csv -- PROGRAM",
        )  # fmt: skip
    return read


def _dispatches(source: Source, by_kind: dict[str, list[Sheet]], notes: list[str]) -> Recorded:
    """A row a dispatch; counters, where there are some, in columns of their own."""
    found: list[Dispatch] = []
    clock = _Clock()
    for sheet in by_kind.get("dispatches", []):
        kernel, start, end, device = (sheet.place(*names) for names in (_KERNEL, _START, _END, _DEVICE))
        counters = [
            (at, name) for at, name in enumerate(sheet.columns) if re.match(r"(TCC|SQ|FETCH|WRITE|Fetch|Write)", name)
        ]
        for _, row in sheet.rows:
            named = "" if kernel is None else row[kernel].strip()
            if named:
                values = [(name, value) for at, name in counters if (value := number(row[at])) is not None]
                found.append(
                    Dispatch(
                        name=named, device=_gpu(row, device), start_s=clock(row, start), end_s=clock(row, end),
                        **counted(values),
                    )
                )  # fmt: skip
    for sheet in by_kind.get("copies", []):
        found += _copies(sheet, clock)
    return profile(source.name, found, notes)


def _copies(sheet: Sheet, clock: _Clock) -> list[Dispatch]:
    direction, start, end = (sheet.place(*names) for names in (("Direction",), _START, _END))
    device = sheet.place("Destination_Agent_Id", "Source_Agent_Id")
    return [
        Dispatch(
            name=row[direction or 0].strip() or "MEMORY_COPY", device=_gpu(row, device), start_s=clock(row, start),
            end_s=clock(row, end), copies=True,
        )
        for _, row in sheet.rows
    ]  # fmt: skip


def _counters(source: Source, by_kind: dict[str, list[Sheet]], notes: list[str]) -> Recorded:
    """v3's counter_collection.csv: a row a counter of a dispatch."""
    met: dict[tuple[int, str, str, str], tuple[Dispatch, dict[str, float]]] = {}
    clock = _Clock()
    for part, sheet in enumerate(by_kind["counters"]):
        kernel, start, end, device, ident = (
            sheet.place(*names) for names in (_KERNEL, _START, _END, _DEVICE, _DISPATCH)
        )
        name, value = sheet.place("Counter_Name"), sheet.place("Counter_Value")
        for _, row in sheet.rows:
            named = row[kernel or 0].strip()
            key = part, "" if ident is None else row[ident], named, _gpu(row, device)
            one = Dispatch(name=named, device=key[3], start_s=clock(row, start), end_s=clock(row, end))
            counters = met.setdefault(key, (one, {}))[1]
            read = number(row[value or 0])
            if read is not None:
                counter = row[name or 0].strip()
                counters[counter] = counters.get(counter, 0.0) + read
    found = [
        Dispatch(
            name=one.name, device=one.device, start_s=one.start_s, end_s=one.end_s, **counted(list(counters.items()))
        )
        for one, counters in met.values()
    ]  # fmt: skip
    return profile(source.name, found, notes)


def _stats(source: Source, by_kind: dict[str, list[Sheet]], notes: list[str]) -> Recorded:
    """Sums by name: of kernels, or of the host's calls, which are no kernels."""
    kernels: list[Launched] = []
    launches, launch_s = 0, 0.0
    for sheet in by_kind["stats"]:
        name, calls, total = (sheet.place(one) for one in ("Name", "Calls", "TotalDurationNs"))
        for _, row in sheet.rows:
            named, count, spent = row[name or 0].strip(), number(row[calls or 0]), number(row[total or 0])
            if not named or not count or spent is None:
                continue
            if _HOST_CALL.match(named):
                if _HOST_LAUNCH.match(named):
                    launches, launch_s = launches + int(count), launch_s + spent * _NS
            elif named.lower().startswith(_COPIES) or not _DOMAINS.fullmatch(named):
                family = "copy" if named.lower().startswith(_COPIES) else operator(named)
                kernels.append(
                    Launched(
                        name=named[:400], operator=family, device="gpu", calls=int(count), total_s=spent * _NS,
                        format=number_format(named) if family != "copy" else None,
                    )
                )  # fmt: skip
    busy = sum(one.total_s for one in kernels)
    lacks = ["when each kernel began and ended (a kernel trace)"]
    if not kernels:
        lacks.insert(0, "kernels: it sums calls of the host (the kernels' is ..._kernel_stats.csv)")
    devices = (DeviceTrace(device="gpu", span_s=busy, busy_s=busy, kernels=sum(one.calls for one in kernels)),)
    return Recorded(
        file=source.name, format="", tool="rocprof", notes=tuple(notes), lacks=tuple(lacks),
        traced=Traced(
            timeline=False, kernels=tuple(kernels), devices=devices if kernels else (), launches=launches,
            launch_s=launch_s,
        ),
    )  # fmt: skip


def _machine(source: Source, by_kind: dict[str, list[Sheet]], notes: list[str]) -> Recorded:
    """sysinfo.csv of rocprofiler-compute: which machine its counters are of; no kernel is in it."""
    (sheet, *_) = by_kind["machine"]
    _, row = sheet.rows[0]

    def cell(*names: str) -> str | None:
        place = sheet.place(*names)
        return None if place is None else row[place].strip() or None

    said = [
        f"{words}: {value}"
        for words, value in (
            ("architecture", cell("gpu_arch")), ("compute units", cell("cu_per_gpu", "num_CU")),
            ("memory bandwidth in GB/s", cell("hbm_bw")), ("ROCm", cell("rocm_version")),
        )
        if value
    ]  # fmt: skip
    return Recorded(
        file=source.name, format="", tool="rocprofiler-compute", version=cell("version") or "",
        records=(Record(name="machine", stated=Stated(device=cell("gpu_model", "gpu_soc", "gpu_arch"))),),
        notes=(*notes, "it describes a profile's machine: pmc_perf.csv beside it has the kernels", "; ".join(said)),
    )  # fmt: skip


def _roofline(source: Source, by_kind: dict[str, list[Sheet]], notes: list[str]) -> Recorded:
    """roofline.csv of rocprofiler-compute: rates of the machine by its micro-benchmarks; no kernel of a program."""
    samples: list[Sample] = []
    for sheet in by_kind["roofline"]:
        device = sheet.place("device")
        columns = [(at, name) for at, name in enumerate(sheet.columns) if name in _MEASURED]
        for line, row in sheet.rows:
            for at, name in columns:
                rate, low, high = (number(row[place]) if place < len(row) else None for place in (at, at + 1, at + 2))
                if rate:
                    samples.append(_rate(source, name, _gpu(row, device), (rate, low or rate, high or rate), line))
    return Recorded(
        file=source.name, format="", tool="rocprofiler-compute", samples=tuple(samples),
        notes=(*notes, "it has the machine's own rates, kept as the time that 1 GB or 1 GFLOP takes, and no kernel"),
    )  # fmt: skip


def _rate(source: Source, name: str, device: str, rates: tuple[float, float, float], line: int) -> Sample:
    """A rate in GB/s or GFLOP/s as the time of one GB or GFLOP."""
    is_bytes = name.endswith("Bw")
    rate, low, high = rates
    return Sample(
        kind="bandwidth" if is_bytes else "kernel", name=f"{_MEASURED[name]} roof", device=device,
        time_s=Timing(median=1 / rate, low=1 / max(high, rate), high=1 / min(low, rate)),
        bytes=_GB if is_bytes else None, flop=None if is_bytes else _GFLOP,
        compute=None if is_bytes else _MEASURED[name].split()[0],
        source=Origin(file=source.name, tool="rocprofiler-compute", line=line),
    )  # fmt: skip


def _gpu(row: tuple[str, ...], place: int | None) -> str:
    return "gpu" if place is None else _numbered(row[place])


@functools.lru_cache(maxsize=1 << 10)
def _numbered(cell: str) -> str:
    """gpu 4 of 4 and of Agent 4."""
    found = re.search(r"\d+", cell)
    return f"gpu {found.group()}" if found else "gpu"


class _Clock:
    """Nanoseconds since some start as seconds after the first that was read: a float holds no such count to its end."""

    def __init__(self) -> None:
        self._origin: int | None = None

    def __call__(self, row: tuple[str, ...], place: int | None) -> float | None:
        text = row[place].strip() if place is not None else ""
        if not (text.isascii() and text.isdigit()):
            value = number(text)
            if value is None:
                return None
            text = str(int(value))
        at = int(text[:30])
        self._origin = at if self._origin is None else self._origin
        return (at - self._origin) * _NS


_READERS: dict[str, Callable[[Source, dict[str, list[Sheet]], list[str]], Recorded]] = {
    "dispatches": _dispatches, "copies": _dispatches, "counters": _counters, "stats": _stats, "roofline": _roofline,
    "machine": _machine,
}  # fmt: skip
FORMAT = Format(name="rocprof", words="rocprof and rocprofiler-compute CSV", looks=_looks, read=_read)
