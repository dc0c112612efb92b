"""The answer of analyze as blocks."""

from __future__ import annotations

import pytest

from rooflight.show import analysis as show
from rooflight.values.analysis import OperatorBlock


def operator(name: str, share: float) -> OperatorBlock:
    return OperatorBlock(
        name=name, count=2, flop=10.0, bytes=20.0, link_bytes=0.0, intensity_flop_per_byte=0.5, bound="memory",
        time_s=share, share=share, compute="bf16",
    )  # fmt: skip


def names(operators):
    return [op.name for op in operators]


def test_operators_that_matter_cover_95_percent():
    ops = tuple(
        operator(name, share) for name, share in (("a", 0.04), ("b", 0.6), ("c", 0.32), ("d", 0.03), ("e", 0.01))
    )
    main, rest = show.split_operators(ops)
    assert names(main) == ["b", "c", "a"]  # 0.60 + 0.32 + 0.04 = 0.96
    assert sum(op.share for op in (*main, *rest)) == pytest.approx(1)


def test_a_single_operator_is_no_rest():
    main, rest = show.split_operators((operator("a", 0.97), operator("b", 0.03)))
    assert names(main) == ["a", "b"]
    assert rest == []


def test_what_time_is_bound_by():
    shares = {"compute": 0.884, "memory": 0.112, "link": 0.004, "launch": 0.0}
    assert show.spent(shares) == "compute 88 %\nmemory 11 %"
