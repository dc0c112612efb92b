"""Answers of measured machines: what a ceiling is called there, in one place for every table."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rooflight.show.blocks import Block, Prose, Table

# Heads that name a ceiling, as they read on a measured machine.
_HEADS = {
    "ceiling": "fastest\nseen here",
    "at the\nceilings": "at the fastest\nseen here",
    "over\nceiling": "over\nthat",
    "left to\nceiling": "left to the\nfastest seen",
    "(ceiling)": "(fastest seen)",
}


def renamed(blocks: Sequence[Block], measured: bool) -> list[Block]:
    """The blocks, with what they call a ceiling called the fastest seen here where the machine was measured."""
    return [_table(one) if measured and isinstance(one, Table) else one for one in blocks]


def _table(table: Table) -> Table:
    heads, left, whole = (tuple(map(head, names)) for names in (table.heads, table.left, table.whole))
    return msgspec.structs.replace(table, heads=heads, left=left, whole=whole)


def head(text: str) -> str:
    """A head as it reads on a measured machine."""
    if text in _HEADS:
        return _HEADS[text]
    front, line, last = text.rpartition("\n")
    return f"{front}{line}{_HEADS.get(last, last)}" if last == "(ceiling)" else text


def note(measured: Sequence[str]) -> list[Block]:
    """What ceilings are, of the machines among several that were measured."""
    if not measured:
        return []
    text = f"Of {', '.join(measured)}, as measured, a ceiling is the fastest seen there: more may be possible."
    return [Prose(text, "note")]
