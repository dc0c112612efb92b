"""Relations applied until nothing follows, and what contradicts."""

from __future__ import annotations

import pytest

from rooflight.answers.explain.formula import names, worked
from rooflight.answers.explain.relations import RELATIONS, TRAFFIC
from rooflight.answers.explain.solve import solve


def test_all_rates_follow_from_one_and_the_lengths():
    """300 output tok/s of 100 tokens a request are 3 requests/s, and those of 900 + 100 tokens 3,000 tok/s."""
    found = solve({"isl": 900, "osl": 100, "output_tokens_per_s": 300}, TRAFFIC).values

    assert found["requests_per_s"] == 300 / 100
    assert found["total_tokens_per_s"] == 3 * (900 + 100)
    assert found["input_tokens_per_s"] == 3 * 900


def test_littles_law_gives_what_is_in_flight():
    """3 requests/s x 8 s = 24 (kind 13)."""
    assert solve({"requests_per_s": 3, "request_s": 8}, TRAFFIC).values["in_flight"] == 24


def test_a_request_takes_its_first_token_and_the_later_ones():
    found = solve({"ttft_s": 0.24, "tpot_s": 0.04, "osl": 250}, TRAFFIC).values

    assert found["request_s"] == pytest.approx(0.24 + 249 * 0.04)
    assert found["request_s_per_output_token"] == pytest.approx(10.2 / 250)
    assert found["output_tokens_per_s_per_user"] == pytest.approx(25)


def test_the_total_and_the_output_say_how_long_prompts_are():
    """3,000 in and out, 300 out of 100 a request: 3 requests/s of 1,000 tokens, 900 of them in."""
    found = solve({"osl": 100, "output_tokens_per_s": 300, "total_tokens_per_s": 3000}, TRAFFIC).values

    assert found["isl"] == pytest.approx(900)


def test_what_contradicts_a_law_is_named_once():
    """640 tok/s x 22.2 ms = 14.2 that decode, not 32 (kind 8)."""
    found = solve({"output_tokens_per_s": 640, "tpot_s": 0.0222, "decoding": 32}, TRAFFIC)

    (clash,) = found.clashes
    assert (clash.relation.target, clash.stated) == ("decoding", 32)
    assert clash.made == pytest.approx(640 * 0.0222)


def test_rounded_values_do_not_contradict():
    """25 tok/s a user at 40.4 ms a token is 24.75: a hundredth off."""
    assert not solve({"output_tokens_per_s_per_user": 25, "tpot_s": 0.0404}, TRAFFIC).clashes


def test_a_time_that_would_be_negative_is_a_contradiction():
    """A first token after the last one."""
    found = solve({"ttft_s": 0.5, "request_s": 0.4, "osl": 20}, TRAFFIC)

    (clash,) = found.clashes
    assert clash.made < 0
    assert clash.stated is None
    assert "tpot_s" not in found.values


def test_one_output_token_has_no_time_per_token():
    found = solve({"ttft_s": 0.5, "request_s": 0.5, "osl": 1}, TRAFFIC)

    assert "tpot_s" not in found.values
    assert not found.clashes


def test_nothing_follows_from_a_latency_between_chunks_alone():
    assert not solve({"itl_s": 0.05}, TRAFFIC).steps


@pytest.mark.parametrize("law", sorted({one.law for one in TRAFFIC if one.law}))
def test_relations_of_one_law_are_one_equation(law):
    """Each is solved for another of its values: what one gives fulfils all others."""
    forms = [one for one in RELATIONS if one.law == law]
    values = {name: 2.0 + len(name) for one in forms for name in (one.target, *names(one.formula))}
    values |= {"isl": 900.0, "osl": 100.0}
    values[forms[0].target] = worked(forms[0].formula, values)

    for form in forms:
        assert worked(form.formula, values) == pytest.approx(values[form.target]), form
