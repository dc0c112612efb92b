"""A measured machine as a page, a document, rows, and an accelerator's file."""

from __future__ import annotations

import pytest

import rooflight
from machines import RATES, machine, rate
from rooflight.catalog.accelerators import load
from rooflight.show import measure
from rooflight.show.blocks import Bullets, Table


def tables(found):
    return {one.title: one for one in measure.blocks(found) if isinstance(one, Table)}


def test_the_document_has_medians_by_name():
    found = machine().to_dict()
    assert found["schema"] == "rooflight.measure/1"
    assert found["memory_bytes_per_s"] == 50e9
    assert found["levels"] == (
        {"name": "L1", "bytes": 65536, "bytes_per_s": 800e9}, {"name": "L3", "bytes": 2**24, "bytes_per_s": 200e9},
    )  # fmt: skip
    assert found["peak_flop_per_s"] == {"fp32": 200e9, "bf16": 500e9}
    assert found["ridge_flop_per_byte"] == {"fp32": 200 / 50, "bf16": 500 / 50}
    assert found["launch_s"] == {"eager": 2e-6}
    assert found["link_bytes_per_s"] is None
    assert found["datasheet"] is None
    assert len(found["rates"]) == len(RATES)
    assert found["samples"][0]["schema"] == "rooflight.sample/1"


def test_the_faster_of_two_kernels_stands_for_a_way_to_the_host():
    found = machine((rate("host-link", "up", 50e9, by="pinned"), rate("host-link", "up", 9e9, by="pageable")))
    assert found.to_dict()["host_link_bytes_per_s"] == {"up": 50e9}


def test_rows_are_rates():
    rows = machine().records()
    assert [(row["what"], row["name"], row["median"]) for row in rows] == [
        (one.what, one.name, one.median) for one in RATES
    ]


def test_the_page_says_what_was_measured_by_which_kernel():
    found = tables(machine())
    assert [row[0] for row in found["Memory and caches:"].rows] == [
        "L1, to 65.5 kB", "L3, to 16.8 MB", "memory", "memory",
    ]  # fmt: skip
    assert found["Arithmetic:"].rows[1] == (
        "bf16", "500 GFLOP/s", "450 GFLOP/s to 550 GFLOP/s", "600 GFLOP/s", "10", "a kernel",
    )  # fmt: skip
    assert found["Calls and links:"].rows[0][:2] == ("a call", "2 us")
    for one in found.values():
        assert all(len(row) == len(one.heads) for row in one.rows)


def test_the_datasheet_stands_beside():
    card = rooflight.accelerator("h200-sxm")
    found = machine(
        (rate("memory", "read", card.memory_bytes_per_s / 2), rate("peak", "bf16", card.peak_flop_per_s["bf16"] / 4),
         rate("peak", "tf32", 1e12)),
        datasheet=card,
    )  # fmt: skip
    shown = tables(found)
    assert "of h200-sxm's\ndatasheet" in shown["Arithmetic:"].heads
    assert shown["Memory and caches:"].rows[0][-2] == "50 %"
    assert shown["Arithmetic:"].rows[0][-2] == "25 %"
    assert found.to_dict()["datasheet"]["id"] == "h200-sxm"
    for one in shown.values():
        assert all(len(row) == len(one.heads) for row in one.rows)


def test_what_was_not_measured_has_no_table():
    found = machine((), complete=False, undone=(("caches", "interrupted"),))
    assert tables(found) == {}
    assert isinstance(measure.blocks(found)[-1], Bullets)


def test_the_file_is_an_accelerator_again(tmp_path):
    found = machine()
    path = tmp_path / "this.toml"
    path.write_text(measure.machine_file(found))
    card, count = load(str(path))
    assert count == 1
    assert card.measured == found.measured
    assert (card.id, card.name, card.kind) == (found.id, found.name, found.kind)
    assert card.memory_bytes_per_s == 50e9
    # the best run, and as much again as the fast ones (1.1) lay above the median, of the faster kernel
    assert card.fast_memory_bytes_per_s == pytest.approx(1.2 * 50e9 * (1 + 0.1 / 1.1))
    assert card.peak_flop_per_s == {"fp32": 200e9, "bf16": 500e9}
    assert (card.memory_bytes, card.compute_units, card.last_level_cache_bytes) == (2**34, 2, 2**25)


def test_an_answer_can_be_asked_of_it(tmp_path):
    path = tmp_path / "this.toml"
    path.write_text(measure.machine_file(machine()))
    answer = rooflight.analyze("llama-3.2-1b", str(path))
    assert answer.phases["decode"].bound == "memory"
