"""The memory view: one number of what is needed, in sentence and table."""

from __future__ import annotations

import pytest

pytest.importorskip("pydantic", reason="needs the extra `studio`")
pytest.importorskip("altair", reason="needs the extra `charts`")

import rooflight
from rooflight.show import numbers
from rooflight.studio.page import Page
from rooflight.studio.question import Question
from rooflight.studio.view import Asked
from rooflight.studio.views.memory import HEADS, memory

LLAMA = "meta-llama/Meta-Llama-3.1-8B"
EXPERTS = Question(model="deepseek-ai/DeepSeek-V3", on="8xh200-sxm")
QUESTIONS = Question(batch=16), Question(model="llama-3.1-70b"), EXPERTS


def asked(*scenarios: Question, focus: int = 0):
    return memory(Asked(page=Page(scenarios=list(scenarios), focus=focus)))


def test_one_scenario_has_no_table():
    view = asked(Question())

    assert view.blocks == ()
    assert [chart.kind for chart in view.charts] == ["memory", "traffic"]


def test_a_row_is_the_memory_of_the_analysis():
    (table,) = asked(*QUESTIONS).blocks

    for row, one in zip(table.rows, QUESTIONS, strict=True):
        held = rooflight.analyze(one.model, one.on, batch=one.batch).memory
        cells = dict(zip(HEADS, row, strict=True))
        assert cells["weights"] == numbers.amount(held.weights_bytes, "B")
        assert cells["KV cache of the batch"] == numbers.amount(held.kv_bytes, "B")
        assert cells["reserve"] == numbers.amount(held.reserve_bytes, "B")
        assert cells["usable"] == numbers.amount(held.allowed_bytes, "B")
        assert cells["fits"] == ("yes" if held.fits else "no")
        assert cells["most sequences"] == f"{held.max_batch:,}"


@pytest.mark.parametrize("focus", range(len(QUESTIONS)))
def test_what_the_sentence_says_is_needed_is_what_the_table_says(focus):
    view = asked(*QUESTIONS, focus=focus)
    needs = view.blocks[0].rows[focus][HEADS.index("needs")]

    assert f"{needs} of " in view.answer


def test_a_scenario_that_is_wrong_is_left_out_and_said():
    absent, table = asked(Question(), Question(on="nonsense-9000")).blocks

    assert absent.text.startswith("B, nonsense-9000 is left out")
    assert len(table.rows) == 1
