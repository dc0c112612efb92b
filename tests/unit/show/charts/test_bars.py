"""Waterfall, traffic, memory, intensity, comparison and verdicts show the answers' own figures, whole and legible."""

from __future__ import annotations

from itertools import pairwise

import pytest

import rooflight
from rooflight.cli.output import CHARTS
from rooflight.show.charts import comparison, crossing, gains, intensity, memory, traffic, verdicts, waterfall
from rooflight.show.charts.draw import KINDS
from rooflight.show.charts.theme import Look
from unit.show.charts.pictures import drawn, overlaps

pytestmark = pytest.mark.slow  # draws pictures

WIDTHS = (360, 400, 800, 1440)


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
    assert [(row["row"], row["low"], row["high"]) for row in data["interval"]] == [(0, span.low, span.high)]
    assert data["ceilings"][0]["x"] == span.ceiling
    assert answer.accelerator.id in comparison.comparison(answer, too_big).title


def test_verdicts_are_shares_of_the_ceiling(report):
    """Slow ones first, the furthest up first; a measured time's speed is the ceiling's time over it."""
    data = verdicts.rows(report.rows)
    shown = {row["name"]: row for row in data["bars"]}
    marks = {row["name"]: row["x"] for row in data["marks"]}
    for one in report.rows:
        row = next(row for name, row in shown.items() if name.startswith(f"line {one.line}:"))
        ends = (
            (one.ceiling / one.high, one.ceiling / one.low)
            if one.unit == "ms"
            else (one.low / one.ceiling, one.high / one.ceiling)
        )
        assert (row["x"], row["x2"]) == pytest.approx(ends)
        assert marks[row["name"]] == one.over_ceiling
    assert report.chart().title == report.answer


@pytest.fixture(scope="module")
def inferred():
    return rooflight.analyze("llama-3.1-70b", "2xrx-7900-xtx", weights="int4-g128")


def test_where_what_is_expected_is_inferred_the_picture_says_so(answer, inferred):
    """And what the interval is in either case; of several deployments which of them."""
    known, unknown = (waterfall.waterfall(one).notes for one in (answer, inferred))
    both = comparison.comparison(answer, inferred).notes

    assert "Of ten well-run engines eight lie in the interval of what is expected." in known
    assert any("which is inferred here: no measurement of served runs on RDNA3" in note for note in unknown)
    assert any(note.startswith("2 x rx-7900-xtx: Of ten") and "h100" not in note for note in both)


@pytest.fixture(scope="module")
def moves():
    return rooflight.moves("llama-3.1-70b", "4xh100-sxm", batch=16)


@pytest.fixture(scope="module")
def compared():
    return rooflight.compare("llama-3.1-70b", ["4xh100-sxm", "2xh200-sxm", "8xl40s"])


def test_the_ceiling_has_the_hue_of_what_binds(answer):
    """A prompt's is arithmetic's."""
    for phase in ("prefill", "decode"):
        assert waterfall.rows(answer, phase)["steps"][0]["hue"] == answer.phases[phase].bound


def marks(view):
    """Every mark of a chart's main view that has rows: its dataset, and what stands under the pointer."""
    for layer in view.get("layer", [view] if "mark" in view else []):
        if "layer" in layer:
            yield from marks(layer)
        else:
            yield layer["data"]["name"], layer["mark"], layer["encoding"].get("tooltip", [])


def test_every_mark_has_a_tooltip_of_name_and_value(answer, too_big, report, moves, compared):
    """Bars, their names and texts, intervals, ticks and lines; but the invisible points that keep room."""
    charts = [*pictures(answer, too_big, report, Look()), gains.gains(moves), crossing.crossing(compared)]
    for chart in charts:
        if chart.kind == "intensity":
            continue
        main = chart.spec["vconcat"][0]
        for name, mark, told in marks(main):
            if name in ("ends", "corners", "labels"):
                continue
            fields = {one["field"] for one in told}
            assert {"name", "said"} <= fields or fields == {"name", "said", "share"}, (chart.kind, name, mark)
            assert all(row[field] for row in chart.datasets[name] for field in ("name", "said")), (chart.kind, name)


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
def test_nothing_is_clipped_and_no_label_covers_another(answer, too_big, report, moves, compared, width):
    look = Look(width)
    more = [gains.gains(moves, look=look), crossing.crossing(compared, look=look)]
    for chart in [*pictures(answer, too_big, report, look), *more]:
        wide, _, texts = drawn(chart)
        assert wide == pytest.approx(width, abs=4), chart.kind
        assert not overlaps(texts), chart.kind
        assert all(one.right <= width + 2 for one in texts), chart.kind


def test_what_does_not_fit_has_every_chart(too_big):
    """No figures, but the sentence, and no failure."""
    for kind in KINDS["Analysis"]:
        assert too_big.chart(kind).svg()


def test_the_command_line_offers_what_there_is():
    assert set(CHARTS["Sweep"]) == set(KINDS["Sweep"])
    assert set(CHARTS["Analysis"]) == set(KINDS["Analysis"]) - {"comparison"}  # of several answers
