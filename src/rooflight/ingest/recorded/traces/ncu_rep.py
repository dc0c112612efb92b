"""Nsight Compute's reports (.ncu-rep), by its own Python module where that is installed."""

from __future__ import annotations

from typing import Any

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.ingest.recorded.traces.cells import unit
from rooflight.ingest.recorded.traces.counted import Profiled, Read, traced, wanted
from rooflight.ingest.recorded.traces.ncu import CLOCKS, COMMAND
from rooflight.values.recorded import Recorded

_MAGIC = b"NVR\0"
_NAME = "device__attribute_display_name"


def _looks(head: Head) -> bool:
    return head.raw.startswith(_MAGIC)


def _read(source: Source) -> Recorded:
    if source.path is None:
        raise _unread(source, "a report from standard input or packed", "the file itself, unpacked")
    try:
        # it is in extras/python of Nsight Compute: https://docs.nvidia.com/nsight-compute/PythonReportInterface
        import ncu_report  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise _unread(source, "a report, and no module ncu_report here", "its CSV") from None
    try:
        report = ncu_report.load_report(str(source.path))
        kernels = [
            _kernel(action, number)
            for number in range(report.num_ranges())
            for action in _actions(report.range_by_idx(number))
        ]
    except Exception as error:
        raise _unread(source, f"a report that ncu_report does not read: {str(error)[:120]}", "a whole one") from None
    if not kernels:
        raise _unread(source, "a report without kernels", "profiled kernels")
    return traced(source.name, "Nsight Compute", kernels, [CLOCKS])


def _actions(part: Any) -> list[Any]:
    return [part.action_by_idx(number) for number in range(part.num_actions())]


def _kernel(action: Any, part: int) -> Profiled:
    read = Read()
    for name in filter(wanted, action.metric_names()):
        metric = action.metric_by_name(name)
        if name == _NAME:
            read.add(name, "", str(metric.as_string()))
            continue
        value, kind = metric.as_double(), unit(str(metric.unit() or ""))
        if value is not None and kind is not None:
            share = kind[0] == "" and ".pct" in name
            read.put(name, "%" if share else kind[0], value * (0.01 if share else kind[1]))
    grid, block = (
        f"({', '.join(str(_size(action, f'launch__{what}_dim_{axis}')) for axis in 'xyz')})"
        for what in ("grid", "block")
    )
    return read.of(Profiled(name=str(action.name()), grid=grid, block=block, part=part))


def _size(action: Any, name: str) -> int:
    metric = action.metric_by_name(name)
    return 1 if metric is None else int(metric.as_double() or 1)


def _unread(source: Source, got: str, want: str) -> BadConfig:
    return BadConfig(f"{source.name} cannot be read as it is", where=source.name, got=got, want=want, try_this=COMMAND)


FORMAT = Format(name="ncu-rep", words="Nsight Compute reports (.ncu-rep)", looks=_looks, read=_read)
