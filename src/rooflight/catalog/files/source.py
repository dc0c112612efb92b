"""The first bytes of a file, read as far as they are needed and never beyond a limit: a file on disk, or one far away.

Headers come from strangers: a length in one is believed only as far as the bytes are there.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from rooflight.errors import BadConfig, BadInput

# The longest header seen has 30 MB (a vocabulary of 262,000 entries twice); more is no header.
MOST_HEADER_BYTES = 64 << 20
_FIRST_BYTES = 1 << 20
# O_NONBLOCK: a named pipe that nobody writes to would keep open() waiting
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

Fetch = Callable[[int, int], bytes]


class Source:
    """Bytes from the start of a file.

    fetch   gives up to so many bytes from a position on
    size    bytes of the whole file, None where it is not known
    """

    def __init__(self, fetch: Fetch, *, size: int | None, origin: str) -> None:
        self.data = bytearray()
        self.size = size
        self.origin = origin
        self._fetch = fetch

    def need(self, end: int) -> None:
        """Have the bytes up to `end`. Raises BadConfig where the file is shorter, or no header is so long."""
        if end <= len(self.data):
            return
        if self.size is not None and end > self.size:
            raise self.cut(end)
        if end > MOST_HEADER_BYTES:
            raise BadConfig(
                f"the header of {self.origin} does not end within {MOST_HEADER_BYTES >> 20} MiB",
                where=self.origin,
                got=f"a length that reaches to byte {end:,}",
                want=f"a header of at most {MOST_HEADER_BYTES:,} bytes",
            )
        wanted = min(max(end, 2 * len(self.data), _FIRST_BYTES), MOST_HEADER_BYTES)
        while len(self.data) < wanted:
            more = self._fetch(len(self.data), wanted - len(self.data))
            if not more:
                break
            self.data += more
        if end > len(self.data):
            raise self.cut(end)

    def cut(self, end: int) -> BadConfig:
        """The error for a file that ends before its header does."""
        have = len(self.data) if self.size is None else self.size
        return BadConfig(
            f"{self.origin} ends in the middle of its header",
            where=f"{self.origin}: byte {min(end, have):,}",
            got=f"{have:,} bytes, and a length that reaches to byte {end:,}",
            want="a whole file, or at least its whole header",
            try_this="download it again",
        )


def of_bytes(data: bytes, origin: str) -> Source:
    """The first bytes of a file that somebody sent; its whole size is not known."""
    return Source(lambda start, count: data[start : start + count], size=None, origin=origin)


@contextlib.contextmanager
def opened(file: Path) -> Iterator[Source]:
    """A file on disk. Raises BadInput, BadConfig where it is none or cannot be read."""
    try:
        handle = os.open(file, _READ_FLAGS)
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise BadConfig(f"{file} is no file", where=str(file), got="a directory, a pipe or a device", want="a file")

    def fetch(start: int, count: int) -> bytes:
        try:
            stream.seek(start)
            return stream.read(count)
        except OSError as error:
            raise unreadable(file, error) from None

    with os.fdopen(handle, "rb") as stream:
        yield Source(fetch, size=status.st_size, origin=str(file))


def unreadable(file: Path | str, error: Exception) -> BadInput:
    """The error for a file that the system does not give."""
    why = getattr(error, "strerror", None) or str(error)
    return BadInput(f"{file} cannot be read: {why}", where=str(file), got=why, want="a readable file")
