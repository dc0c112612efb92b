"""The view that compares the page's scenarios: figures of the library, on a log of requests, under goals."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("pydantic", reason="needs the extra `studio`")

import rooflight
from rooflight.library.scenarios import compared
from rooflight.scenario.change import changed
from rooflight.serve.goals import wanted_ms
from rooflight.serve.schedule import whole
from rooflight.studio.page import Page
from rooflight.studio.question import Question, scenario_of
from rooflight.studio.view import Asked
from rooflight.studio.views.compare import compare

LARGE = "meta-llama/Meta-Llama-3.1-70B"
THREE = [{"model": LARGE, "on": on, "batch": 16} for on in ("4xh100-sxm", "2xh200-sxm", "8xl40s")]
NAMES = ("A (4xh100-sxm)", "B (2xh200-sxm)", "C (8xl40s)")
LOG = "isl,osl\n1000,200\n300,900\nmany,3\n"
PAIRS = [(1000, 200), (300, 900)]


def asked(*scenarios, option="", text="", **page) -> Asked:
    return Asked(page=Page(scenarios=[Question(**one) for one in scenarios], **page), option=option, text=text)


def library(*scenarios, **more):
    return compared({name: scenario_of(Question(**one)) for name, one in zip(NAMES, scenarios, strict=False)}, **more)


def goals_table(view):
    return next(one for one in view.blocks if getattr(one, "title", "").startswith("Most requests at once"))


@pytest.mark.parametrize("objective", ["throughput", "accelerator", "latency", "energy"])
def test_the_view_says_what_the_library_says(objective):
    view = compare(asked(*THREE, option=objective))
    assert view.answer == library(*THREE, objective=objective).answer
    assert [one.kind for one in view.charts] == ["compared", "crossing"]


def test_each_at_its_largest_batch_is_a_choice():
    assert compare(asked(*THREE, option="largest")).answer == library(*THREE, largest=True).answer


def test_bars_are_the_figures_of_the_comparison_in_the_hues_of_the_page():
    """Expected, ceiling and interval of each scenario's output tokens a second; hue 2 is scenario B everywhere."""
    view = compare(asked(*THREE))
    rows = view.charts[0].spec["datasets"]
    for place, one in enumerate(library(*THREE).compared):
        rate = one.request.output_tokens_per_s
        assert rows["bars"][place]["x2"] == rate.expected
        assert rows["bars"][place]["hue"] == str(place + 1)
        assert rows["ceilings"][place]["x"] == rate.ceiling
        assert (rows["interval"][place]["low"], rows["interval"][place]["high"]) == (rate.low, rate.high)
    lines = view.charts[1].spec["datasets"]["points"]
    assert {one["name"]: one["hue"] for one in lines} == dict(zip(NAMES, "123", strict=True))


def test_a_log_is_the_mix_and_its_bad_rows_are_said():
    view = compare(asked(*THREE, text=LOG))
    assert view.answer == library(*THREE, log=PAIRS).answer
    assert any("1 of 3 rows of your requests are left out" in getattr(one, "text", "") for one in view.blocks)


def test_of_a_long_log_the_first_lines_are_read_and_that_is_said(monkeypatch):
    monkeypatch.setattr(sys.modules[compare.__module__], "MOST_LINES", 2)
    view = compare(asked(*THREE[:2], text="isl,osl\n1000,200\n300,900\n7,7\n8,8\n"))
    assert view.answer == library(*THREE[:2], log=PAIRS).answer
    assert any("the first 2 lines are read here" in getattr(one, "text", "") for one in view.blocks)


def test_under_a_goal_each_has_as_many_requests_as_keep_it():
    """One request more in flight, and a token takes longer than 40 ms."""
    view = compare(asked(*THREE, tpot_slo_ms=40))
    table = goals_table(view)
    for row, one in zip(table.rows, THREE, strict=True):
        sc, batch = scenario_of(Question(**one)), int(row[1].replace(",", ""))
        assert whole(changed(sc, batch=batch), "served").tpot_s.expected <= wanted_ms(None, 40).tpot_s
        assert whole(changed(sc, batch=batch + 1), "served").tpot_s.expected > wanted_ms(None, 40).tpot_s
    best = [{**one, "batch": int(row[1])} for one, row in zip(THREE, table.rows, strict=True)]
    assert view.answer.startswith(library(*best).answer)
    assert "Each has as many requests at once as keep a token within 40 ms" in view.answer


def test_who_cannot_keep_a_goal_is_left_out_and_said():
    """8 x l40s reads 141 GB of weights at 6.9 TB/s: 20 ms a token is less than it takes."""
    view = compare(asked(*THREE, tpot_slo_ms=20))
    assert goals_table(view).rows[2][:2] == ("C (8xl40s)", "none")
    assert "C (8xl40s) cannot keep it, and is left out." in view.answer
    assert len(view.charts[0].spec["datasets"]["bars"]) == 2


def test_where_none_keeps_a_goal_they_are_compared_as_they_are():
    view = compare(asked(*THREE[:2], tpot_slo_ms=0.01))
    assert view.answer.startswith(library(*THREE[:2]).answer)
    assert "None of them keeps a token within 10 us" in view.answer


def test_the_price_of_each_scenario_counts():
    priced = [{**one, "usd_per_hour": usd} for one, usd in zip(THREE, (2.5, 3.5, 0.9), strict=True)]
    view = compare(asked(*priced, option="cost"))
    prices = {"h100-sxm": 2.5, "h200-sxm": 3.5, "l40s": 0.9}
    assert view.answer == library(*THREE, objective="cost", prices=prices).answer
    assert "cost" not in [one.option for one in compare(asked(*THREE)).choices]


def test_one_kind_of_card_at_two_prices_is_said():
    twice = [
        {**THREE[0], "usd_per_hour": 2.0},
        {**THREE[0], "batch": 4, "usd_per_hour": 3.0},
        {**THREE[2], "usd_per_hour": 1.0},
    ]
    said = [one.text for one in compare(asked(*twice)).blocks if "two prices" in getattr(one, "text", "")]
    assert said == [
        "Warning: h100-sxm has two prices on this page, and counts here at the first of them, or that in focus"
    ]


def test_a_scenario_that_cannot_be_answered_is_left_out_and_said():
    view = compare(asked(*THREE[:2], {**THREE[2], "on": "no-such-card"}))
    assert view.answer == library(*THREE[:2]).answer
    assert view.blocks[0].text.startswith("C (no-such-card) is left out")


def test_one_that_does_not_fit_has_no_bar_and_a_reason():
    view = compare(asked(THREE[0], {"model": LARGE, "on": "h100-sxm", "batch": 16}))
    bars = view.charts[0].spec["datasets"]["bars"]
    assert (bars[1]["x2"], bars[1]["text"]) == (0.0, "no times")


def test_one_scenario_alone_asks_for_another_or_for_a_log():
    assert "add one above" in compare(asked(THREE[0])).answer
    assert compare(asked(THREE[0])).wanted is not None
    assert compare(asked(THREE[0], text=LOG)).answer.startswith("For 2 requests of 650 tokens in")


@pytest.mark.parametrize("text", ["x", "a,b\n1,2\n", "isl,osl\nx,y\n", '{"a": 1}', "\0\0"])
def test_a_text_that_is_no_log_is_said_and_may_be_written_again(text):
    view = compare(asked(*THREE[:2], text=text))
    assert view.answer.startswith("Those requests cannot be read")
    assert view.wanted is not None


def test_rows_of_measurements_are_sent_to_check():
    assert compare(asked(*THREE[:2], text="metric,value\ntpot_ms,11\n")).elsewhere == "check"


def test_rooflight_compare_says_the_same_of_the_same_machines():
    """By its own names of them."""
    found = rooflight.compare(LARGE, ["4xh100-sxm", "2xh200-sxm"], batch=16)
    bars = compare(asked(*THREE[:2])).charts[0].spec["datasets"]["bars"]
    assert [one["x2"] for one in bars] == [one.request.output_tokens_per_s.expected for one in found.compared]
