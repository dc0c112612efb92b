"""A request is its prefill and every decode step: the halving sum against adding them one by one."""

from __future__ import annotations

import msgspec
import pytest

import rooflight
from rooflight.library import make_scenario
from rooflight.serve.phases import decode
from rooflight.serve.request import decode_total_s
from rooflight.values.accelerator import Accelerator
from rooflight.values.model import Reach
from unit.models import card, llama_3_8b, tiny_dense, tiny_hybrid, tiny_mla


def hand_card(**fields) -> Accelerator:
    """Launches cost nothing, so that a step's time is its bytes and FLOP."""
    return card(assumed=msgspec.structs.replace(card().assumed, launch_graph_s=0.0), **fields)


def one_by_one(scenario) -> tuple[float, float]:
    """The first decode step has isl tokens cached, the last isl + osl - 2: osl tokens, the first from prefill."""
    load = scenario.workload
    steps = [decode(scenario, context=context).time for context in range(load.isl, load.isl + load.osl - 1)]
    return sum(step.ceiling_s for step in steps), sum(step.roofline_s for step in steps)


@pytest.mark.parametrize("batch", [1, 64])
@pytest.mark.parametrize(("isl", "osl"), [(1, 2), (16, 65), (16, 66), (7, 301), (100, 3)])
@pytest.mark.parametrize(
    "reach",
    [Reach(), Reach(window=40), Reach(chunk=16), Reach(top_k=64), Reach(stride=4), Reach(stride=4, window=8, top_k=9)],
    ids=["full", "window", "chunk", "top-k", "stride", "stride-window-top-k"],
)
def test_the_sum_of_steps_whatever_the_mask(reach, isl, osl, batch):
    """A window fills within the answer, chunks begin anew, a key is kept once a stride."""
    scenario = make_scenario(tiny_dense(reach), hand_card(), isl=isl, osl=osl, batch=batch)
    # A compressed cache grows by a key a stride: a staircase, which the sum takes as its slope.
    slack = 5e-3 if reach.stride > 1 else 1e-5

    assert decode_total_s(scenario) == pytest.approx(one_by_one(scenario), rel=slack)


@pytest.mark.parametrize("cache", [0.0, 300.0, 400.0, 1000.0])
@pytest.mark.parametrize("peak", [30.0, 100.0, 1000.0])
def test_the_sum_of_steps_across_a_change_of_bound_and_of_cache_credit(peak, cache):
    """Compute may bind first and memory later; past 16 times the cache its credit is gone at a stroke."""
    machine = hand_card(peak_flop_per_s={"bf16": peak}, last_level_cache_bytes=cache)
    scenario = make_scenario(tiny_dense(), machine, isl=3, osl=200, batch=2)

    assert decode_total_s(scenario) == pytest.approx(one_by_one(scenario), rel=1e-5)


@pytest.mark.parametrize("model", [llama_3_8b(), tiny_mla(), tiny_hybrid()], ids=lambda model: model.id)
def test_the_sum_of_steps_on_a_real_card(model):
    scenario = make_scenario(model, "h100-sxm", isl=900, osl=300, batch=16)

    assert decode_total_s(scenario) == pytest.approx(one_by_one(scenario), rel=1e-6)


@pytest.mark.parametrize("reach", [Reach(), Reach(chunk=16)], ids=["full", "chunk"])
def test_whole_numbers_may_come_as_floats(reach):
    """As from a NumPy array or a JSON file."""
    ints, floats = (
        make_scenario(tiny_dense(reach), hand_card(), isl=kind(10), osl=kind(40), batch=kind(2))
        for kind in (int, float)
    )

    assert decode_total_s(floats) == pytest.approx(decode_total_s(ints), rel=1e-12)


def test_a_long_answer_is_not_summed_step_by_step(monkeypatch):
    """A million tokens in chunks of 256: some hundreds of steps are looked at, not thousands of chunks."""
    from rooflight.serve import phases

    looked_at = []
    monkeypatch.setattr(phases, "decode", lambda *given, **named: looked_at.append(1) or decode(*given, **named))
    decode_total_s(make_scenario(tiny_dense(Reach(chunk=256)), hand_card(), isl=16, osl=1_000_000))

    assert len(looked_at) < 2000


def test_a_single_output_token_comes_from_prefill_alone():
    answer = rooflight.analyze(llama_3_8b(), on="h100-sxm", osl=1)

    assert decode_total_s(make_scenario(llama_3_8b(), "h100-sxm", osl=1)) == (0, 0)
    assert answer.request.time_s.ceiling == answer.phases["prefill"].time_s.ceiling
    assert answer.request.prefill_share.ceiling == 1


def test_a_request_is_prefill_and_its_decode_steps():
    answer = rooflight.analyze(llama_3_8b(), on="h100-sxm", isl=500, osl=40, batch=4)
    steps = one_by_one(make_scenario(llama_3_8b(), "h100-sxm", isl=500, osl=40, batch=4))
    prefill = answer.phases["prefill"].time_s

    assert answer.request.time_s.ceiling == pytest.approx(prefill.ceiling + steps[0])
    assert answer.request.time_s.roofline == pytest.approx(prefill.roofline + steps[1])
    assert answer.request.prefill_share.ceiling == pytest.approx(prefill.ceiling / answer.request.time_s.ceiling)


def test_the_mean_context_stands_for_the_request():
    """Times are straight in the context here, so osl - 1 steps take as long as that many at the middle one."""
    scenario = make_scenario(llama_3_8b(), "h100-sxm", isl=500, osl=101)
    middle = decode(scenario, context=500 + 99 / 2).time

    assert decode_total_s(scenario) == pytest.approx((100 * middle.ceiling_s, 100 * middle.roofline_s), rel=1e-6)
