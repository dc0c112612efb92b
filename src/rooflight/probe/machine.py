"""A machine measured part by part."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from rooflight.errors import MissingExtra
from rooflight.probe import calls, host, loops, memory, peaks
from rooflight.probe import device as devices
from rooflight.probe.device import Device
from rooflight.probe.rounds import Timed, in_turns, sample
from rooflight.probe.tables import tables
from rooflight.probe.timing import now
from rooflight.probe.workers import Workers
from rooflight.values.machine import Machine
from rooflight.values.measured import Measured, Rate
from rooflight.values.sample import Kind, Origin
from rooflight.values.tables import Tables

# Called with the part that is under way and the share of it that is done.
Progress = Callable[[str, float], None]
Tick = Callable[[float], None]
_TURN_S = 0.02
_NO_TORCH = "torch is not installed: pip install 'rooflight[measure]'"
# The format that models are published in.
_CHECKPOINTS = "bf16"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds for each part, and how many working sets an octave."""

    levels_s: float
    memory_s: float
    peaks_s: float
    launch_s: float
    link_s: float
    tables_s: float
    an_octave: int


FULL = Plan(levels_s=20, memory_s=15, peaks_s=40, launch_s=1, link_s=6, tables_s=65, an_octave=2)
QUICK = Plan(levels_s=2.5, memory_s=2, peaks_s=4, launch_s=0.3, link_s=1.5, tables_s=0, an_octave=1)


class Interrupted(KeyboardInterrupt):
    """Somebody pressed Ctrl-C; found: what was done until then."""

    def __init__(self, found: Machine) -> None:
        self.found = found
        super().__init__()


class Measuring:
    """One measurement under way: what has been found so far, and the parts that are left."""

    def __init__(self, device: Device, *, torch: bool, threads: int | None, plan: Plan, progress: Progress) -> None:
        self.device, self.torch, self.threads, self.plan, self.progress = device, torch, threads, plan, progress
        self.most, self.past = 0.0, False  # what a pass over memory goes over, and whether that is past the caches
        self.rates: list[Rate] = []
        self.timed: list[tuple[Kind, Timed]] = []
        self.detours: dict[str, float] = {}
        self.undone: list[tuple[str, str]] = []
        self.tables: Tables | None = None

    def parts(self) -> dict[str, Callable[[Tick], None]]:
        """By name, in the order in which they are done."""
        sizes = {"kernels by size": self._tables} if self.torch and self.plan.tables_s else {}
        if self.device.kind == "cpu":
            return {
                "caches": self._loops, "memory": self._memory, "arithmetic": self._peaks,
                "cost of a call": self._launch, **sizes,
            }  # fmt: skip
        return {
            "cost of a call": self._launch, "caches": self._card_caches, "memory": self._memory,
            "arithmetic": self._peaks, "host link": self._host_link, "all-reduce": self._all_reduce,
            **sizes,
        }  # fmt: skip

    def run(self) -> None:
        """Every part. Raises KeyboardInterrupt with the parts that are left under `undone`."""
        parts = self.parts()
        left = list(parts)
        try:
            for name, part in parts.items():
                self.progress(name, 0.0)
                part(lambda share, name=name: self.progress(name, share))  # type: ignore[misc]
                self.progress(name, 1.0)
                left.remove(name)
        except KeyboardInterrupt:
            self.undone += [(name, "interrupted") for name in left]
            raise

    def _loops(self, tick: Tick) -> None:
        """Loops over the working sets of all threads; the largest is past the caches and counts as memory."""
        processors = host.allowed()[: self.threads]
        self.most, self.past = memory.past_caches(processors, *memory.memory_set_bytes(self.device))
        sizes = memory.loop_sizes(len(processors), self.most, self.plan.an_octave)
        with Workers(processors, self.most) as workers:
            found = in_turns(memory.cells_of_loops(workers, sizes), self.plan.levels_s, tick)
        self.rates += memory.level_rates(found, memory.cache_levels(), self.past)
        self._keep("bandwidth", found)
        if self.past:
            self.rates += memory.memory_rates([one for one in found if one.cell.bytes == sizes[-1]])

    def _card_caches(self, tick: Tick) -> None:
        self.most, self.past = memory.memory_set_bytes(self.device)
        call_s = min(one.median for one in self.rates if one.what == "launch")
        with devices.current(self.device), devices.torch_here().no_grad():
            cells = memory.card_cells(memory.Pool(self.device, self.most), call_s, self.plan.an_octave)
            found = in_turns(cells, self.plan.levels_s, tick)
        cache = memory.cache_bytes(self.device)
        self.rates += memory.level_rates(found, () if cache is None else (("L2", cache),), self.past)
        self._keep("bandwidth", found)

    def _memory(self, tick: Tick) -> None:
        if not self.past:
            self.undone.append(("memory", "too little of it is free to go past the caches"))
        if not self.past or not self.torch:
            return
        pool = memory.Pool(self.device, self.most)
        found = in_turns(memory.torch_cells(pool, _TURN_S), self.plan.memory_s, tick)
        self.rates += memory.memory_rates(found)
        self._keep("bandwidth", found)

    def _peaks(self, tick: Tick) -> None:
        formats: Sequence[str] = devices.formats(self.device) if self.torch else ("fp32",)
        found = peaks.measure(self.device, formats, self.plan.peaks_s, tick, torch=self.torch)
        rates = peaks.peak_rates(found)
        self.rates += rates
        self.detours = peaks.detours(found, rates)
        self.undone += peaks.untimed(formats, found)
        self._keep("kernel", found)

    def _launch(self, _: Tick) -> None:
        if self.torch:
            found = calls.launches(self.device, self.plan.launch_s)
            self.rates += calls.launch_rates(found)
            self._keep("kernel", found)

    def _host_link(self, tick: Tick) -> None:
        found = in_turns(calls.host_link_cells(self.device, _TURN_S), self.plan.link_s, tick)
        self.rates += calls.link_rates("host-link", found)
        self._keep("bandwidth", found)

    def _all_reduce(self, _: Tick) -> None:
        count = sum(one.kind == self.device.kind for one in devices.devices())
        if count < 2:
            return
        try:
            found = (calls.all_reduce(self.device.kind, count),)
        except RuntimeError as error:
            self.undone.append(("all-reduce", str(error)))
            return
        self.rates += calls.link_rates("link", found)
        self._keep("collective", found)

    def _tables(self, tick: Tick) -> None:
        peaks = [rate.name for rate in self.rates if rate.what == "peak"]
        # what checkpoints come in is run in it, by a detour too
        formats = [*peaks, *(name for name in self.detours if name == _CHECKPOINTS)]
        cache = memory.cache_bytes(self.device) or memory.memory_set_bytes(self.device)[0] / memory.PAST_CACHE
        self.tables = tables(
            self.device, formats, cache_bytes=cache, free_bytes=memory.free_bytes(self.device),
            budget_s=self.plan.tables_s, tick=tick,
        )  # fmt: skip

    def _keep(self, kind: Kind, found: Sequence[Timed]) -> None:
        self.timed += [(kind, one) for one in found]


def measure(
    name: str | None = None, *, threads: int | None = None, quick: bool = False, command: str, version: str,
    progress: Progress = lambda _name, _share: None,
) -> Machine:  # fmt: skip
    """This machine's rates. name: of the device (None: the best there is); without torch the CPU through NumPy.

    command and version (of rooflight) are kept with what was found. Raises BadInput for a device that is not there, or
    more threads than processors, MissingExtra for another device than the CPU without torch, Interrupted on Ctrl-C.
    """
    device, torch = _device(name)
    with devices.threads_of(device, threads) as count:
        loops.patterns()  # compiled before anything is timed
        one = Measuring(device, torch=torch, threads=count, plan=QUICK if quick else FULL, progress=progress)
        if not torch:
            one.undone.append(("formats but fp32, and the cost of a call", _NO_TORCH))
        begin = _Begin(Origin(command=command, tool="rooflight", version=version))
        try:
            one.run()
        except KeyboardInterrupt:
            raise Interrupted(_machine(one, begin, complete=False)) from None
        return _machine(one, begin, complete=not quick and not one.undone)


class _Begin:
    """What is known of a measurement before anything is timed."""

    def __init__(self, source: Origin) -> None:
        self.source = source
        self.date = now()
        self.busy = host.Busy()


def _device(name: str | None) -> tuple[Device, bool]:
    """The device, and whether torch is there to compute on it."""
    try:
        return devices.device(name), True
    except MissingExtra:
        if name not in (None, "cpu"):
            raise
        return devices.cpu(), False


def _machine(one: Measuring, begin: _Begin, *, complete: bool) -> Machine:
    device = one.device
    state = devices.state(device, one.threads)
    samples = (
        sample(kind, timed, device=device.name, source=begin.source, machine=state, start=begin.date)
        for kind, timed in one.timed
    )
    measured = Measured(
        device=device.name, command=begin.source.command or "", date=begin.date, complete=complete, state=state,
        rates=tuple(one.rates), tables=one.tables,
    )  # fmt: skip
    others, stolen = begin.busy.meanwhile()
    return Machine(
        id=f"{re.sub('[^a-z0-9]+', '-', device.name.lower()).strip('-') or 'machine'}-measured",
        name=_name(one), vendor=_vendor(device.name), family="CPU" if device.kind == "cpu" else "default",
        kind="cpu" if device.kind == "cpu" else "gpu", memory_bytes=devices.memory_bytes(device),
        compute_units=_units(one), last_level_cache_bytes=memory.cache_bytes(device), measured=measured,
        samples=tuple(samples), detours=one.detours, undone=tuple(one.undone), others=others, stolen=stolen,
    )  # fmt: skip


def _name(one: Measuring) -> str:
    if one.threads is None:
        return f"{one.device.name}, as measured"
    return f"{one.device.name}, {one.threads} thread{'s' * (one.threads != 1)}, as measured"


def _vendor(name: str) -> str:
    known = ("NVIDIA", "AMD", "Intel", "Apple", "ARM", "Qualcomm")
    return next((one for one in known if one.lower() in name.lower()), name.split()[0])


def _units(one: Measuring) -> float | None:
    if one.device.kind == "cpu":
        return one.threads
    if one.device.kind == "mps":
        return None
    said = getattr(devices.torch_here(), one.device.kind).get_device_properties(one.device.index)
    count = getattr(said, "multi_processor_count", None) or getattr(said, "gpu_subslice_count", None)
    return None if count is None else float(count)
