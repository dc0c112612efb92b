"""Every view at every width and in either scheme: no violation that axe finds, nothing that overflows."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

from rooflight.studio.views import TITLES
from studio_pages import DCGM, diagnosed, drop

DENSE = (
    "?m=llama-3.1-70b&c=4xh100-sxm&b=32&bw=1.5&ai=20&tpot_slo_ms=25&ttft_slo_ms=900&2.c=4xh200-sxm"
    "&2.n=a+name+that+is+rather+long+for+a+tab&f=1"
)
EXPERTS = "?m=deepseek-ai/DeepSeek-V3&c=8xh200-sxm&b=4&2.c=8xb200&3.c=16xh100-sxm&4.b=128"
TOO_LARGE = "?m=llama-3.1-70b"
PRESET = "?q=1&w=fp8&b=16&usd=3"
VIEWS = [*TITLES, "recorded"]


@pytest.fixture
def opened(server, browser):
    """Opens a page of a width and a scheme; axe may put its script there."""
    made = []

    def open_(query: str, width: int, scheme: str = "light", height: int = 900):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, bypass_csp=True)
        context.set_default_timeout(60_000)
        made.append(context)
        page = context.new_page()
        page.goto(server.url + query)
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_
    for one in made:
        one.close()


def accessible(page) -> None:
    """Fails with what axe found, each with the elements it is about."""
    found = Axe().run(page).response["violations"]
    said = [
        f"{one['id']}: {node['html'][:160]} ({node['failureSummary'][:240]})" for one in found for node in one["nodes"]
    ]
    assert not said, "\n".join(said[:12])


def overflow(page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def settle(page) -> None:
    page.wait_for_function("() => (document.getElementById('view-panel').dataset.busy ?? 'false') === 'false'")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_every_view_is_accessible_and_fits(opened, width, scheme):
    """With every fold open, a preset's words, and the form's errors."""
    page = opened(DENSE, width, scheme)
    page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
    for name in VIEWS:
        page.click(f"#tab-{name}")
        settle(page)
        if name == "time" and page.locator("[data-operator]").count():
            page.click("[data-operator] >> nth=0")
            page.wait_for_selector(".explanation .sums")
        if name == "recorded":
            drop(page, ("counters.txt", DCGM.read_text(encoding="utf-8")))
            diagnosed(page)
        accessible(page)
        assert overflow(page) <= 0, name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("query", "width"), [(EXPERTS, 360), (TOO_LARGE, 360), (PRESET, 768), ("?b=0&m=nobody", 768)])
def test_other_pages_are_accessible_and_fit(opened, query, width, scheme):
    page = opened(query, width, scheme)
    if query == PRESET:
        page.click("#export summary")
    if query.startswith("?b=0"):
        page.fill("#batch", "")
    accessible(page)
    assert overflow(page) <= 0


@pytest.mark.parametrize("width", [360, 768, 1440, 2560])
def test_nothing_overflows_at_any_width_in_any_view(opened, width):
    page = opened(EXPERTS, width)
    for name in VIEWS:
        page.click(f"#tab-{name}")
        settle(page)
        assert overflow(page) <= 0, name


# Whether what the reader drags, and the picture it moves, are in the window at once.
SEEN = """() => {
    const seen = (one) => {
        const box = one.getBoundingClientRect();
        return box.top >= -1 && box.bottom <= window.innerHeight + 1;
    };
    const chart = document.querySelector("#chart-roofline svg").getBoundingClientRect();
    const dials = document.getElementById("dials").getBoundingClientRect();
    const sliders = ["batch", "context", "intensity"].every((id) => seen(document.getElementById(`${id}-slider`)));
    const clear = Math.min(chart.bottom, dials.top) - Math.max(chart.top, 0);
    return { sliders, clear, chart: chart.height, top: chart.top, bottom: chart.bottom };
}"""


@pytest.mark.parametrize(("width", "height"), [(360, 740), (768, 1024), (1440, 900)])
@pytest.mark.parametrize("query", ["", DENSE])
def test_sliders_stay_on_the_screen_with_the_roofline(opened, width, height, query):
    """While the picture goes by; and at one place of it the whole picture stands above the sliders."""
    page = opened(query, width, height=height)
    whole = 0
    last = page.evaluate("document.querySelector('.stage').getBoundingClientRect().bottom")
    for place in range(0, int(last), 60):
        page.evaluate("(to) => window.scrollTo({ top: to, behavior: 'instant' })", place)
        at = page.evaluate(SEEN)
        if at["top"] < height - 200 and at["clear"] > 100:
            assert at["sliders"], (place, at)
        whole = max(whole, at["clear"] / at["chart"] if at["sliders"] else 0)
    assert whole >= 0.99


def test_the_scheme_changes_while_the_page_is_open(opened):
    """The charts are drawn anew, in the colours of the other scheme, and say the same."""
    page = opened("?view=memory&b=8", 1440)
    ink = "getComputedStyle(document.querySelector('#chart-roofline svg text')).fill"
    words = page.locator("#chart-roofline .view").get_attribute("aria-label")
    light = page.evaluate(ink)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"(light) => {ink} !== light", arg=light)
    settle(page)
    dark = page.evaluate("getComputedStyle(document.querySelector('#view-charts svg text')).fill")
    assert dark != light
    assert page.locator("#chart-roofline .view").get_attribute("aria-label") == words
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"(light) => {ink} === light", arg=light)
    accessible(page)


def test_another_width_draws_for_it(opened):
    page = opened("?view=memory", 1440)
    page.set_viewport_size({"width": 360, "height": 740})
    fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    page.wait_for_function(f"""() => {fits} && [...document.querySelectorAll("#chart-roofline svg, #view-charts svg")]
        .every((one) => Number(one.getAttribute("width")) <= 360)""")
