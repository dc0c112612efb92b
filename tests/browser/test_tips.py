"""Tooltips of a picture in a file, as a reader sees them: names, values with units, intervals, what lies beneath."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.show.charts.roofline import roofline

_SHOWN = """() => {
  const tip = document.querySelector("#vg-tooltip-element.visible");
  const rows = tip ? [...tip.querySelectorAll("tr")] : [];
  return Object.fromEntries(rows.map((row) => [...row.cells].map((cell) => cell.innerText.trim())));
}"""


@pytest.fixture(scope="module")
def told(browser, tmp_path_factory):
    """What every dot and upright line says that the pointer reaches."""
    file = tmp_path_factory.mktemp("tips") / "roofline.html"
    file.write_text(roofline(rooflight.analyze("llama-3.1-8b", "h100-sxm", batch=16)).html(), encoding="utf-8")
    found, wrong = [], []
    page = browser.new_page(viewport={"width": 900, "height": 1000})
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_selector("svg .mark-symbol path")
    for mark in page.query_selector_all(".mark-symbol path, .mark-rule line"):
        box = mark.bounding_box()
        if box is not None:
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            page.wait_for_timeout(20)
            found.append(page.evaluate(_SHOWN))
    page.close()
    assert not wrong
    return [tip for tip in found if tip]


def test_phases_say_their_times_and_the_interval(told):
    decode = next(tip for tip in told if tip.get("phase") == "decode" and "expected" in tip)
    assert decode["roofline time"].endswith(" ms")
    assert " to " in decode["expected"]
    assert decode["intensity"].endswith(" FLOP/byte")
    assert decode["speed"].endswith(" TFLOP/s")
    assert decode["bound by"] == "memory"
    assert "inferred" not in decode  # vLLM was measured on this card


def test_rings_say_the_interval(told):
    assert any(" to " in tip["interval"] for tip in told if "expected of" in tip)


def test_each_operator_is_told_of_by_itself_or_by_those_that_cover_it(told):
    """Six shapes of decode, most at one place: whichever the pointer reaches names the others."""
    said = " ".join(f"{tip['operator']} {tip.get('also here', '')}" for tip in told if "operator" in tip)
    for name in ("gate_up", "down", "attention", "qkv", "lm_head"):
        assert name in said


def test_the_ridge_says_where_it_is(told):
    assert any(tip.get("at") == "295 FLOP/byte" for tip in told if "ridge point of" in tip)


def test_nothing_is_said_that_is_not_there(told):
    assert not any(value in ("", "null", "undefined") for tip in told for value in tip.values())
