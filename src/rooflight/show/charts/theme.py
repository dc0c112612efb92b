"""How charts look: a colour-blind-safe palette in light and dark, type, sizes.

Hues are Okabe and Ito's (Color Universal Design, 2008), some darkened or lightened until they stand out from the page
by at least 3 : 1. A hue always comes with a word or a place, never alone.
"""

from __future__ import annotations

import textwrap
from typing import Any

import msgspec

FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
# Of an average letter, over the type's size.
LETTER = 0.52
NARROWEST, WIDEST = 320, 4000
# Around a picture, and left of its plot: digits and the axis' title.
MARGIN, AXIS = 12, 66
# Between plot and table; what halos and rounded text widths add at the right edge.
GAP, SLACK = 28, 5


class Palette(msgspec.Struct, frozen=True, kw_only=True):
    """Colours of one mode. ink and quiet are for text, rule for lines that only help reading."""

    paper: str
    ink: str
    quiet: str
    rule: str
    wash: float
    hues: dict[str, str]


LIGHT = Palette(
    paper="#ffffff",
    ink="#1a1a1a",
    quiet="#595959",
    rule="#d9d9d9",
    wash=0.07,
    hues={
        "memory": "#005895", "compute": "#983b01", "link": "#097c55", "launch": "#966693", "capacity": "#565c64",
        "host_memory": "#6556de", "host_link": "#a16b00",
        "queue": "#8a6100", "starved": "#5a54c8", "throttled": "#b3261e", "idle": "#757575",
        "ink": "#1a1a1a", "before": "#1a1a1a", "1": "#001e87", "2": "#677a76", "3": "#ca3d54", "4": "#5a180f",
    },
)  # fmt: skip
DARK = Palette(
    paper="#16181c",
    ink="#f0f0f0",
    quiet="#b4b4b4",
    rule="#3d4148",
    wash=0.13,
    hues={
        "memory": "#7cd0ff", "compute": "#f9b66a", "link": "#48b482", "launch": "#cb9dc6", "capacity": "#99a19f",
        "host_memory": "#9398fa", "host_link": "#be9623",
        "queue": "#d8b04a", "starved": "#a9a4ff", "throttled": "#ff8f86", "idle": "#8f8f8f",
        "ink": "#f0f0f0", "before": "#f0f0f0", "1": "#7d8951", "2": "#786dfb", "3": "#fdef17", "4": "#d7ffb2",
    },
)  # fmt: skip


class Look(msgspec.Struct, frozen=True):
    """The size and mode of a chart.

    width       of the whole picture, in px; None: it fills what holds it (a page)
    room        px that labels are placed for on a page
    tall        of the plot, in px; 0: as goes with the width
    """

    width: int | None = 800
    dark: bool = False
    room: int = 800
    tall: int = 0

    @property
    def palette(self) -> Palette:
        """The colours of the mode."""
        return DARK if self.dark else LIGHT

    @property
    def outer(self) -> int:
        """The width that labels are placed for."""
        return min(max(self.room if self.width is None else self.width, NARROWEST), WIDEST)

    @property
    def plot_width(self) -> int:
        """Between the y axis and the right edge, or the table beside."""
        return self.full_width - (self.beside + GAP if self.beside else 0)

    @property
    def beside(self) -> int:
        """The width of a table beside the plot; 0 where it stands below."""
        return round(0.36 * self.outer) if self.width is not None and self.outer >= 1250 else 0

    @property
    def full_width(self) -> int:
        """Between the y axis and the right edge, where no table stands beside."""
        return self.outer - AXIS - 2 * MARGIN - SLACK

    @property
    def plot_height(self) -> int:
        """Of a chart with two numeric axes."""
        return self.tall or round(min(max(0.52 * self.plot_width, 240), 460))

    @property
    def narrow(self) -> bool:
        """Too narrow for the long form of labels."""
        return self.outer < 560

    @property
    def size(self) -> int:
        """Of labels, in px."""
        return 11 if self.narrow else 12

    def wrapped(self, text: str, size: int, width: int | None = None) -> list[str]:
        """Text in lines that fit `width` px (the picture's)."""
        room = width or self.outer - 2 * MARGIN
        text = text.replace(" x ", "\u00a0x\u00a0")  # 4 x h100 stays together
        return textwrap.wrap(text, max(12, int(room / (LETTER * size))), break_on_hyphens=False) or [""]


STANDARD = Look()


def text_width(text: str, size: float) -> float:
    """Px a line takes, about."""
    return max(map(len, text.split("\n"))) * size * LETTER


def config(look: Look) -> dict[str, Any]:
    """Vega-Lite's config for a mode: type, axes, title, no frame."""
    palette, size = look.palette, look.size
    return {
        "background": palette.paper,
        "padding": MARGIN,
        "font": FONT,
        "view": {"stroke": None},
        "concat": {"spacing": 14},
        "axis": {
            "labelColor": palette.quiet, "titleColor": palette.quiet, "labelFontSize": size, "titleFontSize": size,
            "titleFontWeight": "normal", "gridColor": palette.rule, "gridOpacity": 0.55, "domainColor": palette.rule,
            "tickColor": palette.rule, "labelFlush": True,
        },
        "axisY": {"minExtent": 40, "maxExtent": 40, "titlePadding": 8},
        "title": {
            "color": palette.ink, "fontSize": size + 4, "fontWeight": 600, "anchor": "start", "frame": "bounds",
            "subtitleColor": palette.quiet, "subtitleFontSize": size, "subtitlePadding": 6,
            "subtitleLineHeight": size + 4, "lineHeight": size + 8, "offset": 14,
        },
        "text": {"font": FONT, "fontSize": size, "fill": palette.ink},
        "header": {"labelColor": palette.ink, "titleColor": palette.quiet, "labelFontSize": size},
    }  # fmt: skip
