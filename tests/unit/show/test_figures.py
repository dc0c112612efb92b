"""The table of scenarios: what it says of a run is what the analysis says of it, and gains are the library's own."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="needs the extra `studio`")

import rooflight
from rooflight.serve.goals import wanted_ms
from rooflight.show import numbers
from rooflight.show.charts.wording import times
from rooflight.show.figures import HEADS, line, of_steps
from rooflight.studio.drawings import page_look
from rooflight.studio.page import Page
from rooflight.studio.picture import picture
from rooflight.studio.question import Question, scenario_of
from rooflight.words.analysis import analyzed

PLACE = {
    "ttft": 0, "tpot": 1, "best": 2, "user": 3, "card": 4, "compute": 5, "memory": 6, "bound": 7, "fits": 8, "cost": 9,
}  # fmt: skip
LARGE = "meta-llama/Meta-Llama-3.1-70B"
QUESTIONS = [
    {}, {"batch": 64, "isl": 2048, "osl": 512}, {"model": LARGE, "on": "4xh100-sxm", "batch": 32, "engine": "vllm"},
    {"model": "mixtral-8x7b", "on": "2xh200-sxm", "weights": "fp8", "batch": 8}, {"request_rate": 2.0},
    {"model": "deepseek-ai/DeepSeek-V3", "on": "16xh200-sxm", "tp": 8, "pp": 2, "batch": 16},
    {"on": "rtx-4090+rtx-3090"},
]  # fmt: skip


def lined(**fields):
    """The line of a scenario, its analysis and its run."""
    question = Question(**fields)
    sc = scenario_of(question)
    analysis = analyzed(sc)
    found = line(analysis, steps=of_steps(sc, analysis), usd_per_hour=question.usd_per_hour)
    return found, analysis, analysis.runs.get(analysis.run or "")


def spanned(span, written=numbers.seconds):
    """What a cell has of an interval."""
    return written(span.expected), f"{written(span.low)} to {written(span.high)}"


def test_of_drafted_tokens_the_step_is_the_verify_step():
    found, analysis, _ = lined(model=LARGE, on="4xh100-sxm", batch=20, draft_tokens=4, acceptance=0.7)
    assert found.cells[PLACE["best"]].text == numbers.seconds(analysis.phases["verify"].time_s.ceiling)


@pytest.mark.parametrize("ignored", [False, True])
def test_more_than_fit_at_once_are_said_to_wait(ignored):
    found, analysis, _ = lined(batch=4096, ignore_capacity=ignored)
    cell = found.cells[PLACE["fits"]]

    assert (cell.text, cell.beside) == ("4,096", f"of {analysis.memory.max_batch:,} at most")
    assert (cell.goal, cell.missed) == (("", False) if ignored else ("the others wait", True))


@pytest.mark.parametrize("fields", QUESTIONS)
def test_a_line_says_what_the_run_of_the_analysis_says(fields):
    found, analysis, run = lined(**fields)
    cells = {name: (found.cells[place].text, found.cells[place].beside) for name, place in PLACE.items()}

    assert len(found.cells) == len(HEADS) == len(PLACE)
    assert cells["ttft"] == spanned(run.ttft_s)
    assert cells["tpot"] == spanned(run.tpot_s)
    assert cells["user"] == spanned(run.output_tokens_per_s_per_user, numbers.plain)
    assert cells["card"] == spanned(run.output_tokens_per_s_per_accelerator, numbers.plain)
    assert cells["compute"] == (numbers.percent(run.utilization.compute), "")
    assert cells["memory"] == (numbers.percent(run.utilization.memory), "")
    assert cells["best"] == (numbers.seconds(analysis.phases["decode"].time_s.ceiling), "")
    assert cells["bound"] == (numbers.resource(analysis.phases["decode"].expected_bound), "")
    assert found.bound == analysis.phases["decode"].expected_bound
    assert cells["fits"][0] == numbers.count(analysis.workload["batch"])
    assert numbers.count(analysis.memory.max_batch) in cells["fits"][1]
    assert cells["cost"] == ("", "")
    assert found.missing == ""


def test_a_price_is_turned_into_that_of_tokens():
    """At 2 USD an hour a card of r tokens a second makes a million in 1e6 / r seconds: 2 / 3600 x 1e6 / r USD."""
    found, _, run = lined(batch=32, usd_per_hour=2.0)
    rate = run.output_tokens_per_s_per_accelerator

    assert found.cells[PLACE["cost"]].text == numbers.plain(2.0 / 3600 * 1e6 / rate.expected)
    cheapest, dearest = (2.0 / 3600 * 1e6 / value for value in (rate.high, rate.low))
    assert found.cells[PLACE["cost"]].beside == f"{numbers.plain(cheapest)} to {numbers.plain(dearest)}"


@pytest.mark.parametrize("fields", [{"osl": 0}, {"model": "BAAI/bge-m3"}])
def test_without_output_no_token_is_counted_or_paid_for(fields):
    """A rate of 0 tokens would cost 2 / 0 USD; what is gained is of prompts, and no figure of this table."""
    found, _, _ = lined(**fields, usd_per_hour=2.0)
    both = [Question(**fields, on=on, usd_per_hour=2.0) for on in ("h100-sxm", "h200-sxm")]
    gained = picture(Page(scenarios=both, focus=1), page_look(800, False)).gained

    for cells in (found.cells, gained.cells):
        assert {cells[PLACE[name]].text for name in ("tpot", "user", "card", "cost")} == {""}
        assert cells[PLACE["ttft"]].text


def test_what_does_not_fit_says_why_in_place_of_figures():
    found, analysis, _ = lined(model=LARGE)

    assert (found.cells, found.bound) == ((), "capacity")
    assert found.missing
    assert analysis.answer.startswith(found.missing)


def test_prompts_alone_have_no_tokens_to_time():
    found, analysis, run = lined(osl=0, batch=8)

    assert found.cells[PLACE["tpot"]].text == ""
    assert found.cells[PLACE["ttft"]].text == numbers.seconds(run.ttft_s.expected)
    assert found.bound == analysis.phases["prefill"].expected_bound


GAINED = [
    ({"weights": "bf16"}, {"weights": "fp8"}),
    ({"on": "4xh100-sxm", "model": LARGE}, {"on": "2xh200-sxm", "model": LARGE}),
    ({"batch": 1}, {"batch": 64}),
    ({"usd_per_hour": 2.0}, {"on": "h200-sxm", "usd_per_hour": 3.0}),
]


@pytest.mark.parametrize(("first", "second"), GAINED)
def test_the_line_of_gains_is_what_is_expected_of_both_runs(first, second):
    """A rate over a rate, and a time under a time; a token is as much cheaper as a card is faster and costs less."""
    shown = picture(Page(scenarios=[Question(**first), Question(**second)], focus=1), page_look(800, False))
    before, after = (_run(fields) for fields in (first, second))
    found = {name: shown.gained.cells[place].text for name, place in PLACE.items()}
    card = after.output_tokens_per_s_per_accelerator.expected / before.output_tokens_per_s_per_accelerator.expected

    assert len(shown.gained.cells) == len(HEADS)
    assert found["ttft"] == times(before.ttft_s.expected / after.ttft_s.expected)
    assert found["tpot"] == times(before.tpot_s.expected / after.tpot_s.expected)
    assert found["user"] == found["tpot"]
    assert found["card"] == times(card)
    assert found["cost"] == (times(card * 2.0 / 3.0) if "usd_per_hour" in first else "")
    assert {found[name] for name in ("best", "compute", "memory", "bound", "fits")} == {""}


def _run(fields):
    """The run of a scenario as the library has it."""
    given = {name: value for name, value in fields.items() if name not in ("model", "on", "usd_per_hour")}
    answer = rooflight.analyze(fields.get("model", Question().model), fields.get("on", "h100-sxm"), **given)
    return answer.runs[answer.run]


def test_a_gain_over_a_card_without_a_peak_leaves_out_what_cannot_be_told():
    """Prompts of the first have no time, and so its first token has none."""
    scenarios = [Question(on="tt-p150", model="meta-llama/Llama-2-7b-hf"), Question(model="meta-llama/Llama-2-7b-hf")]
    shown = picture(Page(scenarios=scenarios, focus=1), page_look(800, False))

    assert shown.gained is None or shown.gained.cells[PLACE["ttft"]].text == ""


def test_nothing_is_gained_over_itself_or_over_what_does_not_fit():
    look = page_look(800, False)

    assert picture(Page(scenarios=[Question(), Question(batch=2)]), look).gained is None
    assert picture(Page(scenarios=[Question(model=LARGE), Question()], focus=1), look).gained is None


@pytest.mark.parametrize(
    ("times", "said", "missed"),
    # of what is expected: below it, between it and the slow end (1.1 to 1.5 of it), and beyond the slow end
    [(0.5, "over", True), (1.01, "not when slow", False), (10.0, "keeps", False)],
)
def test_a_line_says_what_the_goals_of_the_page_make_of_its_times(times, said, missed):
    fields = {"model": LARGE, "on": "4xh100-sxm", "batch": 32}
    analysis = analyzed(scenario_of(Question(**fields)))
    run = analysis.runs[analysis.run]
    goals = wanted_ms(None, run.tpot_s.expected * times * 1000)  # a goal in ms
    found = line(analysis, goals=goals)

    cell = found.cells[PLACE["tpot"]]
    assert said in cell.goal
    assert numbers.seconds(goals.tpot_s) in cell.goal
    assert cell.missed is missed
    assert ("not when slow" in cell.goal) is (goals.tpot_s >= run.tpot_s.expected and goals.tpot_s < run.tpot_s.high)
    assert found.cells[PLACE["ttft"]].goal == ""


def test_the_picture_holds_every_scenario_against_the_goals_of_the_page():
    """A token of the first takes less than 40 ms, one of the last more."""
    page = Page(scenarios=[Question(model=LARGE, on=on, batch=32) for on in ("4xh100-sxm", "8xl40s")], tpot_slo_ms=40)
    first, last = picture(page, page_look(800, dark=False)).figures
    assert first.cells[PLACE["tpot"]].goal.startswith("keeps 40 ms")
    assert last.cells[PLACE["tpot"]].goal == "over 40 ms"
    assert not any(
        one.goal for one in picture(Page(scenarios=page.scenarios), page_look(800, dark=False)).figures[1].cells
    )
