"""By keyboard alone: every control, every dot of every chart, and what its tooltip says."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.studio.views import TITLES
from studio_pages import LLAMA

# What a pointer is told that comes upon each mark of a chart, one after the other, whether drawn or only there to be
# hit. Of a line, its ends: it tells where a point of its data is.
POINTED = """(chart) => {
    const tip = document.querySelector(".tip");
    const told = new Set();
    const point = (mark, clientX, clientY) => {
        const send = (kind) => mark.dispatchEvent(new PointerEvent(kind, { bubbles: true, clientX, clientY }));
        ["pointerover", "pointermove", "mouseover", "mousemove"].forEach(send);
        if (!tip.hidden) told.add(tip.innerText);
        ["pointerout", "mouseout"].forEach(send);
    };
    for (const mark of document.querySelectorAll(`#${chart} svg :is(path, line, rect, text)`)) {
        const box = mark.getBoundingClientRect();
        point(mark, box.x + box.width / 2, box.y + box.height / 2);
        if (mark.parentElement.matches(".mark-line")) {
            for (const length of [0, mark.getTotalLength()]) {
                const end = mark.getPointAtLength(length).matrixTransform(mark.getScreenCTM());
                point(mark, end.x, end.y);
            }
        }
    }
    return [...told];
}"""
AT = """() => {
    const one = document.activeElement;
    const tip = document.querySelector(".tip");
    const box = one.getBoundingClientRect();
    return {
        chart: one.closest(".chart")?.id ?? null, name: one.getAttribute("aria-label"), role: one.getAttribute("role"),
        box: [box.x + scrollX + box.width / 2, box.y + scrollY + box.height / 2],
        spot: [box.x + box.width / 2, box.y + box.height / 2], outline: getComputedStyle(one).outlineStyle,
        tip: tip.hidden ? null : tip.innerText,
    };
}"""


def at(page) -> dict:
    return page.evaluate(AT)


def enter(page, chart: str) -> None:
    """By Tab, from what is before the chart."""
    page.evaluate(
        """(chart) => {
            const before = document.createElement("button");
            document.getElementById(chart).before(before);
            before.focus();
            before.id = "before-the-chart";
        }""",
        chart,
    )
    page.keyboard.press("Tab")
    page.evaluate("document.getElementById('before-the-chart').remove()")


def through(page, chart: str) -> list[dict]:
    """Where ArrowRight leads, from a chart's one stop once around."""
    enter(page, chart)
    found = [at(page)]
    assert found[0]["chart"] == chart
    for _ in range(1500):
        page.keyboard.press("ArrowRight")
        now = at(page)
        if (now["name"], now["box"]) == (found[0]["name"], found[0]["box"]):
            return found
        found.append(now)
    raise AssertionError("the arrows do not come around")


def hold(page, chart: str) -> list[dict]:
    """All that a pointer can be told in a chart is told by keyboard too, ringed, and nothing else is."""
    page.keyboard.press("Escape")
    pointed = page.evaluate(POINTED, chart)
    found = through(page, chart)
    assert {one["tip"] for one in found} == {*pointed}
    for one in found:
        assert one["chart"] == chart
        assert one["role"] == "img"
        assert one["outline"] == "solid"
        assert all(word in one["name"] for word in one["tip"].split())
    return found


@pytest.mark.parametrize(
    "query",
    ["", "?b=32&2.c=h200-sxm&3.c=mi300x&ai=20", "?m=deepseek-ai/DeepSeek-V3&c=8xh200-sxm&b=8", "?m=llama-3.1-70b"],
    ids=["dense", "three scenarios", "experts", "does not fit"],
)
def test_all_that_the_roofline_tells_is_reached_by_arrows(studio_page, query):
    """Dots that lie on one another too: each is a step of its own. Roofs and ridges as well."""
    page = studio_page.open(query)
    names = " | ".join(one["name"] for one in hold(page, "chart-roofline"))
    assert "roof " in names
    if query == "":
        own = rooflight.analyze(LLAMA, "h100-sxm").phases["decode"]
        assert all(one.name in names for one in own.operators if one.flop and one.share > 0.05)


@pytest.mark.parametrize("name", TITLES)
def test_all_that_a_view_tells_is_reached_by_arrows(studio_page, name):
    page = viewed(studio_page, name)
    assert page.locator("#view-charts figure").count() > 0 or name == "check"
    for number in range(page.locator("#view-charts figure").count()):
        hold(page, f"chart-view-{number}")


def viewed(studio_page, name: str, query: str = "?b=8&2.c=h200-sxm"):
    """A view with what it draws; the first one waits for a reader who comes near."""
    page = studio_page.open(f"{query}&view={name}")
    page.locator("#views").scroll_into_view_if_needed()
    page.wait_for_selector("#view-panel[data-shown]")
    studio_page.settled()
    return page


def batches(found: list[str]) -> list[int]:
    return [int(one.split("batch ")[1].split(" ")[0].replace(",", "").rstrip(",")) for one in found]


def test_arrows_go_along_a_line_and_to_the_next(studio_page):
    """Each computed batch of a line is a point, those without a dot too; Home and End are its ends."""
    page = viewed(studio_page, "throughput")
    found = [one["name"] for one in through(page, "chart-view-0")]
    first, second = (list(dict.fromkeys(batches([one for one in found if f"line {line}" in one]))) for line in "AB")
    assert all(own == sorted(own) for own in (first, second))
    assert {1, 2, 3, 5, 6, 7, 8} <= {*first}

    page.keyboard.press("End")
    assert batches([at(page)["name"]]) == [first[-1]]
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    before = at(page)
    page.keyboard.press("ArrowDown")
    below = at(page)
    assert "line B" in below["name"]
    assert below["box"][0] == pytest.approx(before["box"][0], abs=1)
    page.keyboard.press("ArrowUp")
    assert "line A" in at(page)["name"]


def test_lines_that_cross_are_walked_along(studio_page):
    """The baseline from one end of the ratios to the other, then the other deployment."""
    page = viewed(studio_page, "compare")
    enter(page, "chart-view-1")
    seen = [at(page)]
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        seen.append(at(page))
    assert all(one["name"].startswith("deployment A") for one in seen)
    assert [one["box"][0] for one in seen] == sorted({one["box"][0] for one in seen})
    page.keyboard.press("ArrowDown")
    assert at(page)["name"].startswith("deployment B")


def test_enter_presses_what_is_ringed(studio_page):
    """A hollow dot of a move makes a scenario."""
    page = viewed(studio_page, "moves", "?b=8")
    enter(page, "chart-view-0")
    for _ in range(60):
        if at(page)["name"].startswith("move batch"):
            break
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    studio_page.settled()
    assert len(studio_page.names()) == 2


def test_a_chart_is_one_stop_of_tab_also_after_it_was_redrawn(studio_page):
    page = studio_page.open("?b=8")
    enter(page, "chart-roofline")
    page.keyboard.press("ArrowRight")
    held = at(page)
    page.keyboard.press("Tab")
    assert at(page)["role"] != "img"
    assert page.locator(".tip").is_hidden()
    page.keyboard.press("Shift+Tab")
    assert at(page) == held
    studio_page.set("batch", 9)
    enter(page, "chart-roofline")
    assert at(page)["role"] == "img"
    assert page.locator("#chart-roofline svg [tabindex]").count() == 0


def test_arrows_go_on_from_what_was_pressed(studio_page):
    page = studio_page.open("?b=8")
    enter(page, "chart-roofline")
    first = at(page)["name"]
    page.keyboard.press("ArrowRight")
    second = at(page)
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.mouse.click(*second["spot"])
    assert at(page)["name"] == second["name"]
    page.keyboard.press("ArrowLeft")
    assert at(page)["name"] == first


def test_a_tooltip_stays_where_it_was_clicked_and_escape_closes_it(studio_page):
    page = studio_page.open()
    enter(page, "chart-roofline")
    place = at(page)["spot"]
    page.evaluate("document.activeElement.blur()")
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
