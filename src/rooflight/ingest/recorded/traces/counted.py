"""Nsight Compute's counters of a kernel, by whichever of their names, as time, bytes, FLOP and shares of peaks."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from rooflight.ingest.recorded.traces.cells import number, timing, unit
from rooflight.ingest.recorded.traces.families import number_format, operator
from rooflight.values.recorded import DeviceTrace, Launched, Recorded, Traced

# What a field is called, newest first; the unit tells apart what is printed under one name. Display names of sections:
# "SOL ..." until 2020.3, "... Throughput" since; dram__bytes_op_read for dram__bytes_read on Blackwell (2025.1 on).
# https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#metrics-reference
_SECONDS = ("gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max", "Duration", "GPU Time")
_CYCLES = ("gpc__cycles_elapsed.max", "sm__cycles_elapsed.max", "sm__cycles_elapsed.avg", "Elapsed Cycles")
_CLOCKS = (
    "smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second", "gpc__cycles_elapsed.avg.per_second",
    "SM Frequency",
)  # fmt: skip
_BYTES = ("dram__bytes.sum",)
_READ_AND_WRITTEN = (
    ("dram__bytes_op_read.sum", "dram__bytes_op_write.sum"), ("dram__bytes_read.sum", "dram__bytes_write.sum"),
)  # fmt: skip
_SECTORS = (
    ("dram__sectors_op_read.sum", "dram__sectors_op_write.sum"), ("dram__sectors_read.sum", "dram__sectors_write.sum"),
)  # fmt: skip
_SECTOR_BYTES = 32
_RATES = ("dram__bytes.sum.per_second", "Memory Throughput")
_RATES_APART = (
    ("dram__bytes_op_read.sum.per_second", "dram__bytes_op_write.sum.per_second"),
    ("dram__bytes_read.sum.per_second", "dram__bytes_write.sum.per_second"),
)
_SHARES = {
    "dram_active": (
        "dram__throughput.avg.pct_of_peak_sustained_elapsed", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "dram__bytes.sum.pct_of_peak_sustained_elapsed", "DRAM Throughput", "SOL DRAM",
    ),
    "memory_throughput": (
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "Memory Throughput", "Memory [%]",
        "SOL Memory",
    ),
    "sm_throughput": (
        "sm__throughput.avg.pct_of_peak_sustained_elapsed", "Compute (SM) Throughput", "SM [%]", "SOL SM",
    ),
    "sm_occupancy": ("sm__warps_active.avg.pct_of_peak_sustained_active", "Achieved Occupancy"),
    "l2_hit": ("lts__t_sector_hit_rate.pct", "L2 Hit Rate"),
}  # fmt: skip
_TENSOR_ACTIVE = re.compile(
    r"sm__(inst_executed_)?pipe_tensor\w*\.(avg|sum)\.pct_of_peak_sustained_(active|elapsed)", re.IGNORECASE
)
_TENSOR_RUN = re.compile(r"(sm|smsp)__inst_executed_pipe_tensor\w*\.(sum|avg)", re.IGNORECASE)
# Arithmetic of the tensor units, in operations (a multiply-add is two): by source and result, all or by sparsity.
_TENSOR_OPS = re.compile(
    r"sm__ops_path_tensor_(?P<by>op_\w+?_)?src_(?P<src>[a-z]+\d+)(_dst_(?P<dst>[a-z]+\d+))?"
    r"(?P<sparsity>_sparsity_(on|off))?\.(sum|sum\.per_cycle_elapsed|sum\.per_second)",
    re.IGNORECASE,
)
# Operations of a thread's instruction. Half precision goes two at a time, so that an HFMA2 is four.
# https://docs.nvidia.com/nsight-compute: SpeedOfLight_HierarchicalHalfRooflineChart (..._hfma_pred_on_x4)
_THREADS = {
    "fp32": {"ffma": 2, "fadd": 1, "fmul": 1}, "fp64": {"dfma": 2, "dadd": 1, "dmul": 1},
    "fp16": {"hfma": 4, "hadd": 2, "hmul": 2},
}  # fmt: skip
_CARD = "device__attribute_display_name"
_NAMES = frozenset((
    *_SECONDS, *_CYCLES, *_CLOCKS, *_BYTES, *_RATES, _CARD,
    *(name for pairs in (_READ_AND_WRITTEN, _SECTORS, _RATES_APART) for pair in pairs for name in pair),
    *(name for names in _SHARES.values() for name in names),
))  # fmt: skip
_STEMS = (
    "smsp__sass_thread_inst_executed_op", "sm__sass_thread_inst_executed_op", "derived__smsp__sass_thread_inst",
    "sm__ops_path_tensor", "sm__pipe_tensor", "sm__inst_executed_pipe_tensor", "smsp__inst_executed_pipe_tensor",
)  # fmt: skip
# Counters whose replays differ a little run over 1; what is far over is none.
_OVER = 1.1
_PRODUCTS = ("gemm", "attention", "moe")
# A tensor pipe that is said to be that little active was not used.
_IDLE = 0.005


class Profiled(msgspec.Struct, frozen=True, kw_only=True):
    """One profiled kernel (calls: so many, in the mean). part: of a file that is several tables."""

    name: str
    device: str = ""
    card: str | None = None
    grid: str = ""
    block: str = ""
    calls: int = 1
    part: int = 0
    seconds: float | None = None
    bytes: float | None = None
    flop: float | None = None
    format: str | None = None
    counters: tuple[tuple[str, float], ...] = ()
    uncounted: bool = False


def wanted(name: str) -> bool:
    """Whether a metric of that name tells anything here: a whole report has a thousand others."""
    return name in _NAMES or name.startswith(_STEMS)


class Read:
    """The metrics of one kernel while they are read: of one name and kind of unit the first."""

    def __init__(self) -> None:
        self._met: dict[tuple[str, str], float] = {}
        self._card: str | None = None

    def add(self, name: str, unit_text: str, cell: str, commas: bool = False) -> None:
        """Take a metric as it is printed."""
        if name == _CARD:
            self._card = cell.strip()[:80] or None
            return
        value, kind = number(cell, commas), unit(unit_text)
        if value is None or kind is None:
            return
        base, factor = kind
        if base == "" and ".pct" in name:
            base, factor = "%", 0.01
        self.put(name, base, value * factor)

    def put(self, name: str, base: str, value: float) -> None:
        """Take a metric in base units."""
        self._met.setdefault((name, base), value)

    def of(self, one: Profiled) -> Profiled:
        """The kernel with what was counted of it."""
        seconds = self._seconds()
        flop, form, tensor = self._flop(seconds)
        return msgspec.structs.replace(
            one, card=self._card, seconds=seconds, bytes=self._bytes(seconds), flop=flop, format=form,
            counters=tuple(self._counters()), uncounted=tensor and flop is None,
        )  # fmt: skip

    def _get(self, names: Iterable[str], *bases: str) -> float | None:
        return next(
            (self._met[name, base] for name in names for base in bases if (name, base) in self._met), None
        )  # fmt: skip

    def _pair(self, pairs: Iterable[tuple[str, str]], base: str) -> float | None:
        """What was read and what was written, where both are there."""
        for one, other in pairs:
            if (one, base) in self._met and (other, base) in self._met:
                return self._met[one, base] + self._met[other, base]
        return None

    def _seconds(self) -> float | None:
        found = self._get(_SECONDS, "s")
        if found is None:
            cycles, clock = self._get(_CYCLES, "cycle", ""), self._get(_CLOCKS, "Hz")
            found = cycles / clock if cycles and clock else None
        return found or None

    def _bytes(self, seconds: float | None) -> float | None:
        found = self._get(_BYTES, "B")
        if found is None:
            found = self._pair(_READ_AND_WRITTEN, "B")
        if found is None:
            sectors = [self._pair(_SECTORS, base) for base in ("sector", "")]
            found = next((one * _SECTOR_BYTES for one in sectors if one is not None), None)
        if found is None and seconds is not None:
            rate = self._get(_RATES, "B/s")
            rate = self._pair(_RATES_APART, "B/s") if rate is None else rate
            found = None if rate is None else rate * seconds
        return found

    def _counters(self) -> list[tuple[str, float]]:
        found = [(field, self._get(names, "%")) for field, names in _SHARES.items()]
        tensor = [value for (name, base), value in self._met.items() if base == "%" and _TENSOR_ACTIVE.fullmatch(name)]
        found.append(("tensor_active", max(tensor, default=None)))
        return [(name, min(value, 1.0)) for name, value in found if value is not None and 0 <= value <= _OVER]

    def _count(self, name: str, seconds: float | None) -> float | None:
        """A count of the whole kernel, from its sum or from what it is a cycle or a second."""
        whole = next((value for (met, _), value in self._met.items() if met == f"{name}.sum"), None)
        if whole is not None or seconds is None:
            return whole
        clock = self._get(_CLOCKS, "Hz")
        for (met, _), value in self._met.items():
            if met == f"{name}.sum.per_second":
                return value * seconds
            if met == f"{name}.sum.per_cycle_elapsed" and clock is not None:
                return value * clock * seconds
        return None

    def _flop(self, seconds: float | None) -> tuple[float | None, str | None, bool]:
        """FLOP of all units, the format that most of them are of, and whether the tensor units ran.

        None where the tensor units ran and their operations were not counted: the others' are a small part.
        """
        by_format = self._tensor_flop(seconds)
        ran = bool(by_format) or any(
            value > (_IDLE if base == "%" else 0)
            for (name, base), value in self._met.items()
            if _TENSOR_ACTIVE.fullmatch(name) or _TENSOR_RUN.fullmatch(name)
        )
        if ran and not by_format:
            return None, None, True
        for form in _THREADS:
            threads = self._thread_flop(form, seconds)
            if threads is not None:
                by_format[form] = by_format.get(form, 0.0) + threads
        total = sum(by_format.values())
        if not total:
            return (0.0 if by_format else None), None, ran
        return total, max(by_format, key=lambda form: by_format[form]), ran

    def _thread_flop(self, form: str, seconds: float | None) -> float | None:
        """Of a precision's own units; None where its multiply-adds were not counted."""
        fma, add, mul = _THREADS[form]
        ops = _THREADS[form]
        for unit_name in ("smsp", "sm"):
            stem = f"{unit_name}__sass_thread_inst_executed_op"
            together = self._count(f"{stem}s_{add}_{mul}_{fma}_pred_on", seconds)
            if together is not None and form != "fp16":
                return together
            counts = [(self._count(f"{stem}_{name}_pred_on", seconds), times) for name, times in ops.items()]
            fused = self._derived(form, seconds) if counts[0][0] is None else None
            if counts[0][0] is not None or fused is not None:
                return sum(count * times for count, times in counts if count is not None) + (fused or 0.0)
        return None

    def _derived(self, form: str, seconds: float | None) -> float | None:
        """Multiply-adds as the rooflines of ncu have them: operations a cycle."""
        clock, fma = self._get(_CLOCKS, "Hz"), next(iter(_THREADS[form]))
        if seconds is None or clock is None:
            return None
        name = f"derived__smsp__sass_thread_inst_executed_op_{fma}_pred_on_x{_THREADS[form][fma]}"
        value = next((value for (met, _), value in self._met.items() if met == name), None)
        return None if value is None else value * clock * seconds

    def _tensor_flop(self, seconds: float | None) -> dict[str, float]:
        """By source format: the counter of all results where there is one, else those of each; likewise by sparsity."""
        best: dict[str, dict[tuple[bool, bool, bool], dict[str, float]]] = {}
        for met, _ in self._met:
            found = _TENSOR_OPS.fullmatch(met)
            if found is None:
                continue
            stem = met[: met.index(".sum")]
            count = self._count(stem, seconds)
            if count is not None:
                kind = (found["by"] is not None, found["dst"] is not None, found["sparsity"] is not None)
                best.setdefault(found["src"].lower(), {}).setdefault(kind, {})[stem] = count
        sums = {src: sum(kinds[min(kinds)].values()) for src, kinds in best.items()}
        return {src: total for src, total in sums.items() if total}


def traced(name: str, tool: str, kernels: list[Profiled], notes: list[str]) -> Recorded:
    """Kernels profiled one by one as a profile: those of one name and launch together, and no gaps between them."""
    timed = [one for one in kernels if one.seconds]
    lacks = _lacks(kernels)
    if len(timed) < len(kernels):
        notes.append(f"{len(kernels) - len(timed):,} of {len(kernels):,} kernels have no time and are left out")
    groups: dict[tuple[object, ...], list[Profiled]] = {}
    for one in timed:
        groups.setdefault((one.name, one.device, one.grid, one.block, one.card), []).append(one)
    devices: dict[str, list[Profiled]] = {}
    for one in timed:
        devices.setdefault(one.device, []).append(one)
    return Recorded(
        file=name, format="", tool=tool, lacks=lacks, notes=tuple(notes),
        traced=Traced(
            timeline=False, kernels=tuple(_launched(ones) for ones in groups.values()),
            devices=tuple(_device(device, ones) for device, ones in devices.items()),
        ),
    )  # fmt: skip


def _lacks(kernels: list[Profiled]) -> tuple[str, ...]:
    found = []
    if not any(one.seconds for one in kernels):
        found.append("how long a kernel takes (gpu__time_duration.sum)")
    if not any(one.bytes is not None for one in kernels):
        found.append("bytes through device memory (dram__bytes_read.sum and dram__bytes_write.sum)")
    if any(one.uncounted for one in kernels):
        found.append("operations of the tensor units (sm__ops_path_tensor_src_bf16_dst_fp32.sum and their like)")
    elif not any(one.flop is not None for one in kernels):
        found.append("FLOP (smsp__sass_thread_inst_executed_op_ffma_pred_on.sum and their like)")
    return tuple(found)


def _launched(ones: list[Profiled]) -> Launched:
    first, calls = ones[0], sum(one.calls for one in ones)
    family = operator(first.name)
    flop = _mean(ones, "flop")
    if not flop and family in _PRODUCTS:  # a product whose operations nobody counted
        flop = None
    total = sum((one.seconds or 0.0) * one.calls for one in ones)
    names = dict.fromkeys(name for one in ones for name, _ in one.counters)
    return Launched(
        name=first.name[:400], operator=family, device=_device_name(first.device), calls=calls, total_s=total,
        time_s=timing([one.seconds or 0.0 for one in ones]), flop=flop, bytes=_mean(ones, "bytes"),
        format=first.format or number_format(first.name), shape=_shape(first),
        counters={name: _mean_counter(ones, name) for name in names} or None,
    )  # fmt: skip


def _mean(ones: list[Profiled], field: str) -> float | None:
    """Of a call, over those that have it; None where not all have."""
    values = [getattr(one, field) for one in ones]
    if any(value is None for value in values):
        return None
    return float(sum(value * one.calls for value, one in zip(values, ones, strict=True)) / sum(o.calls for o in ones))


def _mean_counter(ones: list[Profiled], name: str) -> float:
    """By the time of those that have it."""
    pairs = [(dict(one.counters)[name], one.seconds or 0.0) for one in ones if name in dict(one.counters)]
    return sum(value * seconds for value, seconds in pairs) / sum(seconds for _, seconds in pairs)


def _shape(one: Profiled) -> dict[str, float] | None:
    """Blocks of its grid and threads of a block; "(64, 64, 1)" is 4,096."""
    found = {"blocks": _product(one.grid), "threads": _product(one.block)}
    return {name: size for name, size in found.items() if size} or None


def _product(text: str) -> float:
    sizes = [float(part) for part in re.findall(r"\d+", text)[:3]]
    result = 1.0 if sizes else 0.0
    for size in sizes:
        result *= size
    return result


def _device_name(device: str) -> str:
    return f"gpu {device}" if device else "gpu"


def _device(device: str, ones: list[Profiled]) -> DeviceTrace:
    busy = sum((one.seconds or 0.0) * one.calls for one in ones)
    return DeviceTrace(
        device=_device_name(device), name=next((one.card for one in ones if one.card), None),
        span_s=busy, busy_s=busy, kernels=sum(one.calls for one in ones),
    )  # fmt: skip
