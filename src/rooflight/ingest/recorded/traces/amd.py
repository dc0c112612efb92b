"""What rocprof's dispatches and counters come to: time, bytes through memory and FLOP of a kernel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from rooflight.ingest.recorded.traces.cells import timing
from rooflight.ingest.recorded.traces.families import number_format, operator
from rooflight.ingest.recorded.traces.spans import Ran, device_trace
from rooflight.values.recorded import DeviceTrace, Launched, Recorded, Traced

# Requests of the second-level cache to memory: TCC_EA of gfx906 to gfx90a, TCC_EA0 from gfx942 on (there with reads
# of 128 bytes, counted by TCC_BUBBLE). FETCH_SIZE and WRITE_SIZE are made of them, in units of 1,024 bytes.
# https://github.com/ROCm/rocprofiler-sdk: source/lib/rocprofiler-sdk/counters/xml (FETCH_SIZE by architecture)
_FETCHED = ("FETCH_SIZE", "FetchSize")
_WRITTEN = ("WRITE_SIZE", "WriteSize")
_WIDE = ("TCC_EA0_RDREQ_128B", "TCC_BUBBLE")
_KILO = 1024
# Of a wavefront's instruction: 64 lanes; a matrix instruction is counted in units of 512 operations.
# https://github.com/ROCm/rocprofiler-compute: src/rocprof_compute_soc/analysis_configs (VALU FLOPs, MFMA FLOPs)
_LANES = 64
_MATRIX = 512
_VECTOR = {"ADD": 1, "MUL": 1, "FMA": 2, "TRANS": 1}
_FORMATS = {"F16": "fp16", "BF16": "bf16", "F32": "fp32", "F64": "fp64", "F8": "fp8", "I8": "int8", "F6F4": "fp4"}
_CHANNEL = re.compile(r"(\w+)\[\d+\]")
_COPY = re.compile(r"__amd_rocclr_(copy|fill)|MEMORY_COPY", re.IGNORECASE)
_PRODUCTS = ("gemm", "attention", "moe")


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel that ran. counters: whether some were collected, which makes kernels run one at a time."""

    name: str
    device: str
    start_s: float | None = None
    end_s: float | None = None
    bytes: float | None = None
    flop: float | None = None
    format: str | None = None
    counters: bool = False
    copies: bool = False

    @property
    def seconds(self) -> float | None:
        """How long it ran."""
        return (
            None
            if self.start_s is None or self.end_s is None or self.end_s < self.start_s
            else self.end_s - self.start_s
        )


def counted(values: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """Fields of a Dispatch from its counters; those of single channels are added up."""
    found: dict[str, float] = {}
    if not values:
        return found
    for name, value in values:
        channel = _CHANNEL.fullmatch(name)
        key = channel[1] if channel else name.removesuffix("_sum")
        if channel and f"{key}_sum" in dict(values):
            continue
        found[key] = found.get(key, 0.0) + value if channel else value
    flop, form = _flop(found)
    return {"bytes": _bytes(found), "flop": flop, "format": form, "counters": bool(found)}


def _bytes(found: dict[str, float]) -> float | None:
    """Read and written, where both are known."""
    read = next((found[name] * _KILO for name in _FETCHED if name in found), None)
    written = next((found[name] * _KILO for name in _WRITTEN if name in found), None)
    for stem in ("TCC_EA0", "TCC_EA"):
        reads, narrow = found.get(f"{stem}_RDREQ"), found.get(f"{stem}_RDREQ_32B")
        wide = next((found[name] for name in _WIDE if name in found), None if stem == "TCC_EA0" else 0.0)
        if read is None and reads is not None and narrow is not None and wide is not None:
            read = 32 * narrow + 128 * wide + 64 * (reads - narrow - wide)
        writes, full = found.get(f"{stem}_WRREQ"), found.get(f"{stem}_WRREQ_64B")
        if written is None and writes is not None and full is not None:
            written = 64 * full + 32 * (writes - full)
    return None if read is None or written is None else read + written


def _flop(found: dict[str, float]) -> tuple[float | None, str | None]:
    """Of vector and matrix instructions, and the format of most; None where one of both was not counted."""
    by_format: dict[str, float] = {}
    matrix = vector = False
    for name, value in found.items():
        _, _, kind = name.partition("SQ_INSTS_VALU_")
        what, _, form = kind.rpartition("_")
        if form not in _FORMATS:
            continue
        if what == "MFMA_MOPS":
            matrix, operations = True, value * _MATRIX
        elif what in _VECTOR:
            vector, operations = True, value * _VECTOR[what] * _LANES
        else:
            continue
        by_format[_FORMATS[form]] = by_format.get(_FORMATS[form], 0.0) + operations
    if not (matrix and vector):
        return None, None
    total = sum(by_format.values())
    return total, max(by_format, key=lambda form: by_format[form]) if total else None


def profile(name: str, found: list[Dispatch], notes: list[str]) -> Recorded:
    """Dispatches as a profile. Where counters were collected kernels ran one at a time, so gaps mean nothing."""
    timed = [one for one in found if one.seconds is not None]
    if found and not timed:
        notes.append(f"{len(found):,} dispatches have no times")
    elif len(timed) < len(found):
        notes.append(f"{len(found) - len(timed):,} of {len(found):,} dispatches have no times and are left out")
    counters = any(one.counters for one in found)
    groups: dict[tuple[str, str], list[Dispatch]] = {}
    devices: dict[str, list[Dispatch]] = {}
    for one in timed:
        groups.setdefault((one.name, one.device), []).append(one)
        devices.setdefault(one.device, []).append(one)
    lacks = [] if timed else ["when each kernel began and ended (Start_Timestamp, End_Timestamp)"]
    if not any(one.bytes is not None for one in found):
        lacks.append("bytes through memory (FETCH_SIZE and WRITE_SIZE)")
    return Recorded(
        file=name, format="", tool="rocprof", notes=tuple(notes), lacks=tuple(lacks),
        traced=Traced(
            timeline=not counters, kernels=tuple(_launched(ones) for ones in groups.values()),
            devices=tuple(_device(device, ones, counters) for device, ones in devices.items()),
        ),
    )  # fmt: skip


def _launched(ones: list[Dispatch]) -> Launched:
    first = ones[0]
    seconds = [one.seconds or 0.0 for one in ones]
    family = "copy" if first.copies else operator(first.name)
    flop = _mean([one.flop for one in ones])
    return Launched(
        name=first.name[:400], operator=family, device=first.device, calls=len(ones), total_s=sum(seconds),
        time_s=timing(seconds), bytes=_mean([one.bytes for one in ones]),
        flop=None if not flop and family in _PRODUCTS else flop, format=first.format or number_format(first.name),
    )  # fmt: skip


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _device(device: str, ones: list[Dispatch], counters: bool) -> DeviceTrace:
    if counters:
        busy = sum(one.seconds or 0.0 for one in ones)
        return DeviceTrace(device=device, span_s=busy, busy_s=busy, kernels=len(ones))
    return device_trace(
        device, (Ran(one.start_s or 0.0, one.end_s or 0.0, _what(one)) for one in ones if one.seconds is not None)
    )


def _what(one: Dispatch) -> str:
    if one.copies or _COPY.match(one.name):
        return "copy"
    return "link" if operator(one.name) == "communication" else "work"
