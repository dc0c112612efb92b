"""The page with sliders holds every point as the library returns it, is small, and runs its own scripts alone."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser

import pytest

import rooflight
from offline import Tables, inflated
from rooflight.errors import BadInput
from rooflight.library.questions import make_scenario
from rooflight.serve.goals import Wanted
from rooflight.serve.landmarks import landmarks
from rooflight.show.charts.explore import explore
from rooflight.show.charts.theme import DARK, LIGHT
from rooflight.show.figures import HEADS
from rooflight.words.headline import headline
from rooflight.words.seen import three_times

pytestmark = pytest.mark.slow  # draws pictures

HOSTILE = "</script><img src=x onerror=alert(1)>&amp;"
QUESTIONS = (
    ("llama-3.1-8b", "h100-sxm", {"batch": 6}),
    ("llama-3.1-8b", "h100-sxm", {"batch": 24, "weights": "fp8", "context": 4000}),
    ("llama-3.1-70b", "h100-sxm", {}),  # does not fit
)


def near(value):
    """Six digits are kept: half of the last one, of the smallest such number, is 5e-6."""
    return pytest.approx(value, rel=5e-6)


@pytest.fixture(scope="module")
def one():
    return explore([("", make_scenario("llama-3.1-8b", "h100-sxm", batch=6))])


@pytest.fixture(scope="module")
def three():
    named = zip(("today", HOSTILE, "too large"), QUESTIONS, strict=True)
    return explore(
        [(name, make_scenario(model, on, **given)) for name, (model, on, given) in named],
        focus=1, goals=Wanted(tpot_s=0.0065), usd_per_hour=(2.5, 2.5, None),
    )  # fmt: skip


@pytest.fixture(scope="module")
def tables(three):
    return Tables(three)


def analysis(number, **given):
    model, on, own = QUESTIONS[number]
    return rooflight.analyze(model, on, **{**own, **given})


def phases(answer):
    """Where the phases' dots are: at the speed of the roofline time."""
    return [(one.intensity_flop_per_byte, one.flop / one.time_s.roofline) for one in answer.phases.values()]


def test_a_scenario_alone_begins_where_was_asked(one):
    told = Tables(one)
    assert [told.batches[at[0]] for at in told.data["asked"]] == [6]
    assert [told.contexts[at[1]] for at in told.data["asked"]] == [1151]
    assert "<h1>Meta-Llama-3.1-8B (bf16) on h100-sxm</h1>" in one
    assert 'type="radio"' not in one


@pytest.mark.parametrize("batch", [1, 6, 32])
@pytest.mark.parametrize("context", [256, 1151, 8192])
@pytest.mark.parametrize("number", [0, 1])
def test_points_are_what_the_library_answers(tables, number, batch, context):
    """The context that was left open stays open: its memory is that of whole requests."""
    given = {} if (number, context) == (0, 1151) else {"context": context}
    answer = analysis(number, batch=batch, **given)
    point = tables.point(batch, context)
    assert tables.said(number, "words", point)[0]["answer"] == answer.answer
    shown = [row for row in tables.together("phases", point) if row["hue"] == str(number + 1)]
    assert [row["x"] for row in shown] == near([x for x, _ in phases(answer)])
    assert [row["y"] for row in shown] == near([y for _, y in phases(answer)])
    parts = {row["name"]: row["x2"] - row["x"] for row in tables.each(number, "memory-chart", "parts", point)}
    # of bars that start behind the weights, six digits are those of their ends
    assert parts["KV cache of the sequences asked for"] == pytest.approx(
        answer.memory.kv_bytes, abs=5e-6 * answer.memory.weights_bytes
    )
    steps = tables.each(number, "waterfall-chart", "steps", point)
    assert steps[-1]["x2"] == near(answer.phases["decode"].time_s.expected)


def test_the_first_picture_is_of_each_scenario_as_it_was_asked(three, tables):
    """Batches of 6, 24 and 1 at the contexts asked for, in the drawing itself: no table has to be read before."""
    drawing = json.loads(inflated(three, "drawings"))["roofline-chart"]
    rows = next(data["values"] for data in drawing["data"] if data["name"] == "phases")
    expected = [place for number in (0, 1) for place in phases(analysis(number))]
    assert [(row["x"], row["y"]) for row in rows] == expected
    assert [row["x"] for row in tables.together("phases", tables.asked)] == near([x for x, _ in expected])


def test_operators_and_interval_are_of_the_scenario_in_focus(tables):
    decode = analysis(1, batch=8, context=1024).phases["decode"]
    point = tables.point(8, 1024)
    rows = tables.each(1, "roofline-chart", "operators", point)
    largest = max(decode.operators, key=lambda one: one.time_s)
    assert {row["hue"] for row in rows} == {"2"}
    assert near(largest.flop / largest.time_s) in [row["y"] for row in rows]
    ring = next(row for row in tables.each(1, "roofline-chart", "expected", point) if row["name"] == "decode")
    assert [ring["y"], ring["low"], ring["high"]] == near(
        [decode.flop / decode.time_s.expected, decode.flop / decode.time_s.high, decode.flop / decode.time_s.low]
    )


def test_the_run_table_has_the_runs_figures(tables):
    answer = analysis(0)
    run = answer.runs[answer.run]
    cells = dict(zip(HEADS, tables.said(0, "run", tables.point(6, 1151)), strict=True))
    assert cells["TTFT"]["text"] == rooflight.units.scaled(run.ttft_s.expected, "s")
    assert cells["TPOT"]["text"] == rooflight.units.scaled(run.tpot_s.expected, "s")
    each = run.output_tokens_per_s_per_accelerator.expected
    assert cells["tok/s a card"]["text"] == rooflight.units.round_significant(each)
    assert f"{answer.memory.max_batch:,}" in cells["fits"]["beside"]
    # 2.5 dollars an hour buy 3600 seconds of tokens: dollars of a million of them
    assert float(cells["USD a million tokens"]["text"]) == pytest.approx(2.5 / 3600 / each * 1e6, rel=5e-3)


def test_a_goal_is_kept_or_missed_in_words(tables):
    """6.5 ms a token: 7.49 ms of 6 sequences in bf16 are over it, those of a single one in fp8 within."""
    over = tables.said(0, "run", tables.point(6, 1151))[1]
    within = tables.said(1, "run", tables.point(1, 256))[1]
    assert (over["missed"], over["goal"]) == (True, "over 6.5 ms")
    assert (within["missed"], within["goal"]) == (False, "keeps 6.5 ms")


def test_what_does_not_fit_says_so_and_has_no_dots(tables):
    point = tables.point(1, 256)
    cells = tables.said(2, "run", point)
    assert [cell["text"] for cell in cells] == [headline(analysis(2))]
    assert "does not fit" in cells[0]["text"]
    assert "does not fit on h100-sxm" in tables.said(2, "words", point)[0]["answer"]
    assert {row["hue"] for row in tables.together("phases", point)} == {"1", "2"}
    assert tables.said(2, "operators", point) == []


def test_it_says_once_how_the_times_of_a_step_differ(three, one):
    said = html.escape(three_times(measured=False))
    assert (three.count(said), one.count(said)) == (1, 1)


def test_past_what_fits_the_page_says_so(one):
    told = Tables(one)
    most = landmarks(make_scenario("llama-3.1-8b", "h100-sxm", batch=6)).kv_limit
    over = next(size for size in told.batches if size > most)
    point = told.point(over, 1151)
    assert f"at most {most:,} fit at once" in told.said(0, "words", point)[0]["answer"]
    assert [dot["name"] for dot in told.together("phases", point)] == ["prefill"]


def test_the_axes_stay_while_dots_move(three):
    """Corners are told for each look alone, and are equal at every point: packed once."""
    looks = Tables(three).data["together"]["roofline-chart"]
    assert [set(looks[look]["corners"]["at"]) for look in ("wide", "narrow")] == [{0}, {0}]


def test_what_is_inferred_is_said():
    page = explore([("", make_scenario("llama-3.1-8b", "mi300x"))])
    answer = rooflight.analyze("llama-3.1-8b", "mi300x")
    said = Tables(page).said(0, "words", Tables(page).point(1, 1151))[0]
    assert said["caveat"].startswith("What is expected is inferred: no measurement of served runs on CDNA3")
    assert f"{rooflight.units.scaled(answer.phases['decode'].time_s.ceiling, 's')}, its roofline" in said["step"]
    assert html.escape(said["caveat"]) in page


class _Scripts(HTMLParser):
    """Elements of a page, and what its scripts hold."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts, self.policy, self._type = [], [], "", None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._type = dict(attrs).get("type", "run") if tag == "script" else None
        if tag == "meta" and "http-equiv" in dict(attrs):
            self.policy = dict(attrs)["content"]

    def handle_endtag(self, tag):
        self._type = None

    def handle_data(self, data):
        if self._type == "run":
            self.scripts.append(data)


def digest(script):
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def test_only_its_own_scripts_run(three):
    """The one of the page and the drawing library, each by its hash; nothing is fetched and nothing evaluated."""
    read = _Scripts(three)
    own = [*read.scripts, inflated(three, "library")]
    allowed = " ".join(f"'sha256-{digest(one)}'" for one in own)
    assert len(read.scripts) == 1
    assert read.policy == (f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:")
    assert not any({"src", "href", "onerror"} & set(attrs) for _, attrs in read.tags)


def test_every_name_is_text(three):
    assert HOSTILE not in three
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&amp;amp;" in three
    assert not [tag for tag, _ in _Scripts(three).tags if tag == "img"]


def test_one_document_serves_both_themes(three):
    """Colours in the drawings are the style sheet's variables, and that has each colour of both.

    The one other is Vega's own, of marks that nobody sees: the corners that axes reach to.
    """
    drawings = inflated(three, "drawings")
    assert set(re.findall(r"#[0-9a-f]{6}\b", drawings)) == {"#4c78a8"}
    css = re.search(r"<style>(.*?)</style>", three, re.DOTALL)[1]
    for palette in (LIGHT, DARK):
        assert f"--paper:{palette.paper};" in css
        assert all(f"--hues-{name}:{colour}" in css for name, colour in palette.hues.items())
    used = set(re.findall(r"var\((--[\w-]+)\)", drawings + css))
    assert used <= set(re.findall(r"(--[\w-]+):", css))


def test_the_largest_page_is_small():
    """DeepSeek-V3 in four scenarios, each asked at its own batch and context, in under 1.6 MB."""
    asked = [("8xh200-sxm", {}), ("8xb200", {"weights": "nvfp4", "batch": 48, "context": 3000}),
             ("16xh100-sxm", {"batch": 100, "context": 5000}), ("8xmi300x", {"batch": 12, "context": 700})]  # fmt: skip
    page = explore([(f"scenario {on}", make_scenario("deepseek-v3", on, **given)) for on, given in asked])
    assert len(page.encode()) < 1_600_000
    told = Tables(page)
    assert len(told.data["each"]) == 4
    # each where it was asked: batches of 1, 48, 100 and 12
    assert [told.batches[at[0]] for at in told.data["asked"]] == [1, 48, 100, 12]


def test_no_more_than_four_and_a_focus_among_them():
    sc = make_scenario("llama-3.1-8b", "h100-sxm")
    for wrong in ([], [("", sc)] * 5):
        with pytest.raises(BadInput, match="up to 4 scenarios"):
            explore(wrong)
    with pytest.raises(BadInput, match="no such scenario"):
        explore([("", sc)], focus=1)
