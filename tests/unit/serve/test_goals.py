"""Goals for users' times: the batch that is found is the largest that keeps them, and the hit rate the least."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rooflight
from rooflight.errors import BadInput
from rooflight.library.questions import make_scenario
from rooflight.serve.goals import Wanted, largest
from rooflight.serve.landmarks import LARGEST_BATCH
from rooflight.serve.schedule import scheduled
from rooflight.span import Span
from unit.models import llama_3_8b, llama_3_70b

BIG = llama_3_70b()
ON = "4xh100-sxm"


def goals(axes=None, model=BIG, on=ON, **fields):
    return rooflight.sweep(model, on, axes or {}, **fields).goals()


def run(schedule="served", **fields):
    return scheduled(make_scenario(BIG, ON, **fields), schedule)


@pytest.mark.parametrize("schedule", ["served", "batch", "apart"])
@pytest.mark.parametrize(
    "slo", [{"ttft_slo_ms": 700.0}, {"tpot_slo_ms": 25.0}, {"ttft_slo_ms": 900, "tpot_slo_ms": 40}]
)
@pytest.mark.parametrize(("which", "by", "rate"), [("expected", "expected", "expected"), ("slow", "high", "low")])
def test_one_more_in_flight_misses(schedule, slo, which, by, rate):
    """And the rates are those of the run there; by the slow end they are its slow ends too."""
    (goal,) = goals(schedule=schedule, **slo)
    kept = getattr(goal, which)
    assert kept.batch is not None

    def keeps(batch):
        found = run(schedule, batch=batch)
        names = (("ttft_s", slo.get("ttft_slo_ms")), ("tpot_s", slo.get("tpot_slo_ms")))
        return all(most is None or getattr(getattr(found, name), by) * 1000 <= most for name, most in names)

    assert keeps(kept.batch)
    assert not keeps(kept.batch + 1)
    there = run(schedule, batch=kept.batch)
    assert kept.requests_per_s == pytest.approx(getattr(there.requests_per_s, rate))
    assert kept.output_tokens_per_s == pytest.approx(getattr(there.output_tokens_per_s, rate))
    assert kept.ttft_s == pytest.approx(getattr(there.ttft_s, by))
    assert goal.reason is None


def test_the_least_share_of_a_prompt_that_must_be_cached():
    """Of 16 in flight with prompts of 1,000 tokens; one token fewer cached misses."""
    (goal,) = goals(ttft_slo_ms=250.0, batch=16, isl=1000)
    assert 0 < goal.hit_rate < 1
    assert goal.hit_batch == 16
    tokens = round(goal.hit_rate * 1000)
    assert tokens == pytest.approx(goal.hit_rate * 1000)
    assert run(batch=16, isl=1000, cached_prefix=tokens).ttft_s.expected <= 0.25
    assert run(batch=16, isl=1000, cached_prefix=tokens - 1).ttft_s.expected > 0.25


def test_a_hit_rate_of_none_or_more_than_all():
    assert goals(ttft_slo_ms=10_000)[0].hit_rate == 0
    assert goals(ttft_slo_ms=1)[0].hit_rate is None
    assert goals(tpot_slo_ms=100)[0].hit_rate is None
    assert goals({"batch": [1, 64, 8]}, ttft_slo_ms=300)[0].hit_batch == 64


def test_what_one_request_alone_misses():
    (goal,) = goals(ttft_slo_ms=20.0, tpot_slo_ms=10.0)
    assert (goal.expected.batch, goal.expected.requests_per_s, goal.slow.batch) == (None, None, None)
    assert goal.missed == ("ttft", "tpot")
    alone = run(batch=1, isl=1024)
    first, token = (1000 * span.expected for span in (alone.ttft_s, alone.tpot_s))
    assert goal.reason == f"one request alone takes {first:.3g} ms to its first token and {token:.3g} ms a token"
    (goal,) = goals(ttft_slo_ms=1000.0, tpot_slo_ms=10.0)
    assert goal.missed == ("tpot",)
    assert goal.reason == f"one request alone takes {token:.3g} ms a token"


def test_what_does_not_fit():
    (goal,) = goals(on="h100-sxm", ttft_slo_ms=1000.0)
    assert goal.missed == ("capacity",)
    assert goal.expected.ttft_s is None
    assert goal.reason == "not one sequence of that length fits"
    (anyway,) = goals(on="h100-sxm", ttft_slo_ms=1000.0, ignore_capacity=True)
    assert anyway.expected.batch


def test_a_goal_that_any_number_in_flight_keeps():
    """A step is never longer than a full one: 135 ms a token here."""
    (goal,) = goals(tpot_slo_ms=500.0)
    assert goal.expected.batch == LARGEST_BATCH
    assert "the most that are tried" in goal.reason


def test_one_user_alone_is_one_in_flight():
    (goal,) = goals(tpot_slo_ms=500.0, schedule="alone")
    assert goal.expected.batch == 1


def test_one_token_has_no_time_between_tokens():
    (goal,) = goals(ttft_slo_ms=500.0, tpot_slo_ms=0.001, osl=1)
    assert goal.expected.batch >= 1
    assert goal.expected.tpot_s is None


def test_each_deployment_and_pair_of_lengths():
    found = goals({"isl": [1000, 4000], "osl": [10], "tp": [4, 8]}, on="h200-sxm", ttft_slo_ms=2000)
    assert [(one.tp, one.isl, one.osl) for one in found] == [
        (tp, isl, osl) for tp in (4, 8) for isl in (1000, 4000) for osl in (10,)
    ]
    for one in found:
        (alone,) = goals(on="h200-sxm", tp=one.tp, isl=one.isl, osl=one.osl, ttft_slo_ms=2000)
        assert one.expected.batch == alone.expected.batch
        assert one.slow.batch == alone.slow.batch


def test_no_goals_are_asked_for():
    assert goals() == ()


@pytest.mark.parametrize("most", [0, -1, float("nan"), float("inf"), "fast", True])
@pytest.mark.parametrize("name", ["ttft_slo_ms", "tpot_slo_ms"])
def test_what_is_no_time(name, most):
    with pytest.raises(BadInput, match=f"{name} is no time"):
        rooflight.sweep(llama_3_8b(), "h100-sxm", {}, **{name: most})


def test_too_many_pairs_of_lengths():
    swept = rooflight.sweep(llama_3_8b(), "h100-sxm", {"isl": range(1, 200), "osl": range(1, 200)}, ttft_slo_ms=5)
    with pytest.raises(BadInput, match="39,601 pairs"):
        swept.goals()


@given(limits=st.lists(st.integers(0, 3000), min_size=1, max_size=5), most=st.integers(1, 2000))
def test_the_largest_is_found_at_every_place_at_once(limits, most):
    wanted = np.array(limits)
    found = largest(lambda tried: tried <= wanted, wanted.shape, most)
    assert found.tolist() == np.minimum(wanted, most).tolist()


@pytest.mark.parametrize(
    ("goals", "ttft_s", "tpot_s", "kept"),
    [
        ({"ttft_s": 0.5, "tpot_s": 0.05}, 0.5, 0.05, True),
        ({"ttft_s": 0.5, "tpot_s": 0.05}, 0.6, 0.04, False),
        ({"tpot_s": 0.05}, None, 0.04, True),
        ({"ttft_s": 0.5}, None, 0.04, False),  # nothing says how long a prompt takes
        ({"tpot_s": 0.05}, 0.4, None, True),  # of one token there is no time that could be too long
    ],
)
def test_expected_times_keep_goals_or_not(goals, ttft_s, tpot_s, kept):
    spans = [None if seconds is None else Span.same(seconds) for seconds in (ttft_s, tpot_s)]
    assert Wanted(**goals).kept(*spans) is kept
