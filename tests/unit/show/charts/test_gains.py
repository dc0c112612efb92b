"""The picture of moves shows their own gains, ranked, whole and legible."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.show.charts import gains
from rooflight.show.charts.theme import Look
from unit.show.charts.pictures import drawn, overlaps

pytestmark = pytest.mark.slow  # draws pictures


@pytest.fixture(scope="module")
def found():
    return rooflight.moves("llama-3.1-8b", "h100-sxm", batch=32, objective="latency")


def test_bars_are_the_gains_of_what_was_asked(found):
    told = {one.title: one.gains["request"] for one in found.moves if one.gains}
    data = gains.rows(found)

    assert [bar["x2"] for bar in data["bars"]] == [told[bar["name"]].expected for bar in data["bars"]]
    assert [top["x"] for top in data["ceilings"]] == [told[bar["name"]].ceiling for bar in data["bars"]]
    assert [bar["x2"] for bar in data["bars"]] == sorted((bar["x2"] for bar in data["bars"]), reverse=True)
    assert len(data["bars"]) == gains.MOST


@pytest.mark.parametrize("width", [400, 1600])
def test_nothing_overlaps(found, width):
    _, _, texts = drawn(gains.gains(found, look=Look(width)))
    assert overlaps(texts) == []


def test_what_does_not_fit_has_no_bars():
    assert gains.rows(rooflight.moves("llama-3.1-70b", "h100-sxm"))["bars"] == []
