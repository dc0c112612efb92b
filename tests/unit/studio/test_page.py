"""What the scenarios of a page are called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rooflight.show.charts.tag import LETTERS
from rooflight.studio.page import MOST_SCENARIOS, Page, labels
from rooflight.studio.question import Question

LLAMA = Question().model


def named(*scenarios):
    return [one.name for one in labels(Page(scenarios=[Question(**one) for one in scenarios]))]


@pytest.mark.parametrize(
    ("scenarios", "names"),
    [
        ([{}], ["h100-sxm"]),
        ([{"on": "4xh100-sxm"}, {"on": "2xh200-sxm"}], ["4xh100-sxm", "2xh200-sxm"]),
        ([{}, {"weights": "fp8"}], ["weights as the config says", "weights fp8"]),
        ([{"batch": 1}, {"batch": 64}], ["batch 1", "batch 64"]),
        ([{}, {"graphs": False}], ["graphs", "no graphs"]),
        ([{"on": "h100-sxm"}, {"on": "l40s", "batch": 8}], ["h100-sxm, batch 1", "l40s, batch 8"]),
        ([{"name": "today"}, {"weights": "fp8"}], ["today", "weights fp8"]),
        ([{"name": "  "}, {"batch": 2}], ["batch 1", "batch 2"]),
        ([{}, {"bandwidth_times": 1.5}], ["h100-sxm", "h100-sxm, bandwidth x 1.5"]),
        ([{}, {"weight_bytes": 5e9}], ["weight bytes by their formats", "weight bytes 5 GB"]),
        ([{}, {"memory": "nan"}], ["memory the catalog's", "memory of no size"]),
        ([{}, {}], ["h100-sxm", "h100-sxm"]),
        ([{"model": LLAMA}, {"model": "deepseek-ai/DeepSeek-V3"}], ["Meta-Llama-3.1-8B", "DeepSeek-V3"]),
        ([{}, {"config": {"model_type": "llama"}}], ["Meta-Llama-3.1-8B", "your config.json"]),
    ],
)
def test_a_scenario_is_called_by_its_name_or_by_what_tells_it_from_the_others(scenarios, names):
    assert named(*scenarios) == names


def test_a_label_has_a_letter_in_front():
    found = labels(Page(scenarios=[Question(name="today"), Question()]))

    assert found[0].whole == "A, today"
    assert [one.letter for one in found] == ["A", "B"]


SCENARIOS = st.builds(
    Question, name=st.text(max_size=8), batch=st.sampled_from([1, 2]), on=st.sampled_from(["h100-sxm", "l40s"]),
    weights=st.sampled_from([None, "fp8"]), peak_times=st.sampled_from([1.0, 2.0]),
)  # fmt: skip


@given(st.lists(SCENARIOS, min_size=1, max_size=MOST_SCENARIOS))
def test_no_two_labels_are_alike_and_none_is_empty(scenarios):
    found = labels(Page(scenarios=scenarios))

    assert len({one.whole for one in found}) == len(found)
    assert [one.letter for one in found] == list(LETTERS[: len(found)])
    assert all(one.name.strip() for one in found)


def test_a_focus_is_never_beyond_the_scenarios():
    page = Page(scenarios=[Question(), Question(batch=2)], focus=3)

    assert (page.shown, page.focused.batch) == (1, 2)


@pytest.mark.parametrize("fields", [
    {"scenarios": []}, {"scenarios": [Question()] * 5}, {"focus": -1}, {"focus": 4}, {"intensity": 0.001},
    {"intensity": float("nan")}, {"tpot_slo_ms": 0}, {"ttft_slo_ms": float("inf")}, {"cards": ["h100-sxm"]},
])  # fmt: skip
def test_a_page_has_bounds(fields):
    with pytest.raises(ValidationError):
        Page(**fields)


def test_a_label_stays_in_its_line():
    """In a file of commands, what stands in a line of its own would run; U+202E turns what follows it round."""
    odd = Question(name="a\nreboot #\u202etxt\0")
    other = Question(engine="x\r\nreboot")

    assert [one.name for one in labels(Page(scenarios=[odd, other]))] == ["a reboot # txt", "engine x reboot"]
    assert [one.name for one in labels(Page(scenarios=[Question(name="\u202e"), Question(batch=2)]))] == [
        "batch 1", "batch 2",
    ]  # fmt: skip


@pytest.mark.parametrize("goal_ms", [1e-300, 0, -1, 1e12, float("nan")])
def test_a_goal_that_nobody_can_mean_is_refused(goal_ms):
    with pytest.raises(ValidationError):
        Page(tpot_slo_ms=goal_ms)
