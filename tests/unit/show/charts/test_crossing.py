"""The picture of a comparison shows its own curves, and names that stand clear of each other."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.show.charts import crossing
from rooflight.show.charts.theme import Look
from unit.show.charts.pictures import drawn, overlaps

pytestmark = pytest.mark.slow  # draws pictures

CARDS = ["h100-sxm", "h200-sxm", "l40s", "mi300x", "a100-sxm4-80gb", "l4"]


@pytest.fixture(scope="module")
def found():
    return rooflight.compare("llama-3.1-8b", CARDS, batch=8)


def test_lines_are_the_comparisons_curves(found):
    """Speed over the first deployment's: its seconds over the line's."""
    curves = {one.label: one.expected_s for one in found.curves.curves}
    base = curves[found.baseline]
    for name in {point["name"] for point in crossing.rows(found)["points"]}:
        told = [point["y"] for point in crossing.rows(found)["points"] if point["name"] == name]
        assert told == [than / own for own, than in zip(curves[name], base, strict=True)]


def test_the_baseline_and_the_fastest_are_shown(found):
    names = [one.label for one in crossing.shown(found)]
    assert len(names) == crossing.MOST
    assert names[0] == found.baseline
    assert found.winner in names


@pytest.mark.parametrize("width", [400, 1600])
def test_nothing_overlaps(found, width):
    _, _, texts = drawn(crossing.crossing(found, look=Look(width)))
    assert overlaps(texts) == []
