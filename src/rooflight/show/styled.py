"""Blocks laid out by rich: colours on a screen, cells that wrap, characters of any width."""

from __future__ import annotations

from io import StringIO
from typing import Literal

from rich.box import SIMPLE_HEAD, Box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from rooflight.show.blocks import Block, Bullets, Drawing, Prose, Table
from rooflight.show.columns import INDENT, clean, fitted
from rooflight.show.plain import WIDEST_PROSE

_STYLES = {"plain": "", "answer": "bold", "warning": "yellow", "note": "dim"}
_BOUND_STYLES = {
    "compute": "magenta",
    "memory": "cyan",
    "link": "yellow",
    "launch": "blue",
    "host memory": "green",
    "host link": "green",
    "capacity": "red",
}
_ASCII_HEAD = Box("    \n    \n -- \n    \n    \n -- \n    \n    \n", ascii=True)


def lines(block: Block, width: int, ascii_only: bool, *, on_screen: bool) -> list[str]:
    """The block's lines, with the marks of its colours on a screen."""
    written = StringIO()
    # fmt: off
    console = Console(file=written, width=width, markup=False, highlight=False, emoji=False, force_terminal=on_screen,
                      legacy_windows=False)
    # fmt: on
    if isinstance(block, Prose):
        _prose(console, block, ascii_only)
    elif isinstance(block, Table):
        _table(console, block, ascii_only)
    elif isinstance(block, Bullets):
        _bullets(console, block, ascii_only)
    else:
        _drawing(console, block, ascii_only)
    return written.getvalue().splitlines()


def _prose(console: Console, block: Prose, plain: bool) -> None:
    text = Text(clean(block.text, plain), style=_STYLES[block.kind])
    console.print(text, width=min(console.width, WIDEST_PROSE), overflow="fold")


def _bullets(console: Console, block: Bullets, plain: bool) -> None:
    console.print(Text(clean(block.title, plain)))
    width = min(console.width, WIDEST_PROSE) - 4
    for item in block.items:
        for number, line in enumerate(Text(clean(item, plain)).wrap(console, width)):
            console.print(Text("    " if number else "  - ").append(line))


def _table(console: Console, asked: Table, plain: bool) -> None:
    if asked.title:
        console.print(Text(clean(asked.title, plain)))
    block, room, _, floors, gap, gone = fitted(asked, console.width, console.is_terminal)
    box = _ASCII_HEAD if plain else SIMPLE_HEAD
    table = RichTable(box=box, padding=(0, gap, 0, 0), show_edge=False, pad_edge=False)
    for head, floor in zip(block.heads, floors, strict=True):
        side: Literal["left", "right"] = "left" if head in block.left else "right"
        table.add_column(Text(clean(head, plain)), justify=side, overflow="fold", vertical="top", min_width=floor)
    for row in block.rows:
        table.add_row(*(Text(clean(cell, plain), style=_BOUND_STYLES.get(cell, "")) for cell in row))
    usual, console.width = console.width, room
    console.print(Padding(table, (0, 0, 0, INDENT)))
    console.width = usual
    if gone:
        _prose(console, Prose(f"Left out for want of width: {', '.join(gone)}.", "note"), plain)


def _drawing(console: Console, block: Drawing, plain: bool) -> None:
    for line in block.lines:
        console.print(Text(clean(line, plain)), no_wrap=True, overflow="ignore", crop=False)
