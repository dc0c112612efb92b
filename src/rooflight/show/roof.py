"""A roofline in characters, log-log: the roof, its ridges, and dots under it. 80 columns are enough."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from rooflight.units import round_significant, scaled

_LABEL = 15  # columns left of the axis: "10,000 PFLOP/s "
_ABOVE = 10  # times its highest dot that a slope without a roof is drawn
_BRAILLE = 0x2800
_BRAILLE_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # by row, then column
_ASCII_LEVELS = "'-._"  # by row within a character


class Flat(msgspec.Struct, frozen=True):
    """A compute roof: the peak of one number format."""

    name: str
    flop_per_s: float


class Dot(msgspec.Struct, frozen=True):
    """Something that runs: its mark, and where it stands."""

    mark: str
    flop_per_byte: float
    flop_per_s: float


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """Logarithms of the corners, and how many characters lie between them."""

    left: float
    right: float
    bottom: float
    top: float
    columns: int
    rows: int

    def column(self, flop_per_byte: float) -> float:
        """Characters from the left edge."""
        return (math.log10(flop_per_byte) - self.left) / (self.right - self.left) * self.columns

    def row(self, flop_per_s: float) -> float:
        """Characters from the top edge."""
        return (self.top - math.log10(flop_per_s)) / (self.top - self.bottom) * self.rows


def draw(
    flats: Sequence[Flat],
    bytes_per_s: float,
    dots: Sequence[Dot],
    *,
    ascii_only: bool = False,
    width: int = 78,
    rows: int = 14,
) -> list[str]:
    """The lines of the drawing: y in FLOP/s, x in FLOP/byte. Without flats the memory slope alone."""
    frame = _frame(flats, bytes_per_s, dots, width - _LABEL - 1, rows)
    cells = _roof(frame, flats, bytes_per_s, ascii_only)
    _ridges(cells, frame, flats, bytes_per_s, ascii_only)
    for flat in flats:
        _flat_label(cells, frame, flat)
    for dot in dots:
        _place(cells, frame, dot)
    bar, corner, dash, tick = "|+-+" if ascii_only else "│└─┴"
    labels = _row_labels(frame)
    lines = [f"{labels.get(number, ''):>{_LABEL}}{bar}{''.join(row)}".rstrip() for number, row in enumerate(cells)]
    return [*lines, *_axis(frame, flats, bytes_per_s, corner, dash, tick)]


def _frame(flats: Sequence[Flat], bytes_per_s: float, dots: Sequence[Dot], columns: int, rows: int) -> Frame:
    """Room for the ridges and the dots, at most ten decades high."""
    ridges = [flat.flop_per_s / bytes_per_s for flat in flats]
    seen = [dot.flop_per_byte for dot in dots] + ridges
    tops = [flat.flop_per_s for flat in flats] or [max(seen) * bytes_per_s * _ABOVE]
    top = math.log10(max(tops)) + 0.25
    low = min([dot.flop_per_s for dot in dots] + [min(seen) * bytes_per_s])
    bottom = max(math.log10(low) - 0.3, top - 10)
    return Frame(
        left=math.log10(min(seen)) - 0.4,
        right=math.log10(max(seen)) + 0.6,
        bottom=min(bottom, top - 1),
        top=top,
        columns=columns,
        rows=rows,
    )


def _roof(frame: Frame, flats: Sequence[Flat], bytes_per_s: float, ascii_only: bool) -> list[list[str]]:
    """The memory slope up to the highest ridge, and a flat for each format from its own ridge on."""
    dots: dict[tuple[int, int], set[tuple[int, int]]] = {}
    highest = max((flat.flop_per_s for flat in flats), default=math.inf)
    for step in range(frame.columns * 2):
        x = 10 ** (frame.left + (step + 0.5) / (frame.columns * 2) * (frame.right - frame.left))
        slope = x * bytes_per_s
        heights = [flat.flop_per_s for flat in flats if slope >= flat.flop_per_s] + [slope] * (slope <= highest)
        for height in heights:
            level = math.floor(frame.row(height) * 4)
            if 0 <= level < frame.rows * 4:
                dots.setdefault((level // 4, step // 2), set()).add((level % 4, step % 2))
    cells = [[" "] * frame.columns for _ in range(frame.rows)]
    for (row, column), inside in dots.items():
        if ascii_only:
            cells[row][column] = _ASCII_LEVELS[min(level for level, _ in inside)]
        else:
            cells[row][column] = chr(_BRAILLE + sum(_BRAILLE_DOTS[level][side] for level, side in inside))
    return cells


def _ridges(cells: list[list[str]], frame: Frame, flats: Sequence[Flat], bytes_per_s: float, ascii_only: bool) -> None:
    """A dotted line from each ridge point down to the axis."""
    for flat in flats:
        column = min(int(frame.column(flat.flop_per_s / bytes_per_s)), frame.columns - 1)
        for row in range(max(0, math.floor(frame.row(flat.flop_per_s)) + 1), frame.rows):
            if cells[row][column] == " ":
                cells[row][column] = ":" if ascii_only else "┊"


def _flat_label(cells: list[list[str]], frame: Frame, flat: Flat) -> None:
    """The format's name at the right end of its flat, on the line."""
    row = max(0, math.floor(frame.row(flat.flop_per_s)))
    text = f" {flat.name}"
    if all(cell == " " or ord(cell) > _BRAILLE or cell in _ASCII_LEVELS for cell in cells[row][-len(text) :]):
        cells[row][-len(text) :] = list(text)


def _place(cells: list[list[str]], frame: Frame, dot: Dot) -> None:
    """The mark where it belongs, or beside it where another mark already stands."""
    row = min(max(math.floor(frame.row(dot.flop_per_s)), 0), frame.rows - 1)
    column = min(max(math.floor(frame.column(dot.flop_per_byte)), 0), frame.columns - 1)
    for place in (column, column + 1, column - 1, column + 2, column - 2):
        if 0 <= place < frame.columns and not cells[row][place].isalnum():
            cells[row][place] = dot.mark
            return


def _row_labels(frame: Frame) -> dict[int, str]:
    """Powers of ten beside the axis, at most one a line."""
    labels: dict[int, str] = {}
    for power in range(math.ceil(frame.bottom), math.floor(frame.top) + 1):
        row = math.floor(frame.row(10.0**power))
        if 0 <= row < frame.rows:
            labels[row] = scaled(10.0**power, "FLOP/s") + " "
    return labels


def _axis(frame: Frame, flats: Sequence[Flat], bytes_per_s: float, corner: str, dash: str, tick: str) -> list[str]:
    """The axis with powers of ten below, then the ridges by name."""
    line, text = [dash] * frame.columns, [" "] * (frame.columns + _LABEL)
    end = 0
    for power in range(math.ceil(frame.left), math.floor(frame.right) + 1):
        column = min(int(frame.column(10.0**power)), frame.columns - 1)
        line[column] = tick
        label = round_significant(10.0**power)
        start = _LABEL + 1 + column - len(label) // 2
        if start > end and start + len(label) <= len(text):
            text[start : start + len(label)] = list(label)
            end = start + len(label)
    ridges = ", ".join(f"{flat.name} {round_significant(flat.flop_per_s / bytes_per_s)}" for flat in flats)
    unit = f"FLOP per byte; ridge point: {ridges or 'not known'}"
    return [" " * _LABEL + corner + "".join(line), "".join(text).rstrip(), " " * (_LABEL + 1) + unit]
