"""Blocks as HTML: what a notebook shows. It has no colours of its own, so that it reads in light and in dark."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Literal

from rooflight.show.blocks import Block, Bullets, Drawing, Prose, Table
from rooflight.show.columns import clean

_CELL = "padding:2px 10px 2px 0;border:0;background:none;color:inherit;vertical-align:top"
_HEAD = f"{_CELL};font-weight:600;border-bottom:1px solid currentColor"


def written(blocks: Iterable[Block]) -> str:
    """Blocks one below the other. Every text is escaped; a drawing of characters is left out."""
    return "\n".join(_one(block) for block in blocks if not isinstance(block, Drawing))


def figure(source: str, alt: str) -> str:
    """A picture by its address, with what it says for whoever does not see it."""
    return f'<img src="{text(source)}" alt="{text(alt)}" style="max-width:100%">'


def text(value: str) -> str:
    """For an element or an attribute in quotes."""
    return html.escape(clean(value, ascii_only=False), quote=True)


def _one(block: Block) -> str:
    if isinstance(block, Prose):
        said = text(block.text)
        return f"<p>{f'<strong>{said}</strong>' if block.kind in ('answer', 'warning') else said}</p>"
    if isinstance(block, Bullets):
        items = "".join(f"<li>{text(item)}</li>" for item in block.items)
        return f"<p>{text(block.title)}</p><ul>{items}</ul>"
    return _table(block) if isinstance(block, Table) else ""


def _table(block: Table) -> str:
    heads = "".join(f'<th scope="col" style="{_HEAD};{_side(block, head)}">{_lines(head)}</th>' for head in block.heads)
    rows = "".join(f"<tr>{_row(block, row)}</tr>" for row in block.rows)
    title = f'<caption style="text-align:left;color:inherit">{text(block.title)}</caption>' if block.title else ""
    return (
        f'<div style="overflow-x:auto"><table style="border-collapse:collapse">{title}<thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(block: Table, row: tuple[str, ...]) -> str:
    """The cells of a row; the first one, where it is words, names it."""
    cells = []
    for place, (head, cell) in enumerate(zip(block.heads, row, strict=True)):
        tag: Literal["th", "td"] = "th" if place == 0 and head in block.left else "td"
        scope = ' scope="row"' if tag == "th" else ""
        weight = ";font-weight:normal" if tag == "th" else ""
        cells.append(f'<{tag}{scope} style="{_CELL};{_side(block, head)}{weight}">{_lines(cell)}</{tag}>')
    return "".join(cells)


def _side(block: Table, head: str) -> str:
    return f"text-align:{'left' if head in block.left else 'right'}"


def _lines(cell: str) -> str:
    return "<br>".join(text(line) for line in cell.split("\n"))
