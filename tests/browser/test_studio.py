"""The first screen as a person uses it, in a real browser. Figures are compared with the library's."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.library.questions import make_scenario
from rooflight.serve.landmarks import landmarks
from rooflight.show import numbers
from rooflight.words.headline import headline
from studio_pages import A_CARD, A_USER, AT_BEST, BANDWIDTH, BOUND, COMPUTE, LLAMA, TPOT, TTFT, USD


def decode(**fields):
    return rooflight.analyze(LLAMA, "h100-sxm", **fields).phases["decode"]


def figures_of(analysis) -> dict[str, str]:
    """What the table says of an analysis, from the library's own numbers."""
    run = analysis.runs[analysis.run]
    return {
        TTFT: numbers.seconds(run.ttft_s.expected),
        TPOT: numbers.seconds(run.tpot_s.expected),
        AT_BEST: numbers.seconds(analysis.phases["decode"].time_s.ceiling),
        A_USER: numbers.plain(run.output_tokens_per_s_per_user.expected),
        A_CARD: numbers.plain(run.output_tokens_per_s_per_accelerator.expected),
        COMPUTE: numbers.percent(run.utilization.compute),
        BANDWIDTH: numbers.percent(run.utilization.memory),
        BOUND: numbers.resource(analysis.phases["decode"].expected_bound),
    }


def test_it_opens_with_an_answer_and_the_library_figures(studio_page):
    page = studio_page.open()

    analysis = rooflight.analyze(LLAMA, "h100-sxm")
    assert page.inner_text("#headline") == headline(analysis)
    assert studio_page.text("#answer") == analysis.answer
    phase = decode()
    dot = studio_page.dot("decode")
    assert (dot["x"], dot["y"]) == (phase.intensity_flop_per_byte, phase.flop / phase.time_s.roofline)
    (line,) = studio_page.figures()
    assert {name: line[name] for name in figures_of(analysis)} == figures_of(analysis)
    assert line["scenario"] == "A h100-sxm"
    assert USD not in line
    assert page.title() == "Meta-Llama-3.1-8B on h100-sxm · rooflight studio"


def test_the_interval_stands_beside_what_is_expected_and_a_guess_says_so(studio_page):
    """Of an accelerator that nobody measured the expected times are inferred: the page says from what."""
    page = studio_page.open()
    analysis = rooflight.analyze(LLAMA, "h100-sxm")
    tpot = analysis.runs[analysis.run].tpot_s
    between = f"{numbers.seconds(tpot.low)} to {numbers.seconds(tpot.high)}"
    assert between in page.inner_text("#figures tbody")
    assert page.is_hidden("#caveat")

    studio_page.open("?c=mi300x")
    assert rooflight.analyze(LLAMA, "mi300x").expected_basis.basis == "inherited"
    assert page.is_visible("#caveat")


def test_a_slider_moves_by_keyboard_and_the_dot_crosses_the_ridge_where_the_library_says(studio_page):
    """At 64 cached tokens; the slider steps eighths of an octave, the number box single sequences."""
    marks = landmarks(make_scenario(LLAMA, "h100-sxm", context=64))
    page = studio_page.open(f"?ctx=64&b={marks.ridge_batch // 2}")
    page.focus("#batch-slider")
    for _ in range(12):
        before = studio_page.dot("decode")
        page.keyboard.press("ArrowRight")
        studio_page.settled()
        if studio_page.dot("decode")["x"] >= decode().ridge_flop_per_byte:
            break
    assert before["x"] < decode().ridge_flop_per_byte <= studio_page.dot("decode")["x"]
    assert int(page.input_value("#batch")) >= marks.ridge_batch

    for batch in (marks.ridge_batch - 1, marks.ridge_batch):
        studio_page.set("batch", batch)
        crossed = studio_page.dot("decode")["x"] >= decode().ridge_flop_per_byte
        assert crossed == (batch >= marks.ridge_batch)
    assert "above the ridge point" in page.inner_text("#roofline-words")


def test_a_slider_moves_by_mouse(studio_page):
    page = studio_page.open()
    box = page.locator("#batch-slider").bounding_box()
    start = studio_page.dot("decode")["x"]
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 10, middle)
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(box["x"] + 10 + step * 0.05 * box["width"], middle)
    page.mouse.up()
    studio_page.settled()

    batch = int(page.input_value("#batch"))
    assert 30 < batch < 328  # as many as fit
    assert studio_page.dot("decode")["x"] == decode(batch=batch).intensity_flop_per_byte > start


def test_the_context_is_of_a_request_or_as_it_is_set(studio_page):
    page = studio_page.open()
    mean = rooflight.analyze(LLAMA, "h100-sxm").workload["context"]
    assert (page.input_value("#context"), page.is_checked("#context-auto")) == (str(mean), True)
    studio_page.set("context", 4096)
    assert not page.is_checked("#context-auto")
    assert studio_page.dot("decode")["x"] == decode(context=4096).intensity_flop_per_byte

    page.check("#context-auto")
    studio_page.settled()
    assert page.input_value("#context") == str(mean)
    assert "ctx=" not in page.url


def test_any_workload_is_placed_on_the_roof_by_its_intensity(studio_page):
    """At 20 FLOP/byte an H100 does 20 x 3.35 TB/s = 67 TFLOP/s; far right of the ridge, its peak."""
    page = studio_page.open()
    assert studio_page.rows("workload") == []
    studio_page.set("intensity", 20)
    assert studio_page.rows("workload") == [{"x": 20, "y": 20 * 3.35e12}]
    assert "67 TFLOP/s" in page.inner_text("#intensity-words")
    assert "memory-bound" in page.inner_text("#intensity-words")
    assert "ai=20" in page.url

    page.focus("#intensity-slider")
    page.keyboard.press("End")
    studio_page.settled()
    (cross,) = studio_page.rows("workload")
    assert cross["y"] == rooflight.analyze(LLAMA, "h100-sxm").accelerator.peak_flop_per_s["bf16"]
    studio_page.set("intensity", "")
    assert studio_page.rows("workload") == []
    assert page.is_hidden("#intensity-words")


def test_every_control_of_the_form_asks_the_library(studio_page):
    page = studio_page.open("?c=4xh100-sxm")
    page.select_option("#kv_cache", "fp8")
    page.select_option("#attention", "naive")
    studio_page.set("tp", 4)
    studio_page.set("isl", 3000)
    page.focus("#osl-slider")
    page.keyboard.press("ArrowRight")
    studio_page.settled()
    osl = int(page.input_value("#osl"))

    assert osl > 256
    asked = {"kv_cache": "fp8", "attention": "naive", "tp": 4, "isl": 3000, "osl": osl}
    assert studio_page.text("#answer") == rooflight.analyze(LLAMA, "4xh100-sxm", **asked).answer
    page.select_option("#kv_cache", "")
    studio_page.set("tp", "")
    left = {name: asked[name] for name in ("attention", "isl", "osl")}
    assert studio_page.text("#answer") == rooflight.analyze(LLAMA, "4xh100-sxm", **left).answer


def test_what_does_not_fit_is_said_and_computed_on_demand(studio_page):
    """70 thousand million weights of 2 bytes are 140 GB, an H100 has 80."""
    page = studio_page.open("?m=llama-3.1-70b")
    assert "does not fit" in page.inner_text("#headline")
    assert "does not fit" in studio_page.figures()[0]["missing"]
    page.check("#ignore_capacity")
    studio_page.settled()

    phase = rooflight.analyze("llama-3.1-70b", "h100-sxm", ignore_capacity=True).phases["decode"]
    assert studio_page.dot("decode")["time_s"] == phase.time_s.roofline
    assert "all=1" in page.url


def test_a_price_gives_what_a_million_tokens_cost(studio_page):
    """3.60 USD an hour are a thousandth of a dollar a second: 1e6 tokens at n a second cost 1000 / n USD."""
    page = studio_page.open("?b=32")
    studio_page.set("usd_per_hour", 3.6)
    analysis = rooflight.analyze(LLAMA, "h100-sxm", batch=32)
    rate = analysis.runs[analysis.run].output_tokens_per_s_per_accelerator.expected

    assert studio_page.figures()[0][USD] == numbers.plain(1000 / rate)
    assert "usd=3.6" in page.url


def test_levels_of_memory_are_drawn_and_kept_in_the_address(studio_page):
    page = studio_page.open()
    page.click(".more-answer summary")
    page.check("#levels")
    studio_page.settled()
    assert "L1 " in page.inner_text("#chart-roofline")

    assert "lv=1" in page.url
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.is_checked("#levels")
    assert "L1 " in page.inner_text("#chart-roofline")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [("batch", "0", "1"), ("batch", "", "whole number"), ("tp", "7", "7"), ("isl", "1.5", "whole"), ("tp", "-1", "1")],
)
def test_a_value_that_is_refused_marks_the_answer_as_that_to_the_state_before(studio_page, field, value, said):
    """Beside the field stands what is wrong with it; a value that is one brings the page back."""
    page = studio_page.open()
    before = studio_page.text("#answer")
    page.fill(f"#{field}", value)
    page.locator(f"#{field}").blur()
    page.wait_for_selector(f"#{field}-error:not(:empty)")

    assert said in page.inner_text(f"#{field}-error")
    assert page.get_attribute(f"#{field}", "aria-invalid") == "true"
    assert page.inner_text("#headline").startswith("No answer: ")
    assert "state before" in page.inner_text("#caveat")
    assert float(page.evaluate("getComputedStyle(document.querySelector('.stage')).opacity")) < 1
    assert studio_page.text("#answer") == before

    studio_page.set(field, 1)
    assert page.inner_text(f"#{field}-error") == ""
    assert page.inner_text("#headline") == headline(rooflight.analyze(LLAMA, "h100-sxm", **{field: 1}))
    assert page.get_attribute("#result", "data-stale") == "false"
    assert page.locator("[aria-invalid]").count() == 0
    studio_page.refused()


def test_a_card_nobody_knows_is_said_beside_its_field_and_can_be_replaced(studio_page):
    page = studio_page.open("?c=h1000")
    assert "no accelerator" in page.inner_text("#on-error")
    assert page.inner_text("#headline").startswith("No answer: ")
    studio_page.set("on", "h200-sxm")

    assert page.inner_text("#headline") == headline(rooflight.analyze(LLAMA, "h200-sxm"))
    assert page.inner_text("#on-error") == ""
    studio_page.refused()


def test_a_machine_goes_by_its_name_and_a_count(studio_page):
    """The count has a box of its own; a name with its count in front is parted."""
    page = studio_page.open("?m=llama-3.1-70b&c=4xh100-sxm")
    assert (page.input_value("#count"), page.input_value("#on")) == ("4", "h100-sxm")
    studio_page.set("count", 8)
    assert page.inner_text("#headline") == headline(rooflight.analyze("llama-3.1-70b", "8xh100-sxm"))
    studio_page.set("on", "2x h200-sxm")
    assert page.inner_text("#headline") == headline(rooflight.analyze("llama-3.1-70b", "2xh200-sxm"))
    assert (page.input_value("#count"), page.input_value("#on")) == ("2", "h200-sxm")


OFFLOADED = "?m=llama-3.1-70b&w=q4_k_m&c=rtx-3090"


def test_a_folded_field_is_set_by_hand_and_its_group_says_so(studio_page):
    page = studio_page.open(OFFLOADED)
    assert not page.locator("#n_gpu_layers").is_visible()
    page.click("#more-offload > summary")
    page.fill("#n_gpu_layers", "40")
    studio_page.set("host_memory_bandwidth", "80GB/s")

    own = rooflight.analyze(
        "llama-3.1-70b", "rtx-3090", weights="q4_k_m", n_gpu_layers=40, host_memory_bandwidth="80GB/s"
    )
    assert studio_page.text("#answer") == own.answer
    assert page.inner_text("#more-offload-set") == "2 set"
    assert "On the host" in studio_page.text("#told")
    assert "n_gpu_layers=40" in page.url
    for field in ("host_memory_bandwidth", "n_gpu_layers"):  # a host beside which nothing lies is refused
        studio_page.set(field, "")
    assert page.inner_text("#more-offload-set") == ""
    assert studio_page.text("#told") == ""


def test_an_error_of_a_folded_field_stands_beside_it(studio_page):
    page = studio_page.open("?images=cat")

    assert page.locator("#images-error").is_visible()
    assert page.inner_text("#images-error").startswith("images are no sizes of images")
    assert page.inner_text("#headline") == "No answer: images are no sizes of images"
    page.click("#more-layout > summary")
    page.fill("#pp", "1.5")
    page.locator("#pp").blur()
    assert page.inner_text("#pp-error") == "This needs a whole number."
    studio_page.refused()


def test_of_fields_that_go_together_the_one_that_is_set_has_the_error(studio_page):
    """`cpu_moe` and `n_cpu_moe` both keep experts on the host, which a dense model has none of."""
    page = studio_page.open("?n_cpu_moe=3")

    assert "no routed experts" in page.inner_text("#n_cpu_moe-error")
    assert page.inner_text("#cpu_moe-error") == ""
    studio_page.refused()
