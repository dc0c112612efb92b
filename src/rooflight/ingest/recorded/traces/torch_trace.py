"""PyTorch's profiler: Chrome traces of CUDA and ROCm, read as a stream.

Written by torch.profiler through Kineto (libkineto/src/output_json.cpp), as vLLM, SGLang and others do on request.
"""

from __future__ import annotations

import math
from typing import Any

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.source import Format, Head, Source
from rooflight.ingest.recorded.traces.calls import Calls
from rooflight.ingest.recorded.traces.chrome import Args, Event, Walk
from rooflight.ingest.recorded.traces.shapes import OPERATORS, Asked, asked
from rooflight.ingest.recorded.traces.timeline import MOST_DEVICES, MOST_KERNELS, Timeline
from rooflight.units import to_base
from rooflight.values.recorded import Recorded, Traced

NAME = "torch-trace"
_WANT = "a trace of torch.profiler (export_chrome_trace), as .json or .json.gz"
# Categories of libkineto/include/ActivityType.h; until PyTorch 1.11 (kineto 0.3) they were the first words here.
_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"})
_CALLS = frozenset({"cuda_runtime", "cuda_driver", "runtime", "hip_runtime", "xpu_runtime", "privateuse1_runtime"})
_OPERATOR = frozenset({"cpu_op", "operator"})
_MARKS = frozenset({"user_annotation", "nvtx", "gpu_user_annotation"})
_HOST = _CALLS | _OPERATOR | {"user_annotation", "python_function"}
_LAST = (1 << 63) - 1
_MOST_SHAPES = 100_000
_MOST_NOTES = 8


class _Reading:
    """What one file said so far; a Sink of its events."""

    def __init__(self) -> None:
        self.timeline = Timeline(to_base(1, "us"))
        self.events_seen = self.odd = 0
        self.calls = Calls()
        self.host_us = 0.0
        self.first_us = math.inf
        self.names: dict[str, str | None] = {}
        self.notes: list[str] = []
        self.documents = 0
        self._shapes: dict[tuple[str, bytes, bytes, bytes], Asked | None] = {}
        self._clear()

    def _clear(self) -> None:
        self._rank = ""
        self._properties: dict[int, dict[str, Any]] = {}
        self._host = (math.inf, -math.inf)
        self._devices: dict[Any, int] = {}

    def said(self, key: str, value: Any) -> None:
        """A value beside the events: which devices there are, which rank of a group this is."""
        if key == "deviceProperties" and isinstance(value, list):
            for one in value:
                if isinstance(one, dict) and isinstance(one.get("id"), int):
                    self._properties[one["id"]] = one
        elif key == "distributedInfo" and isinstance(value, dict):
            rank, others = value.get("rank"), value.get("world_size")
            self._rank = f"rank {rank} " if isinstance(rank, int) and others != 1 else ""

    def events(self, batch: list[Event]) -> None:
        """Each event where it belongs, by its category."""
        self.events_seen += len(batch)
        for event in batch:
            category = event.cat
            if event.ph != "X" or category is None:
                continue
            category = category.lower()
            start, length = event.ts, event.dur
            if not (length >= 0 and start + length < math.inf and start > -math.inf):
                self.odd += 1
            elif category in _DEVICE:
                self._kernel(event, category)
            elif category in _HOST:
                low, high = self._host
                if start < low or start + length > high:
                    self._host = min(low, start), max(high, start + length)
                if category in _CALLS:
                    self._call(event)
                elif category in _OPERATOR:
                    self._operator(event)
                elif category in _MARKS:
                    self.timeline.marked(event.name or "", start, length)
            elif category in _MARKS:
                self.timeline.marked(event.name or "", start, length, on_device=category.startswith("gpu"))

    def _kernel(self, event: Event, category: str) -> None:
        args = event.args or _NOTHING
        device = args.device if args.device is not None else event.pid
        number = self._devices.get(device)
        if number is None:
            device = device if len(self._devices) < MOST_DEVICES else "others"
            number = self._devices.setdefault(device, len(self._devices))
        name = event.name or category
        if category != "kernel" and not name.lower().startswith("mem"):
            name = f"{category.removeprefix('gpu_').capitalize()} {name}"
        self.timeline.add(
            number, self.timeline.named(name), event.ts, event.dur, _number(args.correlation), _external(args)
        )

    def _label(self, device: Any) -> str:
        return f"{self._rank}gpu {str(device)[:40]}" if device is not None else f"{self._rank}gpu"

    def _call(self, event: Event) -> None:
        kind = self.calls.add(event.name or "", event.dur)
        if (kind.starts or kind.waits) and event.args is not None and event.args.correlation is not None:
            self.timeline.called(_number(event.args.correlation), event.ts)

    def _operator(self, event: Event) -> None:
        if event.name not in OPERATORS or event.args is None:
            return
        args = event.args
        dims = bytes(args.dims) or bytes(args.dims_old)
        key = (event.name, dims, bytes(args.types), bytes(args.concrete))
        if key in self._shapes:
            found = self._shapes[key]
        else:
            found = asked(*key)
            if len(self._shapes) < _MOST_SHAPES:
                self._shapes[key] = found
        if found is not None and (number := _external(args)) > 0:
            self.timeline.asks(number, found)

    def ended(self) -> None:
        """A document's end."""
        self.documents += 1
        self._name_devices()
        self.timeline.close([self._label(device) for device in self._devices])
        low, high = self._host
        self.first_us = min(self.first_us, low)
        self.host_us = max(self.host_us, high - low)
        self._clear()

    def _name_devices(self) -> None:
        """Names by the devices' numbers; where kernels count otherwise, the one name that all have."""
        same = {str(one.get("name") or "") for one in self._properties.values()}
        for device in self._devices:
            label = self._label(device)
            known = self._properties.get(device) if isinstance(device, int) else None
            name = str(known.get("name") or "") if known else same.copy().pop() if len(same) == 1 else ""
            self.names[label] = self.names.get(label) or name[:100] or None
            if not name and known:
                self.notes.append(_nameless(label, known))


_NOTHING = Args()


def looks(head: Head) -> bool:
    """Chrome's trace events, or what PyTorch writes in front of them."""
    if not head.json:
        return False
    keys = head.keys
    return bool(
        "traceEvents" in keys
        or {"ph", "ts", "name"} <= keys
        or {"schemaVersion", "deviceProperties"} <= keys
        or {"distributedInfo", "schemaVersion"} <= keys
    )


def read(source: Source) -> Recorded:
    """All of a trace. Raises BadConfig where it holds no events."""
    reading = _Reading()
    walk = Walk(source, reading)
    walk.run()
    if not reading.events_seen:
        got = "no events" if not walk.odd else f"{walk.odd} that are no events"
        raise BadConfig(f"{source.name} holds no profile's events", where=source.name, got=got, want=_WANT)
    timeline = reading.timeline
    devices = timeline.devices(reading.names)
    first = min(reading.first_us, timeline.first)
    traced = Traced(
        devices=devices,
        kernels=timeline.launched(),
        steps=timeline.steps(first),
        launches=reading.calls.launches,
        launch_s=to_base(reading.calls.launching, "us"),
        graph_launches=reading.calls.graph_launches,
        host_s=to_base(reading.host_us, "us") if reading.host_us > 0 else None,
        synchronize_s=to_base(reading.calls.waiting, "us"),
    )
    return Recorded(
        file=source.name, format=NAME, tool="PyTorch profiler", traced=traced,
        lacks=_lacks(traced, timeline), notes=_notes(reading, walk),
    )  # fmt: skip


def _lacks(traced: Traced, timeline: Timeline) -> tuple[str, ...]:
    if not traced.devices:
        return ("kernels of a device",)
    shapes = () if timeline.shaped else ("shapes of its operators (record_shapes=True; graphs do not say them)",)
    return (*shapes, *(() if traced.steps else ("marks of an engine's steps",)))


def _notes(reading: _Reading, walk: Walk) -> tuple[str, ...]:
    notes = list(dict.fromkeys(reading.notes))[:_MOST_NOTES]
    if walk.cut:
        notes.append("the trace ends before its end: what is there was counted")
    if odd := walk.odd + reading.odd:
        notes.append(f"{odd:,} of its events could not be understood and were left out")
    if reading.documents > 1:
        notes.append(f"{reading.documents} traces stand in one file and were read as one")
    if reading.timeline.left_out:
        notes.append(f"only its first {MOST_KERNELS:,} kernels were counted, {reading.timeline.left_out:,} were not")
    return tuple(notes)


def _nameless(label: str, known: dict[str, Any]) -> str:
    """What is said of a device without a name, so that a reader may know it."""
    sizes = [
        f"{value:,} {what}"
        for what, value in (("bytes of memory", known.get("totalGlobalMem")), ("multiprocessors", known.get("numSms")))
        if type(value) is int and 0 < value < _LAST
    ]
    return f"{label} has no name in the trace" + (f"; it has {' and '.join(sizes)}" if sizes else "")


def _external(args: Args) -> int:
    return _number(args.external if args.external is not None else args.external_old)


def _number(one: int | None) -> int:
    """An identifier that fits a column; -1 for none."""
    return one & _LAST if one is not None else -1


FORMAT = Format(name=NAME, words="a trace of PyTorch's profiler (vLLM's, SGLang's)", looks=looks, read=read)
