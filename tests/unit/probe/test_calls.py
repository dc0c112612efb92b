"""Calls, copies and sums over devices."""

from __future__ import annotations

import pytest

from rooflight.probe import calls
from rooflight.probe import device as devices

CPU = devices.Device(kind="cpu", name="this")


def test_a_processor_has_calls_and_no_graphs():
    pytest.importorskip("torch", reason="needs the extra `measure`")
    rates = calls.launch_rates(calls.launches(CPU, 0.01))
    assert [(one.what, one.name) for one in rates] == [("launch", "eager")]
    assert rates[0].best <= rates[0].low <= rates[0].median <= rates[0].high


def test_a_card_has_calls_in_a_graph_too(card):
    assert [one.name for one in calls.launch_rates(calls.launches(card, 0.01))] == ["eager", "graph"]


def test_the_host_is_copied_to_and_from_by_both_kinds_of_memory(card, monkeypatch):
    monkeypatch.setattr(calls, "_LINK_BYTES", 2.0**20)
    cells = calls.host_link_cells(card, 0.0)
    assert [(cell.name, cell.by.split(", ")[1]) for cell in cells] == [
        ("up", "pinned memory"), ("down", "pinned memory"), ("up", "pageable memory"), ("down", "pageable memory"),
    ]  # fmt: skip
    assert all(cell.run() for cell in cells)


def test_what_shares_the_hosts_memory_has_no_link_to_it():
    assert calls.host_link_cells(CPU, 0.0) == ()


@pytest.mark.slow
def test_a_sum_over_two_devices():
    """Two processes of this machine: each sends 2 (n - 1) / n of the bytes, here as many as there are."""
    torch = pytest.importorskip("torch", reason="needs the extra `measure`")
    if not torch.distributed.is_available():
        pytest.skip("this torch was built without torch.distributed")
    found = calls.all_reduce("cpu", 2, bytes=2.0**16)
    assert found.cell.moved_bytes == 2**16
    assert len(found.seconds) == 20
    (rate,) = calls.link_rates("link", (found,))
    assert (rate.what, rate.name, rate.by) == ("link", "all-reduce", "torch all-reduce of 2")
