"""Products by format: which shapes are timed, and which formats have units of their own."""

from __future__ import annotations

import pytest

from rooflight.probe import device as devices
from rooflight.probe import peaks
from rooflight.probe.rounds import Cell, Timed

CPU = devices.Device(kind="cpu", name="this")


def product(format, rate, by="torch, 1 x 1 x 1"):
    return Timed(cell=Cell(name=f"gemm-{format}", by=by, flop=100.0, format=format), seconds=(100 / rate,) * 5)


def test_the_best_shape_is_the_peak():
    (rate,) = peaks.peak_rates([product("fp32", 80, "small"), product("fp32", 90, "large")])
    assert (rate.what, rate.name, rate.by, rate.n) == ("peak", "fp32", "large", 5)
    assert rate.median == pytest.approx(90)


def test_a_format_slower_than_fp32_takes_a_detour():
    found = [product("fp32", 100), product("bf16", 300), product("fp16", 2)]
    rates = peaks.peak_rates(found)
    assert [one.name for one in rates] == ["fp32", "bf16"]
    assert peaks.detours(found, rates) == {"fp16": pytest.approx(2)}


def test_a_bad_moment_hides_no_format():
    busy = Timed(cell=product("bf16", 1).cell, seconds=(100 / 90, 100 / 40, 100 / 30, 100 / 20, 100 / 20))
    rates = peaks.peak_rates([product("fp32", 100), busy])
    assert {one.name: one.median for one in rates} == {"fp32": pytest.approx(100), "bf16": pytest.approx(30)}


def test_flop_are_two_a_multiply_and_add():
    cell = peaks.numpy_cell((8, 16, 32))
    assert cell.flop == 2 * 8 * 16 * 32
    assert cell.shape == {"tokens": 8, "inputs": 16, "outputs": 32}


def test_shapes_that_would_take_the_budget_alone_are_left_out(tiny, monkeypatch):
    shapes = ((64, 64, 64), (1 << 15, 1 << 15, 1 << 15))
    found = peaks._searched(lambda shape: [peaks.numpy_cell(shape)], shapes, 0.05, lambda _: None)
    assert {one.cell.by for one in found} == {"NumPy, 64 x 64 x 64"}


def test_a_shape_that_finds_no_memory_ends_the_search(tiny):
    """Of three the second finds none: the first is timed; where the first finds none, the format is not done."""

    def full():
        raise RuntimeError("out of memory")

    def at(shape):
        cell = peaks.numpy_cell(shape)
        return [Cell(name=cell.name, by=cell.by, run=full) if shape[0] > limit else cell]

    shapes, limit = ((16, 16, 16), (32, 32, 32), (8, 8, 8)), 16
    found = peaks._searched(at, shapes, 0.05, lambda _: None)
    assert {one.cell.by for one in found} == {"NumPy, 16 x 16 x 16"}
    limit = 0
    assert peaks._searched(at, shapes, 0.05, lambda _: None) == ()
    assert [part for part, _ in peaks.untimed(("fp32", "int8"), found)] == ["arithmetic in int8"]


def test_both_libraries_are_tried_on_a_processor(tiny):
    pytest.importorskip("torch", reason="needs the extra `measure`")
    found = peaks.measure(CPU, ("fp32",), 0.2, lambda _: None, torch=True)
    assert {one.cell.by.partition(",")[0] for one in found} <= {"torch", "NumPy"}
    assert found
    assert all(one.cell.format == "fp32" for one in found)


def test_a_card_multiplies_in_all_its_formats(card, tiny):
    shares = []
    found = peaks.measure(card, ("fp32", "tf32", "bf16"), 0.3, shares.append, torch=True)
    assert {one.cell.format for one in found} == {"fp32", "tf32", "bf16"}
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
