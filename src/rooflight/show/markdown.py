"""Blocks as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rooflight.show.blocks import Block, Bullets, Prose, Table

_SPECIAL = str.maketrans({mark: "\\" + mark for mark in "\\`*_<>|[]"})


def write(blocks: Iterable[Block], stream: TextIO) -> None:
    """Print blocks, an empty line between them."""
    for number, block in enumerate(blocks):
        stream.write(("\n" if number else "") + _one(block) + "\n")


def _one(block: Block) -> str:
    if isinstance(block, Prose):
        return f"**{_text(block.text)}**" if block.kind == "answer" else _text(block.text)
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Bullets):
        return "\n".join([_text(block.title), "", *(f"- {_text(item)}" for item in block.items)])
    return "\n".join(["```text", *block.lines, "```"])


def _table(block: Table) -> str:
    rules = ["---" if head in block.left else "---:" for head in block.heads]
    lines = [[_text(head) for head in block.heads], rules, *([_text(cell) for cell in row] for row in block.rows)]
    title = [_text(block.title), ""] if block.title else []
    return "\n".join([*title, *(f"| {' | '.join(line)} |" for line in lines)])


def _text(text: str) -> str:
    """One line, with Markdown's own marks escaped."""
    return " ".join(text.split()).translate(_SPECIAL)
