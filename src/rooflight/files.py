"""Files and standard input ("-") as bytes, and files that lines are added to. What cannot be read or written is said as
that, whoever does it and whenever.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import itertools
import os
import select
import stat
import sys
import time
from collections.abc import Iterable, Iterator
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
_ADDING = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


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


def as_file(text: str) -> io.BufferedReader:
    """A text that somebody sent, as the bytes of a file."""
    return io.BufferedReader(cast(io.RawIOBase, io.BytesIO(text.encode(errors="replace"))))


def append_lines(path: str | Path, lines: Iterable[str]) -> int:
    """Add lines (each without its end) to a file, made for the first where there is none, and say how many.

    A line is written whole or not at all; a half one that a killed process left is ended first, so that it is the only
    one lost. Processes that add to one file at once take turns, a line each. Raises BadInput where it cannot be
    written, and for what is no plain file.
    """
    where, count = str(path), 0
    refuse_no_target(path)
    left = iter(lines)
    first = next(left, None)
    if first is None:
        return 0
    try:
        number = os.open(path, _ADDING, 0o666)
    except (OSError, ValueError) as error:
        raise _unwritable(where, _reason(error)) from None
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise _unwritable(where, "a device or a pipe")
        for line in itertools.chain((first,), left):
            _add(number, where, line.encode("utf-8", "backslashreplace"))
            count += 1
    finally:
        os.close(number)
    return count


def refuse_no_target(path: str | Path) -> None:
    """Raises BadInput for what lines can never be added to: standard output, a packed file, a folder, a device.

    Nothing is made and nothing is opened. Whether there is room, only adding can tell.
    """
    where = str(path)
    if where == STANDARD_INPUT or where.lower().endswith(".gz"):
        raise _unwritable(where, "standard output" if where == STANDARD_INPUT else "a packed file")
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        _refuse_no_folder(where)
        return
    except (OSError, ValueError) as error:
        raise _unwritable(where, _reason(error)) from None
    if not stat.S_ISREG(mode):
        raise _unwritable(where, "a directory" if stat.S_ISDIR(mode) else "a device or a pipe")
    if not os.access(path, os.R_OK | os.W_OK):  # its last byte is read
        raise _unwritable(where, os.strerror(errno.EACCES))


def _refuse_no_folder(where: str) -> None:
    """Raises BadInput where a file cannot be made for want of a folder, or of rights to it."""
    folder = Path(os.path.realpath(where)).parent  # of a link the file that it leads to is made
    if where.endswith(os.sep):
        raise _unwritable(where, "a directory")
    if not where or not folder.is_dir():
        raise _unwritable(where, os.strerror(errno.ENOENT))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unwritable(where, os.strerror(errno.EACCES))


def _add(number: int, where: str, line: bytes) -> None:
    """One line at the end of an open file; what was written of it is taken back where the rest finds no room."""
    if b"\n" in line or b"\r" in line:
        raise BadInput("a line holds another", where=where, got=line[:40].decode(errors="replace"), want="one line")
    with _held(number, where):
        try:
            end = os.lseek(number, 0, os.SEEK_END)
            left = memoryview((b"\n" if end and _last_byte(number, end) != b"\n" else b"") + line + b"\n")
            try:
                while left:
                    left = left[os.write(number, left) :]
            except BaseException:
                os.ftruncate(number, end)
                raise
        except OSError as error:
            raise _unwritable(where, _reason(error)) from None


def _last_byte(number: int, end: int) -> bytes:
    os.lseek(number, end - 1, os.SEEK_SET)
    return os.read(number, 1)


@contextlib.contextmanager
def _held(number: int, where: str) -> Iterator[None]:
    """The file for this process alone, as far as others ask for it too."""
    try:
        _lock(number, hold=True)
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):  # a file system without locks
            raise _unwritable(where, _reason(error)) from None
        yield
        return
    try:
        yield
    finally:
        _lock(number, hold=False)


def _lock(number: int, *, hold: bool) -> None:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(number, 0, os.SEEK_SET)
        msvcrt.locking(number, msvcrt.LK_LOCK if hold else msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(number, fcntl.LOCK_EX if hold else fcntl.LOCK_UN)


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
    return BadInput(f"{where} cannot be read", where=where, got=_reason(error), want=want)


def _unwritable(where: str, reason: str) -> BadInput:
    want = "a file in a directory that may be written"
    return BadInput(f"{where} cannot be added to", where=where, got=reason, want=want)


def _reason(error: Exception) -> str:
    """What the system says of a file; of a name that it never sees, what Python says in other words by version."""
    if getattr(error, "errno", None) == errno.EISDIR:
        return "a directory"
    if isinstance(error, ValueError) and not isinstance(error, UnicodeError):
        return "a null character in its name"
    return str(getattr(error, "strerror", None) or error)[:200]
