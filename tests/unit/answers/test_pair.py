"""Two scenarios side by side: rates expected first, and one arithmetic for moves, compare and the pair."""

from __future__ import annotations

import functools

import pytest

import rooflight
from rooflight.answers.outcome import outcome
from rooflight.answers.pair import gains, pair, times_as_good
from rooflight.library.questions import make_scenario
from rooflight.scenario.change import changed
from rooflight.show.charts.roof_rows import gains as arrows
from rooflight.span import Span
from rooflight.words.analysis import analyzed
from rooflight.words.pair import told

MODEL = "meta-llama/Meta-Llama-3.1-8B"
BIG = "meta-llama/Meta-Llama-3.1-70B"


def span(ceiling, roofline, expected):
    return Span(ceiling=ceiling, roofline=roofline, expected=expected)


@functools.cache
def asked(model=MODEL, on="h100-sxm", **fields):
    return make_scenario(model, on, **fields)


def test_less_of_a_time_and_more_of_a_rate_are_better():
    """2, 4, 8 s to 1, 2, 2 s: 2, 2, 4 times as good; the same numbers as rates the inverse."""
    one, other = span(2, 4, 8), span(1, 2, 2)
    assert times_as_good(one, other, less=True) == span(2, 2, 4)
    assert times_as_good(one, other, less=False) == span(0.5, 0.5, 0.25)


def test_twice_the_sequences_are_judged_by_their_rate_and_not_by_their_step():
    """A step of twice the sequences is longer, and yields twice the tokens: rate = 2 x the step's ratio."""
    found = told(pair(asked(batch=16), asked(batch=32)))
    step, rate = found.times["decode_step_s"], found.times["decode_tokens_per_s"]
    assert step.expected < 1 < rate.expected
    for basis in ("ceiling", "roofline", "expected"):
        assert getattr(rate, basis) == pytest.approx(2 * getattr(step, basis))


PAIRS = [
    (asked, {"batch": 16}, {"batch": 32}),
    (asked, {"batch": 8, "isl": 4096}, {"batch": 8, "isl": 4096, "weights": "fp8"}),
    (asked, {"batch": 8}, {"batch": 8, "on": "h200-sxm"}),
    (asked, {"model": BIG, "on": "4xh100-sxm", "batch": 4}, {"model": BIG, "on": "8xh100-sxm", "tp": 8, "batch": 4}),
    (asked, {}, {"on": "l40s"}),
]


@pytest.mark.parametrize("make, before, after", PAIRS)
def test_the_arrow_of_a_roofline_says_what_the_pair_says(make, before, after):
    one, other = make(**before), make(**after)
    found = told(pair(one, other)).times
    drawn = arrows(analyzed(one), analyzed(other))
    assert drawn["decode"] == pytest.approx(found["decode_tokens_per_s"].expected)
    assert drawn["prefill"] == pytest.approx(found["prefill_step_s"].expected)


@pytest.mark.parametrize("make, before, after", PAIRS)
def test_moves_gain_what_the_pair_says(make, before, after):
    one, other = make(**before), make(**after)
    found, gained = told(pair(one, other)).times, gains(outcome(one), outcome(other))
    assert gained["throughput"] == found["tokens_per_s_per_accelerator"]
    assert (gained["ttft"], gained["request"]) == (found["ttft_s"], found["request_s"])
    assert (gained["prefill"], gained["decode"]) == (found["prefill_step_s"], found["decode_step_s"])


@pytest.mark.parametrize("on, fields", [("h200-sxm", {"batch": 8}), ("2xh100-sxm", {"batch": 8}), ("l40s", {})])
def test_compare_speeds_up_by_what_the_pair_says(on, fields):
    """A request's machine time is one over the requests a second, and all put out as many tokens."""
    second = rooflight.compare(MODEL, ["h100-sxm", on], **fields).compared[1]
    found = told(pair(asked(**fields), asked(on=on, **fields))).times
    for basis in ("ceiling", "roofline", "expected"):
        assert getattr(second.request.speed_up, basis) == pytest.approx(getattr(found["tokens_per_s"], basis))


def test_a_move_of_the_answer_gains_what_the_pair_of_its_scenario_says():
    sc = asked(batch=16)
    (move,) = [one for one in rooflight.moves(MODEL, "h100-sxm", batch=16).moves if one.title == "fp8 weights"]
    found = told(pair(sc, changed(sc, weights="fp8"))).times
    assert move.gains["throughput"] == found["tokens_per_s_per_accelerator"]


def test_what_does_not_fit_says_why_and_the_other_has_its_numbers():
    found = told(pair(asked(BIG, "4xh100-sxm"), asked(BIG, "h100-sxm")))
    assert found.answer.startswith("After: meta-llama/Meta-Llama-3.1-70B does not fit on h100-sxm")
    assert "Before," in found.answer
    assert found.after.fits is False
    assert found.before.fits
    assert not found.times
    assert all(one.after is None and one.before is not None for one in found.quantities)


def test_requests_that_come_faster_than_they_are_finished_are_no_traceback():
    found = told(pair(asked(request_rate=1.0), asked(request_rate=10_000.0)))
    assert "ever more wait" in found.after.reason
    assert found.before.reason is None


def test_dollars_are_compared_where_both_are_priced():
    """The same throughput at twice the price costs twice as much: half as good."""
    other = changed(asked(batch=8), accelerator=rooflight.changed("h100-sxm", id="dear"))
    found = told(pair(asked(batch=8), other, prices={"h100-sxm": 2.0, "dear": 4.0})).times
    assert found["usd_per_million_tokens"].expected == pytest.approx(0.5)
    assert "usd_per_million_tokens" not in told(pair(asked(batch=8), other)).times


def test_tokens_of_different_models_are_said_to_be():
    found = told(pair(asked(), asked("qwen2.5-7b")))
    assert "Tokens are of different models" in found.answer
    assert "Requests differ" in told(pair(asked(), asked(isl=2048))).answer


def test_without_output_there_is_no_rate_of_tokens_to_compare_with_one():
    found = told(pair(asked(), asked(osl=0)))
    assert "tokens_per_s" not in found.times
    assert found.times["ttft_s"].expected > 0
