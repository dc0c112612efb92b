"""Lines of every encoding and end, and lines that have none."""

from __future__ import annotations

import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.ingest import lines as module
from rooflight.ingest.lines import lines


def read(raw: bytes, longest: int = 1 << 20) -> tuple[list, list[str]]:
    notes: list[str] = []
    return list(lines(io.BufferedReader(io.BytesIO(raw)), notes, longest=longest)), notes


def test_three_kinds_of_ends_may_be_mixed():
    found, _ = read(b"a\nb\r\nc\rd\r\r\n\ne")
    assert [line.text for line in found] == ["a\n", "b\r\n", "c\r", "d\r", "\r\n", "\n", "e"]
    assert [line.number for line in found] == [1, 2, 3, 4, 5, 6, 7]


@given(
    text=st.lists(st.sampled_from(["a", "bb", "\n", "\r", "\r\n", "é", '"']), max_size=40).map("".join),
    chunk=st.integers(1, 7),
)
def test_where_chunks_are_cut_does_not_matter(text, chunk):
    raw = text.encode()
    pieces = [raw[place : place + chunk] for place in range(0, len(raw), chunk)]
    assert [line for line, _ in module._split(pieces, 1000)] == raw.splitlines(keepends=True)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_with_any_ends(encoding):
    mark = "\ufeff".encode(encoding)
    found, notes = read(mark + "é\rb\r\n".encode(encoding))
    assert [line.text for line in found] == ["é\r", "b\r\n"]
    assert notes == ["read as UTF-16, as its byte-order mark says"]


def test_a_line_that_is_too_long_says_so_and_the_next_is_read():
    found, _ = read(b"ab\n" + b"x" * 200_000 + b"\ncd\n", longest=100_000)
    assert [line.problem for line in found] == [None, "the line has more than 100,000 bytes", None]
    assert found[2].text == "cd\n"


def test_a_line_without_end_ends_the_reading_and_fills_no_memory(monkeypatch):
    monkeypatch.setattr(module, "_ENDLESS", 8 << 20)

    def endless():
        yield b"a\n"
        while True:
            yield bytes(1 << 16)

    tracemalloc.start()
    found = list(module._split(endless(), 1 << 10))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [problem for _, problem in found] == [
        None,
        "the line has no end within 8 MiB, and nothing behind it is read",
    ]
    assert most < 1 << 20
