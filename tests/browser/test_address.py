"""Addresses: what is shared, those of earlier versions, bad ones, and the steps of Back."""

from __future__ import annotations

import json

import pytest

import rooflight
from rooflight.words.headline import headline
from studio_pages import CONFIG, LLAMA, MACHINE, TPOT, tpot


def paste(studio_page, config: dict) -> None:
    page = studio_page.page
    page.evaluate("document.getElementById('paste').open = true")
    page.fill("#config", json.dumps(config))
    studio_page.press("#use-config")


def test_a_shared_address_shows_the_same_again(studio_page, context):
    page = studio_page.open("?m=llama-3.1-70b&c=4xh200-sxm")
    studio_page.set("batch", 24)
    studio_page.press("#tab-time")
    page.click("[data-phase='prefill']")
    page.click("[data-operator='gate_up']")
    page.wait_for_selector(".explanation .sums")
    studio_page.settled()
    address = page.evaluate("location.search")
    version = rooflight.__version__
    assert address.startswith(f"?v={version}&m=llama-3.1-70b&c=4xh200-sxm&b=24&ph=prefill&op=gate_up")

    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#copy-link")
    page.wait_for_function("() => document.getElementById('toast').textContent === 'Link copied'")
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.goto(studio_page.server.url + address)
    page.wait_for_selector("html[data-ready]")
    page.wait_for_selector(".explanation .sums")
    assert page.input_value("#batch") == "24"
    assert studio_page.text("#answer") == rooflight.analyze("llama-3.1-70b", "4xh200-sxm", batch=24).answer
    assert page.get_attribute("[data-phase='prefill']", "aria-pressed") == "true"
    assert page.get_attribute("#tab-time", "aria-selected") == "true"


def test_a_link_that_is_copied_at_once_has_the_last_change(studio_page, context):
    """The address waits until a slider rests; the link does not."""
    page = studio_page.open()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("""async () => {
        const box = document.getElementById("batch");
        box.value = 77;
        box.dispatchEvent(new Event("input"));
        while (document.documentElement.dataset.busy !== "false") await new Promise((done) => setTimeout(done, 5));
        document.getElementById("copy-link").click();
    }""")
    page.wait_for_function("() => document.getElementById('toast').textContent === 'Link copied'")
    assert "b=77" in page.evaluate("navigator.clipboard.readText()")


def test_an_address_of_another_version_says_so(studio_page):
    page = studio_page.open("?v=0.0.1&b=3")

    assert "made with rooflight 0.0.1" in page.inner_text("#general-error")
    assert page.input_value("#batch") == "3"


EIGHT, SIXTEEN, TWO = ({"batch": count} for count in (8, 16, 2))
LONGER = {"isl": 2048, "osl": 128, "gpu_memory_utilization": 0.8}
# A query -> what its scenarios are called, and what the library is asked for each.
OLD = {
    "?v=0.1.0&c=h100-sxm,h200-sxm&b=8": [
        ("A h100-sxm", LLAMA, "h100-sxm", EIGHT), ("B h200-sxm", LLAMA, "h200-sxm", EIGHT)
    ],
    "?v=0.1.0&b=16&w=fp8&was.w=auto": [
        ("A before", LLAMA, "h100-sxm", SIXTEEN), ("B after", LLAMA, "h100-sxm", {**SIXTEEN, "weights": "fp8"})
    ],
    "?v=0.1.0&m=Qwen/Qwen3-8B&was.m=llama-3.1-8b&b=2": [
        ("A before", LLAMA, "h100-sxm", TWO), ("B after", "Qwen/Qwen3-8B", "h100-sxm", TWO)
    ],
    "?m=llama-3.1-8b&isl=2048&osl=128&pp=1&gpu_memory_utilization=0.8": [("A h100-sxm", LLAMA, "h100-sxm", LONGER)],
}  # fmt: skip


@pytest.mark.parametrize("query", OLD)
def test_an_address_of_0_1_0_opens_as_scenarios_with_its_figures(studio_page, query):
    scenarios = OLD[query]
    studio_page.open(query)

    assert studio_page.names() == [one[0] for one in scenarios]
    assert studio_page.tpots() == [tpot(model, on, **fields) for _, model, on, fields in scenarios]


def test_a_bad_link_says_what_of_it_cannot_be_read_and_shows_the_rest(studio_page):
    page = studio_page.open("?b=many&isl=2048&%3Cimg+src%3Dx%3E=1&2.c=h200-sxm&2.b=-1")

    said = page.inner_text("#general-error")
    assert "b='many'" in said
    assert "<img src=x>" in said
    assert "2.b='-1'" in said
    assert page.inner_text("#headline") == headline(rooflight.analyze(LLAMA, "h100-sxm", isl=2048))
    assert studio_page.names() == ["A h100-sxm", "B h200-sxm"]
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("hidden", ["#config=%", "#config=AAAA", "#config=here", "#config2=x"])
def test_a_config_in_an_address_that_cannot_be_read_leaves_the_catalog_s_model(studio_page, hidden):
    page = studio_page.open("?2.c=h200-sxm" + hidden)

    assert page.inner_text("#headline") == headline(rooflight.analyze(LLAMA, "h100-sxm"))
    assert len(studio_page.names()) == 2


def test_a_longer_address_than_is_read_is_refused_and_does_not_hang(studio_page):
    page = studio_page.page
    page.goto(studio_page.server.url + "?n=" + "x" * 5000)
    page.wait_for_selector("html[data-ready]")

    assert page.inner_text("#headline") == headline(rooflight.analyze(LLAMA, "h100-sxm"))
    assert page.inner_text("#general-error") != ""
    studio_page.refused()


def test_back_and_forward_go_through_the_steps_with_a_pasted_config(studio_page):
    """A preset, scenarios and views are steps; what a slider went through is none."""
    page = studio_page.open("?b=4")
    paste(studio_page, CONFIG)
    studio_page.set("batch", 12)
    before = studio_page.text("#answer"), page.evaluate("location.hash"), studio_page.names()
    assert "your config.json" in before[0]
    page.click("[data-preset='0']")
    page.wait_for_selector("[data-preset='0'][aria-current]")
    studio_page.settled()
    after = studio_page.text("#answer")
    assert "your config.json" not in after

    page.go_back()
    page.wait_for_function("() => document.getElementById('batch').value === '12'")
    studio_page.settled()
    assert (studio_page.text("#answer"), page.evaluate("location.hash"), studio_page.names()) == before
    assert page.get_attribute("#model", "placeholder") == "your config.json"
    page.go_forward()
    page.wait_for_selector("[data-preset='0'][aria-current]")
    studio_page.settled()
    assert studio_page.text("#answer") == after


def test_back_returns_to_the_last_change_even_where_its_address_was_not_written(studio_page):
    page = studio_page.open("?b=4")
    page.fill("#batch", "9")
    page.click("[data-preset='0']")
    page.wait_for_selector("[data-preset='0'][aria-current]")
    studio_page.settled()
    page.go_back()
    page.wait_for_selector("[data-preset][aria-current]", state="detached")
    studio_page.settled()

    assert page.input_value("#batch") == "9"
    assert studio_page.text("#answer") == rooflight.analyze(LLAMA, "h100-sxm", batch=9).answer
    assert "b=9" in page.url


def test_one_back_takes_back_one_edit(studio_page):
    """Whatever is edited, and however soon after another; forward has it again."""
    page = studio_page.open("?b=4")
    page.fill("#batch", "9")
    page.select_option("#weights", "fp8")
    page.check("#ignore_capacity")
    page.fill("#tpot_slo_ms", "40")
    page.locator("#tpot_slo_ms").blur()
    studio_page.settled()
    state = """() => ["batch", "weights", "tpot_slo_ms"].map((id) => document.getElementById(id).value)
        .concat(document.getElementById("ignore_capacity").checked)"""
    seen = [page.evaluate(state)]
    for _ in range(4):
        page.go_back()
        page.wait_for_function(f"(before) => JSON.stringify(({state})()) !== JSON.stringify(before)", arg=seen[-1])
        studio_page.settled()
        seen.append(page.evaluate(state))

    assert seen == [
        ["9", "fp8", "40", True], ["9", "fp8", "", True], ["9", "fp8", "", False], ["9", "", "", False],
        ["4", "", "", False],
    ]  # fmt: skip
    page.go_forward()
    page.wait_for_function("() => document.getElementById('batch').value === '9'")


def test_a_drag_of_a_slider_is_one_edit(studio_page):
    page = studio_page.open("?b=4")
    box = page.locator("#batch-slider").bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + box["height"] / 2)
    page.mouse.down()
    for step in range(6):
        page.mouse.move(box["x"] + 30 + 12 * step, box["y"] + box["height"] / 2)
        studio_page.settled()
    page.mouse.up()
    assert int(page.input_value("#batch")) > 4
    page.go_back()
    page.wait_for_function("() => document.getElementById('batch').value === '4'")
    studio_page.settled()
    assert "b=4" in page.url


def test_a_link_says_what_it_does_not_carry(studio_page):
    page = studio_page.open("?view=check")
    assert page.is_hidden("#link-leaves")
    page.fill("#view-text", "TPOT 11 ms")
    page.click("#view-options >> text='Use it'")
    studio_page.settled()
    assert page.inner_text("#link-leaves") == "A link does not carry what you check."
    page.click("#view-options >> text='Forget it'")
    studio_page.settled()
    assert page.is_hidden("#link-leaves")
    page.set_input_files("#machine", MACHINE)
    page.wait_for_function("() => document.getElementById('on').value === 'your machine'")
    studio_page.settled()
    assert page.inner_text("#link-leaves") == "A link does not carry the machine’s file."
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert "does not carry the file of its machine, in whose place h100-sxm stands" in page.inner_text("#general-error")


def test_back_takes_back_a_scenario_and_a_view(studio_page):
    page = studio_page.open()
    studio_page.press("#add-scenario")
    assert len(studio_page.names()) == 2
    studio_page.press("#tab-recorded")
    page.go_back()
    page.wait_for_selector("#tab-recorded[aria-selected='false']")
    studio_page.settled()
    assert len(studio_page.names()) == 2
    page.go_back()
    page.wait_for_function("() => document.querySelectorAll('#scenarios .pick').length === 1")
    studio_page.settled()
    assert studio_page.names() == ["A h100-sxm"]


def test_a_config_of_one_of_two_scenarios_is_kept_while_the_other_changes(studio_page):
    page = studio_page.open("?b=2&2.c=h200-sxm&f=1")
    paste(studio_page, CONFIG)
    kept = studio_page.figures()[1][TPOT]
    assert kept != tpot(LLAMA, "h200-sxm", batch=2)
    assert page.evaluate("location.hash").startswith("#config2=")
    studio_page.press("#scenarios .pick >> nth=0")
    assert page.input_value("#model") == LLAMA
    studio_page.set("on", "l40s")
    assert studio_page.tpots() == [tpot(LLAMA, "l40s", batch=2), kept]

    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert studio_page.tpots() == [tpot(LLAMA, "l40s", batch=2), kept]
    page.focus("[aria-label^='Remove A,']")
    page.keyboard.press("Enter")
    studio_page.settled()
    assert studio_page.tpots() == [kept]
    assert page.evaluate("location.hash").startswith("#config=")


def test_a_config_too_long_for_an_address_stays_in_this_tab(studio_page, context):
    page = studio_page.open()
    paste(studio_page, {**CONFIG, "notes": [f"{number * 2654435761 % 2**32:x}" for number in range(4000)]})
    assert page.evaluate("location.hash") == "#config=here"
    words = studio_page.text("#answer")
    assert "your config.json" in words
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert studio_page.text("#answer") == words
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#copy-link")
    page.wait_for_function("() => document.getElementById('toast').textContent.includes('a config this long')")
