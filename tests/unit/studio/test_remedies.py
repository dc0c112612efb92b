"""What would hold a scenario that does not fit, as scenarios: each fits, and the answer names it."""

from __future__ import annotations

import pytest

pytest.importorskip("pydantic", reason="needs the extra `studio`")

from rooflight.serve.memory import memory
from rooflight.studio.answered import focused
from rooflight.studio.page import Page
from rooflight.studio.question import LONGEST_NAME, Question, scenario_of
from rooflight.studio.remedies import offers

LARGE = "meta-llama/Meta-Llama-3.1-70B"
ROUTED = "Qwen/Qwen3-30B-A3B"
TOO_BIG = {
    "dense": {"model": LARGE, "on": "h100-sxm"},
    "experts": {"model": "deepseek-ai/DeepSeek-V3", "on": "rtx-4090"},
    "streamed": {"model": LARGE, "on": "rtx-4090", "engine": "vllm"},
    "host": {"model": ROUTED, "on": "rtx-4090", "engine": "llama.cpp"},
    "small host": {"model": LARGE, "on": "rtx-4090", "n_gpu_layers": 20, "host_memory": "64GB"},
    "workers": {"model": LARGE, "on": "h100-sxm", "prefill_workers": 1, "decode_workers": 2},
    "formats stated": {"model": LARGE, "on": "h100-sxm", "weights": "bf16", "batch": 64},
    "what if": {"model": LARGE, "on": "h100-sxm", "bandwidth_times": 2.0},
}


def offered(scenario, *others, **page):
    found = Page(scenarios=[Question(**scenario), *(Question(**one) for one in others)], **page)
    return focused(found), offers(found, focused(found))


def made(scenario, offer) -> Question:
    return Question.model_validate({**Question(**scenario).model_dump(), **offer.fields})


@pytest.mark.parametrize("scenario", TOO_BIG.values(), ids=TOO_BIG)
def test_every_offer_is_a_scenario_that_fits(scenario):
    focus, found = offered(scenario)
    assert found
    assert focus.analysis.run is None
    for one in found:
        assert 0 < len(one.name) <= LONGEST_NAME
        after = made(scenario, one)
        assert memory(scenario_of(after)).whole, one.name
        assert focused(Page(scenarios=[after])).analysis.run is not None
        assert (after.bandwidth_times, after.engine) == (scenario.get("bandwidth_times", 1.0), scenario.get("engine"))


def test_offers_are_those_that_the_answer_names_in_its_order():
    focus, found = offered(TOO_BIG["dense"])
    assert [one.name for one in found] == ["2 x h100-sxm, TP2", "weights fp8", "41 layers on the cards"]
    answer = focus.analysis.answer
    told = ["2 x h100-sxm would hold it with --tp 2", "--weights fp8 would fit", "--n-gpu-layers 42 (41 of 80 layers"]
    assert sorted(told, key=answer.index) == told


def test_a_part_on_the_host_comes_with_the_rate_that_the_answer_assumed():
    """So the new scenario's time is the one that was told, whatever is taken for a host later."""
    _, found = offered(TOO_BIG["host"])
    assert [one.name for one in found][-2:] == ["19 layers on the cards", "experts of 30 layers on the host"]
    assert all("host_memory_bandwidth" in one.fields for one in found[-2:])


def test_more_cards_without_the_host_leave_nothing_on_it():
    _, found = offered(TOO_BIG["small host"])
    assert found[0].name == "6 x rtx-4090, TP2 PP3"
    assert (found[0].fields["n_gpu_layers"], found[0].fields["host_memory"]) == (None, None)


def test_more_of_the_same_card_keeps_its_price():
    _, found = offered({**TOO_BIG["dense"], "usd_per_hour": 2.5})
    assert made({**TOO_BIG["dense"], "usd_per_hour": 2.5}, found[0]).usd_per_hour == 2.5


def test_what_fits_or_is_computed_anyway_has_no_offers():
    assert offered({"model": LARGE, "on": "2xh100-sxm"})[1] == ()
    assert offered({**TOO_BIG["dense"], "ignore_capacity": True})[1] == ()


def test_offers_are_of_the_scenario_in_focus():
    assert offered({"on": "h200-sxm"}, TOO_BIG["dense"])[1] == ()
    assert offered({"on": "h200-sxm"}, TOO_BIG["dense"], focus=1)[1]
