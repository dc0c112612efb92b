"""Blocks on a terminal or in a text file: wrapped, tables aligned, colour only where a screen shows it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from io import StringIO
from typing import Literal, TextIO

import msgspec
from rich.box import SIMPLE_HEAD, Box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from rooflight.show.blocks import Block, Bullets, Drawing, Prose, Table

PLAIN_WIDTH = 80
_NARROWEST = 40
_WIDEST_PROSE = 100
_NARROW = 75  # below it, columns are left out
_LONGEST_WORD = 24
# Columns that can be missed, the least important first; further ones go from the right, the last one staying.
_FIRST_TO_GO = (
    "count", "FLOP", "FLOP/byte\n(ridge)", "FLOP/byte", "KV cache written", "KV cache read", "active", "share",
)  # fmt: skip
_STYLES = {"plain": "", "answer": "bold", "warning": "yellow", "note": "dim"}
_BOUND_STYLES = {"compute": "magenta", "memory": "cyan", "link": "yellow", "launch": "blue", "capacity": "red"}
_ASCII_HEAD = Box("    \n    \n -- \n    \n    \n -- \n    \n    \n", ascii=True)


def write(blocks: Iterable[Block], stream: TextIO, *, ascii_only: bool = False, width: int | None = None) -> None:
    """Print blocks, an empty line between them, no spaces at the ends of lines."""
    console, lines = _console(stream, width)
    plain = ascii_only or not _can_draw(stream)
    for number, block in enumerate(blocks):
        if number:
            console.print()
        if isinstance(block, Prose):
            _prose(console, block, plain)
        elif isinstance(block, Table):
            _table(console, block, plain)
        elif isinstance(block, Bullets):
            _bullets(console, block, plain)
        else:
            _drawing(console, block, plain)
    stream.write("".join(f"{line.rstrip()}\n" for line in lines.getvalue().splitlines()))


def _console(stream: TextIO, width: int | None) -> tuple[Console, StringIO]:
    """A console as wide and as colourful as the stream, and what it writes to."""
    on_screen = stream.isatty()
    if width is None:
        width = max(_NARROWEST, shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns) if on_screen else PLAIN_WIDTH
    lines = StringIO()
    # fmt: off
    console = Console(file=lines, width=width, markup=False, highlight=False, emoji=False, force_terminal=on_screen,
                      legacy_windows=False)
    # fmt: on
    return console, lines


def _can_draw(stream: TextIO) -> bool:
    """Whether the stream's encoding has box and braille characters."""
    try:
        "─⠉".encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return False
    return True


def _clean(text: str, ascii_only: bool) -> str:
    """Without control characters (a file name may hold any) and, if asked, in ASCII."""
    text = "".join(one if one.isprintable() or one == "\n" else "?" for one in text)
    return text.encode("ascii", "replace").decode() if ascii_only else text


def _prose(console: Console, block: Prose, plain: bool) -> None:
    text = Text(_clean(block.text, plain), style=_STYLES[block.kind])
    console.print(text, width=min(console.width, _WIDEST_PROSE), overflow="fold")


def _bullets(console: Console, block: Bullets, plain: bool) -> None:
    console.print(Text(_clean(block.title, plain)))
    width = min(console.width, _WIDEST_PROSE) - 4
    for item in block.items:
        lines = Text(_clean(item, plain)).wrap(console, width)
        for number, line in enumerate(lines):
            console.print(Text("    " if number else "  - ").append(line))


def _table(console: Console, block: Table, plain: bool) -> None:
    """Cells wrap to the width. A list (`whole` columns) keeps a row a line where no screen limits it: for grep.

    Numbers and words stay whole where the width allows; in a narrow window columns are left out for it, and named.
    """
    if block.title:
        console.print(Text(_clean(block.title, plain)))
    room = console.width
    gone: tuple[str, ...] = ()
    if room < _NARROW:
        block, gone = _narrowed(block, room)
    widths = _natural_widths(block)
    natural = sum(widths) + 2 * len(widths)
    if block.whole and not console.is_terminal:
        room = max(room, natural + 2)
    gap = 1 if natural <= room else 0
    box = _ASCII_HEAD if plain else SIMPLE_HEAD
    table = RichTable(box=box, padding=(0, gap, 0, 0), show_edge=False, pad_edge=False)
    unbroken = _unbroken_widths(block)
    fits = _with_gaps(unbroken) <= room
    for head, width, least in zip(block.heads, widths, unbroken, strict=True):
        side: Literal["left", "right"] = "left" if head in block.left else "right"
        floor = min(width, room // 2) if head in block.whole else least if fits else None
        table.add_column(Text(_clean(head, plain)), justify=side, overflow="fold", vertical="top", min_width=floor)
    for row in block.rows:
        table.add_row(*(Text(_clean(cell, plain), style=_BOUND_STYLES.get(cell, "")) for cell in row))
    usual, console.width = console.width, room
    console.print(Padding(table, (0, 0, 0, 2)))
    console.width = usual
    if gone:
        _prose(console, Prose(f"Left out for want of width: {', '.join(gone)}.", "note"), plain)


def _narrowed(block: Table, room: int) -> tuple[Table, tuple[str, ...]]:
    """The table without the columns that keep the rest from fitting, and their heads."""
    numeric = [head for head in block.heads[1:] if head not in block.left and head not in block.whole]
    order = [head for head in _FIRST_TO_GO if head in numeric]
    order += [head for head in reversed(numeric[:-1]) if head not in order]
    gone: list[str] = []
    while order and _with_gaps(_unbroken_widths(block)) > room:
        gone.append(order.pop(0))
        kept = [place for place, head in enumerate(block.heads) if head != gone[-1]]
        rows = tuple(tuple(row[place] for place in kept) for row in block.rows)
        block = msgspec.structs.replace(block, heads=tuple(block.heads[place] for place in kept), rows=rows)
    return block, tuple(" ".join(head.split()) for head in gone)


def _with_gaps(widths: list[int]) -> int:
    """What columns take with one space between them, and two in front of the table."""
    return sum(widths) + len(widths) + 1


def _unbroken_widths(block: Table) -> list[int]:
    """Characters each column needs so that no number and no word of it is broken."""
    columns = zip(block.heads, *block.rows, strict=True)
    return [
        max(
            max((len(word) for word in head.split()), default=0),
            *(_longest_word(cell) if head in block.left else max(map(len, cell.split("\n"))) for cell in cells),
            0,
        )
        for head, *cells in columns
    ]


def _longest_word(cell: str) -> int:
    """Of a cell of words; an id or a path longer than that is broken all the same."""
    return min(max((len(word) for word in cell.split()), default=0), _LONGEST_WORD)


def _natural_widths(block: Table) -> list[int]:
    """Characters each column takes where no cell wraps."""
    columns = zip(block.heads, *block.rows, strict=True)
    return [max(len(line) for cell in column for line in cell.split("\n")) for column in columns]


def _drawing(console: Console, block: Drawing, plain: bool) -> None:
    for line in block.lines:
        console.print(Text(_clean(line, plain)), no_wrap=True, overflow="ignore", crop=False)
