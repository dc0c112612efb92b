"""The table of runs in a picture: a scenario's values, below them their intervals and what a goal says of them."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import msgspec

from rooflight.show.charts.layers import Column, table
from rooflight.show.charts.place import Rows
from rooflight.show.charts.tag import Tag
from rooflight.show.charts.theme import Look
from rooflight.show.figures import HEADS, Cell, Line

# Where cells begin, as a share of the width; and how wide they are beside each other, head for head.
_START = 0.21
_WIDE = dict(zip(HEADS, (1.5, 1.5, 0.9, 1.25, 1.25, 0.75, 0.85, 0.9, 1.15, 1.6), strict=True))
_NAME = 0.025
_LONGEST = 32  # letters of a name


class Runs(msgspec.Struct, frozen=True, kw_only=True):
    """Lines under their heads, each with whose it is."""

    heads: tuple[str, ...]
    lines: tuple[tuple[Tag, Line], ...]


def rows(runs: Runs, look: Look) -> Rows:
    """So many rows of text a line as the largest of them needs."""
    parts = [_texts(line, len(runs.heads), look) for _, line in runs.lines]
    found: Rows = []
    for (tag, line), texts in zip(runs.lines, parts, strict=True):
        missing = bool(line.missing)
        for part, cells in enumerate(texts):
            found.append({
                "row": len(found), "last": part == len(texts) - 1, "hue": tag.hue, **_whose(tag, part),
                "missing": cells[0] if missing else "",
                **{f"cell{at}": "" if missing or part else text for at, text in enumerate(cells)},
                **{f"below{at}": text if part and not missing else "" for at, text in enumerate(cells)},
            })  # fmt: skip
    return found


def drawn(runs: Runs, count: int, look: Look) -> Any:
    """The table's marks, of the dataset "runs" with so many rows."""
    shares = list(accumulate((_WIDE[head] for head in runs.heads), initial=0.0))
    ends = [_START + (1 - _START) * share / shares[-1] for share in shares[1:]]
    columns = [
        Column("", "mark", 0.0, hued=True), Column("scenario", "name", _NAME, hued=True),
        Column("", "missing", _START + 0.02),
        *(Column(runs.heads[at], f"cell{at}", end, right=True) for at, end in enumerate(ends)),
        *(Column("", f"below{at}", end, right=True, quiet=True) for at, end in enumerate(ends)),
    ]  # fmt: skip
    return table("runs", columns, look, rows=count, title="What the runs get", parted=True)


def _whose(tag: Tag, part: int) -> dict[str, str]:
    """In the first of its rows the letter and the name."""
    if part:
        return {"mark": "", "name": ""}
    short = f"{tag.name[: _LONGEST - 1].rstrip(' ,')}\N{HORIZONTAL ELLIPSIS}"
    return {"mark": tag.mark, "name": tag.name if len(tag.name) <= _LONGEST else short}


def _texts(line: Line, columns: int, look: Look) -> list[list[str]]:
    """Its rows of text, a cell each; why there are no figures, in the first."""
    if line.missing:
        room = round((1 - _START) * look.outer)
        return [[text, *[""] * (columns - 1)] for text in look.wrapped(line.missing, look.size, room)]
    cells: tuple[Cell, ...] = line.cells[:columns]
    parts = [[one.text for one in cells], [one.beside for one in cells], [one.goal for one in cells]]
    while len(parts) > 1 and not any(parts[-1]):
        parts.pop()
    return parts
