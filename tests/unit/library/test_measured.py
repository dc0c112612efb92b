"""A machine beside the datasheet of the same device."""

from __future__ import annotations

import pytest

import rooflight
from machines import machine
from rooflight.library import measured
from rooflight.library.measured import datasheet
from rooflight.probe.machine import Interrupted


def card(name, memory_bytes=None, **rest):
    return machine(device=name, kind="gpu", family="default", memory_bytes=memory_bytes, compute_units=None, **rest)


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("NVIDIA H200", "h200-sxm"),
        ("NVIDIA H200 NVL", "h200-nvl"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("NVIDIA B300 SXM6 AC", "b300"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("Tesla T4", "t4"),
        ("AMD Instinct MI300X", "mi300x"),
        ("AMD Instinct MI325X OAM", "mi325x"),
        ("Intel(R) Arc(TM) B580 Graphics", "arc-b580"),
        ("Intel(R) Data Center GPU Max 1550", "max-1550"),
        ("Apple M2 Max", "apple-m2-max"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None),
        ("AMD EPYC", None),
        ("Some card of 2031", None),
        ("", None),
    ],
)
def test_drivers_names_find_the_catalogs_entry(name, id):
    found = datasheet(card(name))
    assert (None if found is None else found.id) == id


def test_a_card_with_other_memory_is_another_card():
    h200 = rooflight.accelerator("h200-sxm").memory_bytes
    assert datasheet(card("NVIDIA H200", 0.97 * h200)).id == "h200-sxm"
    assert datasheet(card("NVIDIA H200", h200 / 7)) is None


@pytest.mark.parametrize(("cores", "id"), [(128.0, "epyc-9755"), (2.0, None), (None, None)])
def test_a_share_of_a_socket_has_no_datasheet(cores, id):
    found = datasheet(machine(device="AMD EPYC 9755 128-Core Processor", compute_units=cores))
    assert (None if found is None else found.id) == id


@pytest.mark.parametrize("name", ["Intel(R) Xeon(R) 6980P", "INTEL(R) XEON(R) PLATINUM 6980P CPU @ 2.00GHz"])
def test_xeons_go_by_their_number(name):
    assert datasheet(machine(device=name, compute_units=128.0)).id == "xeon-6980p"


def test_a_number_with_a_sign_behind_it_is_another_socket():
    assert datasheet(machine(device="Intel(R) Xeon(R) Platinum 8480+", compute_units=56.0)).id == "xeon-8480plus"


def test_what_was_measured_comes_with_its_datasheet(monkeypatch):
    asked = {}

    def measure(device, **options):
        asked.update(options, device=device)
        return card("NVIDIA H200")

    monkeypatch.setattr("rooflight.probe.machine.measure", measure)
    found = rooflight.measure("cuda", quick=True)
    assert (found.datasheet.id, found.measured.datasheet, found.family) == ("h200-sxm", "h200-sxm", "Hopper")
    assert (asked["device"], asked["quick"], asked["version"]) == ("cuda", True, rooflight.__version__)


def test_an_interrupt_has_what_was_done(monkeypatch):
    def measure(*_, **__):
        raise Interrupted(card("NVIDIA H200"))

    monkeypatch.setattr("rooflight.probe.machine.measure", measure)
    with pytest.raises(KeyboardInterrupt) as end:
        measured.measure()
    assert end.value.found.datasheet.id == "h200-sxm"
