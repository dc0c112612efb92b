"""Tables of measured kernels between their points, below and beyond them; and what operators take by them."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_tables import BYTE_S, PAIR_S, PRODUCT_S, grid, made, tried
from rooflight.affine import elements, form
from rooflight.errors import MissingFact
from rooflight.roofline.tables import aside, operator_s, seconds_at
from rooflight.values.tables import Grid
from rooflight.values.work import Gemm, Operator, Scores, Work

LINE = Grid(names=("bytes",), points=((1.0, 4.0),), seconds=(2.0, 8.0))


def test_between_points_it_is_linear_in_logarithms():
    """2 is halfway between 1 and 4, and 4 s halfway between 2 and 8 s."""
    assert seconds_at(LINE, 2) == pytest.approx(4)


def test_below_the_first_point_it_is_the_smallest_call():
    assert seconds_at(LINE, 0.5) == pytest.approx(2)


def test_beyond_the_last_point_it_is_in_proportion():
    assert seconds_at(LINE, 8) == pytest.approx(8 * 8 / 4)


def test_an_axis_of_one_point_is_in_proportion_beyond_it():
    one = Grid(names=("bytes",), points=((4.0,),), seconds=(8.0,))
    assert seconds_at(one, 1) == pytest.approx(8)
    assert seconds_at(one, 12) == pytest.approx(24)


def test_the_last_axis_changes_fastest():
    two = Grid(names=("a", "b"), points=((1.0, 2.0), (1.0, 2.0, 4.0)), seconds=(1.0, 2.0, 3.0, 10.0, 20.0, 30.0))
    assert [seconds_at(two, a, b) for a in (1, 2) for b in (1, 2, 4)] == pytest.approx([1, 2, 3, 10, 20, 30])


@pytest.mark.parametrize("wrap", [np.asarray, form], ids=["arrays", "forms"])
def test_arrays_and_forms_are_what_numbers_are(wrap):
    """Every size by itself, below, between and beyond the points."""
    sizes = [0.5, 1.0, 3.0, 8.0, 50.0, 128.0, 1000.0]
    gemm = grid("gemm", PRODUCT_S)
    found = elements(seconds_at(gemm, wrap(np.asarray(sizes)), 700, 3000))
    assert found == pytest.approx([seconds_at(gemm, size, 700, 3000) for size in sizes], rel=1e-12)


def product(tokens=8, inputs=512, outputs=512, name="up", kind="linear", compute="fp32", **more):
    shape = Gemm(tokens=tokens, inputs=inputs, outputs=outputs, stored="fp32", **more)
    return Operator(name=name, kind=kind, count=1, compute=compute, work=Work(launches=1), shape=shape)


def test_a_product_is_looked_up_by_its_sizes():
    assert operator_s(product(), made("fp32")) == pytest.approx(8 * 512 * 512 * PRODUCT_S)


def test_experts_are_a_product_each_with_the_rows_that_reach_it():
    """16 rows of 2 experts: twice the product of 8 rows; the last matrix adds what is around an expert."""
    tables = made("fp32", expert_s={"fp32": 1e-5})
    up = product(tokens=16, matrices=2, held=4, kind="experts", name="expert_gate_up")
    down = product(tokens=16, matrices=2, held=4, kind="experts", name="expert_down")
    assert operator_s(up, tables) == pytest.approx(2 * 8 * 512 * 512 * PRODUCT_S)
    assert operator_s(down, tables) == pytest.approx(2 * (8 * 512 * 512 * PRODUCT_S + 1e-5))


def attention(*, decoding, new, keys, sequences=2, heads=8, kv_heads=2, head_dim=64):
    shape = Scores(
        decoding=decoding, sequences=sequences, new=new, keys=keys, heads=heads, kv_heads=kv_heads, head_dim=head_dim
    )
    return Operator(name="attention", kind="attention", count=1, compute="fp32", work=Work(launches=1), shape=shape)


def test_decode_is_looked_up_by_what_shares_keys():
    """2 sequences x 2 kv heads, 4 query heads each, 32 keys of 64; and the call of the layer."""
    found = operator_s(attention(decoding=True, new=1, keys=32), made("fp32"))
    assert found == pytest.approx(2 * 2 * 4 * 32 * 64 * PAIR_S + 1e-6)


def test_a_prompt_longer_than_the_table_grows_by_its_pairs():
    """2048 tokens attend 1024.5 keys in the mean, so 2048 x 2049 / 2 pairs, four times those of 1024 and a bit less."""
    tables = made("fp32")
    longest = operator_s(attention(decoding=False, new=1024, keys=1025 / 2), tables) - 1e-6
    double = operator_s(attention(decoding=False, new=2048, keys=2049 / 2), tables) - 1e-6
    assert longest == pytest.approx(2 * 8 * 1024 * 64 * PAIR_S)
    assert double / longest == pytest.approx((2048 * 2049) / (1024 * 1025))


def plain(name, moved=1e4):
    work = Work(activation_bytes=moved, launches=1)
    return Operator(name=name, kind="elementwise", count=1, compute="bf16", work=work)


def test_what_is_no_product_goes_by_its_name_and_bytes():
    tables = made("fp32")
    assert operator_s(plain("norm"), tables) == pytest.approx(2 * BYTE_S * 1e4)
    assert operator_s(plain("final_norm"), tables) == pytest.approx(2 * BYTE_S * 1e4)
    assert operator_s(plain("conv (odd)"), tables) == pytest.approx(BYTE_S * 1e4)


def test_a_format_that_was_not_timed_is_a_missing_fact():
    with pytest.raises(MissingFact, match="linear layers in fp8 were not timed"):
        operator_s(product(compute="fp8"), made("fp32"))


def test_how_far_off_the_tables_are_is_told_by_what_was_tried():
    """Of five ratios the 10th percentile's nearest is the first, the 90th's the last; the median distance is 10 %."""
    found = aside(made("fp32", tried=tried(0.8, 0.9, 1.0, 1.1, 1.3), spread=0.05))
    assert found.low == pytest.approx(0.8 / 1.05)
    assert found.high == pytest.approx(1.3 * 1.05)
    assert found.median == pytest.approx(0.1)
    assert found.n == 5


def test_untried_tables_have_a_wide_interval():
    found = aside(made("fp32"))
    assert (found.n, found.low < 0.8, found.high > 1.25) == (0, True, True)
