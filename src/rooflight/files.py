"""Files and standard input ("-") as bytes. What cannot be read is said as that, whoever reads and whenever."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import select
import stat
import sys
import time
from pathlib import Path
from typing import Any, TextIO, cast

from rooflight.errors import BadInput

STANDARD_INPUT = "-"
SHELLS_PIPES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")  # somebody writes to them, or has done so
# O_NONBLOCK: a named pipe that nobody writes to would keep open() waiting
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_PATIENCE_S = 5.0  # for somebody to write to a named pipe: a shell starts both ends at once
_GLANCE_S = 0.05
_FIRST_BYTES = 1 << 16


def name_of(path: str | Path) -> str:
    """What a message calls a file."""
    return "standard input" if str(path) == STANDARD_INPUT else str(path)


def opened(path: str | Path, want: str) -> io.BufferedReader:
    """The bytes of a file, a pipe or ("-") standard input. Raises BadInput where there is none, then or while reading.

    A device is refused, for it may have no end.
    """
    if str(path) == STANDARD_INPUT:
        return _standard_input(want)
    where = str(path)
    try:
        number = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise BadInput(f"there is no file {where}", where=where, got="nothing", want=want) from None
    except (OSError, ValueError) as error:
        raise _unreadable(where, error, want) from None
    try:
        _refuse_odd_kinds(number, where, want)
    except BaseException:
        os.close(number)
        raise
    raw = _Reader(number, where, want)
    try:
        if not where.startswith(SHELLS_PIPES):
            raw.wait_for_writer()
        os.set_blocking(number, True)
    except BaseException:
        raw.close()
        raise
    return io.BufferedReader(raw, _FIRST_BYTES)


def standard_input(most_bytes: int, want: str) -> bytes:
    """All of standard input; a command may ask for it again. Raises BadInput where it is closed, or longer."""
    raw = _whole(sys.stdin, most_bytes, want)
    if len(raw) > most_bytes:
        raise BadInput("standard input is too long", where=STANDARD_INPUT, got=f"over {most_bytes:,} bytes", want=want)
    return raw


@functools.lru_cache(maxsize=1)
def _whole(_stdin: TextIO | None, most_bytes: int, want: str) -> bytes:
    """Kept for the one stream that it was read from: a question and its picture read a model twice."""
    with _standard_input(want) as file:
        return file.read(most_bytes + 1)


def _standard_input(want: str) -> io.BufferedReader:
    name = name_of(STANDARD_INPUT)
    with contextlib.suppress(AttributeError, ValueError):  # there is none, it was closed, it cannot be read
        try:
            return io.BufferedReader(_Reader(sys.stdin.fileno(), name, want, closefd=False), _FIRST_BYTES)
        except io.UnsupportedOperation:  # a stream of Python's own
            return io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer))
        except OSError as error:
            raise _unreadable(name, error, want) from None
    raise BadInput(f"{name} is closed", where=STANDARD_INPUT, got="nothing", want=want)


def _refuse_odd_kinds(number: int, where: str, want: str) -> None:
    """Raises BadInput for a directory, and for what may have no end."""
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or os.isatty(number):
        return
    kind = "a directory" if stat.S_ISDIR(mode) else "a device"
    raise BadInput(f"{where} is {kind}", where=where, got=kind, want=want)


class _Reader(io.FileIO):
    """A file's bytes; an error while they are read is BadInput, so that nobody takes it for one of writing."""

    def __init__(self, number: int, where: str, want: str, *, closefd: bool = True) -> None:
        super().__init__(number, "rb", closefd=closefd)
        self._where, self._want = where, want
        self._first = b""

    def readinto(self, buffer: Any) -> int:
        if self._first:
            view = memoryview(buffer)
            count = min(len(view), len(self._first))
            view[:count], self._first = self._first[:count], self._first[count:]
            return count
        try:
            while (got := super().readinto(buffer)) is None:  # whoever shares the pipe made it one that does not wait
                select.select([self], [], [])
            return got
        except OSError as error:
            raise _unreadable(self._where, error, self._want) from None

    def readall(self) -> bytes:
        pieces = []
        piece = bytearray(_FIRST_BYTES)
        while count := self.readinto(piece):
            pieces.append(bytes(piece[:count]))
        return b"".join(pieces)

    def wait_for_writer(self) -> None:
        """Raises BadInput for a pipe that nobody writes to; whoever does may take any time."""
        if not stat.S_ISFIFO(os.fstat(self.fileno()).st_mode):
            return
        end = time.monotonic() + _PATIENCE_S
        while (first := self.read(_FIRST_BYTES)) == b"":
            if time.monotonic() > end:
                got = f"nothing for {_PATIENCE_S:.0f} s"
                raise BadInput(f"nobody writes to the pipe {self._where}", where=self._where, got=got, want=self._want)
            time.sleep(_GLANCE_S)
        self._first = first or b""  # None: somebody is there who has not written yet


def _unreadable(where: str, error: Exception, want: str) -> BadInput:
    reason = getattr(error, "strerror", None) or str(error)
    if getattr(error, "errno", None) == errno.EISDIR:
        reason = "a directory"
    return BadInput(f"{where} cannot be read", where=where, got=reason[:200], want=want)
