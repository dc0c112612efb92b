"""What an answer is made of before it has a form: paragraphs, tables, lists, drawings. Text and Markdown show them."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["plain", "answer", "warning", "note"]


class Prose(msgspec.Struct, frozen=True, tag_field="block", tag="prose"):
    """A paragraph."""

    text: str
    kind: Kind = "plain"


class Table(msgspec.Struct, frozen=True, kw_only=True, tag_field="block", tag="table"):
    """Rows of cells under heads; the columns named in `left` are words, the others numbers. `whole` ones never wrap."""

    title: str = ""
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()


class Bullets(msgspec.Struct, frozen=True, tag_field="block", tag="bullets"):
    """A list of lines under a title."""

    title: str
    items: tuple[str, ...]


class Drawing(msgspec.Struct, frozen=True, tag_field="block", tag="drawing"):
    """Lines of characters that keep their places."""

    lines: tuple[str, ...]


Block = Prose | Table | Bullets | Drawing
