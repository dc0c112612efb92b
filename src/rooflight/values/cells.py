"""Cells of CSV that a spreadsheet would take for a formula and run: written with an apostrophe in front, read without.

What OWASP calls CSV injection: a model named `=cmd|...` in somebody's file must stay a name in ours.
"""

from __future__ import annotations

import math

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
_MARK = "'"


def harmless(cell: str) -> str:
    """A cell to write: "=1+1" as "'=1+1"; numbers such as "-3.5" stay."""
    return _MARK + cell if cell.startswith(_STARTS) and not _is_number(cell) else cell


def plain(cell: str) -> str:
    """A cell as it was before `harmless`."""
    return cell[1:] if cell.startswith(_MARK) and cell[1:].startswith(_STARTS) else cell


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell)) and cell == cell.strip()
    except ValueError:
        return False
