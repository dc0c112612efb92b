"""Marks of pictures: each says what it is, none hides another, and the words below name those that are there."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

import rooflight
from rooflight.show.charts.batch import batch
from rooflight.show.charts.batch import rows as batch_rows
from rooflight.show.charts.pareto import pareto
from rooflight.show.charts.pareto import rows as pareto_rows
from rooflight.show.charts.place import Plane
from rooflight.show.charts.roof_rows import rows
from rooflight.show.charts.roofline import roofline
from rooflight.show.charts.tag import BEFORE
from rooflight.show.charts.theme import LIGHT, Look
from rooflight.show.charts.tips import tell_neighbours
from unit.show.charts.pictures import drawn, overlaps

pytestmark = pytest.mark.slow  # draws pictures

WIDTHS = (320, 360, 800, 1440)
CARDS = ["4xh100-sxm", "2xh200-sxm", "8xl40s", "4xmi300x"]
RESOURCES = {"memory", "compute", "link", "launch", "capacity", "host_memory", "host_link"}


@pytest.fixture(scope="module")
def one():
    return rooflight.analyze("llama-3.1-8b", "h100-sxm", batch=16)


@pytest.fixture(scope="module")
def four():
    return [rooflight.analyze("llama-3.1-70b", card) for card in CARDS]


@pytest.fixture(scope="module")
def swept():
    return rooflight.sweep("llama-3.1-70b", CARDS, {"batch": [1, 4, 16, 64, 256, 1024]})


@pytest.fixture(scope="module")
def alone():
    return rooflight.sweep("llama-3.1-70b", "4xh100-sxm", {"batch": [1, 4, 16, 64, 256, 1024]})


def layers(spec):
    """Every mark of a document that draws a dataset, with its name."""
    for view in spec.get("vconcat", []) + spec.get("hconcat", []) + spec.get("layer", []):
        yield from layers(view)
    if "mark" in spec and "name" in spec.get("data", {}):
        yield spec["data"]["name"], {**spec["encoding"], **spec["mark"]}


def test_every_mark_has_a_tooltip(one, four, swept, alone):
    """But for words, what keeps room, the washes behind a roofline, tables, and lines whose dots tell."""
    after = rooflight.analyze("llama-3.1-8b", "h100-sxm", batch=64)
    silent = {"corners", "table", "once", "zones"}
    for chart in (roofline(one), roofline(*four), roofline(one, after=after), batch(swept), batch(alone),
                  pareto(swept, slo_tpot_s=0.04)):  # fmt: skip
        spoken, dumb = set(), set()
        for name, mark in layers(chart.to_dict()):
            if mark["type"] != "text":
                (spoken if "tooltip" in mark else dumb).add(name)
        told = {"points"} if any(name.startswith("dots") for name in spoken) else set()
        assert {name.partition("_")[0] for name in dumb - spoken} <= silent | {"here"} | told, chart.title


def test_dots_that_stand_on_each_other_tell_of_each_other(one):
    """Operators of one shape share their place; each says which others do."""
    told = {row["mark"]: row["also"] for row in rows(one)["operators"]}
    assert all(mark in told["D1"] for mark in ("D2", "D4"))
    assert "D1" in told["D2"]
    assert "D3" not in told["D1"]  # attention stands elsewhere


def test_the_smaller_is_drawn_last(one):
    shares = [row["share"] for row in rows(one)["operators"]]
    assert shares == sorted(shares, reverse=True)


def test_neighbours_are_those_within_the_larger_mark():
    plane = Plane(left=1, right=1000, bottom=1, top=1000, width=300, height=300)  # a decade is 100 px
    dots = [
        {"x": 10.0 * 10 ** (px / 100), "y": 10.0, "radius": radius, "told": name}
        for name, px, radius in (("a", 0, 4), ("b", 15, 4), ("c", 40, 26), ("d", 200, 4))
    ]
    tell_neighbours(plane, dots)

    assert [dot["also"] for dot in dots] == ["", "c", "b", ""]  # a is 40 px from c


def test_axes_end_a_little_beyond_what_they_show(one, four):
    """No more than six times beyond the outermost dot, or ridge."""
    for analyses in ([one], four):
        data = rows(*analyses)
        low, high = data["corners"]
        across = [row["x"] for name in ("phases", "operators", "ridges") for row in data[name]]
        tops = [row["rate"] for row in data["roofs"] if row["unit"] == "FLOP/s"]
        assert high["x"] <= 6.01 * max(across)
        assert high["y"] <= 2.6 * max(tops)
        assert low["x"] >= min(across) / 2.6
        for name in ("phases", "operators", "expected"):
            for row in data[name]:
                assert low["x"] < row["x"] < high["x"]
                assert low["y"] < row["y"] < high["y"]


def test_along_the_batch_no_axis_runs_on(swept, alone):
    for sweep in (swept, alone):
        data = batch_rows(sweep, look=Look(1440))
        low, high = data["corners_tokens_per_s"]
        points = data["points_tokens_per_s"]
        most = max(point[name] for point in points for name in ("ceiling", "high") if point[name])
        assert high["y"] <= 5 * most
        assert low["y"] >= min(point["low"] for point in points) / 4


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_collides(one, four, swept, alone, width):
    look = Look(width)
    tight = rooflight.analyze("llama-3.1-70b", "h100-sxm")
    roofs = (roofline(one, look=look), roofline(*four, look=look), roofline(tight, look=look))
    for chart in (*roofs, batch(swept, look=look), batch(alone, look=look), pareto(swept, slo_tpot_s=0.04, look=look)):
        assert not overlaps(drawn(chart)[2]), chart.title


@pytest.mark.parametrize("width", WIDTHS)
def test_intervals_of_several_do_not_cover_each_other(swept, four, width):
    """Upright strokes of their own along the batch; rings a little aside on the roofline."""
    look = Look(width)
    data = batch_rows(swept, look=look)
    low, high = data["corners_tokens_per_s"]
    spans = data["spans_tokens_per_s"]
    wide = math.log(high["x"] / low["x"])
    at = sorted(math.log(row["x"] / low["x"]) / wide * look.full_width for row in spans)
    assert {row["line"] for row in spans} == {1, 2, 3, 4}
    assert all(other - one >= 6 for one, other in pairwise(at))
    rings = rows(*four, look=look)["expected"]
    for phase in ("decode", "prefill"):
        places = [row["x"] for row in rings if row["name"] == phase and row["at"] == rings[0]["at"]]
        assert len({*places}) == len(places)


def test_zones_are_what_all_of_several_have_in_common(four):
    """Left of every ridge memory binds, right of every ridge arithmetic; between them it depends on the card."""
    data = rows(*four)
    ridges = [row["x"] for row in data["ridges"]]
    assert [(zone["x2"] if zone["hue"] == "memory" else zone["x"]) for zone in data["zones"]] == [
        min(ridges), max(ridges),
    ]  # fmt: skip


def test_a_hue_means_one_thing(one, four, alone):
    """Series have hues of their own, what was before the neutral one, and a single line is no resource."""
    after = rooflight.analyze("llama-3.1-8b", "h200-sxm", batch=16)
    moved = rows(one, after=after)
    assert {row["hue"] for row in moved["phases"]} == {BEFORE, "1"}
    assert LIGHT.hues[BEFORE] == LIGHT.ink
    assert {row["hue"] for row in rows(*four)["phases"]}.isdisjoint(RESOURCES)
    assert {row["hue"] for row in batch_rows(alone)["points_tokens_per_s"]} == {"1"}
    shades = [LIGHT.hues[name] for name in (*RESOURCES, "1", "2", "3", "4", "ink")]
    assert len({*shades}) == len(shades)


def test_scenarios_have_names_and_equal_roofs_are_drawn_once(one):
    """Twice the same card: one slope; bf16's flat is that of two of them, in the neutral hue."""
    fp8 = rooflight.analyze("llama-3.1-8b", "h100-sxm", weights="fp8", batch=16)
    names = ["today", "after fp8", 'a "name" of <40> letters, as odd as it is']
    data = rows(one, fp8, one, names=names)
    assert [row["name"] for row in data["table"]] == names
    assert {row["series"] for row in data["phases"]} == {*names}
    assert len(data["roofs"]) == 6  # two ends of the slope, of bf16 and of fp8
    other = rooflight.analyze("llama-3.1-8b", "h200-sxm")
    mixed = rows(one, fp8, other, names=names)["roofs"]
    slopes = {row["rate"]: (row["roof"], row["hue"]) for row in mixed if row["unit"] == "B/s"}
    assert slopes[one.accelerator.memory_bytes_per_s] == ("today memory, after fp8 memory", "ink")
    assert slopes[other.accelerator.memory_bytes_per_s] == (f"{names[2]} memory", "3")
    assert "after fp8" in roofline(one, fp8, names=names[:2]).title


def test_lines_of_a_sweep_have_names(swept):
    names = ["today", "two large ones"]
    points = batch_rows(swept, names=names)["points_tokens_per_s"]
    assert list(dict.fromkeys(point["name"] for point in points)) == [*names, "8 x l40s", "4 x mi300x"]
    assert [row["text"] for row in pareto_rows(swept, names=names)["names"]][:2] == names


def test_a_goal_stands_at_its_rate(swept):
    """40 ms a token are 25 tok/s for a user."""
    data = pareto_rows(swept, slo_tpot_s=0.04)
    assert data["goals"][0]["x"] == 1 / 0.04
    assert data["goal_names"][0]["text"] == "40 ms TPOT"
    assert pareto_rows(swept)["goals"] == []
    assert any("dashed line" in note for note in pareto(swept, slo_tpot_s=0.04).notes)
    assert not any("dashed line" in note for note in pareto(swept).notes)


def test_words_name_the_marks_that_are_there(one, four):
    said = " ".join(roofline(one).notes)
    assert all(word in said for word in ("Diamonds", "ring", "Circles"))
    assert "Dashed bars" not in said
    assert "Arrows" not in said
    several = " ".join(roofline(*four).notes)
    assert "Circles" not in several
    assert "Dashed bars" in several  # the link binds prefill of 8 x l40s
    tight = " ".join(roofline(rooflight.analyze("llama-3.1-70b", "h100-sxm")).notes)
    assert "Upright dotted" in tight
    assert "Diamonds" not in tight
    assert "ring below" not in tight
