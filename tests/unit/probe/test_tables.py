"""Tables of kernels: what is timed, and what becomes of the seconds. No speed is asserted."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="kernels run through torch, which is not installed")

from rooflight.probe import tables as probe  # noqa: E402 - after torch is known to be there
from rooflight.probe.device import Device  # noqa: E402
from rooflight.values.tables import AXES, PLAIN  # noqa: E402

CPU = Device(kind="cpu", name="a processor")
MB = 1 << 20


@pytest.fixture
def small(monkeypatch):
    """Sizes of a millisecond each."""
    monkeypatch.setattr(probe, "_TOKENS", (1, 2, 4))
    monkeypatch.setattr(probe, "_INPUTS", (16, 32))
    monkeypatch.setattr(probe, "_OUTPUTS", (16, 64))
    monkeypatch.setattr(probe, "_DECODE", ((1, 4), (1, 2), (8, 16), (16,)))
    monkeypatch.setattr(probe, "_PREFILL", ((4,), (8, 16), (16,)))
    monkeypatch.setattr(probe, "_ROWS", (1, 8))
    monkeypatch.setattr(probe, "_VOCABULARY", 64)
    monkeypatch.setattr(probe, "_MOST_WEIGHTS", 1 << 16)
    monkeypatch.setattr(probe, "_SHAPE", (16, 16))
    monkeypatch.setattr(probe, "_SHAPE_ROWS", 4)
    monkeypatch.setattr(probe, "_POINT_S", 1e-5)
    monkeypatch.setattr(
        probe, "_TRIED", {"gemm": ((3, 20, 40), (9, 20, 40)), "decode": ((2, 1, 12, 16),), "prefill": ()}
    )


def measured(**more):
    given = {"cache_bytes": 1e4, "free_bytes": 1e12, "budget_s": 0.2}
    return probe.tables(CPU, ("fp32", "bf16", "int8"), **{**given, **more})


def test_every_point_of_every_format_has_its_seconds(small):
    """fp32 and bf16 alone have networks; a grid holds all combinations of its points."""
    found = measured()
    assert found.formats == ("fp32", "bf16")
    for kernel in ("gemm", "decode", "prefill"):
        for grid in getattr(found, kernel).values():
            assert grid.names == AXES[kernel]
            assert len(grid.seconds) == math.prod(map(len, grid.points))
            assert min(grid.seconds) > 0
    assert set(found.elementwise["bf16"]) == {"norm", "inner_norm", "rope_cache", "act", "embedding", "copy"}
    assert min(found.layer_s["fp32"], found.sequence_s) >= 0


def test_sizes_between_the_points_are_tried_unless_they_have_more_rows(small):
    """9 rows are more than the 4 of the last point."""
    found = [(one.kernel, one.format, one.sizes) for one in measured().tried]
    assert found == [
        ("gemm", "fp32", (3.0, 20.0, 40.0)), ("decode", "fp32", (2.0, 1.0, 12.0, 16.0)),
        ("gemm", "bf16", (3.0, 20.0, 40.0)), ("decode", "bf16", (2.0, 1.0, 12.0, 16.0)),
    ]  # fmt: skip


def test_a_short_budget_leaves_out_more_rows(small, monkeypatch):
    """Where one turn may take no time at all, the first three counts of rows stay."""
    monkeypatch.setattr(probe, "_TOKENS", (1, 2, 4, 8, 16))
    assert measured(budget_s=1e-9).gemm["fp32"].points[0] == (1.0, 2.0, 4.0)


def test_a_matrix_too_large_takes_what_fewer_inputs_do_in_proportion(small, monkeypatch):
    """32 x 64 is over 1,024 weights: twice the time of 16 x 64."""
    monkeypatch.setattr(probe, "_MOST_WEIGHTS", 1024)
    grid = measured().gemm["fp32"]
    seconds = dict(
        zip([(t, i, o) for t in grid.points[0] for i in grid.points[1] for o in grid.points[2]], grid.seconds,
            strict=True)
    )  # fmt: skip
    assert all(seconds[rows, 32, 64] == 2 * seconds[rows, 16, 64] for rows in grid.points[0])


def test_buffers_together_are_larger_than_the_cache():
    """1 MB of cache, three times: at least 3 MB of 64 KB buffers, each apart from the others."""
    pool = probe._Pool("fp32", CPU, MB, 1 << 20)
    found = pool.several((128, 128))
    assert len(found) * 128 * 128 * 4 >= 3 * MB
    assert len({one.data_ptr() for one in found}) == len(found)


def test_of_a_machine_with_two_speeds_the_middle_counts():
    """The middle half of 1, 1, 1, 3, 3, 3, 3, 100 is 1, 3, 3, 3."""
    assert probe._middle([1, 1, 1, 3, 3, 3, 3, 100]) == (1 + 3 + 3 + 3) / 4


def test_an_interrupt_is_passed_on(small):
    def tick(_share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measured(tick=tick)


def test_the_kernels_without_a_product_are_those_that_files_may_name():
    assert tuple(probe._PLAIN) == PLAIN
