"""Times of a step on a card of round numbers: 1000 FLOP/s, 100 bytes/s, 10 link bytes/s, a second a launch."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rooflight.roofline.formulas import CACHE_REUSE_LIMIT
from rooflight.roofline.rates import rates
from rooflight.roofline.step import evaluated, kernel_ceiling_s
from rooflight.roofline.step import step_time as time_of_pass
from rooflight.values.accelerator import Link
from rooflight.values.steptime import BOUNDS
from rooflight.values.work import Operator, Work
from rooflight.work.layout import Layout
from unit.models import card


def machine(*, cache=0.0, launch=1.0, fast=None):
    assumed = msgspec.structs.replace(card().assumed, launch_graph_s=launch)
    given = card(
        assumed=assumed,
        last_level_cache_bytes=cache,
        link=Link(name="link", bytes_per_s=10.0),
        fast_flop_per_s=fast or {},
    )
    return rates(given, Layout(tp=2), graphs=True)


def op(name="x", count=1, compute="bf16", **work):
    return Operator(name=name, kind="linear", count=count, compute=compute, work=Work(**work))


def step_time(operators, given, *, stages=1, **shape):
    return time_of_pass(evaluated(operators, given, stages=stages), given, stages=stages, **shape)


def test_the_ceiling_is_the_largest_of_three_and_launches_are_no_part_of_it():
    """Compute 2 s, memory 3 s, link 5 s; 40 launches would take 40 s, but one fused kernel could do it all."""
    time = step_time((op(flop=2000, weight_bytes=300, link_bytes=50, launches=40),), machine())

    assert (time.compute_s, time.memory_s, time.link_s, time.launch_s) == (2, 3, 5, 40)
    assert time.ceiling_s == 5
    assert BOUNDS[time.bound] == "launch"
    assert time.roofline_s == 40


@pytest.mark.parametrize(
    ("work", "bound"),
    [
        ({"flop": 5000, "weight_bytes": 300, "link_bytes": 20, "launches": 1}, "compute"),
        ({"flop": 1000, "weight_bytes": 300, "link_bytes": 20, "launches": 1}, "memory"),
        ({"flop": 1000, "weight_bytes": 300, "link_bytes": 40, "launches": 1}, "link"),
        ({"flop": 1000, "weight_bytes": 300, "link_bytes": 40, "launches": 5}, "launch"),
    ],
)
def test_the_bound_is_the_largest_term(work, bound):
    time = step_time((op(**work),), machine())

    assert BOUNDS[time.bound] == bound
    assert BOUNDS[time.operators[0].bound] == bound


def test_equal_terms_are_named_in_the_order_of_bounds():
    """2 s each: compute is said first, then memory, link, launch."""
    said = []
    for names in (("flop", "weight_bytes", "link_bytes", "launches"), ("weight_bytes", "link_bytes", "launches")):
        work = dict(zip(("flop", "weight_bytes", "link_bytes", "launches"), (2000, 200, 20, 2), strict=True))
        said.append(BOUNDS[step_time((op(**{name: work[name] for name in names}),), machine()).bound])

    assert said == ["compute", "memory"]
    assert BOUNDS == ("compute", "memory", "link", "launch")


def test_roofline_time_sums_each_operators_own_largest_term():
    """4 s of arithmetic, then 3 x 2 s of bytes, then a launch: 11 s; all overlapped it would be 6.5."""
    ops = (op(flop=4000, weight_bytes=50), op("y", count=3, flop=100, weight_bytes=200), op("z", launches=1))
    time = step_time(ops, machine())

    assert time.roofline_s == 4 + 3 * 2 + 1
    assert time.ceiling_s == (50 + 3 * 200) / 100
    assert [row.time_s for row in time.operators] == [4, 6, 1]
    assert [row.share for row in time.operators] == [4 / 11, 6 / 11, 1 / 11]
    assert [BOUNDS[row.bound] for row in time.operators] == ["compute", "memory", "launch"]


def test_the_work_of_a_step_is_the_sum_of_its_operators():
    time = step_time((op(flop=10, launches=1), op("y", count=3, flop=5, kv_read_bytes=7, launches=2)), machine())

    assert time.work == Work(flop=10 + 3 * 5, kv_read_bytes=3 * 7, launches=1 + 3 * 2)


def test_a_ceiling_uses_the_fastest_rate_and_the_roofline_the_datasheet():
    time = step_time((op(flop=4000),), machine(fast={"bf16": 2000.0}))

    assert (time.compute_s, time.roofline_s) == (4000 / 2000, 4000 / 1000)


def test_a_format_without_a_path_runs_at_the_wider_peak():
    time = step_time((op(flop=4000, compute="fp8"),), machine())

    assert time.compute_s == 4000 / 1000


@pytest.mark.parametrize(
    ("moved", "from_memory"),
    [
        (7, 0),  # all of it may still be there
        (159, 159 - 10),
        (CACHE_REUSE_LIMIT * 10, 160),  # from 16 times the cache on, nothing useful is left in it
        (1000, 1000),
    ],
)
def test_a_step_is_credited_its_cache_below_sixteen_times_it(moved, from_memory):
    time = step_time((op(weight_bytes=moved),), machine(cache=10.0))

    assert time.memory_s == from_memory / 100
    assert time.roofline_s == moved / 100  # the roofline time takes no credit


def test_the_caches_of_all_stages_of_a_pipeline_count():
    """Two devices hold the layers, so two caches of 10 stand against 310 bytes (under 16 x 20)."""
    time = step_time((op(weight_bytes=310),), machine(cache=10.0), stages=2)

    assert time.memory_s == (310 - 20) / 100


def test_stages_that_overlap_share_all_but_the_weights():
    """A prefill that fills half of its pipeline: activations and arithmetic halve, one reading of the weights stays."""
    time = step_time(
        (op(flop=4000, weight_bytes=100, activation_bytes=60),), machine(), stages=2, overlap=0.5, fill=1.5
    )

    assert time.compute_s == 4000 / 1000 / 2
    assert time.memory_s == (100 + 60 / 2) / 100
    assert time.roofline_s == 4 * 1.5
    assert time.operators[0].time_s == 4 * 1.5


def test_nothing_travels_where_no_link_is_needed():
    alone = rates(card(), Layout(), graphs=True)

    assert step_time((op(flop=1000),), alone).link_s == 0


def test_a_lone_kernel_may_find_everything_in_the_cache():
    """min(bytes, cache) is credited however large the kernel; launches cost nothing, rates are the fastest."""
    small = op(flop=1000, weight_bytes=8, launches=1)
    large = op(flop=1000, weight_bytes=1010, launches=1)

    assert kernel_ceiling_s(small, machine(cache=10.0)) == 1000 / 1000
    assert kernel_ceiling_s(large, machine(cache=10.0)) == (1010 - 10) / 100
    assert kernel_ceiling_s(small, machine(cache=10.0, fast={"bf16": 4000.0})) == 1000 / 4000
    assert kernel_ceiling_s(op(link_bytes=50), machine()) == 50 / 10


@pytest.mark.parametrize("cache", [0.0, 10.0])
def test_arrays_give_what_numbers_give(cache):
    """A grid of FLOP x bytes x link bytes, across every bound and both sides of the cache rule."""
    flop = np.array([10.0, 2000, 90000])[:, None, None]
    moved = np.array([5.0, 159, 160, 4000])[None, :, None]
    link = np.array([0.0, 30, 5000])[None, None, :]
    shape = (3, 4, 3)

    def ops(f, m, sent):
        return op(flop=f, weight_bytes=m, launches=1), op("y", count=2, kv_read_bytes=m, link_bytes=sent, launches=1)

    together = step_time(ops(flop, moved, link), machine(cache=cache))

    bounds = set()
    for i, j, k in np.ndindex(shape):
        alone = step_time(ops(flop[i, 0, 0], moved[0, j, 0], link[0, 0, k]), machine(cache=cache))
        for field in ("compute_s", "memory_s", "link_s", "launch_s", "ceiling_s", "roofline_s", "bound"):
            assert np.broadcast_to(getattr(together, field), shape)[i, j, k] == getattr(alone, field), field
        for one, row in zip(alone.operators, together.operators, strict=True):
            assert np.broadcast_to(row.time_s, shape)[i, j, k] == one.time_s
            assert np.broadcast_to(row.bound, shape)[i, j, k] == one.bound
            assert np.broadcast_to(row.share, shape)[i, j, k] == one.share
        bounds.add(BOUNDS[int(alone.bound)])
    assert bounds == set(BOUNDS)
