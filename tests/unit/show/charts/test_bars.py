"""Waterfall, traffic, memory, intensity, comparison and verdicts show the answers' own figures, whole and legible."""

from __future__ import annotations

from itertools import pairwise

import pytest

import rooflight
from rooflight.cli.output import CHARTS
from rooflight.show.charts import comparison, intensity, memory, traffic, verdicts, waterfall
from rooflight.show.charts.draw import KINDS
from rooflight.show.charts.theme import Look
from unit.show.charts.pictures import drawn, overlaps

pytestmark = pytest.mark.slow  # draws pictures

WIDTHS = (400, 800, 1600)


@pytest.fixture(scope="module")
def answer():
    return rooflight.analyze("llama-3.1-70b", "4xh100-sxm", batch=64)


@pytest.fixture(scope="module")
def too_big():
    return rooflight.analyze("llama-3.1-70b", "h100-sxm")


@pytest.fixture(scope="module")
def report():
    row = {"model": "llama-3.1-8b", "accelerator": "h100-sxm", "batch": 1, "input_len": 1024, "output_len": 256}
    rows = [{**row, "metric": "output_tok_s", "value": value} for value in (80, 150, 199, 800)]
    return rooflight.check([*rows, {**row, "metric": "tpot_ms", "value": 9.0}])


@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_the_waterfall_adds_up(answer, phase):
    """Its steps are the analysis', each from where the last ended, and end at the expected time."""
    data = waterfall.rows(answer, phase)
    told = answer.phases[phase]
    *steps, whole = data["steps"]
    assert [(step["name"], step["time_s"]) for step in steps] == [(one.name, one.seconds) for one in told.waterfall]
    assert all(step["x2"] == pytest.approx(after["x"]) for step, after in pairwise(steps))
    assert steps[-1]["x2"] == pytest.approx(told.time_s.expected)
    assert whole["time_s"] == told.time_s.expected
    assert (data["interval"][0]["low"], data["interval"][0]["high"]) == (told.time_s.low, told.time_s.high)


def test_traffic_is_the_bytes_of_each_phase(answer):
    for row in traffic.rows(answer)["parts"]:
        assert row["bytes"] == getattr(answer.phases[row["phase"]].bytes, row["part"])
    ends = {row["phase"]: row["x2"] for row in traffic.rows(answer)["parts"]}
    assert ends == {name: pytest.approx(phase.bytes.total) for name, phase in answer.phases.items()}


def test_memory_is_the_memory_block(answer, too_big):
    for one in (answer, too_big):
        data = memory.rows(one)
        assert {row["part"]: row["bytes"] for row in data["parts"]} == {
            part: getattr(one.memory, part) for part in memory.PARTS
        }
        held = one.memory
        assert data["parts"][-1]["x2"] == pytest.approx(held.needed_bytes)
        assert data["capacity"][0]["x"] == held.allowed_bytes
    assert memory.rows(too_big)["parts"][-1]["x2"] > too_big.memory.allowed_bytes
    assert "does not fit" in too_big.chart().title


def test_the_number_line_has_phases_and_ridges(answer):
    data = intensity.rows(answer)
    assert {row["name"]: row["x"] for row in data["phases"]} == {
        name: phase.intensity_flop_per_byte for name, phase in answer.phases.items()
    }
    assert {row["form"]: row["x"] for row in data["ridges"]} == {"bf16": answer.accelerator.ridge_flop_per_byte["bf16"]}


def test_a_comparison_has_the_spans(answer, too_big):
    data = comparison.rows(answer, too_big)
    span = answer.phases["decode"].tokens_per_s
    assert data["bars"][0]["x2"] == span.expected
    assert data["bars"][1]["text"] == "does not fit"
    assert data["interval"] == [{"row": 0, "low": span.low, "high": span.high}]
    assert data["ceilings"][0]["x"] == span.ceiling
    assert answer.accelerator.id in comparison.comparison(answer, too_big).title


def test_verdicts_are_shares_of_the_ceiling(report):
    """The furthest up first; a measured time's speed is the ceiling's time over it."""
    data = verdicts.rows(report.rows)
    over = [one.over_ceiling for one in report.rows if one.over_ceiling is not None]
    assert [row["x"] for row in data["marks"]] == sorted(over, reverse=True)
    shown = {row["name"]: row for row in data["bars"]}
    for one in report.rows:
        row = next(row for name, row in shown.items() if name.startswith(f"line {one.line}:"))
        ends = (
            (one.ceiling / one.high, one.ceiling / one.low)
            if one.unit == "ms"
            else (one.low / one.ceiling, one.high / one.ceiling)
        )
        assert (row["x"], row["x2"]) == pytest.approx(ends)
    assert report.chart().title == report.answer


def pictures(answer, too_big, report, look):
    yield waterfall.waterfall(answer, look=look)
    yield waterfall.waterfall(answer, phase="prefill", look=look)
    yield traffic.traffic(answer, look=look)
    yield memory.memory(answer, look=look)
    yield memory.memory(too_big, look=look)
    yield intensity.intensity(answer, look=look)
    yield comparison.comparison(answer, too_big, look=look)
    yield verdicts.verdicts(report, look=look)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_clipped_and_no_label_covers_another(answer, too_big, report, width):
    for chart in pictures(answer, too_big, report, Look(width)):
        wide, _, texts = drawn(chart)
        assert wide == pytest.approx(width, abs=4), chart.kind
        assert not overlaps(texts), chart.kind


def test_what_does_not_fit_has_every_chart(too_big):
    """No figures, but the sentence, and no failure."""
    for kind in KINDS["Analysis"]:
        assert too_big.chart(kind).svg()


def test_the_command_line_offers_what_there_is():
    assert set(CHARTS["Sweep"]) == set(KINDS["Sweep"])
    assert set(CHARTS["Analysis"]) == set(KINDS["Analysis"]) - {"comparison"}  # of several answers
