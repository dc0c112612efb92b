"""The time view: the waterfall of the library, and what binds."""

from __future__ import annotations

import pytest

pytest.importorskip("pydantic", reason="needs the extra `studio`")
pytest.importorskip("altair", reason="needs the extra `charts`")

import rooflight
from rooflight.show import numbers
from rooflight.studio.page import Page
from rooflight.studio.question import Question
from rooflight.studio.view import Asked
from rooflight.studio.views.time import time

LLAMA, DEEPSEEK = "meta-llama/Meta-Llama-3.1-8B", "deepseek-ai/DeepSeek-V3"


def asked(*scenarios: Question, option: str = "", focus: int = 0):
    return time(Asked(page=Page(scenarios=list(scenarios), focus=focus), option=option))


@pytest.mark.parametrize("phase", ["decode", "prefill"])
@pytest.mark.parametrize(("model", "on"), [(LLAMA, "h100-sxm"), (DEEPSEEK, "8xh200-sxm")])
def test_the_strips_are_the_waterfall_of_the_analysis(model, on, phase):
    view = asked(Question(model=model, on=on, batch=8), option=phase)
    told = rooflight.analyze(model, on, batch=8).phases[phase]
    steps = view.charts[0].spec["datasets"]["steps"]

    assert [step["time_s"] for step in steps] == [*(step.seconds for step in told.waterfall), told.time_s.expected]
    assert sum(step.seconds for step in told.waterfall) == pytest.approx(told.time_s.expected)


def test_the_sentence_says_what_is_expected_what_is_lost_and_what_binds():
    view = asked(Question())
    decode = rooflight.analyze(LLAMA, "h100-sxm").phases["decode"]
    most = max((step for step in decode.waterfall if step.name != "ceiling"), key=lambda step: step.seconds)

    assert numbers.seconds(decode.time_s.expected) in view.answer
    assert f"{most.name}, {numbers.seconds(most.seconds)}" in view.answer
    assert "emory bandwidth is the ceiling" in view.answer


def test_decode_is_shown_first_and_only_steps_that_are_there_are_choices():
    assert [one.option for one in asked(Question()).choices] == ["decode", "prefill"]
    assert [one.option for one in asked(Question(osl=0)).choices] == ["prefill"]
    drafting = asked(Question(draft_tokens=3, acceptance=0.7))
    assert {one.option for one in drafting.choices} >= {"decode", "prefill", "verify"}


def test_an_option_that_is_no_step_of_it_shows_the_first():
    assert asked(Question(), option="nonsense") == asked(Question())


def test_what_does_not_fit_says_so_without_a_chart():
    view = asked(Question(model="llama-3.1-70b"))

    assert view.charts == ()
    assert view.answer == rooflight.analyze("llama-3.1-70b", "h100-sxm").answer


def test_of_several_the_causes_stand_side_by_side_and_who_has_none_is_said():
    view = asked(Question(), Question(on="nonsense-9000"), Question(on="h200-sxm"), Question(model="llama-3.1-70b"))
    said = [block.text for block in view.blocks if getattr(block, "kind", "") == "warning"]
    table = next(block for block in view.blocks if hasattr(block, "heads"))

    assert [text[:2] for text in said] == ["B,", "D,"]
    assert table.heads[1:] == ("A", "C")
    expected = [rooflight.analyze(LLAMA, on).phases["decode"].time_s.expected for on in ("h100-sxm", "h200-sxm")]
    assert table.rows[-1][1:] == tuple(map(numbers.seconds, expected))


def test_layers_of_several_kinds_are_a_table_and_of_one_kind_none():
    (table,) = asked(Question(model=DEEPSEEK, on="8xh200-sxm")).blocks

    assert [row[1] for row in table.rows] == ["3", "58"]  # dense layers, then those with experts
    assert table.rows[1][3] == "8 of 256"
    assert asked(Question()).blocks == ()
