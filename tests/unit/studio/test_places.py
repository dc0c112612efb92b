"""A scenario's letter and hue are those of its place on the page, in every picture, whoever before it has no answer."""

from __future__ import annotations

import pytest

from offline import Tables
from rooflight.show.charts.theme import LIGHT
from rooflight.studio import drawings
from rooflight.studio.answered import answered, landmarks_of
from rooflight.studio.export import exported
from rooflight.studio.page import Page
from rooflight.studio.picture import picture
from rooflight.studio.question import Question
from rooflight.studio.view import Asked
from rooflight.studio.views import VIEWS

LLAMA, LARGE = "meta-llama/Meta-Llama-3.1-8B", "meta-llama/Meta-Llama-3.1-70B"
# B names no machine, C does not fit: what comes behind them keeps its own.
PAGE = Page(scenarios=[
    Question(model=LLAMA), Question(model=LLAMA, on="nonsense"), Question(model=LARGE),
    Question(model=LLAMA, on="h200-sxm"),
])  # fmt: skip
LOOK = drawings.page_look(800, dark=False)


def hues(rows, field):
    return {(row[field], row["hue"]) for row in rows}


@pytest.fixture(scope="module")
def shown():
    return picture(PAGE, LOOK)


def test_dots_of_the_roofline_have_the_letters_of_their_scenarios(shown):
    assert hues(shown.datasets["phases"], "called") == {
        ("A decode", "1"), ("A prefill", "1"), ("D decode", "4"), ("D prefill", "4")
    }  # fmt: skip
    assert hues(shown.datasets["would"], "called") == {("C decode", "3"), ("C prefill", "3")}
    assert {row["text"] for row in shown.datasets["phase_names"]} == {
        f"{letter} {phase}" for letter in "ACD" for phase in ("decode", "prefill")
    }
    assert hues(shown.datasets["table"], "mark") == {("A", "1"), ("C", "3"), ("D", "4")}


@pytest.mark.parametrize("option", ["all", "user", "pareto"])
def test_lines_along_the_batch_have_them_too(option):
    view = VIEWS["throughput"](Asked(page=PAGE, option=option))
    points = next(rows for name, rows in view.charts[0].spec["datasets"].items() if name.startswith("points"))
    assert {(row["name"][0], row["hue"]) for row in points} == {("A", "1"), ("D", "4")}


def test_bars_and_lines_of_the_comparison_have_them_too():
    bars, *lines = VIEWS["compare"](Asked(page=PAGE)).charts
    assert {(row["name"][0], row["hue"]) for row in bars.spec["datasets"]["bars"]} >= {("A", "1"), ("D", "4")}
    for chart in lines:
        assert {(row["name"][0], row["hue"]) for row in chart.spec["datasets"]["points"]} == {("A", "1"), ("D", "4")}


@pytest.mark.slow  # draws pictures
def test_the_slide_and_the_offline_page_have_them_too():
    found = answered(PAGE)
    slide = drawings.slide(PAGE, found, found[0], landmarks_of(found[0]), (), dark=False)
    marked = [row for row in slide.datasets["runs"] if row["mark"]]
    assert [(row["mark"], row["hue"]) for row in marked] == list(zip("ABCD", "1234", strict=True))
    page = exported(PAGE, "html", False).decode()
    for letter, hue in (("A", "1"), ("C", "3"), ("D", "4")):
        assert page.count(f'<span class="chip hue-{hue}">{letter}</span>') == 2  # the switch, and the table
    dots = Tables(page).together("phases", Tables(page).asked)
    assert {row["hue"] for row in dots} == {"1", "4"}
    assert f"--hues-4:{LIGHT.hues['4']}" in page
