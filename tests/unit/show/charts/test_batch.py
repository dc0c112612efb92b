"""Sweeps as lines: every point is the sweep's own row, and the zones turn where the landmarks say."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.show.charts.batch import batch, rows
from rooflight.show.charts.pareto import pareto
from rooflight.show.charts.pareto import rows as pareto_rows
from rooflight.show.charts.series import MOST_LINES, MOST_POINTS, lines
from rooflight.show.charts.theme import Look
from rooflight.show.sweep import rows as sweep_rows
from unit.show.charts.pictures import drawn, overlaps

pytestmark = pytest.mark.slow  # draws pictures

WIDTHS = (400, 800, 1600)
DOUBLING = [2**power for power in range(12)]


@pytest.fixture(scope="module")
def one():
    return rooflight.sweep("llama-3.1-8b", "h100-sxm", {"batch": DOUBLING}, context=64, weights="fp8")


@pytest.fixture(scope="module")
def three():
    cards = ["4xmi300x", "4xh100-sxm", "4xh200-sxm"]
    return rooflight.sweep("llama-3.1-70b", cards, {"batch": DOUBLING[:10]}, weights="fp8")


@pytest.mark.parametrize("measure", ["tokens_per_s", "tokens_per_s_per_user"])
def test_points_are_the_rows_of_the_sweep(one, measure):
    points = rows(one, measures=[measure])[f"points_{measure}"]
    spans = {row.batch: getattr(row, measure) for row in sweep_rows(one) if row.fits}
    assert {point["x"]: (point["expected"], point["low"], point["high"], point["ceiling"]) for point in points} == {
        batch: (span.expected, span.low, span.high, span.ceiling) for batch, span in spans.items()
    }


def test_zones_turn_at_the_landmarks(one):
    """Memory-bound up to the batch where compute takes over, then up to what fits."""
    marks = one.landmarks()[0]
    data = rows(one)
    zones = {zone["bound"]: zone for zone in data["zones_tokens_per_s"]}
    assert zones["compute"]["x"] == zones["memory"]["x2"] == marks.compute_batch
    assert data["knees_tokens_per_s"][0]["x"] == marks.knee_batch
    small = rooflight.sweep("llama-3.1-8b", "h100-sxm", {"batch": DOUBLING})
    zones = {zone["bound"]: zone for zone in rows(small)["zones_tokens_per_s"]}
    assert zones["capacity"]["x"] == small.landmarks()[0].kv_limit


def test_a_line_a_deployment(three):
    """In the order they were asked for."""
    told = lines(three)
    assert [line.name for line in told.lines] == ["4 x mi300x", "4 x h100-sxm", "4 x h200-sxm"]
    assert [line.landmarks.accelerator for line in told.lines] == ["mi300x", "h100-sxm", "h200-sxm"]


def test_large_sweeps_are_thinned_not_computed():
    """A million points become a few lines; the ends stay."""
    axes = {"batch": range(1, 1001), "context": range(1, 1001)}
    told = lines(rooflight.sweep("llama-3.1-8b", "h100-sxm", axes))
    assert len(told.lines) == MOST_LINES
    assert all(len(line.points) <= MOST_POINTS for line in told.lines)
    assert [told.x(line.points[place]) for line in told.lines[:1] for place in (0, -1)] == [1, 1000]
    assert told.left_out == 996


def test_the_pareto_front_is_a_device_against_a_user(three):
    points = pareto_rows(three)["points"]
    fitting = [row for row in sweep_rows(three) if row.fits]
    assert sorted((point["x"], point["y"]) for point in points) == sorted(
        (row.tokens_per_s_per_user.expected, row.tokens_per_s.expected / row.devices) for row in fitting
    )


def pictures(one, three, look):
    yield batch(one, look=look)
    yield batch(three, look=look)
    yield pareto(three, look=look)
    yield batch(rooflight.sweep("llama-3.1-8b", "h100-sxm", {"isl": DOUBLING[3:]}), look=look)
    axes = {"context": DOUBLING[4:], "batch": [1, 16]}
    yield batch(rooflight.sweep("deepseek-ai/DeepSeek-V3", "8xh200-sxm", axes), look=look)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_clipped_and_no_label_covers_another(one, three, width):
    for chart in pictures(one, three, Look(width)):
        wide, _, texts = drawn(chart)
        assert wide == pytest.approx(width, abs=4), chart.title
        assert not overlaps(texts), chart.title


def test_what_never_fits_is_said():
    sweep = rooflight.sweep("llama-3.1-70b", "h100-sxm", {"batch": [1, 2]})
    assert "fits at none" in sweep.chart().title
    assert "fits at none" in sweep.chart("pareto").title
    assert sweep.chart().svg()
    assert batch(sweep, ignore_capacity=True).datasets["points_tokens_per_s"]


def test_a_page_gets_one_panel(one):
    spec = batch(one, look=Look(None)).to_dict()
    assert spec["width"] == "container"
    assert one._repr_mimebundle_()["image/svg+xml"].startswith("<svg")
