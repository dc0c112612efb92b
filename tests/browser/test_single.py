"""The page of one picture, opened from a file: both modes, also while open, tooltips, no errors."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.show.charts.theme import DARK, LIGHT

KINDS = ("waterfall", "memory", "traffic", "roofline")


def rgb(colour):
    """As a browser says it: #16181c -> rgb(22, 24, 28)."""
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


@pytest.fixture(scope="module")
def answer():
    return rooflight.analyze("llama-3.1-70b", "4xh100-sxm", batch=64)


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a chart's file in a mode and a width; errors of the console fail the test."""
    pages = []

    def open_(chart, mode, width=800):
        path = tmp_path / f"{chart.kind}.html"
        chart.save(path)
        page = browser.new_page(color_scheme=mode, viewport={"width": width, "height": 900})
        problems = []
        page.on(
            "console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector("#chart svg")
        pages.append((page, problems))
        return page

    yield open_
    for page, problems in pages:
        page.close()
        assert problems == []


def colour(page, selector, name):
    return page.eval_on_selector(selector, f"one => getComputedStyle(one).{name}")


def title_colour(page):
    return page.evaluate("""() => getComputedStyle([...document.querySelectorAll('#chart svg text')]
        .find((one) => one.textContent.includes('70B'))).fill""")


def drawn_colours(page):
    """Of all that is filled or stroked."""
    return set(
        page.evaluate("""() => [...document.querySelectorAll('#chart svg path, #chart svg text, #chart svg line')]
        .flatMap((one) => [getComputedStyle(one).fill, getComputedStyle(one).stroke])""")
    )


def other(palette):
    """The colours of the mode that is not shown: paper as halos, ink as text, the hues as marks."""
    one = LIGHT if palette is DARK else DARK
    return [one.paper, one.ink, *one.hues.values()]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("drawn_dark", [False, True])
def test_the_page_follows_the_reader_s_mode_also_while_it_is_open(answer, opened, kind, drawn_dark):
    page = opened(answer.chart(kind, dark=drawn_dark), "dark")
    for mode, palette in (("dark", DARK), ("light", LIGHT), ("dark", DARK)):
        page.emulate_media(color_scheme=mode)
        assert colour(page, "body", "backgroundColor") == rgb(palette.paper)
        assert title_colour(page) == rgb(palette.ink)
        assert not {rgb(one) for one in other(palette)} & drawn_colours(page)


def test_paper_is_light(answer, opened):
    page = opened(answer.chart("waterfall"), "dark")
    page.emulate_media(media="print", color_scheme="dark")

    assert colour(page, "body", "backgroundColor") == rgb(LIGHT.paper)


def test_a_bar_says_what_it_is_under_the_pointer(answer, opened):
    """Its name, its time and its share, beside the pointer."""
    page = opened(answer.chart("waterfall"), "light")
    page.hover("#chart svg .mark-rect path >> nth=0")
    tip = page.wait_for_selector("#vg-tooltip-element.visible")

    assert "ceiling" in tip.inner_text()
    assert "12.4 ms" in tip.inner_text()
    assert "%" in tip.inner_text()


def test_the_picture_has_its_words(answer, opened):
    chart = answer.chart("memory")
    page = opened(chart, "light")

    assert page.get_attribute("main", "role") == "img"
    assert page.get_attribute("main", "aria-label") == chart.alt


def test_a_narrow_page_does_not_scroll_sideways_but_the_picture(answer, opened):
    page = opened(answer.chart("waterfall"), "light", width=360)

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
