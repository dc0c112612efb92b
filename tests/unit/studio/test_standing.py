"""The sentence on which scenario does best: that of the view Compare, from the answers that are there."""

from __future__ import annotations

import pytest

pytest.importorskip("pydantic", reason="needs the extra `studio`")

from rooflight.answers.compare.named import compared
from rooflight.show import numbers
from rooflight.studio.answered import answered
from rooflight.studio.page import Page
from rooflight.studio.question import Question
from rooflight.studio.standing import standing

LARGE = "meta-llama/Meta-Llama-3.1-70B"


def said(*scenarios, **page):
    whole = Page(scenarios=[Question(**one) for one in scenarios], **page)
    return standing(answered(whole), whole), answered(whole)


@pytest.mark.parametrize(
    "scenarios",
    [
        [{"on": "4xh100-sxm", "batch": 32}, {"on": "8xl40s", "batch": 32}],
        [{"batch": 8}, {"batch": 64}, {"batch": 64, "weights": "fp8"}],
        [{"batch": 16}, {"on": "h200-sxm", "batch": 16}],
        [{"batch": 4, "schedule": "served"}, {"on": "l40s", "batch": 4}, {"on": "mi300x", "batch": 4}],
    ],
)
def test_the_best_is_that_of_the_comparison(scenarios):
    """And where that cannot tell two apart, the sentence does not either."""
    told, found = said(*scenarios)
    ranked = compared([(one.label.letter, one.scenario) for one in found])
    first = ranked.ranked[0]
    letters = [one.one.label for one in ranked.ranked]
    names = {one.label.letter: f"{one.label.letter} ({one.label.name})" for one in found}
    if ranked.too_close:
        assert told.startswith(f"{names[letters[0]]} and {names[letters[1]]} are too close to call in tokens a second")
    else:
        rate = numbers.plain(first.one.request.output_tokens_per_s.expected)
        assert told.startswith(f"{names[letters[0]]} puts out the most, {rate} tok/s as expected, ")


def test_goals_leave_out_who_misses_them():
    """A token every 5.1 ms on four H100s, every 9 on eight L40s: by the lines of the page."""
    two = [{"on": "4xh100-sxm", "batch": 32}, {"on": "8xl40s", "batch": 32}]
    assert said(*two, tpot_slo_ms=6)[0] == "A (4xh100-sxm) alone keeps a token within 6 ms, as expected."
    assert said(*two, tpot_slo_ms=1)[0].startswith("None of them keeps a token within 1 ms as expected; A (4xh100-sxm)")
    assert said(*two, tpot_slo_ms=50)[0].startswith(
        "All keep a token within 50 ms, as expected; of them A (4xh100-sxm) puts out the most, "
    )


def test_who_is_ahead_by_a_card_or_for_a_user_is_said_where_it_is_another():
    told, _ = said({"batch": 4}, {"batch": 64})
    assert told.startswith("B (batch 64) puts out the most")
    assert told.endswith("; A gives the most for each user.")


def test_one_scenario_or_none_that_runs_has_no_sentence():
    assert said({})[0] == ""
    assert said({"model": LARGE}, {"model": LARGE, "on": "l40s"})[0] == ""
    assert said({"request_rate": 1.0}, {"on": "h200-sxm", "request_rate": 1.0})[0] == ""


def test_what_does_not_run_is_not_among_them():
    assert said({"model": LARGE}, {})[0] == "Of these scenarios B (Meta-Llama-3.1-8B) alone runs."


def test_requests_of_unlike_lengths_are_left_to_compare():
    assert said({}, {"isl": 50})[0].startswith("Their requests are of unlike lengths")


def test_steps_at_a_stated_context_are_compared_with_their_like():
    told, _ = said({"batch": 8, "context": 4096}, {"batch": 8, "context": 4096, "weights": "fp8"})
    assert told.startswith("B (weights fp8) puts out the most, ")
