"""By keyboard alone: every control, every dot of every chart, and what its tooltip says."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.studio.views import TITLES
from studio_pages import LLAMA

# The marks of a chart that have something to say, as their Vega view has them; those that are not drawn left out.
TOLD = """async (kind) => {
    const view = (await import("/static/charts.js")).viewOf(kind);
    const found = [];
    const walk = (item) => {
        for (const one of item.items ?? []) {
            if (one.items) walk(one);
            else if (one._svg && one.tooltip && one.opacity !== 0 && one.mark.aria !== false) found.push(one);
        }
    };
    walk(view.scenegraph().root);
    return found.length;
}"""
AT = """() => {
    const one = document.activeElement;
    const tip = document.querySelector(".tip");
    return {
        chart: one.closest(".chart")?.id ?? null, label: one.getAttribute("aria-label"), role: one.getAttribute("role"),
        place: [...(one.closest(".chart")?.querySelectorAll("[role='img']") ?? [])].indexOf(one),
        tip: tip.hidden ? null : tip.innerText,
    };
}"""


def through(page, chart: str) -> list[dict]:
    """Where the arrows lead, from a chart's one stop once around."""
    stop = page.locator(f"#{chart} [role='img'][tabindex='0']")
    assert stop.count() == 1
    stop.focus()
    found = [page.evaluate(AT)]
    for _ in range(400):
        page.keyboard.press("ArrowRight")
        at = page.evaluate(AT)
        if at["place"] == found[0]["place"]:
            return found
        found.append(at)
    raise AssertionError("the arrows do not come around")


def hold(page, chart: str) -> list[dict]:
    """Every mark with a tooltip is reached, and says it."""
    found = through(page, chart)
    kind = chart.removeprefix("chart-")
    assert len(found) == page.evaluate(TOLD, kind) == page.locator(f"#{chart} [role='img']").count()
    assert len({one["place"] for one in found}) == len(found)
    for one in found:
        assert one["chart"] == chart
        assert one["label"]
        assert one["tip"], one
        words = " ".join(one["tip"].split())
        assert all(part in " ".join(one["label"].split()) for part in words.split()[:1])
    return found


@pytest.mark.parametrize(
    "query",
    ["", "?b=32&2.c=h200-sxm&3.c=mi300x&ai=20", "?m=deepseek-ai/DeepSeek-V3&c=8xh200-sxm&b=8", "?m=llama-3.1-70b"],
    ids=["dense", "three scenarios", "experts", "does not fit"],
)
def test_every_dot_of_the_roofline_is_reached_by_arrows_and_told(studio_page, query):
    """Dots that lie on one another too: each is a step of its own."""
    page = studio_page.open(query)
    if page.locator("#chart-roofline [role='img']").count() == 0:
        assert "does not fit" in page.inner_text("#headline")
        return
    labels = " | ".join(one["label"] for one in hold(page, "chart-roofline"))
    if query == "":
        own = rooflight.analyze(LLAMA, "h100-sxm").phases["decode"]
        assert all(one.name in labels for one in own.operators if one.flop and one.share > 0.05)


@pytest.mark.parametrize("name", TITLES)
def test_every_dot_of_every_view_is_reached_by_arrows_and_told(studio_page, name):
    page = studio_page.open(f"?b=8&2.c=h200-sxm&view={name}")
    studio_page.settled()
    for number in range(page.locator("#view-charts figure").count()):
        hold(page, f"chart-view-{number}")


def test_a_chart_is_one_stop_of_tab_also_after_it_was_redrawn(studio_page):
    page = studio_page.open("?b=8")
    page.locator("#chart-roofline [role='img'][tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.matches('[role=img]')")
    assert page.locator(".tip").is_hidden()
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(AT)["role"] == "img"
    studio_page.set("batch", 9)
    assert page.locator("#chart-roofline [role='img'][tabindex='0']").count() == 1


def test_a_tooltip_stays_where_it_was_clicked_and_escape_closes_it(studio_page):
    page = studio_page.open()
    dot = page.locator("#chart-roofline [role='img'][aria-label*='prefill']").last
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*place)
    page.wait_for_selector(".tip:not([hidden])")
    page.mouse.click(*place)
    page.mouse.move(5, 5)
    assert page.inner_text(".tip.pinned") != ""
    page.keyboard.press("Escape")
    assert page.is_hidden(".tip")


NAME = """() => {
    const one = document.activeElement;
    const style = getComputedStyle(one.matches(".file input") ? one.parentElement : one);
    return [one.id || one.dataset.operator || one.dataset.view || one.className.toString?.()
        || one.textContent.trim().slice(0, 20), style.outlineStyle, one.tagName];
}"""


def test_everything_is_reached_by_tab_and_focus_is_seen(studio_page):
    page = studio_page.open("?b=8&2.c=h200-sxm&view=time")
    reached, unseen = set(), []
    for _ in range(140):
        page.keyboard.press("Tab")
        name, outline, tag = page.evaluate(NAME)
        if tag == "BODY":
            break
        reached.add(name)
        if outline == "none":
            unseen.append(name)

    assert {
        "copy-link", "name", "model", "count", "on", "weights", "isl-slider", "bandwidth_times", "pick", "remove",
        "add-scenario", "drag-bandwidth", "drag-peak", "batch-slider", "batch", "context-slider", "intensity",
        "together", "context-auto", "tab-time", "qkv", "command-rooflight",
    } <= reached  # fmt: skip
    assert not unseen


def test_the_first_stop_leads_to_the_answer(studio_page):
    page = studio_page.open()
    page.keyboard.press("Tab")
    assert page.inner_text(":focus") == "Skip to the answer"
    page.keyboard.press("Enter")
    target = page.evaluate("document.querySelector(location.hash)?.id ?? null")

    assert target is not None
    assert page.locator(f"#{target}").is_visible()
    assert "#config" not in page.url
