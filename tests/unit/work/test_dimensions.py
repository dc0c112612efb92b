"""The production formulas run on quantities with units: bytes come out as bytes, times as times."""

from __future__ import annotations

import pint
import pytest

from rooflight.roofline import formulas as roofline
from rooflight.work import formulas


@pytest.fixture(scope="module")
def u():
    """A registry of our own: in the usual one a byte is dimensionless, so bytes and FLOP could be mixed up."""
    registry = pint.UnitRegistry(None)
    for line in ("second = [time] = s", "byte = [information] = B", "flop = [work]", "element = [] = el"):
        registry.define(line)
    return registry


def works(u):
    """Each operator's Work with sizes of elements and weights in bytes."""
    two = 2 * u.B
    mask = {"sequences": 4, "pairs": 4097, "new": 1, "cached": 4096}
    return {
        "gemm": formulas.gemm(
            tokens=4, inputs=64, outputs=32, weight_bytes=4096 * u.B, in_act_bytes=1 * u.B, out_act_bytes=two
        ),
        "softmax_attention": formulas.softmax_attention(
            **mask, heads=32, kv_heads=8, head_dim=128, value_dim=128, cache_elements=2048, kv_bytes=two, act_bytes=two
        ),
        "naive_scores": formulas.naive_scores(sequences=4, new=2, context=8, heads=4, act_bytes=two),
        "latent_attention": formulas.latent_attention(
            **mask, heads=16, latent_dim=512, rope_dim=64, kv_bytes=two, act_bytes=two
        ),
        "index_scores": formulas.index_scores(**mask, heads=4, head_dim=8, key_dim=8, kv_bytes=two, act_bytes=two),
        "recurrent_scan": formulas.recurrent_scan(
            sequences=4, new=1, products=3, state_elements=64, state_bytes=256 * u.B, token_elements=8, act_bytes=two
        ),
        "depthwise_conv": formulas.depthwise_conv(
            sequences=4, new=1, channels=8, kernel=4, state_bytes=48 * u.B, act_bytes=two
        ),
        "elementwise": formulas.elementwise(tokens=4, read_elements=8, written_elements=8, act_bytes=two),
    }


NAMES = sorted(works(pint.UnitRegistry()))


@pytest.mark.parametrize("name", NAMES)
def test_what_an_operator_moves_is_bytes(u, name):
    """Every part of it, so that they add up; FLOP is a bare count made of sizes alone."""
    work = works(u)[name]

    assert work.moved_bytes.check("[information]")
    assert not hasattr(work.flop, "units")
    for part in (work.weight_bytes, work.kv_read_bytes, work.kv_write_bytes, work.activation_bytes):
        assert part == 0 or part.check("[information]")


def test_work_of_operators_adds_up_in_bytes(u):
    total = sum(list(works(u).values())[1:], works(u)[NAMES[0]])

    assert (total * 3).moved_bytes.check("[information]")


def test_a_count_that_left_its_bytes_out_cannot_be_added(u):
    """The check has teeth: an element size given as a bare number does not mix with bytes."""
    bare = formulas.elementwise(tokens=4, read_elements=8, written_elements=8, act_bytes=2)

    with pytest.raises(pint.DimensionalityError):
        _ = bare.moved_bytes + works(u)["gemm"].moved_bytes


def test_collectives_send_bytes(u):
    reduced = formulas.all_reduce_bytes(payload_bytes=1000 * u.B, devices=4, in_switch=True)
    moved = formulas.all_to_all_bytes(tokens=8, row_bytes=16 * u.B, chosen=2, devices=4)

    assert reduced.check("[information]")
    assert moved.check("[information]")


def test_times_are_times(u):
    bandwidth, peak = 3.35e12 * u.B / u.s, 989.4e12 * u.flop / u.s
    moved = works(u)["gemm"].moved_bytes

    assert roofline.memory_s(moved, bandwidth).check("[time]")
    assert roofline.compute_s(1e9 * u.flop, peak).check("[time]")
    assert roofline.launch_s(30, 1e-6 * u.s).check("[time]")
    assert not roofline.memory_s(moved, peak).check("[time]")  # bytes over FLOP a second is none
    assert not roofline.compute_s(1e9 * u.flop, bandwidth).check("[time]")


def test_the_ridge_is_flop_a_byte_and_the_roof_flop_a_second(u):
    bandwidth, peak = 3.35e12 * u.B / u.s, 989.4e12 * u.flop / u.s
    ridge = roofline.ridge_flop_per_byte(peak, bandwidth)

    assert ridge.check("[work]/[information]")
    assert roofline.attainable_flop_per_s(ridge / 2, peak, bandwidth).check("[work]/[time]")
    with pytest.raises(pint.DimensionalityError):
        roofline.attainable_flop_per_s(1 / ridge, peak, bandwidth)


def test_a_ceiling_compares_times_only(u):
    assert roofline.largest(1 * u.s, 2 * u.s, 3 * u.s) == 3 * u.s
    with pytest.raises(pint.DimensionalityError):
        roofline.largest(1 * u.s, 2 * u.B)


def test_cache_credits_are_bytes(u):
    assert roofline.kernel_cache_credit(70 * u.B, 100 * u.B) == 70 * u.B
    assert roofline.step_cache_credit(70 * u.B, 10 * u.B) == 10 * u.B
    with pytest.raises(pint.DimensionalityError):
        roofline.kernel_cache_credit(70 * u.B, 100 * u.s)
