"""The view of moves: figures of rooflight.moves, and acts that are scenarios with the gain that the table says."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pydantic", reason="needs the extra `studio`")

import rooflight
from rooflight.answers.outcome import outcome
from rooflight.answers.pair import gains
from rooflight.studio.page import Page
from rooflight.studio.question import LONGEST_NAME, MACHINE, Question, scenario_of
from rooflight.studio.view import Asked
from rooflight.studio.views.moves import moves
from rooflight.values.moves import wanted

OWN = Path(__file__).parents[3] / "measured_h100.toml"
LLAMA = "meta-llama/Meta-Llama-3.1-8B"
LARGE = "meta-llama/Meta-Llama-3.1-70B"
DENSE = {"model": LLAMA, "on": "h100-sxm", "batch": 8}
ROUTED = {"model": "Qwen/Qwen3-30B-A3B", "on": "2xl40s", "batch": 4}
TRIED = {"model": LARGE, "on": "4xh100-sxm", "batch": 16, "bandwidth_times": 1.5}
TOO_BIG = {"model": LARGE, "on": "h100-sxm"}


def asked(*scenarios, **more) -> Asked:
    page = {name: more.pop(name) for name in ("focus", "tpot_slo_ms", "ttft_slo_ms") if name in more}
    return Asked(page=Page(scenarios=[Question(**one) for one in scenarios], **page), **more)


def act_of(view, title):
    return next(one for one in view.acts if one.name.startswith(title))


def settings_of(view):
    """The table of what helps on the same machine."""
    return next(one for one in view.blocks if getattr(one, "title", "").startswith("On the same machine"))


def made(scenario, act) -> Question:
    return Question.model_validate({**Question(**scenario).model_dump(), **act.fields})


@pytest.mark.parametrize("objective", ["throughput", "latency", "ttft"])
def test_the_view_says_what_the_library_says(objective):
    view = moves(asked(DENSE, option=objective))
    found = rooflight.moves(LLAMA, "h100-sxm", batch=8, objective=objective)
    assert view.answer == found.answer
    assert [one.option for one in view.choices] == ["throughput", "latency", "ttft"]
    titles = {one.title for one in found.moves}
    helping = [one for one in view.blocks if getattr(one, "title", "").startswith("On the same machine")]
    assert all(row[0] in titles for table in helping for row in table.rows)


@pytest.mark.parametrize("scenario", [DENSE, ROUTED, TRIED], ids=["dense", "routed", "what-if"])
def test_every_act_is_a_scenario_with_the_gain_that_its_move_has(scenario):
    """The outcome of the new scenario over that of the one in focus is the gain of the table."""
    view = moves(asked(scenario))
    before = outcome(scenario_of(Question(**scenario)))
    assert view.acts
    for act in view.acts:
        assert 0 < len(act.name) <= LONGEST_NAME
        block = view.blocks[act.table]
        gain = wanted(gains(before, outcome(scenario_of(made(scenario, act)))), "throughput").expected
        said = block.rows[act.row][1].partition(" ")[0] if hasattr(block, "rows") else ""
        if said:
            assert said == (f"{gain:.2f}x" if gain < 10 else f"{gain:,.0f}x"), act.name


def test_the_best_few_together_are_an_act_of_their_line():
    view = moves(asked(DENSE))
    found = rooflight.moves(LLAMA, "h100-sxm", batch=8).combined
    act = next(one for one in view.acts if getattr(view.blocks[one.table], "title", "") == "Together:")
    assert act.fields == {name: act.fields[name] for name in found.fields}
    after = outcome(scenario_of(made(DENSE, act)))
    assert after.tokens_per_s_per_accelerator == found.after.tokens_per_s_per_accelerator


def test_bars_and_ghosts_bear_the_act_of_their_move():
    view = moves(asked(DENSE))
    roof, bars = view.charts
    assert roof.kind == "roofline"
    assert bars.kind == "gains"
    for row in bars.spec["datasets"]["bars"]:
        if "act" in row:
            assert view.acts[row["act"]].name[:20] == row["name"][:20]
    assert any("act" in row for row in roof.spec["datasets"]["ghosts"])


def test_what_does_not_fit_has_acts_that_fit_and_no_bars():
    view = moves(asked(TOO_BIG))
    assert view.charts == ()
    assert view.acts
    assert all(outcome(scenario_of(made(TOO_BIG, act))).max_batch >= 1 for act in view.acts)


def test_cost_is_asked_where_a_price_is_given_and_another_card_has_the_page_s_price_or_none():
    priced = {**DENSE, "usd_per_hour": 2.0}
    other = {**DENSE, "on": "h200-sxm", "usd_per_hour": 3.5}
    view = moves(asked(priced, other, option="cost"))
    found = rooflight.moves(LLAMA, "h100-sxm", batch=8, objective="cost", prices={"h100-sxm": 2.0, "h200-sxm": 3.5})
    assert view.answer == found.answer
    assert view.choices[-1].option == "cost"
    act = act_of(moves(asked(priced, other)), "h100-sxm to h200-sxm")
    assert act.fields["usd_per_hour"] == 3.5
    assert act_of(moves(asked(priced)), "h100-sxm to h200-sxm").fields["usd_per_hour"] is None


def test_an_objective_of_before_that_is_not_there_any_more_gives_the_first():
    assert moves(asked(DENSE, option="cost")).answer == moves(asked(DENSE)).answer


def test_more_of_a_machine_of_one_s_own_goes_by_its_name_on_the_page():
    own = {**DENSE, "on": MACHINE, "machine": OWN.read_text()}
    machines = [act.fields["on"] for act in moves(asked(own, option="latency")).acts if "on" in act.fields]
    assert f"2x{MACHINE}" in machines
    assert not any("our-h100" in one for one in machines)


def test_beside_a_goal_the_answer_names_the_best_change_that_keeps_it():
    """All that memory holds gains most and takes longer than 40 ms a token: the goal asks for another move."""
    scenario = {"model": LARGE, "on": "4xh100-sxm", "batch": 32, "isl": 2000, "osl": 500}
    found = rooflight.moves(LARGE, "4xh100-sxm", batch=32, isl=2000, osl=500)
    best = found.moves[0]
    for one in found.moves:
        if one.of == "settings" and one.verdict == "helps" and one.fields and one.after.run.tpot_s.expected <= 0.04:
            best = one  # they come best first
            break
    said = moves(asked(scenario, tpot_slo_ms=40)).answer
    assert said.startswith(found.answer)
    assert f"that keep a token within 40 ms, {best.title} helps most" in said
    assert moves(asked(scenario)).answer == found.answer


def test_where_no_change_keeps_the_goal_the_answer_says_so():
    """The ceiling of a step of 70B on these cards is more than 1 ms: 141 GB over 13.4 TB/s are 10 ms."""
    scenario = {"model": LARGE, "on": "4xh100-sxm", "batch": 32}
    said = moves(asked(scenario, tpot_slo_ms=1)).answer
    assert said.endswith("No change on the same machine helps and keeps a token within 1 ms, as expected.")


@pytest.mark.parametrize("goals", [{"tpot_slo_ms": 30.0}, {"tpot_slo_ms": 30.0, "ttft_slo_ms": 900.0}])
def test_tables_say_which_moves_keep_the_goals_and_have_the_best_that_do(goals):
    """More requests at once gain most, and are too slow for users: what is not stands there too, past the best six."""
    scenario = {"model": LARGE, "on": "4xh100-sxm", "batch": 64}
    helping = [
        one for one in rooflight.moves(LARGE, "4xh100-sxm", batch=64).moves
        if one.of == "settings" and one.verdict == "helps"
    ]  # fmt: skip
    plain, beside = (settings_of(moves(asked(scenario, **more))) for more in ({}, goals))
    columns = {"TTFT\n(goal 900 ms)": "ttft_s", "TPOT\n(goal 30 ms)": "tpot_s"}
    columns = {head: time for head, time in columns.items() if f"{time[:4]}_slo_ms" in goals}

    def over(one, time) -> bool:
        return getattr(one.after.run, time).expected * 1000 > goals[f"{time[:4]}_slo_ms"]

    keeping = [one for one in helping if not any(over(one, time) for time in columns.values())]
    wanted = [one for one in helping if one in helping[:6] or one in keeping[:6]]
    assert beside.heads == (*plain.heads, *columns)
    assert [row[0] for row in plain.rows] == [one.title for one in helping[:6]]
    assert [row[0] for row in beside.rows] == [one.title for one in wanted]
    assert any(one not in helping[:6] for one in wanted)
    for row, one in zip(beside.rows, wanted, strict=True):
        assert [cell.endswith(", over") for cell in row[-len(columns) :]] == [
            over(one, time) for time in columns.values()
        ]
