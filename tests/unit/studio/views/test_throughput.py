"""The throughput view: every point, row and goal is the library's own."""

from __future__ import annotations

import pytest

pytest.importorskip("pydantic", reason="needs the extra `studio`")
pytest.importorskip("altair", reason="needs the extra `charts`")

import rooflight
from rooflight.errors import BadInput
from rooflight.show import numbers
from rooflight.studio import along
from rooflight.studio.answered import answered, landmarks_of
from rooflight.studio.page import Page
from rooflight.studio.question import Question
from rooflight.studio.view import Asked
from rooflight.studio.views.throughput import CHOICES, throughput
from rooflight.units import to_base

LLAMA, DEEPSEEK = "meta-llama/Meta-Llama-3.1-8B", "deepseek-ai/DeepSeek-V3"
# A dense model, and one with experts on eight cards.
MODELS = {"dense": (LLAMA, "h100-sxm"), "experts": (DEEPSEEK, "8xh200-sxm")}
NO_ROOM = Question(model="llama-3.1-70b", on="h100-sxm")


def page(*scenarios: Question, **fields):
    return Page(scenarios=list(scenarios), **fields)


def asked(*scenarios: Question, option: str = "", **fields):
    return throughput(Asked(page=page(*scenarios, **fields), option=option))


def rows_of(view, name):
    """The rows of a dataset of the view's one chart."""
    return view.charts[0].spec["datasets"][name]


def table_of(view, title="a decode step"):
    return next(block for block in view.blocks if title in getattr(block, "title", ""))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(("option", "measure"), [("all", "tokens_per_s"), ("user", "tokens_per_s_per_user")])
def test_points_are_the_rows_of_the_library_sweep(kind, option, measure):
    model, on = MODELS[kind]
    points = rows_of(asked(Question(model=model, on=on), option=option), f"points_{measure}")
    batches = [point["x"] for point in points]
    columns = rooflight.sweep(model, on, {"batch": batches}).columns()

    for name in ("expected", "low", "high", "ceiling"):
        assert [point[name] for point in points] == columns[f"{measure}.{name}"].tolist()


def test_no_point_of_small_batches_is_left_out():
    """Experts that wake bend the line between batches 2 and 4: every batch up to 32 is a point."""
    model, on = MODELS["experts"]
    points = rows_of(asked(Question(model=model, on=on)), "points_tokens_per_s")

    assert [point["x"] for point in points][:32] == list(range(1, 33))


@pytest.mark.parametrize("kind", MODELS)
def test_a_row_of_the_table_is_the_analysis_at_its_batch(kind):
    model, on = MODELS[kind]
    table = table_of(asked(Question(model=model, on=on, batch=24)))
    place = {head: number for number, head in enumerate(table.heads)}

    for row in table.rows:
        answer = rooflight.analyze(model, on, batch=int(row[0].replace(",", "")))
        if not answer.memory.fits:
            assert (row[place["a token"]], row[place["fits"]]) == ("", "no")
            continue
        decode = answer.phases["decode"]
        assert row[place["a token"]] == numbers.seconds(decode.time_s.expected)
        assert row[place["tok/s"]] == numbers.plain(decode.tokens_per_s.expected)
        assert row[place["tok/s a user"]] == numbers.plain(decode.tokens_per_s_per_user.expected)
        assert row[place["compute used"]] == numbers.percent(decode.mfu)
        assert row[place["bandwidth used"]] == numbers.percent(decode.mbu)
        assert row[place["bound by"]] == decode.bound


def test_the_table_has_powers_of_two_beyond_memory_and_where_the_batch_turns():
    one = answered(page(Question(batch=24, kv_cache="fp8", context=100, weights="fp8")))[0]
    marks = landmarks_of(one)
    table = along.table(one)
    named = {int(row[0].replace(",", "")): row[1] for row in table.rows}

    most = marks.kv_limit
    beyond = 1 << most.bit_length()  # the first power of two above
    assert [batch for batch in named if batch.bit_count() == 1][-1] == beyond
    assert (named[24], named[marks.knee_batch], named[most]) == ("this scenario", "knee", "most that fit")
    assert named[marks.ridge_batch] == "ridge"


def test_the_token_of_a_pipeline_is_what_its_user_waits():
    question = Question(model="llama-3.1-70b", on="8xh100-sxm", tp=4, pp=2, batch=16)
    table = table_of(asked(question))
    row = next(row for row in table.rows if row[0] == "16")
    decode = rooflight.analyze("llama-3.1-70b", "8xh100-sxm", tp=4, pp=2, batch=16).phases["decode"]

    assert row[2] == numbers.seconds(1 / decode.tokens_per_s_per_user.expected)


def test_each_scenario_is_a_line_in_the_hue_of_its_place_with_a_mark_at_its_batch():
    view = asked(Question(batch=8), Question(on="h200-sxm", batch=64), focus=1)
    own = rows_of(view, "own_tokens_per_s")

    assert [(one["hue"], one["x"]) for one in own] == [("1", 8), ("2", 64)]
    assert [one["text"] for one in rows_of(view, "labels_tokens_per_s")] == [
        "A, h100-sxm, batch 8",
        "B, h200-sxm, batch 64",
    ]


def test_zones_and_knee_are_those_of_the_scenario_in_focus():
    questions = Question(), Question(on="h200-sxm")
    for focus, question in enumerate(questions):
        marks = rooflight.sweep(LLAMA, question.on, {"batch": [1]}).landmarks()[0]
        view = asked(*questions, focus=focus)

        assert [one["x"] for one in rows_of(view, "knees_tokens_per_s")] == [marks.knee_batch]
        zones = {zone["bound"]: zone for zone in rows_of(view, "zones_tokens_per_s")}
        assert zones["capacity"]["x"] == pytest.approx(marks.kv_limit, abs=1)
        assert marks.knee_batch == rooflight.sweep(LLAMA, question.on, {"batch": [1]}).landmarks()[0].knee_batch


def test_of_several_scenarios_one_that_is_wrong_or_does_not_fit_is_left_out_and_said():
    view = asked(Question(on="nonsense-9000"), Question(on="h200-sxm"), NO_ROOM, focus=1)

    assert {point["hue"] for point in rows_of(view, "points_tokens_per_s")} == {"2"}
    said = [block.text for block in view.blocks if getattr(block, "kind", "") == "warning"]
    assert [text[:2] for text in said] == ["A,", "C,"]
    assert "nonsense-9000" in said[0]
    assert "not one sequence fits" in said[1]


def test_where_nothing_runs_there_is_no_chart_and_the_reason():
    for question, why in ((NO_ROOM, "not one sequence fits"), (Question(osl=0), "puts out no token")):
        view = asked(question)

        assert view.charts == ()
        assert why in view.answer


def test_what_does_not_fit_is_drawn_where_that_is_asked_for():
    view = asked(Question(model="llama-3.1-70b", on="h100-sxm", ignore_capacity=True))
    points = rows_of(view, "points_tokens_per_s")
    columns = rooflight.sweep("llama-3.1-70b", "h100-sxm", {"batch": [1]}, ignore_capacity=True).columns()

    assert points[0]["expected"] == columns["tokens_per_s.expected"][0]


def test_a_scenario_in_focus_that_cannot_be_answered_is_refused():
    with pytest.raises(BadInput):
        asked(Question(on="nonsense-9000"))


@pytest.mark.parametrize("goals", [{"tpot_slo_ms": 20.0}, {"tpot_slo_ms": 20.0, "ttft_slo_ms": 900.0}])
def test_a_goal_is_the_sweep_of_the_library(goals):
    questions = Question(batch=4), Question(on="2xh200-sxm", batch=4)
    view = asked(*questions, **goals)
    table = table_of(view, "Goals")

    for row, question, letter in zip(table.rows, questions, "AB", strict=True):
        goal = rooflight.sweep(LLAMA, question.on, {"batch": [4]}, **goals).goals()[0]
        assert row[3] == f"{goal.expected.batch:,}"
        assert f"{letter} with at most {goal.expected.batch:,}" in view.answer


def test_a_goal_that_nothing_keeps_says_why():
    view = asked(Question(), Question(on="h200-sxm"), tpot_slo_ms=0.5)

    assert "nothing keeps TPOT within 500 us" in view.answer
    assert "a token" in view.answer


def test_the_knee_is_in_the_sentence_with_and_without_a_goal():
    knee = rooflight.sweep(LLAMA, "h100-sxm", {"batch": [1]}).landmarks()[0].knee_batch

    assert f"is at batch {knee}" in asked(Question()).answer
    assert f"is at batch {knee}" in asked(Question(), tpot_slo_ms=20.0).answer


def test_the_front_is_a_user_against_an_accelerator_with_the_goal_as_a_line():
    view = asked(Question(on="2xh100-sxm"), Question(), option="pareto", tpot_slo_ms=20.0)
    points = [point for point in rows_of(view, "points") if point["line"] == 1]
    columns = rooflight.sweep(LLAMA, "2xh100-sxm", {"batch": [point["at"] for point in points]}).columns()

    assert [point["x"] for point in points] == columns["tokens_per_s_per_user.expected"].tolist()
    assert [point["y"] for point in points] == (columns["tokens_per_s.expected"] / 2).tolist()  # two accelerators
    (goal,) = rows_of(view, "goals")
    assert goal["x"] == pytest.approx(1 / to_base(20, "ms"))
    assert "20 ms" in goal["text"]


@pytest.mark.parametrize("option", [choice.option for choice in CHOICES])
@pytest.mark.parametrize("width", [320, 760, 1440])
def test_every_choice_draws_at_every_width(option, width):
    view = throughput(Asked(page=page(Question(), Question(on="h200-sxm")), option=option, width=width, dark=True))

    assert len(view.charts) == 1
    assert view.charts[0].spec["datasets"][
        "own" if option == "pareto" else f"own_{'tokens_per_s' if option == 'all' else 'tokens_per_s_per_user'}"
    ]


def test_requests_that_arrive_at_a_rate_stand_where_they_make_it():
    question = Question(request_rate=5.0)
    own = rows_of(asked(question), "own_tokens_per_s")

    assert [one["x"] for one in own] == [rooflight.analyze(LLAMA, "h100-sxm", request_rate=5.0).workload["batch"]]


def test_a_machine_without_a_compute_peak_has_its_line_and_no_goal():
    """Nobody published what an M5 multiplies in fp16; what its memory allows of decode is known."""
    view = asked(Question(on="apple-m5-max-40", weights="int4-g128"), tpot_slo_ms=100.0)

    assert rows_of(view, "points_tokens_per_s")
    assert any("cannot be told" in getattr(block, "text", "") for block in view.blocks)
    assert "no compute peak of it is published" in view.answer
    assert table_of(view).rows[0][6] == ""  # of no peak no share
