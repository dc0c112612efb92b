"""The offline page in a real browser, opened as the file it is: what it shows is what the library answers."""

from __future__ import annotations

import math

import pytest

import rooflight
from offline import Tables
from rooflight.library.questions import make_scenario
from rooflight.serve.goals import Wanted
from rooflight.show.charts.explore import explore
from rooflight.show.charts.theme import DARK, LIGHT

LLAMA = "llama-3.1-8b"
ASKED = (("today", "h100-sxm", {"batch": 8}), ("after fp8", "h100-sxm", {"batch": 32, "weights": "fp8"}),
         ("two <b>MI300X</b> of another vendor, in a pair", "2xmi300x", {"batch": 8}))  # fmt: skip
SIZES = (360, 768, 1440)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The page of three scenarios, and that of one."""
    folder = tmp_path_factory.mktemp("offline")
    several = explore(
        [(name, make_scenario(LLAMA, on, **given)) for name, on, given in ASKED], goals=Wanted(tpot_s=0.008)
    )
    (folder / "several.html").write_text(several, encoding="utf-8")
    (folder / "one.html").write_text(explore([("", make_scenario(LLAMA, "h100-sxm"))]), encoding="utf-8")
    return folder


class Offline:
    """The page as a file, without a network, and what tests do with it."""

    def __init__(self, page) -> None:
        self.page, self.troubles = page, []
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("console", lambda message: message.type in ("error", "warning") and self.troubles.append(message.text))
        page.on("request", lambda asked: asked.url.startswith("http") and self.troubles.append(asked.url))

    def open(self, path):
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def slide(self, axis, value, told) -> None:
        """To the value, by keyboard: from the left end a step at a time."""
        steps = (told.batches if axis == "batch" else told.contexts).index(value)
        self.page.focus(f"#{axis}")
        for key in ("Home", *["ArrowRight"] * steps):
            self.page.keyboard.press(key)
        self.settled()
        assert self.page.inner_text(f"#{axis}-value") == f"{value:,}"

    def settled(self):
        """Two frames: one in which the page looks up, one in which it has drawn."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def diamonds(self) -> list[list[float]]:
        """Where the phases' diamonds stand on the roofline, in px."""
        return self.page.evaluate(
            """() => [...document.querySelectorAll("#roofline-chart .mark-symbol path")]
                .filter((one) => one.getAttribute("d").startsWith("M-"))
                .map((one) => one.getAttribute("transform").match(/-?[0-9.]+/g).map(Number))"""
        )

    def place(self, corners, x, y) -> list[float]:
        """Where a point of data stands: both axes are logarithmic and reach from corner to corner."""
        low, high = self.page.evaluate(
            """() => [...document.querySelectorAll("#roofline-chart .mark-symbol path[opacity='0']")].slice(0, 2)
                .map((one) => one.getAttribute("transform").match(/-?[0-9.]+/g).map(Number))"""
        )
        return [
            low[axis] + (high[axis] - low[axis]) * math.log(value / corners[0][name]) / math.log(
                corners[1][name] / corners[0][name]
            )
            for axis, (name, value) in enumerate((("x", x), ("y", y)))
        ]  # fmt: skip

    def row(self, number) -> list[str]:
        """A scenario's cells in the table of runs, each its figure and what is below it."""
        return self.page.locator(f"#runs tbody tr >> nth={number}").locator("td").all_inner_texts()


@pytest.fixture
def offline(context):
    context.set_offline(True)
    opened = Offline(context.new_page())
    yield opened
    assert opened.troubles == []


def ms(seconds):
    return rooflight.units.scaled(seconds, "s")


def test_it_opens_with_each_scenario_as_it_was_asked(offline, files):
    page = offline.open(files / "several.html")
    first = rooflight.analyze(LLAMA, "h100-sxm", batch=8)
    assert page.inner_text("#answer") == first.answer
    for number, (_, on, given) in enumerate(ASKED):
        answer = rooflight.analyze(LLAMA, on, **given)
        assert offline.row(number)[0].startswith(ms(answer.runs[answer.run].ttft_s.expected))
        assert f"batch {given['batch']}, 1,151 of context" in page.inner_text(f"#runs tbody tr >> nth={number}")
    assert page.locator(".chart svg").count() == 5


@pytest.mark.parametrize(("batch", "length"), [(1, 256), (64, 8192), (512, 1151)])
def test_sliders_move_every_scenario_to_what_the_library_says(offline, files, batch, length):
    """Dots, times and rates of all; sentence, step and operators of the one in focus. 512 do not fit one H100."""
    page = offline.open(files / "several.html")
    told = Tables((files / "several.html").read_text(encoding="utf-8"))
    offline.slide("batch", batch, told)
    offline.slide("context", length, told)
    given = {} if length == 1151 else {"context": length}
    corners = told.together("corners", told.point(batch, length), "wide")
    drawn = offline.diamonds()
    for number, (name, on, own) in enumerate(ASKED):
        answer = rooflight.analyze(LLAMA, on, **{**own, "batch": batch, **given})
        run = answer.runs[answer.run]
        cells = offline.row(number)
        assert cells[0].startswith(ms(run.ttft_s.expected))
        # at a context that is stated figures are of decode steps
        token = answer.phases["decode"].time_s if given and "decode" in answer.phases else run.tpot_s
        assert cells[1].startswith(ms(token.expected))
        assert ("over 8 ms" in cells[1]) == (token.expected > 0.008)
        for phase in answer.phases.values():
            at = offline.place(corners, phase.intensity_flop_per_byte, phase.flop / phase.time_s.roofline)
            assert min(math.dist(at, one) for one in drawn) < 0.1
        page.locator(f"input[value='{number}']").check()
        offline.settled()
        assert page.inner_text("#answer") == answer.answer
        if "decode" in answer.phases:
            decode = answer.phases["decode"]
            assert f"take {ms(decode.time_s.expected)}" in page.inner_text("#step")
            assert ms(max(one.time_s for one in decode.operators)) in page.inner_text("#operators tbody")
        assert name in page.inner_text("h2:has-text('Memory')")


def test_dots_move_with_the_batch_and_return_to_what_was_asked(offline, files):
    """Decode at a batch of 64 does more FLOP for each byte: its dot moves right, and by the button back."""
    page = offline.open(files / "one.html")
    start = sorted(offline.diamonds())
    offline.slide("batch", 64, Tables((files / "one.html").read_text(encoding="utf-8")))
    assert sorted(offline.diamonds())[0][0] > start[0][0]
    page.click("#asked")
    offline.settled()
    assert sorted(offline.diamonds()) == [pytest.approx(one, abs=0.01) for one in start]
    assert page.get_attribute("#asked", "aria-pressed") == "true"


def test_the_keyboard_alone_reaches_scenarios_and_sliders(offline, files):
    page = offline.open(files / "several.html")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    offline.settled()
    assert page.inner_text("#answer") == rooflight.analyze(LLAMA, "h100-sxm", batch=32, weights="fp8").answer
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    offline.settled()
    assert page.evaluate("document.activeElement.id") == "batch"
    assert page.get_attribute("#batch", "aria-valuetext") == "64"


def test_both_themes_by_the_readers_choice_also_while_open(offline, files):
    page = offline.open(files / "several.html")

    def seen():
        """The paper, and the line of the first scenario along the batch."""
        return page.evaluate(
            """() => [getComputedStyle(document.body).backgroundColor,
                getComputedStyle(document.querySelector("#batch-chart svg .mark-line path")).stroke]"""
        )

    def rgb(colour):
        return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"

    for scheme, palette in (("light", LIGHT), ("dark", DARK), ("light", LIGHT)):
        page.emulate_media(color_scheme=scheme)
        assert seen() == [rgb(palette.paper), rgb(palette.hues["1"])]
    page.emulate_media(color_scheme="dark", media="print")
    assert seen()[0] == rgb(LIGHT.paper)


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", ["one", "several"])
def test_nothing_scrolls_sideways_but_tables_in_their_box(offline, files, name, width):
    offline.page.set_viewport_size({"width": width, "height": 800})
    page = offline.open(files / f"{name}.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        """(width) => [...document.querySelectorAll("main *:not(.box *)")]
            .filter((one) => one.getBoundingClientRect().right > width + 0.5)
            .map((one) => one.outerHTML.slice(0, 80))""",
        width,
    )
    assert wide == []


def test_the_first_picture_needs_no_tables(offline, files):
    """With its tables cut out the page still draws and tells what was asked, and says that more cannot be read."""
    text = (files / "one.html").read_text(encoding="utf-8")
    head, _, rest = text.partition('<script type="text/plain" id="tables">')
    held, _, tail = rest.partition("</script>")
    late = files / "late.html"
    late.write_text(f'{head}<script type="text/plain" id="tables"></script>{tail}', encoding="utf-8")
    assert len(held) > 1000
    offline.page.goto(late.as_uri())
    offline.page.wait_for_selector("#memory-chart svg")
    assert offline.page.locator("#batch").is_disabled()
    assert "memory-bound" in offline.page.inner_text("#answer")
    offline.page.wait_for_selector("#trouble:visible")
    offline.troubles.clear()  # that tables cannot be read is said in the console


def test_names_are_text(offline, files):
    page = offline.open(files / "several.html")
    assert page.inner_text("#runs tbody tr >> nth=2").splitlines()[0].endswith(ASKED[2][0])
    assert page.locator("main b").count() == 0
