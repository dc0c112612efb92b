"""A card that is none: torch's own on the CPU under a card's name, with events, streams and graphs that keep count."""

from __future__ import annotations

import contextlib
import time
from types import SimpleNamespace

import pytest

from rooflight.probe import device as devices
from rooflight.probe import machine, memory, peaks, timing
from rooflight.values.tables import Grid, Tables

MIB = 2**20
GRID = Grid(names=("tokens", "inputs", "outputs"), points=((1,), (1,), (1,)), seconds=(1.0,))


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = time.perf_counter()

    def elapsed_time(self, other):
        return max(other.at - self.at, 1e-9) * 1e3  # torch's are in milliseconds


class Graph:
    """What is called while it captures runs then; a replay runs nothing more, in no time."""

    replays = 0

    def replay(self):
        Graph.replays += 1


class Torch:
    """The module, with one card of 1 GiB."""

    def __init__(self, real, cards):
        self._real, self.version = real, SimpleNamespace(cuda="13.0", hip=None)
        properties = SimpleNamespace(
            total_memory=1024 * MIB, L2_cache_size=1 * MIB, multi_processor_count=7, uuid="1", pci_bus_id=1,
            pci_domain_id=0, pci_device_id=0, gcnArchName="",
        )  # fmt: skip
        self.cuda = SimpleNamespace(
            is_available=lambda: True, device_count=lambda: cards, get_device_name=lambda i: "NVIDIA Fake",
            get_device_properties=lambda i: properties, get_device_capability=lambda i: (9, 0),
            synchronize=lambda i=0: None, device=lambda i: contextlib.nullcontext(), Event=Event,
            Stream=lambda i: SimpleNamespace(wait_stream=lambda other: None),
            current_stream=lambda: SimpleNamespace(wait_stream=lambda other: None),
            stream=lambda one: contextlib.nullcontext(), CUDAGraph=Graph, graph=lambda one: contextlib.nullcontext(),
            mem_get_info=lambda i: (512 * MIB, 1024 * MIB),
        )  # fmt: skip

    def __getattr__(self, name):
        return getattr(self._real, name)

    def device(self, name):
        return self._real.device("cpu")

    def ones(self, *shape, pin_memory=False, **rest):
        return self._real.ones(*shape, **rest)


@pytest.fixture
def card(monkeypatch):
    """A machine with one card, as devices.device() finds it."""
    real = pytest.importorskip("torch", reason="needs the extra `measure`")
    return placed(monkeypatch, Torch(real, 1))


def placed(monkeypatch, fake):
    for module in (devices, timing):
        monkeypatch.setattr(module, "torch_here", lambda: fake)
    return devices.device()


@pytest.fixture
def tiny(monkeypatch):
    """Parts that are over in a blink: two small caches, four megabytes of memory, small products."""
    plan = machine.Plan(levels_s=0.05, memory_s=0.05, peaks_s=0.2, launch_s=0.01, link_s=0.02, tables_s=1, an_octave=1)
    for name in ("FULL", "QUICK"):
        monkeypatch.setattr(machine, name, plan)
    monkeypatch.setattr(memory, "cache_levels", lambda: (("L1", 64 * 1024.0), ("L2", 1.0 * MIB)))
    monkeypatch.setattr(memory, "past_caches", lambda processors, most, past: (most, past))
    monkeypatch.setattr(memory, "memory_set_bytes", lambda device: (4.0 * MIB, True))
    for name in ("_CPU_SHAPES", "_CARD_SHAPES"):
        monkeypatch.setattr(peaks, name, ((64, 64, 64), (128, 128, 128)))
    for module in (memory, peaks):
        monkeypatch.setattr(module, "_TURN_S", 0.0, raising=False)
    monkeypatch.setattr(machine, "_TURN_S", 0.0)
    monkeypatch.setattr(machine, "tables", lambda device, formats, **_: Tables(gemm=dict.fromkeys(formats, GRID)))
    return plan
