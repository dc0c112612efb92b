"""What does not fit is drawn under the roof of the formats that it would run in."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.show.charts.intensity import rows as line_rows
from rooflight.show.charts.roof_lines import formats, ridge_of
from rooflight.show.charts.roof_rows import rows
from rooflight.show.charts.roofline import roofline

CASES = [
    ("llama-3.1-70b", "h100-sxm", {}),
    ("llama-3.1-70b", "h100-sxm", {"weights": "fp8", "batch": 64}),  # the weights fit, 64 sequences do not
    ("llama-3.1-405b", "b200", {"weights": "nvfp4"}),
    ("deepseek-v3", "2xh100-sxm", {}),
    ("mixtral-8x22b", "a100-sxm-80gb", {}),
]


@pytest.mark.parametrize(("model", "on", "fields"), CASES)
def test_the_roof_is_that_of_what_it_would_run_in(model, on, fields):
    """As if capacity did not matter: the same formats, ridge and intensities, and no times."""
    tight = rooflight.analyze(model, on, **fields)
    free = rooflight.analyze(model, on, ignore_capacity=True, **fields)
    assert "decode" not in tight.phases
    assert formats(tight) == formats(free)
    assert ridge_of(tight) == ridge_of(free) == free.phases["decode"].ridge_flop_per_byte
    for name, step in tight.intensities.items():
        phase = free.phases[name]
        assert step.intensity_flop_per_byte == pytest.approx(phase.intensity_flop_per_byte)
        assert step.flop_by_format == pytest.approx(phase.flop_by_format)
    roofs = [{row["roof"] for row in rows(one)["roofs"]} for one in (tight, free)]
    assert roofs[0] == roofs[1]
    assert not any("fp64" in name or "fp32" in name for name in roofs[0])
    assert [row["x"] for row in rows(tight)["ridges"]] == [row["x"] for row in rows(free)["ridges"]]


@pytest.mark.parametrize(("model", "on", "fields"), CASES)
def test_steps_without_room_stand_at_their_intensity_without_a_time(model, on, fields):
    tight = rooflight.analyze(model, on, **fields)
    data = rows(tight)
    assert {row["name"]: row["x"] for row in data["would"]} == {
        name: step.intensity_flop_per_byte for name, step in tight.intensities.items()
    }
    assert not any("time" in row for row in data["would"])
    assert any("do not fit in memory" in note for note in roofline(tight).notes)
    assert {row["name"] for row in line_rows(tight)["phases"]} >= {
        f"{name} (does not fit)" for name in tight.intensities
    }


def test_what_fits_has_no_intensities_apart():
    fits = rooflight.analyze("llama-3.1-8b", "h100-sxm")
    assert fits.intensities == {}
    assert "intensities" not in fits.to_dict()
    assert rows(fits)["would"] == []
