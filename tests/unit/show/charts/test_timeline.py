"""The picture of regimes over time: bars where they are, lines of their values, words that can be read."""

from __future__ import annotations

import pytest

import rooflight.show.charts.draw as draw
from rooflight.errors import UnknownName
from rooflight.show.charts import timeline
from rooflight.show.charts.theme import Look
from rooflight.values.diagnosis import Diagnosis, Regime
from unit.show.charts.pictures import drawn, overlaps


def row(minute, bound, subject="gpu 0", seconds=60.0, **values):
    start = f"2026-11-20T10:{minute:02}:00+00:00"
    return Regime(subject=subject, start=start, seconds=seconds, bound=bound, values=values)


def diagnosis(*rows, answer="Memory binds."):
    return Diagnosis(answer=answer, regimes=rows)


MEMORY = {"gpu_util": 0.95, "tensor_active": 0.06, "dram_active": 0.78, "kv_usage": 0.4}
COMPUTE = {"gpu_util": 0.98, "tensor_active": 0.65, "dram_active": 0.25, "kv_usage": 0.6}
MANY = [
    row(minute, bound, subject, **values)
    for subject in ("gpu 0", "gpu 1", "vllm at host:8000")
    for minute, (bound, values) in enumerate(
        [("idle", {"gpu_util": 0.0}), *[("memory", MEMORY)] * 8, ("throttled", MEMORY), *[("compute", COMPUTE)] * 6,
         (None, COMPUTE), ("queue", MEMORY), ("starved", MEMORY)]
    )
]  # fmt: skip


def test_neighbours_of_one_regime_are_one_bar():
    """Two minutes of memory, one of compute: bars from 0 to 2 and from 2 to 3 minutes."""
    data = timeline.rows(
        diagnosis(row(0, "memory", **MEMORY), row(1, "memory", **MEMORY), row(2, "compute", **COMPUTE))
    )

    assert [(bar["bound"], bar["x"], bar["x2"]) for bar in data["bars"]] == [("memory", 0, 2), ("compute", 2, 3)]
    assert {mark["text"] for mark in data["marks"]} == {"memory", "compute"}


def test_bars_and_lines_say_what_they_are_under_the_pointer():
    """Two of three minutes are memory's, with DRAM active 78 % of them."""
    data = timeline.rows(
        diagnosis(row(0, "memory", **MEMORY), row(1, "memory", **MEMORY), row(2, "compute", **COMPUTE))
    )

    assert [(bar["name"], bar["said"], bar["share"]) for bar in data["bars"]] == [
        ("memory", "120 s", "67 %"), ("compute", "60 s", "33 %"),
    ]  # fmt: skip
    assert {point["said"] for point in data["points"] if point["name"] == "DRAM active"} == {"78 %", "25 %"}


def test_a_time_nobody_watched_has_no_bar():
    """Minute 0 and minute 10, each of 60 s: ten minutes are not claimed."""
    data = timeline.rows(diagnosis(row(0, "memory", **MEMORY), row(10, "memory", **MEMORY)))

    assert [(bar["x"], bar["x2"]) for bar in data["bars"]] == [(0, 1), (10, 11)]


def test_moments_stand_for_the_time_up_to_the_next():
    data = timeline.rows(diagnosis(*(row(minute, "memory", seconds=None, **MEMORY) for minute in range(4))))

    assert [(bar["x"], bar["x2"]) for bar in data["bars"]] == [(0, 4)]


def test_lines_are_the_values_at_the_middle_of_their_rows():
    data = timeline.rows(diagnosis(row(0, "memory", **MEMORY), row(1, "memory", **MEMORY)))
    dram = [point for point in data["points"] if point["name"] == "DRAM active"]

    assert [(point["x"], point["value"]) for point in dram] == [(0.5, 0.78), (1.5, 0.78)]
    height = timeline.EMPTY - 0.78 * (timeline.EMPTY - timeline.FULL)
    assert dram[0]["y"] == pytest.approx(height)


def test_very_many_rows_are_averaged():
    rows = [
        Regime(subject="gpu 0", start=f"2026-11-20T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z", bound="memory",
               values=MEMORY)
        for n in range(4000)
    ]  # fmt: skip
    data = timeline.rows(diagnosis(*rows))

    assert len([point for point in data["points"] if point["name"] == "DRAM active"]) == 4000 / 10


def test_rows_without_a_clock_stand_in_their_order():
    data = timeline.rows(diagnosis(Regime(subject="gpu 0", bound="memory"), Regime(subject="gpu 0", bound="idle")))

    assert [(bar["bound"], bar["x"], bar["x2"]) for bar in data["bars"]] == [("memory", 0, 1), ("idle", 1, 2)]


def test_of_many_subjects_those_with_a_load_are_shown():
    idle = [row(0, "idle", f"gpu {number}", gpu_util=0.0) for number in range(12)]
    picture = timeline.timeline(diagnosis(*idle, row(0, "memory", "gpu 99", **MEMORY)))

    assert "gpu 99" in {name["text"] for name in picture.datasets["names"]}
    assert any("5 more are not shown" in note for note in picture.notes)


def test_without_monitoring_there_is_no_timeline():
    with pytest.raises(UnknownName, match="a timeline is of monitoring"):
        draw.chart(Diagnosis(answer="none"), "timeline")


@pytest.mark.slow  # draws pictures
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 800, 1600])
def test_nothing_overlaps_and_all_is_within(width, dark):
    across, down, texts = drawn(timeline.timeline(diagnosis(*MANY), look=Look(width, dark)))

    assert overlaps(texts) == []
    assert {"DRAM active", "GPU-Util"} <= {text.text for text in texts}
    assert max(text.right for text in texts) <= across
    assert max(text.bottom for text in texts) <= down


@pytest.mark.slow  # draws pictures
def test_it_fills_a_page():
    picture = draw.chart(diagnosis(*MANY), "timeline", width=None)

    assert picture.spec["width"] == "container"
    assert picture.svg().startswith("<svg")
