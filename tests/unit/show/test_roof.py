"""The roofline in characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.show.roof import Dot, Flat, draw

PEAK, BANDWIDTH = 989.4e12, 3.35e12  # H100 SXM: ridge 295
DOTS = [Dot("P", 800.0, 800e12), Dot("D", 1.03, 3.3e12)]


def place(lines, mark):
    """(row, column) of a mark in the plot, which is what stands right of the axis."""
    (found,) = [
        (row, line.index(mark, 16))
        for row, line in enumerate(lines)
        if len(line) > 15 and line[15] in "|│" and mark in line[16:]
    ]
    return found


@pytest.mark.parametrize("ascii_only", [True, False])
def test_dots_stand_where_they_belong(ascii_only):
    lines = draw([Flat("bf16", PEAK)], BANDWIDTH, DOTS, ascii_only=ascii_only)
    prefill, decode = place(lines, "P"), place(lines, "D")
    assert prefill[0] < decode[0]  # faster is higher
    assert prefill[1] > decode[1]  # more intense is further right
    assert all(len(line) <= 78 for line in lines)
    assert "".join(lines).isascii() == ascii_only


def test_the_ridge_is_named_and_marked():
    lines = draw([Flat("bf16", PEAK), Flat("fp8", 2 * PEAK)], BANDWIDTH, DOTS, ascii_only=True)
    assert "ridge point: bf16 295, fp8 591" in lines[-1]
    assert "FLOP per byte" in lines[-1]
    assert any("PFLOP/s" in line[:15] for line in lines)
    assert sum(line.count(":") for line in lines[:-1]) > 10
    assert any(line.endswith(" fp8") for line in lines)
    assert any(line.endswith(" bf16") for line in lines)


def test_dots_at_one_place_stand_side_by_side():
    lines = draw([Flat("bf16", PEAK)], BANDWIDTH, [Dot(mark, 100.0, 1e14) for mark in "ABC"], ascii_only=True)
    places = [place(lines, mark) for mark in "ABC"]
    assert len({row for row, _ in places}) == 1
    assert sorted(column - places[0][1] for _, column in places) == [-1, 0, 1]


positive = st.floats(1e-3, 1e6)


@given(peak=st.floats(1e9, 1e19), bandwidth=st.floats(1e8, 1e16), intensity=positive, speed=st.floats(1e3, 1e19))
def test_any_machine_can_be_drawn(peak, bandwidth, intensity, speed):
    lines = draw([Flat("x", peak)], bandwidth, [Dot("P", intensity, speed)], ascii_only=True)
    assert len(lines) == 14 + 3
    assert all(len(line) <= 78 or "ridge point" in line for line in lines)
    assert any("P" in line[16:] for line in lines[:14])


@pytest.mark.parametrize("ascii_only", [True, False])
def test_without_a_roof_the_slope_alone_is_drawn(ascii_only):
    """No peak is published: the dot lies at or under the slope, and no ridge is named."""
    lines = draw([], BANDWIDTH, DOTS[1:], ascii_only=ascii_only)

    place(lines, "D")
    assert lines[-1].endswith("ridge point: not known")
    assert not any(mark in line for line in lines[:-1] for mark in "┊:")
    assert all(len(line) <= 78 for line in lines)
