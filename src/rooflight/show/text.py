"""Blocks on a terminal or in a text file: wrapped, tables aligned, colour only where a screen shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rooflight.show import plain
from rooflight.show.blocks import Block

PLAIN_WIDTH = 80
_NARROWEST = 40


def write(blocks: Iterable[Block], stream: TextIO, *, ascii_only: bool = False, width: int | None = None) -> None:
    """Print blocks, an empty line between them, no spaces at the ends of lines."""
    on_screen = stream.isatty()
    ascii_only = ascii_only or not _can_draw(stream)
    room = width or (_screen_width() if on_screen else PLAIN_WIDTH)
    lines: list[str] = []
    for number, block in enumerate(blocks):
        if number:
            lines.append("")
        found = None if on_screen else plain.lines(block, room, ascii_only)
        lines += _styled(block, room, ascii_only, on_screen) if found is None else found
    stream.write("".join(f"{line.rstrip()}\n" for line in lines))


def _styled(block: Block, width: int, ascii_only: bool, on_screen: bool) -> list[str]:
    from rooflight.show import styled

    return styled.lines(block, width, ascii_only, on_screen=on_screen)


def _screen_width() -> int:
    import shutil

    return max(_NARROWEST, shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns)


def _can_draw(stream: TextIO) -> bool:
    """Whether the stream's encoding has box and braille characters."""
    try:
        "─⠉".encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return False
    return True
