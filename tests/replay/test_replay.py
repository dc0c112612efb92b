"""The formulas say today what the committed dump says they said."""

from __future__ import annotations

import csv

import pytest

from replay.write import DUMP, rows


def test_replay_dump_is_unchanged():
    """A difference is either a mistake or an intended change: then run `make replay` and show the diff."""
    with DUMP.open(newline="") as file:
        committed = list(csv.DictReader(file))
    current = list(rows())

    assert len(current) == len(committed)
    for was, now in zip(committed, current, strict=True):
        words = ("on", "model", "case", "phase", "fits", "bound")
        assert {w: now[w] for w in words} == {w: was[w] for w in words}
        for figure in ("flop", "bytes", "link_bytes", "launches", "ceiling_s", "roofline_s"):
            assert float(now[figure]) == pytest.approx(float(was[figure]), rel=1e-9), (was, figure)
