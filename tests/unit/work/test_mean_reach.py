"""The mean over a request's decode steps, whatever the mask: the closed form against adding steps one by one."""

from __future__ import annotations

import pytest

from rooflight.library.questions import make_scenario
from rooflight.roofline.step import evaluated
from rooflight.serve.replica import replica
from rooflight.values.model import Reach
from rooflight.work import reach
from rooflight.work import step as steps
from rooflight.work.step import operators
from unit.models import tiny_dense, tiny_hybrid, tiny_mla

REACHES = {
    "full": Reach(), "window": Reach(window=40), "chunk": Reach(chunk=16), "top-k": Reach(top_k=64),
    "stride": Reach(stride=4), "stride-top-k": Reach(stride=4, top_k=9), "all": Reach(stride=4, window=8, top_k=9),
}  # fmt: skip
COUNTED = (reach.pairs, reach.cached_positions, reach.index_keys)


@pytest.mark.parametrize(("isl", "osl"), [(1, 2), (16, 65), (16, 66), (7, 301), (100, 3), (0, 50)])
@pytest.mark.parametrize("mask", REACHES.values(), ids=REACHES)
@pytest.mark.parametrize("count", COUNTED, ids=lambda one: one.__name__)
def test_the_mean_is_the_sum_of_the_steps_over_their_number(count, mask, isl, osl):
    contexts = range(isl, isl + osl - 1)
    summed = sum(count(mask, new=1, context=context) for context in contexts)

    mean = count(mask, new=1, context=isl + (osl - 2) / 2, steps=osl - 1)
    assert mean == pytest.approx(summed / (osl - 1), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("isl", "osl"), [(1, 2), (16, 65), (0, 50)])
@pytest.mark.parametrize("stride", [1, 4])
def test_an_indexer_finds_the_mean_of_its_keys(stride, isl, osl):
    contexts = range(isl, isl + osl - 1)
    summed = sum(reach.compressed_keys(Reach(stride=stride), context=context) for context in contexts)

    mean = reach.compressed_keys(Reach(stride=stride), context=isl + (osl - 2) / 2, steps=osl - 1)
    assert mean == pytest.approx(summed / (osl - 1))


def test_a_window_that_fills_within_the_answer():
    """isl 512, osl 1024, window 1024: positions seen are 512 .. 1,023 in 512 steps, 1,023 in the 511 after them."""
    mean = reach.cached_positions(Reach(window=1024), new=1, context=512 + 1022 / 2, steps=1023)

    assert mean == pytest.approx((sum(range(512, 1024)) + 511 * 1023) / 1023)
    assert mean == pytest.approx(895.125, abs=0.001)


@pytest.mark.parametrize("model", [tiny_dense(Reach(window=40)), tiny_mla(), tiny_hybrid()], ids=lambda one: one.id)
def test_the_work_of_a_mean_step_is_that_of_all_steps(model):
    """FLOP and bytes; times follow where no bound changes in between."""
    sc = make_scenario(model, "h100-sxm", isl=16, osl=65, batch=3)

    def work(context, count=1):
        step = steps.decode(sequences=3, context=context, steps=count)
        return evaluated(operators(model, step, sc.layout, sc.numbers), sc.rates).work

    whole = [work(context) for context in range(16, 80)]
    mean = work(16 + 63 / 2, 64)
    assert mean.flop == pytest.approx(sum(one.flop for one in whole) / 64)
    assert mean.moved_bytes == pytest.approx(sum(one.moved_bytes for one in whole) / 64)


def test_a_verify_step_takes_the_mean_of_its_tokens_places():
    """Of several new tokens each attends all before it; plain masks are straight, so that is exact."""
    sc = make_scenario(tiny_dense(), "h100-sxm", isl=16, osl=65, draft_tokens=3)
    one = replica(sc)

    assert reach.pairs(Reach(), new=4, context=one.context, steps=one.contexts) == 4 * one.context + 10
    mask = Reach(window=1000)
    assert reach.pairs(mask, new=4, context=one.context, steps=one.contexts) == pytest.approx(4 * one.context + 10)
