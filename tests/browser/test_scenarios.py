"""Up to four scenarios on one page: made, named, changed together or alone, and taken away."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.library.questions import make_scenario
from rooflight.studio.page import Page, labels
from rooflight.studio.presets import PRESETS
from rooflight.studio.question import Question
from rooflight.studio.state import read_query
from rooflight.values.accelerator import WhatIf
from rooflight.words.headline import headline
from studio_pages import LLAMA, TPOT, tpot

TWO = "?b=8&2.c=h200-sxm"


def pick(studio_page, letter: str) -> None:
    studio_page.press(f"#scenarios .pick:has(b:text-is('{letter}'))")


def test_scenarios_are_added_until_there_are_four_and_each_has_its_line_and_dots(studio_page):
    """A new one is a copy of the one in focus, with the reader at its name."""
    page = studio_page.open()
    cards = ["h100-sxm", "h200-sxm", "mi300x", "l40s"]
    for card in cards[1:]:
        studio_page.press("#add-scenario")
        assert page.evaluate("document.activeElement.id") == "name"
        studio_page.set("on", card)

    assert page.is_hidden("#add-scenario")
    assert studio_page.names() == [f"{letter} {card}" for letter, card in zip("ABCD", cards, strict=True)]
    assert studio_page.tpots() == [tpot(LLAMA, card) for card in cards]
    for place, card in enumerate(cards):
        phase = rooflight.analyze(LLAMA, card).phases["decode"]
        assert studio_page.dot("decode", place)["y"] == phase.flop / phase.time_s.roofline
    assert page.inner_text("#headline") == headline(rooflight.analyze(LLAMA, "l40s"))
    assert page.inner_text("#focus-letter") == "D"
    assert all(part in page.url for part in ("2.c=h200-sxm", "3.c=mi300x", "4.c=l40s", "f=3"))


def test_they_are_named_and_switched(studio_page):
    """The sentence, the form and the dots' operators are of the one in focus."""
    page = studio_page.open(TWO)
    page.fill("#name", "today")
    studio_page.settled()
    assert studio_page.names() == ["A today", "B h200-sxm"]
    pick(studio_page, "B")
    assert page.get_attribute("#scenarios .pick >> nth=1", "aria-pressed") == "true"
    assert page.input_value("#on") == "h200-sxm"
    assert page.input_value("#name") == ""
    assert page.inner_text("#headline") == headline(rooflight.analyze(LLAMA, "h200-sxm", batch=8))

    page.fill("#name", "<b>after</b>")
    studio_page.settled()
    assert studio_page.names() == ["A today", "B <b>after</b>"]
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert studio_page.names() == ["A today", "B <b>after</b>"]
    assert page.locator("#scenarios b b").count() == 0


def test_they_differ_in_any_field(studio_page):
    page = studio_page.open(TWO)
    pick(studio_page, "B")
    page.select_option("#weights", "fp8")
    studio_page.settled()
    assert studio_page.tpots() == [tpot(LLAMA, "h100-sxm", batch=8), tpot(LLAMA, "h200-sxm", batch=8, weights="fp8")]
    questions = [Question(on="h100-sxm", batch=8), Question(on="h200-sxm", batch=8, weights="fp8")]
    assert studio_page.names() == [f"{one.letter} {one.name}" for one in labels(Page(scenarios=questions))]
    assert "fp8" in studio_page.names()[1]


@pytest.mark.parametrize(("removed", "left", "at"), [("A", "h200-sxm", 1), ("B", "h100-sxm", 0), ("A", "h200-sxm", 0)])
def test_one_is_removed_by_keyboard_and_the_focus_stays_among_them(studio_page, removed, left, at):
    page = studio_page.open(f"{TWO}&f={at}")
    page.focus(f"[aria-label^='Remove {removed},']")
    page.keyboard.press("Enter")
    studio_page.settled()

    assert studio_page.names() == [f"A {left}"]
    assert studio_page.tpots() == [tpot(LLAMA, left, batch=8)]
    assert page.evaluate("document.activeElement.matches('#scenarios .pick')")
    assert "2.c" not in page.url
    assert page.locator("#scenarios .remove").count() == 0


def test_batch_and_context_move_all_scenarios_or_one(studio_page):
    page = studio_page.open(TWO)
    page.focus("#batch-slider")
    page.keyboard.press("ArrowRight")
    studio_page.settled()
    batch = int(page.input_value("#batch"))
    assert batch > 8
    assert studio_page.tpots() == [tpot(LLAMA, "h100-sxm", batch=batch), tpot(LLAMA, "h200-sxm", batch=batch)]

    page.uncheck("#together")
    studio_page.set("batch", 32)
    assert studio_page.tpots() == [tpot(LLAMA, "h100-sxm", batch=32), tpot(LLAMA, "h200-sxm", batch=batch)]
    page.check("#together")
    studio_page.set("context", 2048)
    for place, (on, load) in enumerate([("h100-sxm", 32), ("h200-sxm", batch)]):
        phase = rooflight.analyze(LLAMA, on, batch=load, context=2048).phases["decode"]
        assert studio_page.dot("decode", place)["x"] == phase.intensity_flop_per_byte


def test_the_gain_over_the_first_is_that_of_the_librarys_one_comparison(studio_page):
    """Expected first: the line says of a token what the two expected times give."""
    studio_page.open(TWO)
    assert [line["kind"] for line in studio_page.figures()] == ["focus", ""]
    pick(studio_page, "B")
    line = studio_page.figures()[-1]

    assert line["kind"] == "gain"
    assert line["scenario"] == "B over A"
    one, two = (rooflight.analyze(LLAMA, on, batch=8) for on in ("h100-sxm", "h200-sxm"))
    expected = one.runs[one.run].tpot_s.expected / two.runs[two.run].tpot_s.expected
    assert float(line[TPOT].split()[0]) == pytest.approx(expected, rel=0.005)


def test_a_scenario_that_cannot_be_answered_says_why_beside_the_others(studio_page):
    page = studio_page.open("?b=8&2.c=h1000")
    assert page.inner_text("#headline") == headline(rooflight.analyze(LLAMA, "h100-sxm", batch=8))
    first, second = studio_page.figures()
    assert first[TPOT] == tpot(LLAMA, "h100-sxm", batch=8)
    assert "h1000" in second["missing"]
    assert page.inner_text("#general-error").startswith("B: ")
    assert page.inner_text("#on-error") == ""  # the form is A's
    assert page.get_attribute("#on", "aria-invalid") is None
    assert "B" in page.inner_text("#scenarios")

    pick(studio_page, "B")
    assert page.inner_text("#headline").startswith("No answer: ")
    assert page.get_attribute("#result", "data-stale") == "true"
    pick(studio_page, "A")
    assert page.get_attribute("#result", "data-stale") == "false"
    studio_page.refused()


def handle_middle(page, name: str) -> tuple[float, float]:
    page.locator(name).scroll_into_view_if_needed()
    box = page.locator(name).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def faster(times: float, **fields):
    """Decode on the same card with so many times its bandwidth."""
    return rooflight.analyze(LLAMA, WhatIf("h100-sxm", bandwidth_times=times), **fields).phases["decode"]


def test_the_roof_is_dragged_by_mouse_and_by_keyboard(studio_page):
    page = studio_page.open()
    page.focus("#drag-bandwidth")
    page.keyboard.press("ArrowUp")
    studio_page.settled()
    assert float(page.input_value("#bandwidth_times")) == pytest.approx(2 ** (1 / 8), rel=0.01)
    assert page.evaluate("document.activeElement.id") == "drag-bandwidth"

    x, y = handle_middle(page, "#drag-bandwidth")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 30, steps=6)
    page.mouse.up()
    studio_page.settled()
    times = float(page.input_value("#bandwidth_times"))
    assert times > 1.3
    assert studio_page.dot("decode")["time_s"] == faster(times).time_s.roofline
    assert "bw=" in page.url
    studio_page.press("#reset-roof")
    assert studio_page.dot("decode")["time_s"] == faster(1).time_s.roofline

    page.focus("#drag-peak")
    page.keyboard.press("PageDown")
    studio_page.settled()
    assert page.get_attribute("#drag-peak", "aria-valuenow") == page.input_value("#peak_times") == "0.917"
    page.keyboard.press("Home")
    studio_page.settled()
    assert page.input_value("#peak_times") == "1"


def test_other_rates_are_of_one_scenario(studio_page):
    """What if the first had twice its bandwidth: the second keeps its own."""
    page = studio_page.open(TWO)
    studio_page.set("bandwidth_times", 2)
    other = rooflight.analyze(LLAMA, "h200-sxm", batch=8).phases["decode"]
    assert studio_page.dot("decode", 0)["time_s"] == faster(2, batch=8).time_s.roofline
    assert studio_page.dot("decode", 1)["time_s"] == other.time_s.roofline
    pick(studio_page, "B")
    assert page.input_value("#bandwidth_times") == "1"
    assert page.is_hidden("#reset-roof")


@pytest.mark.parametrize("number", range(len(PRESETS)), ids=[one.name for one in PRESETS])
def test_a_preset_opens_its_scenarios_and_back_returns_to_what_was(studio_page, number):
    page = studio_page.open("?b=3&w=fp8&2.c=l4&f=1")
    before = studio_page.names(), studio_page.figures(), page.inner_text("#headline")
    asked, said = read_query(PRESETS[number].query)
    page.click(f"[data-preset='{number}']")
    page.wait_for_selector(f"[data-preset='{number}'][aria-current]")
    studio_page.settled()

    assert said == []
    assert len(studio_page.names()) == len(asked.scenarios)
    focus = asked.focused
    assert page.input_value("#batch") == str(focus.batch)
    own = make_scenario(focus.model, focus.on)
    assert own.accelerator.id in page.inner_text("#headline")
    assert PRESETS[number].look in page.inner_text("#look")
    page.go_back()
    page.wait_for_selector("[data-preset][aria-current]", state="detached")
    studio_page.settled()
    assert (studio_page.names(), studio_page.figures(), page.inner_text("#headline")) == before
    assert page.is_hidden("#look")


def test_lengths_go_to_all_scenarios_or_to_the_one_in_focus(studio_page):
    """What is compared is asked with the same requests, unless the reader wants them apart."""
    page = studio_page.open(TWO)
    assert page.is_visible("#work-together")
    studio_page.set("isl", 3000)
    assert studio_page.tpots() == [tpot(LLAMA, card, batch=8, isl=3000) for card in ("h100-sxm", "h200-sxm")]
    page.uncheck("#work-together")
    studio_page.set("isl", 500)
    assert studio_page.tpots() == [
        tpot(LLAMA, "h100-sxm", batch=8, isl=500), tpot(LLAMA, "h200-sxm", batch=8, isl=3000),
    ]  # fmt: skip


def test_alone_there_is_nothing_to_set_for_all(studio_page):
    assert studio_page.open().is_hidden("#work-together")


def test_what_would_hold_a_scenario_that_does_not_fit_is_made_by_a_press(studio_page):
    """Each remedy is a button under the sentence; the new scenario has the focus, and fits."""
    page = studio_page.open("?m=meta-llama/Meta-Llama-3.1-70B")
    buttons = page.locator("#offers button")
    assert buttons.all_inner_texts() == ["2 x h100-sxm, TP2", "weights fp8", "41 layers on the cards"]
    studio_page.press("#offers button >> nth=1")
    assert studio_page.names()[1] == "B weights fp8"
    assert page.input_value("#weights") == "fp8"
    assert studio_page.figures()[1][TPOT] == tpot("meta-llama/Meta-Llama-3.1-70B", "h100-sxm", weights="fp8")
    assert page.is_hidden("#offers")
    assert "2.w=fp8" in page.url
