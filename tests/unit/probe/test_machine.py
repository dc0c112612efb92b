"""A whole machine, in parts that are over in a blink."""

from __future__ import annotations

import sys

import msgspec
import pytest

from rooflight.errors import BadInput, MissingExtra
from rooflight.probe import device as devices
from rooflight.probe import machine
from rooflight.probe.rounds import Cell, Timed
from rooflight.values.sample import Sample


def measured(device, **options):
    return machine.measure(device, command="rooflight measure", version="1", **options)


def together(outcome):
    """A sum over devices that takes 2 s for 100 bytes, or comes to nothing."""

    def all_reduce(kind, count):
        assert (kind, count) == ("cuda", 2)
        if outcome == "did not meet":
            raise RuntimeError("they did not meet")
        cell = Cell(name="all-reduce", by="torch all-reduce of 2", bytes=100.0, moved_bytes=100.0)
        return Timed(cell=cell, seconds=(2.0, 2.0))

    return all_reduce


def test_a_processor_part_by_part(tiny):
    pytest.importorskip("torch", reason="needs the extra `measure`")
    parts = []
    found = measured("cpu", threads=1, progress=lambda name, _: parts.append(name))
    assert list(dict.fromkeys(parts)) == ["caches", "memory", "arithmetic", "cost of a call", "kernels by size"]
    rates = found.measured.rates
    assert {one.what for one in rates} == {"level", "memory", "peak", "launch"}
    assert found.measured.complete
    assert found.undone == ()
    assert set(found.measured.tables.gemm) == {"bf16", *(one.name for one in found.measured.of("peak"))}
    assert (found.kind, found.family, found.compute_units) == ("cpu", "CPU", 1)
    assert found.measured.state.threads == 1
    assert all(one.low <= one.median <= one.high for one in rates)


def test_every_figure_has_its_samples(tiny):
    pytest.importorskip("torch", reason="needs the extra `measure`")
    found = measured("cpu", threads=1)
    kinds = {one.kind for one in found.samples}
    assert kinds == {"bandwidth", "kernel"}
    for one in found.samples:
        assert one.device == found.measured.device
        assert one.source.command == "rooflight measure"
        assert one.start == found.measured.date
        assert one.machine == found.measured.state
        assert msgspec.json.decode(msgspec.json.encode(one), type=Sample) == one


def test_a_quick_look_is_not_complete(tiny):
    pytest.importorskip("torch", reason="needs the extra `measure`")
    assert not measured("cpu", threads=1, quick=True).measured.complete


def test_a_card_part_by_part(card, tiny):
    found = measured(None)
    rates = found.measured.rates
    assert {one.what for one in rates} >= {"memory", "peak", "launch", "host-link"}
    assert {one.name for one in rates if one.what == "launch"} == {"eager", "graph"}
    assert (found.kind, found.vendor, found.compute_units) == ("gpu", "NVIDIA", 7)
    assert found.last_level_cache_bytes == 2**20
    assert found.measured.state.threads is None
    assert found.name == "NVIDIA Fake, as measured"


@pytest.mark.parametrize("outcome", ["met", "did not meet"])
def test_several_cards_are_summed_over(card, tiny, monkeypatch, outcome):
    two = (card, msgspec.structs.replace(card, index=1))
    monkeypatch.setattr(devices, "devices", lambda: two)
    monkeypatch.setattr(machine.calls, "all_reduce", together(outcome))
    found = measured(None)
    if outcome == "met":
        (link,) = found.measured.of("link")
        assert link.median == pytest.approx(50.0)
        assert [one.link_bytes for one in found.samples if one.kind == "collective"] == [100.0]
    else:
        assert found.undone == (("all-reduce", "they did not meet"),)
        assert not found.measured.complete


def test_an_interrupt_keeps_what_is_done(tiny, monkeypatch):
    pytest.importorskip("torch", reason="needs the extra `measure`")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(machine.peaks, "measure", interrupted)
    with pytest.raises(machine.Interrupted) as end:
        measured("cpu", threads=1)
    found = end.value.found
    assert {one.what for one in found.measured.rates} == {"level", "memory"}
    assert found.undone == tuple((part, "interrupted") for part in ("arithmetic", "cost of a call", "kernels by size"))
    assert not found.measured.complete


@pytest.mark.parametrize("slow", [1.0, 1e3])
def test_every_format_is_a_peak_a_detour_or_not_done(tiny, monkeypatch, slow):
    """Of the device's formats fp16 is never timed, and int8 is as fast as the others or a thousand times slower."""
    formats = ("fp32", "bf16", "fp16", "int8")

    def timed(format):
        cell = Cell(name=f"gemm-{format}", by="torch, 1 x 1 x 1", flop=100.0, format=format)
        return Timed(cell=cell, seconds=(slow if format == "int8" else 1.0,) * 3)

    pytest.importorskip("torch", reason="needs the extra `measure`")
    monkeypatch.setattr(devices, "formats", lambda device: formats)
    found_all = tuple(timed(one) for one in formats if one != "fp16")
    monkeypatch.setattr(machine.peaks, "measure", lambda *_, **__: found_all)
    found = measured("cpu", threads=1)
    peaks = {one.name for one in found.measured.of("peak")}
    assert peaks == {"fp32", "bf16"} | ({"int8"} if slow == 1.0 else set())
    assert set(found.detours) == (set() if slow == 1.0 else {"int8"})
    assert [part for part, _ in found.undone] == ["arithmetic in fp16"]
    assert not found.measured.complete


def test_without_torch_numpy_measures_what_it_can(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    found = measured(None, threads=1)
    assert {one.what for one in found.measured.rates} == {"level", "memory", "peak"}
    assert [one.name for one in found.measured.of("peak")] == ["fp32"]
    assert not found.measured.complete
    assert "pip install 'rooflight[measure]'" in found.undone[0][1]
    with pytest.raises(MissingExtra):
        measured("cuda")


def test_memory_that_cannot_be_gone_past_is_not_claimed(tiny, monkeypatch):
    """Too little is free: what was gone over fits in a cache, and no rate is called memory's."""
    pytest.importorskip("torch", reason="needs the extra `measure`")
    monkeypatch.setattr(machine.memory, "memory_set_bytes", lambda device: (2.0**20, False))
    found = measured("cpu", threads=1)
    assert found.measured.of("memory") == ()
    assert found.memory is None
    assert found.ridges == {}
    assert found.undone[0][0] == "memory"


def test_threads_of_a_card_are_refused(card):
    with pytest.raises(BadInput, match="threads are a CPU's"):
        measured("cuda", threads=2)


@pytest.mark.parametrize(
    ("name", "vendor"),
    [("NVIDIA H200", "NVIDIA"), ("AMD EPYC 9755 128-Core Processor", "AMD"), ("Intel(R) Xeon(R)", "Intel"),
     ("Tesla T4", "Tesla"), ("aarch64", "aarch64")],
)  # fmt: skip
def test_vendors(name, vendor):
    assert machine._vendor(name) == vendor


def test_devices_are_counted_by_kind(card):
    assert [one.kind for one in devices.devices()] == ["cuda", "cpu"]
