"""The view that checks: claims in words, and rows of measurements, judged as `rooflight check` judges them."""

from __future__ import annotations

import pytest

pytest.importorskip("pydantic", reason="needs the extra `studio`")

from hypothesis import given, settings
from hypothesis import strategies as st

import rooflight
from rooflight.errors import BadInput
from rooflight.studio.page import Page
from rooflight.studio.question import PASTED, Question
from rooflight.studio.view import Asked
from rooflight.studio.views import written as texts
from rooflight.studio.views.check import check
from rooflight.studio.views.claims import claim_in

LARGE = "meta-llama/Meta-Llama-3.1-70B"
FOCUS = {"model": LARGE, "on": "4xh100-sxm", "batch": 16, "weights": "bf16"}


def asked(text: str, **scenario) -> Asked:
    return Asked(page=Page(scenarios=[Question(**{**FOCUS, **scenario})]), text=text)


def shown(view) -> str:
    return " ".join(getattr(one, "text", "") for one in view.blocks)


CLAIMS = [
    ("42 tok/s", {"output_tok_s": 42}, {}),
    ("TPOT 11 ms batch 32", {"tpot_ms": 11}, {"batch": 32}),
    ("300 tok/s per user at batch 8, TTFT 200 ms", {"output_tok_s_per_user": 300, "ttft_ms": 200}, {"batch": 8}),
    ("tpot_ms=11 output_tok_s: 1,300.5", {"tpot_ms": 11, "output_tok_s": 1300.5}, {}),
    ("batch 64: 2.5k tok/s total", {"total_tok_s": 2500}, {"batch": 64}),
    ("1024 in 256 out 11 ms per token", {"tpot_ms": 11}, {"isl": 1024, "osl": 256}),
    ("TTFT 0.2s TPOT 11ms isl 4096", {"ttft_ms": 200, "tpot_ms": 11}, {"isl": 4096}),
    ("latency 3 seconds, output 256, input 1024", {"e2e_latency_ms": 3000}, {"osl": 256, "isl": 1024}),
    ("500 us a token", {"tpot_ms": 0.5}, {}),
    ("1,300 tok/s 32 users", {"output_tok_s": 1300}, {"batch": 32}),
    ("1200 tok/s per gpu for 64 concurrent requests", {"output_tok_s_per_gpu": 1200}, {"batch": 64}),
    ("80 ms to the first token", {"ttft_ms": 80}, {}),
    ("prefill 9000 tokens per second", {"prefill_tok_s": 9000}, {}),
]


@pytest.mark.parametrize("text, values, fields", CLAIMS, ids=[text for text, *_ in CLAIMS])
def test_a_claim_in_words_is_values_of_metrics(text, values, fields):
    found = claim_in(text)
    assert found.values == pytest.approx(values)
    assert found.fields == fields


def test_what_a_claim_says_of_model_and_machine_is_not_taken_and_said():
    assert claim_in("120 tok/s on 4xh100 with fp8 llama-3.1-8b").left == ("4xh100", "fp8", "llama-3.1-8b")


@pytest.mark.parametrize("text", ["hello", "42", "11 ms", "3 tok/s 4 tok/s", "batch 2.5 3 tok/s", "x" * 3000])
def test_what_claims_nothing_is_refused(text):
    with pytest.raises(BadInput):
        claim_in(text)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_a_view(text):
    view = check(Asked(text=text))
    assert view.answer
    assert view.wanted is not None


def test_a_claim_is_judged_as_the_library_judges_it():
    view = check(asked("TPOT 19 ms, batch 32"))
    report = rooflight.claim(LARGE, "4xh100-sxm", tpot_ms=19, batch=32, isl=1024, osl=256, weights="bf16")
    assert view.answer == report.answer
    (row,) = [one for block in view.blocks for one in getattr(block, "rows", ())]
    said = report.rows[0]
    assert row[0] == "tpot_ms"
    assert row[-1] == said.verdict


def test_a_json_claim_is_the_same():
    assert check(asked('{"tpot_ms": 19, "batch": 32}')).answer == check(asked("TPOT 19 ms, batch 32")).answer


def test_rows_leave_what_they_do_not_say_to_the_scenario():
    """A value that a row gives is judged as the claim of it is."""
    for metric, value in (("tpot_ms", 14), ("output_tok_s", 700), ("ttft_ms", 200), ("prefill_tok_s", 20000)):
        (row,) = check_rows(f"metric,value\n{metric},{value}\n")
        claimed = rooflight.claim(
            LARGE, "4xh100-sxm", batch=16, isl=1024, osl=256, weights="bf16", **{metric: value}
        ).rows[0]  # fmt: skip
        same = ("verdict", "ceiling", "expected", "low", "high")
        assert [getattr(row, name) for name in same] == [getattr(claimed, name) for name in same], metric


def check_rows(text: str):
    from rooflight.answers.check.beside import cells_of, judged_of
    from rooflight.studio.question import scenario_of
    from rooflight.words.verdicts import reported

    sc = scenario_of(Question(**FOCUS))
    return reported(judged_of(texts.written(text, cells_of(sc)).rows, sc), ()).rows


def test_rows_that_name_model_and_machine_are_judged_by_themselves():
    row = {"model": "llama-3.1-8b", "accelerator": "l40s", "metric": "tpot_ms", "value": 30, "batch": 1,
           "weights": "bf16", "input_len": 512, "output_len": 128}  # fmt: skip
    text = ",".join(row) + "\n" + ",".join(map(str, row.values())) + "\n"
    (found,) = check_rows(text)
    (said,) = rooflight.check([row]).rows
    assert (found.verdict, found.ceiling, found.expected, found.reason) == (
        said.verdict, said.ceiling, said.expected, said.reason,
    )  # fmt: skip


def test_steps_are_dots_of_the_roofline_in_the_hue_of_their_verdict():
    """A decode step of 16 in 19 ms: FLOP of the phase over 19 ms, at the phase's intensity."""
    view = check(asked("metric,value,batch\ntpot_ms,19,16\noutput_tok_s,29000,1\ne2e_latency_ms,9000,16\n"))
    roof = next(one for one in view.charts if one.kind == "roofline")
    phase = rooflight.analyze(LARGE, "4xh100-sxm", batch=16, weights="bf16").phases["decode"]
    first, second = roof.spec["datasets"]["samples"]
    assert first["x"] == pytest.approx(phase.intensity_flop_per_byte)
    assert first["y"] == pytest.approx(phase.flop / 0.019)
    assert second["hue"] == "compute"  # impossible, as in the chart of verdicts


def test_a_pasted_model_is_judged_by_its_own_shape():
    config = {
        "model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 4,
        "num_attention_heads": 8, "num_key_value_heads": 8, "vocab_size": 32000, "torch_dtype": "bfloat16",
    }  # fmt: skip
    view = check(asked("metric,value\ntpot_ms,5\n", config=config, on="h100-sxm", weights=None))
    assert "cannot be judged" not in view.answer
    assert PASTED not in view.answer


def test_odd_rows_are_said_and_stop_nothing():
    view = check(asked("metric,value\nfoo,1\ntpot_ms,\ntpot_ms,19\n"))
    assert view.answer.startswith("No row of 3 is faster than physics allows")


def test_of_many_rows_the_first_are_judged_and_that_is_said(monkeypatch):
    monkeypatch.setattr(texts, "MOST_ROWS", 2)
    view = check(asked("metric,value\n" + "tpot_ms,19\n" * 5))
    assert "the first 2 rows are judged here" in shown(view)


def test_a_log_of_requests_is_sent_to_compare():
    view = check(asked("isl,osl\n1000,200\n"))
    assert view.answer == "Nothing is judged: those are requests, and no measurements."
    assert view.elsewhere == "compare"
    assert check(asked("hello")).elsewhere == ""


def test_nothing_written_shows_what_may_be():
    view = check(asked(""))
    assert view.wanted is not None
    assert view.charts == ()


@pytest.mark.parametrize(
    "text", ["{", "[1]", '[{"metric": 3}]', '{"rows": 3}', "metric,value", "metric,value\n", "1e999 tok/s",
             "tok/s 5 batch 1e300", '{"tpot_ms": 1e308}', "0 tok/s", "[" * 4000, "TPOT 11 ms batch 99999999"],
)  # fmt: skip
def test_what_cannot_be_judged_is_said_and_may_be_written_again(text):
    view = check(asked(text))
    assert view.answer
    assert view.wanted is not None
    assert view.charts == ()


@pytest.mark.parametrize(
    "text",
    ["METRIC,VALUE\ntpot_ms,11.2\n", "Metric;Value\ntpot_ms;11.2\n", "tpot_ms,11.2", "tpot_ms;11.2\n", "tpot_ms\t11.2"],
)
def test_two_columns_are_read_in_any_spelling_and_without_a_header(text):
    view = check(Asked(text=text))
    assert view.charts, view.answer
    assert "slower than expected" in view.answer


@pytest.mark.parametrize("text", ["[]", "[{}]", '{"rows": []}'])
def test_a_list_of_nothing_is_refused_in_words(text):
    view = check(Asked(text=text))
    assert view.answer == "Nothing is judged: there are no rows in it."
    assert view.blocks
