"""Colours that can be read and told apart, by the numbers of WCAG 2 and of Machado, Oliveira and Fernandes (2009)."""

from __future__ import annotations

from itertools import combinations

import pytest

from rooflight.show.charts.theme import DARK, LIGHT, Look

# Linear RGB as a person with full protanopia or deuteranopia sees it (Machado et al., severity 1.0).
BLIND = {
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}


def linear(colour):
    values = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]


def luminance(colour):
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def lab(rgb):
    """CIE L*a*b* of linear RGB (D65)."""
    red, green, blue = (max(0.0, value) for value in rgb)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883
    fx, fy, fz = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def seen(colour, rows):
    rgb = linear(colour)
    return lab([sum(weight * value for weight, value in zip(row, rgb, strict=True)) for row in rows])


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_marks_stand_out(palette):
    assert contrast(palette.ink, palette.paper) >= 7
    assert contrast(palette.quiet, palette.paper) >= 4.5
    for name, colour in palette.hues.items():
        assert contrast(colour, palette.paper) >= 4.5, name  # hues are text too


@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_bounds_are_told_apart_without_red_and_green(palette, kind):
    """10 in CIE76 is plain to see side by side; memory and compute, which meet at the ridge, are far apart."""
    for one, other in combinations(("memory", "compute", "link", "launch"), 2):
        first, second = (seen(palette.hues[name], BLIND[kind]) for name in (one, other))
        distance = sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) ** 0.5
        assert distance >= (50 if {one, other} == {"memory", "compute"} else 10), (one, other, distance)


def test_both_modes_have_the_same_names():
    assert LIGHT.hues.keys() == DARK.hues.keys()


def test_widths_stay_in_reason():
    assert Look(10).outer == 320
    assert Look(None).outer == 800
    assert Look(1600).beside > 0 == Look(800).beside
