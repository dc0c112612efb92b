"""A text file as lines, in whatever encoding and with whichever ends it has; memory does not grow with a line."""

from __future__ import annotations

import codecs
import functools
import io
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_CHUNK = 1 << 16
_MARKS = (b"\xff\xfe", b"\xfe\xff")
# A line is looked for its end that far; what comes without one for longer has none.
_ENDLESS = 256 << 20


class Line(NamedTuple):
    """A line with its end, counted from 1; `problem` says why `text` is only its start."""

    number: int
    text: str
    problem: str | None = None


def lines(file: io.BufferedReader, notes: list[str], *, longest: int) -> Iterator[Line]:
    """Lines that end in LF, CR LF or CR, as UTF-8; one that is not as Windows-1252; UTF-16 where its mark says so.

    longest     bytes of a line that is still one
    notes       gets what was odd, once
    """
    odd = False
    for number, (raw, problem) in enumerate(_split(_chunks(file, notes), longest), start=1):
        whole = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
        try:
            text = whole.decode()
        except UnicodeDecodeError:
            if not odd:
                notes.append(f"line {number:,} is not UTF-8: read as Windows-1252, as are others like it")
            odd, text = True, _windows(whole)
        yield Line(number, text, problem)


def _chunks(file: io.BufferedReader, notes: list[str]) -> Iterator[bytes]:
    """The bytes as they come, as UTF-8 where they are UTF-16."""
    read = iter(functools.partial(file.read1, _CHUNK), b"")
    if file.peek(2)[:2] not in _MARKS:
        yield from read
        return
    notes.append("read as UTF-16, as its byte-order mark says")
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for chunk in read:
        yield decoder.decode(chunk).encode()
    yield decoder.decode(b"", final=True).encode()


def _split(chunks: Iterable[bytes], longest: int) -> Iterator[tuple[bytes, str | None]]:
    """Lines with their ends, and what is wrong with one that is too long."""
    held: list[bytes] = []  # of a line whose end has not come, as much as may be kept
    size, back = 0, b""
    for chunk in chunks:
        text = back + chunk
        back = b"\r" if text.endswith(b"\r") else b""  # the first half of CR LF, perhaps
        for piece in text[: len(text) - len(back)].splitlines(keepends=True):
            ends = piece.endswith((b"\n", b"\r"))
            if ends and not held:
                yield piece, None if len(piece) <= longest else _too_long(longest)
                continue
            if size <= longest:
                held.append(piece)
            size += len(piece)
            if ends:
                yield b"".join(held), None if size <= longest else _too_long(longest)
                held, size = [], 0
            elif size > max(_ENDLESS, longest):
                yield b"".join(held), f"the line has no end within {size >> 20} MiB, and nothing behind it is read"
                return
    if held or back:
        yield b"".join((*held, back)), None if size <= longest else _too_long(longest)


def _too_long(longest: int) -> str:
    return f"the line has more than {longest:,} bytes"


def _windows(line: bytes) -> str:
    try:
        return line.decode("cp1252")
    except UnicodeDecodeError:
        return line.decode("latin-1")
