"""Moves on the roofline: hollow dots where they would put a phase, with what they gain."""

from __future__ import annotations

import functools

import pytest

import rooflight
from rooflight.show.charts import ghosts
from rooflight.show.charts.roofline import roofline, rows
from rooflight.show.charts.theme import Look

MODEL = "llama-3.1-8b"


@functools.cache
def answered(objective="throughput", **fields):
    return (
        rooflight.analyze(MODEL, "h100-sxm", **fields),
        rooflight.moves(MODEL, "h100-sxm", objective=objective, **fields),
    )


def test_the_best_of_each_kind_stands_where_its_step_is_expected():
    _, moves = answered(batch=16)
    found = ghosts.rows(moves)
    assert 0 < len(found) <= ghosts.MOST
    assert len({moves.moves[row["at"]].kind for row in found}) == len(found)
    assert [row["gain"] for row in found] == sorted((row["gain"] for row in found), reverse=True)
    for row in found:
        move = moves.moves[row["at"]]
        assert (row["x"], row["y"]) == (move.after.decode.intensity_flop_per_byte, move.after.decode.flop_per_s)
        assert row["gain"] == move.gains["throughput"].expected
        assert move.verdict == "helps"
        assert move.after.devices == moves.before.devices


def test_what_leaves_the_step_alone_is_no_dot():
    """A cached prefix saves prompts: decode stands where it stood."""
    _, moves = answered(batch=16)
    assert any(one.kind == "prefix-caching" and one.verdict == "helps" for one in moves.moves)
    assert all(moves.moves[row["at"]].kind != "prefix-caching" for row in ghosts.rows(moves))


@pytest.mark.parametrize(
    ("objective", "fields", "phase"),
    [("ttft", {}, "prefill"), ("latency", {}, "decode"), ("throughput", {"osl": 0}, "prefill")],
)
def test_dots_are_of_the_phase_that_decides(objective, fields, phase):
    _, moves = answered(objective, batch=4, **fields)
    assert {row["phase"] for row in ghosts.rows(moves)} <= {phase}
    assert ghosts.phase_of(moves) == phase


def test_no_dot_lies_above_the_roof():
    """At most peak or bandwidth x intensity, in the fastest format of the card: fp8 in place of bf16 is twice."""
    _analysis, moves = answered(batch=16)
    card = rooflight.accelerator("h100-sxm")
    for row in ghosts.rows(moves):
        assert row["y"] <= min(max(card.peak_flop_per_s.values()), card.memory_bytes_per_s * row["x"])


@pytest.mark.parametrize("width", [320, 800, 1440])
def test_names_stand_in_the_picture_clear_of_each_other(width):
    analysis, moves = answered(batch=16)
    look = Look(width)
    data = ghosts.added(rows(analysis, look=look), moves, look)
    plane = ghosts.plane_in(data, look)
    boxes = [ghosts._box(plane, row, look) for row in data["ghost_names"]]
    assert len(boxes) == len(data["ghosts"])
    assert not any(one.overlap(other) > 30 for at, one in enumerate(boxes) for other in boxes[:at])
    assert all(box.left > -10 and box.right < plane.width + 60 for box in boxes)


def test_axes_and_roofs_stay_as_they_are():
    analysis, moves = answered(batch=16)
    look = Look(800)
    plain = rows(analysis, look=look)
    drawn = ghosts.added(plain, moves, look)
    assert all(drawn[name] == plain[name] for name in ("corners", "roofs", "phases", "operators"))
    assert ghosts.added(plain, None, look) == {**plain, "ghosts": [], "ghost_names": []}


def test_the_picture_draws_them_and_says_how_to_read_them():
    analysis, moves = answered(batch=16)
    chart = roofline(analysis, moves=moves, look=Look(800))
    assert chart.datasets["ghosts"]
    assert any("Hollow dots, dashed: where a move would put decode" in note for note in chart.notes)
    assert "int4-g128 weights" in chart.svg()
    plain = roofline(analysis, look=Look(800))
    assert plain.datasets["ghosts"] == []
    assert not any("Hollow" in note for note in plain.notes)


def test_where_nothing_fits_what_would_fit_is_no_gain():
    moves = rooflight.moves("llama-3.1-70b", "h100-sxm")
    assert ghosts.rows(moves) == []
