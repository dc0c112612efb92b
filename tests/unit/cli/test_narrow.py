"""Answers in a narrow terminal: numbers and words stay whole, columns go instead."""

from __future__ import annotations

import io
import re

import pytest

from rooflight.show import text
from rooflight.show.blocks import Table


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(table: Table, width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    stream = Screen()
    text.write([table], stream, width=width)
    return re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())


HEADS = ("phase", "count", "bytes of weights", "FLOP/byte", "expected", "share")
ROWS = (("prefill", "32", "15 GB  58 %", "39,600", "22.8 ms", "42 %"), ("decode", "1", "1 B", "1", "6.81 ms", "<1 %"))
TABLE = Table(heads=HEADS, left=("phase",), rows=ROWS)


@pytest.mark.parametrize("width", [40, 44, 50, 56, 60, 74])
def test_cells_are_whole_or_gone(monkeypatch, width):
    lines = shown(TABLE, width, monkeypatch).splitlines()
    (prefill,) = [line for line in lines if "prefill" in line]
    left_out = " ".join(" ".join(lines).split()).partition("Left out for want of width: ")[2].partition(".")[0]

    assert max(map(len, lines)) <= width
    assert "42 %" in prefill, "the last column stays"
    for head, cell in zip(HEADS, ROWS[0], strict=True):
        assert (cell in prefill) != (head in left_out.split(", ")), head


def test_the_least_important_columns_go_first(monkeypatch):
    assert "Left out for want of width: count." in shown(TABLE, 50, monkeypatch)
    assert "Left out" not in shown(TABLE, 80, monkeypatch)


def test_where_nothing_more_can_go_cells_break(monkeypatch):
    table = Table(heads=("words", "number"), left=("words",), rows=(("x" * 60, "1" * 60),))
    lines = shown(table, 40, monkeypatch).splitlines()

    assert max(map(len, lines)) <= 40
    assert sum(line.count("x") for line in lines) == 60
