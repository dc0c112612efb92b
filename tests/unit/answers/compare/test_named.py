"""Scenarios under names of their own: what `compare` says of them where they differ in one field, and in any."""

from __future__ import annotations

import functools

import msgspec
import pytest

import rooflight
from rooflight.errors import BadInput, UnknownName
from rooflight.library.questions import make_scenario
from rooflight.library.scenarios import compared, pair
from rooflight.show import compare as show
from rooflight.show.charts.crossing import crossing
from rooflight.values.accelerator import WhatIf

MODEL = "meta-llama/Meta-Llama-3.1-8B"
BIG = "meta-llama/Meta-Llama-3.1-70B"


@functools.cache
def asked(model=MODEL, on="h100-sxm", **fields):
    return make_scenario(model, on, **fields)


@pytest.mark.parametrize("fields", [{"batch": 8}, {"batch": 4, "weights": "fp8", "isl": 2048, "osl": 64}, {}])
def test_scenarios_that_differ_in_the_card_are_compared_as_the_command_does(fields):
    """Label by label the same numbers: the command makes such scenarios, and asks the same function."""
    plain = rooflight.compare(MODEL, ["h100-sxm", "h200-sxm", "2xl40s"], **fields)
    on = {"a": "h100-sxm", "b": "h200-sxm", "c": "2xl40s"}
    found = compared({name: asked(on=card, **fields) for name, card in on.items()})
    labels = {"a": "h100-sxm", "b": "h200-sxm", "c": "2 x l40s"}
    one, other = (msgspec.json.decode(msgspec.json.encode(each.compared)) for each in (plain, found))
    for row, same in zip(one, other, strict=True):
        assert same.pop("label") in labels
        row.pop("label")
        assert same == row
    assert [labels[name] for name in (found.winner, found.baseline)] == [plain.winner, plain.baseline]
    assert [one.ratio for one in found.crossings] == [one.ratio for one in plain.crossings]
    assert found.curves.ratio == plain.curves.ratio


def test_speed_up_is_what_the_pair_of_the_two_says():
    before, after = asked(BIG, "4xh100-sxm", batch=16), asked(BIG, "2xh200-sxm", batch=16, weights="fp8")
    found = compared({"today": before, "after": after})
    ratio = pair(before, after).times["tokens_per_s"]
    speed_up = found.compared[1].request.speed_up
    for basis in ("ceiling", "roofline", "expected"):
        assert getattr(speed_up, basis) == pytest.approx(getattr(ratio, basis))


def test_each_keeps_its_own_requests_in_flight():
    found = compared({"few": asked(batch=4), "many": asked(batch=64)})
    assert [one.batch for one in found.compared] == [4, 64]
    assert "each with its own requests in flight, many serves" in found.answer
    assert "64 sequences at once against 4" in found.answer


def test_each_at_the_largest_that_fits_where_that_is_asked():
    found = compared({"a": asked(), "b": asked(on="h200-sxm")}, largest=True)
    assert [one.batch for one in found.compared] == [one.memory.max_batch for one in found.compared]


def test_the_others_are_measured_by_the_baseline():
    scenarios = {"a": asked(batch=8), "b": asked(batch=8, on="h200-sxm")}
    assert compared(scenarios, baseline="b").compared[1].request.speed_up.expected == 1
    assert compared(scenarios, baseline="b").compared[0].request.speed_up.expected < 1
    assert compared(scenarios).compared[0].request.speed_up.expected == 1


def test_all_are_compared_on_the_lengths_of_the_baseline():
    found = compared({"short": asked(), "long": asked(isl=8192, context=4000)})
    assert (found.mix.isl, found.mix.osl) == (1024, 256)
    assert found.compared[1].request.speed_up.expected == pytest.approx(1)
    assert any("requests of long are of other lengths" in one for one in found.warnings)
    assert any("the context of long is left out" in one for one in found.warnings)


def test_models_may_differ_and_that_is_said():
    found = compared({"llama": asked(), "qwen": asked("qwen2.5-7b")})
    assert found.model == "meta-llama/Meta-Llama-3.1-8B, Qwen/Qwen2.5-7B-Instruct"
    assert any("tokens are of different models" in one for one in found.warnings)
    assert "the mix" in found.answer


def test_what_does_not_fit_and_what_cannot_be_run_are_rows_that_say_why():
    found = compared(
        {
            "today": asked(BIG, "h100-sxm"),
            "wide": asked(BIG, "4xh100-sxm"),
        }
    )
    first, second = found.compared
    assert first.request is None
    assert "does not fit" in first.reason
    assert found.winner == "wide" == found.baseline
    assert second.request.speed_up.expected == 1


APART = {"on": "h100-sxm", "batch": 32, "prefill_on": "l40s", "prefill_workers": 2}


def test_prefill_on_other_cards_counts_all_of_them():
    """One H100 decodes for two L40S: peaks 989.4 + 2 x 362.05 TFLOP/s dense, 3.35 + 2 x 0.864 TB/s, 700 + 2 x 350 W,
    2.5 + 2 x 1 dollars an hour."""
    apart = asked(**APART)
    found = compared({"apart": apart, "one": asked(batch=32)}, prices={"h100-sxm": 2.5, "l40s": 1.0})
    one, run = found.compared[0], rooflight.analyze(MODEL, **APART).runs["apart"]
    there = one.hardware
    assert (one.devices, there.price_usd_per_hour, there.tdp_w) == (3, 4.5, 1400)
    assert there.flop_per_s == pytest.approx(989.4e12 + 2 * 362e12, rel=1e-3)
    assert there.memory_bytes_per_s == pytest.approx(3.35e12 + 2 * 0.864e12)
    assert one.request.output_tokens_per_s == run.output_tokens_per_s
    assert one.request.output_tokens_per_s_per_accelerator == run.output_tokens_per_s_per_accelerator
    per_usd = run.output_tokens_per_s.expected * 3600 / 4.5
    assert one.request.tokens_per_usd.expected == pytest.approx(per_usd)


def test_a_card_of_the_prefill_workers_without_a_price_leaves_the_whole_without():
    found = compared({"apart": asked(**APART), "one": asked(batch=32)}, prices={"h100-sxm": 2.5})
    assert [one.hardware.price_usd_per_hour for one in found.compared] == [None, 2.5]


def test_prefill_on_other_cards_is_compared_on_a_log_and_at_the_largest_batch():
    two = {"apart": asked(**APART), "one": asked(batch=32)}
    for found in (compared(two, log=[(100, 20), (3000, 400)]), compared(two, largest=True)):
        assert all(one.request is not None for one in found.compared)
        assert found.crossings is not None


def test_a_cached_prefix_and_a_draft_are_the_scenarios_own():
    """With nine of ten prompt tokens cached prefill takes less; a draft's tokens come in steps that verify."""
    found = compared({
        "plain": asked(batch=8), "cached": asked(batch=8, cached_prefix=900),
        "drafts": asked(batch=8, draft_tokens=4, acceptance=0.8),
    })  # fmt: skip
    plain, cached, drafts = found.compared
    assert cached.prefill.time_s.expected < plain.prefill.time_s.expected
    assert cached.decode.step_s == plain.decode.step_s
    assert drafts.decode.step_s.expected < plain.decode.step_s.expected
    for one, sc in (
        (cached, asked(batch=8, cached_prefix=900)),
        (drafts, asked(batch=8, draft_tokens=4, acceptance=0.8)),
    ):
        ratio = pair(asked(batch=8), sc).times["tokens_per_s"].expected
        assert one.request.speed_up.expected == pytest.approx(ratio)


def test_a_log_is_the_mix_of_all():
    found = compared({"a": asked(), "b": asked(on="h200-sxm")}, log=[(100, 20), (3000, 400)])
    assert (found.mix.requests, found.mix.isl) == (2, 1550)


def test_rates_that_are_tried_are_compared_with_the_card_as_it_is():
    tried = asked(on=WhatIf("h100-sxm", bandwidth_times=2), batch=8)
    found = compared({"today": asked(batch=8), "twice": tried}, prices={"h100-sxm": 2.0})
    assert found.compared[1].hardware.memory_ratio == 2
    assert [one.hardware.price_usd_per_hour for one in found.compared] == [2, 2]


def test_the_answer_is_laid_out_and_drawn_as_any_comparison():
    found = compared({"today": asked(batch=8), "after": asked(batch=8, weights="fp8")})
    assert show.blocks(found)
    assert {row["name"] for row in crossing(found).datasets["points"]} == {"today", "after"}


def test_a_single_scenario_and_rates_of_arrival_are_answered():
    assert compared({"only": asked()}).winner == "only"
    found = compared({"a": asked(request_rate=2.0), "b": asked(request_rate=2.0, on="h200-sxm")})
    assert "2 requests a second" in found.answer
    assert compared({"a": asked(request_rate=2.0), "b": asked(batch=8)}).winner


@pytest.mark.parametrize("how", [{"baseline": "nobody"}, {"objective": "beauty"}, {"prices": {"a100": 1}}])
def test_what_cannot_be_asked_is_refused(how):
    with pytest.raises(BadInput):
        compared({"a": asked()}, **how)


def test_no_scenario_and_two_of_one_name_are_refused():
    from rooflight.answers.compare.named import compared as by_pairs

    with pytest.raises(BadInput):
        compared({})
    with pytest.raises(BadInput, match="two scenarios are called a"):
        by_pairs((("a", asked()), ("a", asked(batch=2))))
    with pytest.raises(UnknownName):
        compared({"a": asked()}, baseline="b")
