"""Measurements typed by hand, and what is taken of a record."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.answers.diagnose.points import point, points
from rooflight.answers.diagnose.timed.seen import seen
from rooflight.errors import BadInput, RooflightError, UnknownName
from rooflight.values.recorded import Measurements, Record, Spread, Stated


def test_a_point_says_how_it_ran_and_what_came_out():
    one = point("batch=33, tpot_ms=15.2 isl=1,000 weights=fp8 on=l40s")
    assert (one.stated.batch, one.stated.isl, one.stated.weights, one.stated.device) == (33, 1000, "fp8", "l40s")
    assert one.measured.tpot_s == Spread(mean=15.2e-3)
    assert one.name == "batch=33, tpot_ms=15.2 isl=1,000 weights=fp8 on=l40s"


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("output_tok_s=512", "output_tokens_per_s", 512),
        ("total_tok_s=1", "total_tokens_per_s", 1),
        ("prefill_tok_s=9", "prefill_tokens_per_s", 9),
        ("prompt_tok_s=9", "prefill_tokens_per_s", 9),
        ("req_s=2.5", "requests_per_s", 2.5),
        ("e2e_latency_ms=1500", "request_s", Spread(mean=1.5)),
        ("latency_s=1.5", "request_s", Spread(mean=1.5)),
        ("ttft_p99_ms=80", "ttft_s", Spread(p99=0.08)),
        ("median_itl_ms=80", "itl_s", Spread(p50=0.08)),
        ("queue_s=3", "queue_s", Spread(mean=3)),
        ("output_tok_s_per_user=20", "output_tokens_per_s_per_user", 20),
    ],
)
def test_names_of_check_and_of_load_generators_are_taken(text, field, value):
    assert getattr(point(text).measured, field) == value


def test_an_unknown_key_names_the_near_ones():
    with pytest.raises(UnknownName) as raised:
        point("tpot=12")
    assert "tpot_ms" in raised.value.try_this


@pytest.mark.parametrize(
    "text", ["", "batch", "batch=4", "batch=1.5 tpot_ms=2", "tpot_ms=-1", "tpot_ms=nan", "tpot_ms=0",
             "batch=x tpot_ms=1", "tpot_ms=1 tpot_ms=2", "speculative=maybe tpot_ms=1", "=3", "tpot_ms=1" + " " * 5000],
)  # fmt: skip
def test_what_is_no_measurement_is_refused(text):
    with pytest.raises(BadInput):
        point(text)


@given(st.text(max_size=60) | st.from_regex(r"[a-z_]{1,12}=[0-9a-z.]{1,8}", fullmatch=True))
def test_any_text_is_a_point_or_a_bad_input(text):
    with contextlib.suppress(RooflightError):
        points([text])


def of(stated=None, **measured):
    return seen(Record(stated=stated or Stated(), measured=Measurements(**measured)))


def test_a_tokens_time_comes_from_the_first_figure_that_says_it():
    times = {"ttft_s": Spread(mean=1.0), "request_s": Spread(mean=10.9), "osl": 100.0}
    assert of(tpot_s=Spread(p50=0.02), itl_s=Spread(mean=0.03)).token_s == 0.02
    assert of(itl_s=Spread(mean=0.03)).token_s == 0.03
    # (10.9 - 1.0) / 99
    assert of(**times).token_s == pytest.approx(0.1)
    # a TPOT that counts the first token: 0.109 x 100 is the request
    first_too = {"tpot_with_first_s": Spread(mean=0.109), "ttft_s": Spread(mean=1.0), "osl": 100.0}
    assert of(**first_too).token_s == pytest.approx(0.1)
    # 8 sequences together give 400 a second: 50 each
    assert of(Stated(batch=8), output_tokens_per_s=400.0).token_s == pytest.approx(8 / 400)


def test_with_a_first_token_it_is_taken_off():
    """16 in flight give 160 tok/s, 100 a request: 16 x 100 / 160 = 10 s a request, of which 1 s is the first token."""
    one = of(Stated(concurrency=16), output_tokens_per_s=160.0, osl=100.0, ttft_s=Spread(mean=1.0))
    assert (one.token_s, one.basis) == (pytest.approx(9 / 99), "little")


def test_drafted_chunks_are_no_tokens():
    assert of(Stated(speculative=True), itl_s=Spread(mean=0.03)).token_s is None


def test_littles_law_counts_what_is_in_flight():
    """gb10_gemma-4-26b_office: 0.26663 requests/s of 92.92 s are 24.78 in flight."""
    assert of(requests_per_s=0.26663319, request_s=Spread(mean=92.92293)).implied == pytest.approx(24.78, abs=0.01)


def test_nothing_is_guessed():
    one = of(output_tokens_per_s=400.0)
    assert (one.token_s, one.in_flight, one.implied, one.each_s) == (None, None, None, 1 / 400)


@pytest.mark.parametrize("text", ["batch=33,tpot_ms=15.2", "batch=33, tpot_ms=15.2", "batch=33;tpot_ms=15.2,"])
def test_commas_keep_values_apart_as_spaces_do(text):
    found = point(text)

    assert (found.stated.batch, found.measured.tpot_s.mean) == (33, pytest.approx(0.0152))
