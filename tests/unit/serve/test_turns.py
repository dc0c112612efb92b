"""Where another resource begins to bind, found between points that differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rooflight
from rooflight.library.questions import make_scenario
from rooflight.serve.landmarks import landmarks
from rooflight.serve.turns import CAPACITY, Turn, turns
from rooflight.show.charts.series import lines
from rooflight.studio.along import lines as studio_lines
from rooflight.studio.answered import answered
from rooflight.studio.page import Page
from rooflight.studio.question import Question


@given(st.lists(st.tuples(st.integers(2, 4000), st.sampled_from("abcd")), max_size=5))
def test_every_turn_between_the_points_is_found(changes):
    """Of a stretch of bounds that each come once, at the very place."""
    by_place = dict(sorted(changes))
    found, seen = [], "start"
    for x, bound in by_place.items():
        if bound != seen and bound not in {turn.bound for turn in found}:
            found.append(Turn(x, bound))
            seen = bound

    def bound_at(x):
        return next((turn.bound for turn in reversed(found) if turn.x <= x), "start")

    assert turns([(1, "start"), (4096, bound_at(4096))], bound_at) == tuple(found)


def test_capacity_begins_at_the_last_that_fits():
    assert turns([(1, "memory"), (9, CAPACITY)], lambda x: CAPACITY if x > 5 else "memory") == (Turn(5, CAPACITY),)


@pytest.mark.parametrize(
    ("model", "on", "fields"),
    [
        ("llama-3.1-8b", "h100-sxm", {"context": 64, "weights": "fp8"}),
        ("llama-3.1-8b", "h100-sxm", {}),
        ("mixtral-8x7b", "2xh100-sxm", {"context": 128}),
        ("llama-3.1-70b", "4xh200-sxm", {"context": 256}),
    ],
)
def test_pictures_turn_where_the_landmarks_say(model, on, fields):
    """The studio's lines and a sweep of few batches alike."""
    marks = landmarks(make_scenario(model, on, **fields))
    sweep = rooflight.sweep(model, on, {"batch": [1, 16, 256, 4096]}, **fields)
    studio = studio_lines(answered(Page(scenarios=[Question(model=model, on=on, **fields)])), 0)
    for found in (studio.lines[0].turns, lines(sweep).lines[0].turns):
        at = {turn.bound: turn.x for turn in found}
        compute = marks.compute_batch
        if compute is not None and compute < min(4096, marks.kv_limit):
            assert at["compute"] == compute
        if marks.kv_limit < 4096:
            assert at[CAPACITY] == marks.kv_limit
