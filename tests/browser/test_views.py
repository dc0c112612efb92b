"""The views below the first screen: by tabs, one asked at a time; operators and what explains them."""

from __future__ import annotations

import json

import pytest

import rooflight
from rooflight.show import numbers
from rooflight.studio.page import Page
from rooflight.studio.view import Asked
from rooflight.studio.views import TITLES, VIEWS
from studio_pages import LLAMA

FIRST, LAST = next(iter(TITLES)), [*TITLES][-1]
TWO = {"scenarios": [{"on": "h100-sxm", "batch": 8}, {"on": "h200-sxm", "batch": 8}]}


def asked(page) -> list[str]:
    """The views that the page asks the server for from now on, by name."""
    found: list[str] = []
    page.on("request", lambda one: "/api/view/" in one.url and found.append(one.url.rpartition("/")[2]))
    return found


def opened(page) -> str:
    return page.get_attribute("#viewtabs [aria-selected='true']", "data-view")


@pytest.mark.parametrize("name", TITLES)
def test_a_view_says_what_the_library_says_and_draws_all_its_charts(studio_page, name):
    page = studio_page.open("?b=8&2.c=h200-sxm")
    studio_page.press(f"#tab-{name}")
    own = VIEWS[name](Asked(page=Page.model_validate(TWO)))

    assert page.inner_text("#view-answer") == own.answer
    assert page.inner_text("#view-error") == ""
    charts = page.locator("#view-charts figure")
    assert charts.count() == len(own.charts)
    for number, chart in enumerate(own.charts):
        assert charts.nth(number).locator(".view").get_attribute("aria-label") == chart.title
        assert charts.nth(number).locator("svg").bounding_box()["width"] > 400
    assert page.locator("#view-blocks > *").count() == len(own.blocks)
    assert page.get_by_role("tabpanel", name=TITLES[name]).is_visible()
    assert f"view={name}" in page.url or name == FIRST


def test_views_are_opened_by_mouse_and_only_the_open_one_is_asked(studio_page):
    page = studio_page.open()
    found = asked(page)
    studio_page.press(f"#tab-{LAST}")
    assert set(found) == {LAST}
    assert opened(page) == LAST
    found.clear()
    studio_page.set("batch", 12)
    assert found == [LAST]
    found.clear()
    studio_page.press("#tab-recorded")
    studio_page.set("batch", 16)
    assert found == []
    assert page.inner_text("#view-answer") == ""
    assert page.locator("#view-charts svg").count() == 0


def test_views_are_opened_by_arrows_in_a_ring_with_home_and_end(studio_page):
    page = studio_page.open()
    names = [one.get_attribute("data-view") for one in page.locator("#viewtabs [role='tab']").all()]
    assert names == [*TITLES, "recorded"]
    assert page.locator("#viewtabs [tabindex='0']").count() == 1
    page.focus(f"#tab-{FIRST}")
    for key, place in [("ArrowLeft", -1), ("ArrowRight", 0), ("ArrowRight", 1), ("End", -1), ("Home", 0)]:
        page.keyboard.press(key)
        assert opened(page) == names[place]
        assert page.evaluate("document.activeElement.dataset.view") == names[place]
    studio_page.settled()


def test_the_open_view_follows_the_page_once_it_rests(studio_page):
    """While a slider moves, nothing but the picture is asked."""
    page = studio_page.open("?view=memory")
    found = asked(page)
    page.focus("#batch-slider")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    studio_page.settled()
    batch = int(page.input_value("#batch"))
    own = VIEWS["memory"](Asked(page=Page.model_validate({"scenarios": [{"batch": batch}]})))

    assert page.inner_text("#view-answer") == own.answer
    assert 1 <= len(found) <= 4
    assert page.get_attribute("#view-panel", "data-busy") == "false"


def test_an_answer_that_comes_late_is_not_shown_in_another_view(studio_page):
    page = studio_page.open()
    held = []
    page.route("**/api/view/memory", lambda route: held.append(route))
    page.evaluate("document.getElementById('tab-recorded').click()")
    page.click("#tab-memory")
    page.wait_for_function("() => document.getElementById('view-panel').dataset.busy === 'true'")
    page.click("#tab-recorded")
    for route in held:
        route.continue_()
    page.wait_for_timeout(300)

    assert opened(page) == "recorded"
    assert page.inner_text("#view-answer") == ""
    assert page.locator("#view-charts svg").count() == 0


def test_a_view_that_is_refused_says_why_and_comes_back(studio_page):
    page = studio_page.open("?view=memory&c=h1000")
    assert "h1000" in page.inner_text("#view-error")
    studio_page.set("on", "h100-sxm")

    assert page.inner_text("#view-error") == ""
    assert page.locator("#view-charts svg").count() > 0
    studio_page.refused()


def test_a_view_of_another_version_opens_the_first(studio_page):
    page = studio_page.open("?view=nothing")

    assert opened(page) == FIRST
    assert page.locator("#view-error").inner_text() == ""


def test_what_is_chosen_and_written_in_a_view_is_asked_with_it_and_kept(studio_page):
    """Whatever view has options or wants a text; the answers here are the test's own."""
    page = studio_page.open()
    bodies = []

    def answer(route):
        bodies.append(json.loads(route.request.post_data))
        told = f"{bodies[-1]['option']}|{bodies[-1]['text']}"
        choices = [{"option": "", "words": "first"}, {"option": "other", "words": "the other"}]
        wanted = {"label": "A claim", "hint": "as you have it", "placeholder": "42 tok/s", "accept": ".csv"}
        table = {
            "block": "table", "title": "Moves", "heads": ["move", "gain"], "rows": [["two cards", "2 x"]], "left": [],
        }  # fmt: skip
        act = {"table": 0, "row": 0, "name": "twice", "fields": {"on": "2xh100-sxm"}}
        view = {"answer": told, "charts": [], "blocks": [table], "acts": [act], "choices": choices, "wanted": wanted}
        route.fulfill(json=view)

    page.route(f"**/api/view/{LAST}", answer)
    studio_page.press("#tab-recorded")
    studio_page.press(f"#tab-{LAST}")
    page.select_option("#view-option", "other")
    page.wait_for_function("() => document.getElementById('view-answer').textContent === 'other|'")
    page.get_by_label("A claim").fill("42 tok/s")
    page.keyboard.press("Control+Enter")
    page.wait_for_function("() => document.getElementById('view-answer').textContent === 'other|42 tok/s'")
    studio_page.press("#tab-recorded")
    studio_page.press(f"#tab-{LAST}")
    assert page.inner_text("#view-answer") == "other|42 tok/s"
    assert page.input_value("#view-option") == "other"
    page.set_input_files("#view-options input[type=file]", {"name": "a.csv", "mimeType": "", "buffer": b"isl,osl"})
    page.wait_for_function("() => document.getElementById('view-answer').textContent === 'other|isl,osl'")
    page.get_by_role("button", name="Forget it").click()
    page.wait_for_function("() => document.getElementById('view-answer').textContent === 'other|'")
    studio_page.settled()

    page.get_by_role("button", name="Make a scenario: twice").click()
    page.wait_for_function("() => document.querySelectorAll('#scenarios .pick').length === 2")
    studio_page.settled()
    assert studio_page.names() == ["A h100-sxm", "B twice"]
    assert page.input_value("#count") == "2"
    focus = page.locator("#scenarios .pick:focus")
    assert "B twice" in " ".join(focus.inner_text().split())
    assert 0 <= focus.bounding_box()["y"] <= page.viewport_size["height"]


# --- operators ------------------------------------------------------------------------------------------------------


def test_an_operator_explains_itself(studio_page):
    page = studio_page.open("?b=32&view=time")
    page.click("[data-operator='qkv']")
    page.wait_for_selector(".explanation .sums")

    text = page.inner_text(".explanation")
    assert "2 × 32 tokens × 4,096 inputs × 6,144 outputs = 1.61 GFLOP" in text
    assert "295 FLOP/byte" in text
    assert "memory-bound" in text
    assert page.get_attribute("[data-operator='qkv']", "aria-expanded") == "true"
    page.focus("[data-operator='qkv']")
    page.keyboard.press("Enter")
    page.wait_for_selector(".explanation", state="detached")
    assert page.evaluate("document.activeElement.dataset.operator") == "qkv"


def test_operators_are_the_librarys_of_the_scenario_in_focus_and_of_either_phase(studio_page):
    page = studio_page.open("?b=8&2.c=h200-sxm&f=1&view=time")
    phases = rooflight.analyze(LLAMA, "h200-sxm", batch=8).phases
    for phase in ("decode", "prefill"):
        page.click(f"[data-phase='{phase}']")
        shares = page.locator("#operators [data-label='share']").all_inner_texts()
        times = page.locator("#operators [data-label='time']").all_inner_texts()
        own = phases[phase].operators
        assert page.locator("#operators [data-operator]").all_inner_texts() == [one.name for one in own]
        assert [one.strip() for one in shares] == [numbers.percent(one.share) for one in own]
        assert times == [numbers.seconds(one.time_s) for one in own]
    studio_page.settled()
    assert "ph=prefill" in page.url


def test_an_explanation_follows_the_page(studio_page):
    page = studio_page.open("?b=32&view=time&op=qkv")
    page.wait_for_selector(".explanation .sums")
    studio_page.set("batch", 64)
    page.wait_for_function("() => document.querySelector('.explanation').textContent.includes('2 × 64 tokens')")


def test_an_address_of_an_operator_that_is_not_there_shows_the_table(studio_page):
    page = studio_page.open("?view=time&op=nothing")
    studio_page.settled()

    assert page.locator("#operators [data-operator]").count() > 3
    assert page.locator(".explanation").count() == 0
    studio_page.refused()


def test_a_press_on_an_operators_dot_opens_its_explanation(studio_page):
    """Of one scenario the roofline shows operators."""
    page = studio_page.open("?b=32")
    ring = page.locator("#chart-roofline [role='img']")
    ring.focus()
    for _ in range(40):
        if ring.get_attribute("aria-label").startswith("operator qkv"):
            break
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector(".explanation .sums")

    assert opened(page) == "time"
    assert "qkv" in page.inner_text(".explanation")
