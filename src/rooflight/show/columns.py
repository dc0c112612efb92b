"""How wide a table's columns are, and which of them go where there is little room; and characters that may be shown."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from rooflight.show.blocks import Table

INDENT = 2
_NARROW = 75  # below it, columns are left out
_LONGEST_WORD = 24
# Columns that can be missed, the least important first; further ones go from the right, the last one staying.
_FIRST_TO_GO = (
    "count", "FLOP", "FLOP/byte\n(ridge)", "FLOP/byte", "KV cache written", "KV cache read", "active", "share",
)  # fmt: skip


class Fitted(NamedTuple):
    """A table as far as it is settled before any cell wraps.

    room    characters of a line that it may take
    widths  characters each column takes where no cell wraps
    floors  characters each column takes at least
    gap     spaces between columns besides the one that is always there
    gone    heads of the columns left out
    """

    table: Table
    room: int
    widths: list[int]
    floors: list[int]
    gap: int
    gone: tuple[str, ...]


def fitted(block: Table, room: int, on_screen: bool) -> Fitted:
    """The table in a window so wide. A list (`whole` columns) keeps a row a line where no screen limits it: for grep.

    Numbers and words stay whole where the width allows; in a narrow window columns are left out for it, and named.
    """
    gone: tuple[str, ...] = ()
    if room < _NARROW:
        block, gone = _narrowed(block, room)
    widths = [max(len(line) for cell in column for line in cell.split("\n")) for column in _columns(block)]
    natural = sum(widths) + 2 * len(widths)
    if block.whole and not on_screen:
        room = max(room, natural + INDENT)
    unbroken = _unbroken_widths(block)
    fits = _with_gaps(unbroken) <= room
    floors = [
        min(width, room // 2) if head in block.whole else least if fits else 0
        for head, width, least in zip(block.heads, widths, unbroken, strict=True)
    ]
    return Fitted(block, room, widths, floors, 1 if natural <= room else 0, gone)


def _columns(block: Table) -> list[tuple[str, ...]]:
    return list(zip(block.heads, *block.rows, strict=True))


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
    return [
        max(
            max((len(word) for word in head.split()), default=0),
            *(_longest_word(cell) if head in block.left else max(map(len, cell.split("\n"))) for cell in cells),
            0,
        )
        for head, *cells in _columns(block)
    ]


def _longest_word(cell: str) -> int:
    """Of a cell of words; an id or a path longer than that is broken all the same."""
    return min(max((len(word) for word in cell.split()), default=0), _LONGEST_WORD)


def clean(text: str, ascii_only: bool) -> str:
    """Without control characters (a file name may hold any) and, if asked, in ASCII."""
    if not text.isprintable():
        text = "".join(one if one.isprintable() or one == "\n" else "?" for one in text)
    return text.encode("ascii", "replace").decode() if ascii_only else text
