"""Colours that can be read and told apart, by the numbers of WCAG 2 and of Machado, Oliveira and Fernandes (2009)."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from rooflight.show.charts.theme import DARK, LIGHT, Look

# Linear RGB as a person with full protanopia, deuteranopia or tritanopia sees it (Machado et al., severity 1.0).
BLIND = {
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
    "typical": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}
# What may stand in one picture: resources, up to four series, and the neutral hue of text, of what was before and of
# what several share.
MEET = ("memory", "compute", "link", "launch", "capacity", "host_memory", "host_link", "1", "2", "3", "4", "ink")


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


def ciede2000(one, other):
    """The colour difference of CIE 142-2001, after Sharma, Wu and Dalal (2005), with all weights 1."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    chroma = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    grey = 1.5 - 0.5 * math.sqrt(chroma**7 / (chroma**7 + 25**7))
    c1, c2 = math.hypot(grey * a1, b1), math.hypot(grey * a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, grey * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn) / 2)
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    middle = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    waves = ((0.17, 1, -30, -1), (0.24, 2, 0, 1), (0.32, 3, 6, 1), (0.20, 4, -63, -1))
    t = 1 + sum(sign * size * math.cos(math.radians(times * middle + shift)) for size, times, shift, sign in waves)
    s_l = 1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2)
    s_c, s_h = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    blue = 60 * math.exp(-(((middle - 275) / 25) ** 2))
    turned = -2 * math.sqrt(chroma**7 / (chroma**7 + 25**7)) * math.sin(math.radians(blue))
    x, y, z = (l2 - l1) / s_l, (c2 - c1) / s_c, hue / s_h
    return math.sqrt(x * x + y * y + z * z + turned * y * z)


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.5, 0), (50, 0, -2.5), 4.3065),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
        ((90.8027, -2.0831, 1.4410), (91.1528, -1.6435, 0.0447), 1.4441),
    ],
)
def test_differences_are_those_of_the_published_pairs(one, other, apart):
    """Pairs 1, 13, 17, 30 and 33 of table 1 of Sharma, Wu and Dalal (2005)."""
    assert ciede2000(one, other) == pytest.approx(apart, abs=1e-4)


@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_hues_that_meet_in_a_picture_are_told_apart(palette, kind):
    """By 10 in CIEDE2000, whoever looks: no hue stands for two things."""
    close = [
        (one, other, round(apart, 1))
        for one, other in combinations(MEET, 2)
        if (apart := ciede2000(*(seen(palette.hues[name], BLIND[kind]) for name in (one, other)))) < 10
    ]

    assert not close


def test_both_modes_have_the_same_names():
    assert LIGHT.hues.keys() == DARK.hues.keys()


def test_widths_stay_in_reason():
    assert Look(10).outer == 320
    assert Look(None).outer == 800
    assert Look(1600).beside > 0 == Look(800).beside
