"""Blocks that go into a pipe or a file as they are: nothing to colour, and no table whose cells have to wrap.

All else is rich's to lay out (show.styled). This is the part of it that needs no deliberation, and a law holds the two
to the same characters: importing rich and laying a page out with it takes longer than finding the answer.
"""

from __future__ import annotations

import re
import textwrap

from rooflight.show.blocks import Block, Bullets, Drawing, Prose, Table
from rooflight.show.columns import INDENT, Fitted, clean, fitted

WIDEST_PROSE = 100
# Characters known to take one place on a line each; a text that has others is left to rich, which knows them all.
_OTHERS = re.compile("[^\n -~\xa1-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2026\u2500-\u257f\u2800-\u28ff]")
_WRAPPER = textwrap.TextWrapper(
    break_long_words=False, break_on_hyphens=False, expand_tabs=False, replace_whitespace=False
)


def lines(block: Block, width: int, ascii_only: bool) -> list[str] | None:
    """The block's lines, of which spaces at the end are to go; None where it takes rich to tell them."""
    if isinstance(block, Drawing):
        return [clean(line, ascii_only) for line in block.lines]
    if isinstance(block, Prose):
        return _wrapped(clean(block.text, ascii_only), min(width, WIDEST_PROSE))
    if isinstance(block, Bullets):
        return _bullets(block, width, ascii_only)
    return _table(block, width, ascii_only)


def _wrapped(text: str, width: int) -> list[str] | None:
    """Lines of whole words. None for a word that is longer than a line, or starts one further in."""
    if _OTHERS.search(text):
        return None
    found: list[str] = []
    for line in text.split("\n"):
        if len(line) <= width:
            found.append(line)
        elif line.startswith(" ") or max(map(len, line.split())) > width:
            return None
        else:
            _WRAPPER.width = width
            found += _WRAPPER.wrap(line)
    return found


def _bullets(block: Bullets, width: int, ascii_only: bool) -> list[str] | None:
    found = _wrapped(clean(block.title, ascii_only), width)
    for item in block.items:
        inside = _wrapped(clean(item, ascii_only), min(width, WIDEST_PROSE) - 4)
        if inside is None or found is None:
            return None
        found += ["    " + line if number else "  - " + line for number, line in enumerate(inside)]
    return found


def _table(block: Table, width: int, ascii_only: bool) -> list[str] | None:
    title = _wrapped(clean(block.title, ascii_only), width) if block.title else []
    table = fitted(block, width, on_screen=False)
    columns = _columns(table)
    if title is None or columns is None or table.gone:
        return None
    rows: list[list[str]] = []
    for row in (table.table.heads, *table.table.rows):
        cells = [_wrapped(clean(cell, ascii_only), wide) for cell, wide in zip(row, columns, strict=True)]
        if None in cells:
            return None
        rows.append(_row([cell for cell in cells if cell is not None], table, columns, bottom=not rows))
    across = sum(columns) + (len(columns) - 1) * (1 + table.gap)
    rule = " " * INDENT + ("-" if ascii_only else "─") * across
    return [*title, *rows[0], rule, *(line for row in rows[1:] for line in row)]


def _columns(table: Fitted) -> list[int] | None:
    """How wide each column is; None where that is too wide, or a column is empty.

    As rich has it: the widest give way together, down to the next widest, until all fit; then floors count.
    """
    widths = list(table.widths)
    room = table.room - INDENT - (len(widths) - 1) * (1 + table.gap)
    if not widths or 0 in widths or room < len(widths):
        return None
    while (excess := sum(widths) - room) > 0:
        widest = max(widths)
        step = min(excess, widest - max((wide for wide in widths if wide != widest), default=0))
        places = [place for place, wide in enumerate(widths) if wide == widest]
        for number, place in enumerate(places):
            given = min(step, round(excess / (len(places) - number)))
            widths[place] -= given
            excess -= given
    widths = [max(wide, floor) for wide, floor in zip(widths, table.floors, strict=True)]
    return widths if sum(widths) <= room else None


def _row(cells: list[list[str]], table: Fitted, columns: list[int], bottom: bool) -> list[str]:
    """A row's lines: words to the left, numbers to the right, cells of fewer lines at the top or at the bottom."""
    tall = max(map(len, cells))
    blocks = []
    for head, cell, wide in zip(table.table.heads, cells, columns, strict=True):
        empty = [""] * (tall - len(cell))
        filled = [*empty, *cell] if bottom else [*cell, *empty]
        if head in table.table.left:
            blocks.append([line.rstrip().ljust(wide) for line in filled])
        else:
            blocks.append([line.rstrip().rjust(wide) for line in filled])
    between = " " * (1 + table.gap)
    return [" " * INDENT + between.join(parts) for parts in zip(*blocks, strict=True)]
