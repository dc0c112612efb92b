"""What is gone over, and what counts as memory."""

from __future__ import annotations

import pytest

from rooflight.probe import device as devices
from rooflight.probe import host, loops, memory
from rooflight.probe.rounds import Cell, Timed
from rooflight.probe.workers import Workers

KIB, MIB, GIB = 2**10, 2**20, 2**30
CPU = devices.Device(kind="cpu", name="this")


def seen(size, rate, name="read"):
    """A pass over so many bytes at such a rate, three times."""
    cell = Cell(name=name, by="loop", bytes=size, moved_bytes=size)
    return Timed(cell=cell, seconds=(size / rate,) * 3)


def test_a_pass_moves_every_array_once():
    with Workers((0, 0), 1 * MIB) as workers:
        for pattern in loops.patterns():
            # two threads' pieces of 96 KiB a side, whole lines of 64 bytes in each array
            lines = 192 * KIB // 2 // pattern.arrays // 64
            assert workers.moved_bytes(pattern, 192 * KIB) == 2 * pattern.arrays * lines * 64
            assert workers.seconds(pattern, 192 * KIB, 2) > 0


def test_arrays_of_a_thread_begin_at_a_line_and_do_not_overlap():
    with Workers((0,), 1 * MIB) as workers:
        views = workers.views(0, 3, 1 * MIB)
        starts = [view.ctypes.data for view in views]
        assert all(start % 64 == 0 for start in starts)
        assert all(b - a > view.nbytes for a, b, view in zip(starts, starts[1:], views, strict=False))
        assert len({start % 4096 for start in starts}) == 3  # no two at the same place of a page


def test_threads_end_with_their_work():
    import threading

    before = threading.active_count()
    with Workers((0, 0), 64 * KIB):
        assert threading.active_count() == before + 2
    assert threading.active_count() == before


def test_loops_do_what_their_names_say():
    np = pytest.importorskip("numpy")
    a, b, c = (np.arange(64, dtype=np.float32) * factor for factor in (1, 2, 4))
    found = {one.name: one for one in loops.patterns()}
    found["copy"].loop((a, b), 1)
    assert a.tolist() == b.tolist()
    if "triad" in found:
        found["triad"].loop((a, b, c), 2)
        assert a.tolist() == (b + 0.5 * c).tolist()


def test_without_numba_numpy_goes_over_memory(monkeypatch):
    def missing():
        raise ImportError

    monkeypatch.setattr(loops, "_compiled", missing)
    loops.patterns.cache_clear()
    try:
        assert [(one.name, one.compiled) for one in loops.patterns()] == [("read", False), ("copy", False)]
        with Workers((0,), 16 * MIB) as workers:
            cells = memory.cells_of_loops(workers, (256.0, 16.0 * MIB))
        # a pass over 256 bytes is nothing beside its call, one over 16 MiB is more than twenty calls
        assert {cell.bytes for cell in cells} == {16 * MIB}
    finally:
        loops.patterns.cache_clear()


def test_sizes_are_even_in_logarithms():
    assert memory.sizes_between(1024, 8192, 1) == (1024, 2048, 4096, 8192)
    assert len(memory.sizes_between(1024, 8192, 2)) == 7
    assert memory.loop_sizes(2, 16 * KIB, 1) == (8 * KIB, 16 * KIB)


@pytest.mark.parametrize(
    ("levels", "free", "expected"),
    [
        ((("L1", 96 * KIB), ("L3", 32 * MIB)), 16 * GIB, (128 * MIB, True)),  # four times the last
        ((("L3", 4 * MIB),), 16 * GIB, (64 * MIB, True)),  # a small cache: never less than this
        ((("L2", 16 * MIB),), 16 * GIB, (1 * GIB, True)),  # a system cache behind an L2 that nothing tells of
        ((), 16 * GIB, (1 * GIB, True)),
        ((("L3", 256 * MIB),), 2 * GIB, (512 * MIB, False)),  # a quarter of what is free is not past it
    ],
)
def test_memory_is_what_is_past_the_caches(monkeypatch, levels, free, expected):
    monkeypatch.setattr(memory, "cache_levels", lambda: levels)
    monkeypatch.setattr(host, "free_bytes", lambda: float(free))
    assert memory.memory_set_bytes(CPU) == expected


@pytest.mark.parametrize(("rates", "most"), [((100, 100), 64), ((100, 20, 19), 256)])
def test_a_cache_that_nothing_tells_of_is_found(monkeypatch, rates, most):
    """Rates of 64, 256, 1024 MiB: where four times as much is slower, the smaller set was in a cache."""
    by_size = {64 * MIB * 4**i: rate for i, rate in enumerate(rates)}

    class None_:
        def __init__(self, *_): ...
        def __enter__(self): ...
        def __exit__(self, *_): ...

    monkeypatch.setattr(memory, "Workers", None_)
    monkeypatch.setattr(host, "free_bytes", lambda: float(64 * GIB))
    monkeypatch.setattr(memory, "cells_of_loops", lambda _, sizes: sizes)
    monkeypatch.setattr(
        memory, "in_turns", lambda sizes, *_: [seen(size, by_size.get(size, rates[-1])) for size in sizes]
    )
    assert memory.past_caches((0,), 64.0 * MIB, True) == (most * MIB, True)


CURVE = [
    seen(size, rate, name)
    for size, rate in (
        (16 * KIB, 1000), (32 * KIB, 990), (64 * KIB, 1010), (256 * KIB, 500), (512 * KIB, 510), (1 * MIB, 500),
        (4 * MIB, 200), (8 * MIB, 202), (16 * MIB, 198), (64 * MIB, 50), (128 * MIB, 50),
    )
    for name in ("read", "copy")
]  # fmt: skip


def test_levels_have_the_names_of_the_caches_they_fit_in():
    caches = (("L1", 96 * KIB), ("L2", 2 * MIB), ("L3", 32 * MIB))
    rates = memory.level_rates(CURVE, caches, True)
    assert [(one.name, one.median, one.bytes) for one in rates] == [
        ("L1", 1000, 64 * KIB), ("L2", 500, 1 * MIB), ("L3", 200, 16 * MIB),
    ]  # fmt: skip
    assert {one.what for one in rates} == {"level"}


def test_what_lies_past_the_last_cache_is_no_level():
    assert [one.name for one in memory.level_rates(CURVE, (("L1", 96 * KIB),), True)] == ["L1"]


def test_levels_of_unknown_caches_are_numbered():
    assert [one.name for one in memory.level_rates(CURVE, (), True)] == ["level 1", "level 2", "level 3"]


def test_a_card_is_gone_over_down_to_twenty_calls(card, monkeypatch):
    pool = memory.Pool(card, 4.0 * MIB)
    assert len(memory.card_cells(pool, 0.0, 1)) == 3 * 11  # 4 KiB to 4 MiB, three patterns
    assert memory.card_cells(pool, 1e3, 1) == ()  # a call that takes longer than any pass


def test_a_vector_by_a_matrix_reads_it_all_in_each_wide_format(card):
    pool = memory.Pool(card, 4.0 * MIB)
    cells = {cell.name: cell for cell in memory.torch_cells(pool, 0.0)}
    assert {"read", "copy", "triad", "gemv-fp32", "gemv-bf16"} <= cells.keys()
    rows = 4.0 * MIB // 3 // 4 // 4096 * 3  # whole rows of 4096 in thirds of the set
    assert pool.set_bytes == rows * 4 * 4096
    assert cells["gemv-bf16"].moved_bytes == pool.set_bytes + 2 * (2 * rows + 4096)
    assert cells["gemv-bf16"].run()
