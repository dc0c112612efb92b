"""Files packed by gzip, read as what they hold."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import Any, cast

# What a damaged one raises while it is read.
DAMAGED = (OSError, EOFError, zlib.error)
_PACKED = b"\x1f\x8b"


def unpacked(file: io.BufferedReader) -> io.BufferedReader:
    """What a gzip file holds; any other as it is. A damaged one raises one of DAMAGED while it is read."""
    if file.peek(2)[:2] != _PACKED:
        return file
    return io.BufferedReader(cast(io.RawIOBase, _Gzip(file)))


class _Gzip(gzip.GzipFile):
    """A packed file that closes what it reads from."""

    def __init__(self, file: io.BufferedReader) -> None:
        super().__init__(fileobj=file)
        self._packed = file

    def readinto(self, buffer: Any) -> int:
        """What there is, without waiting for more: a file cut short gives all in front of the cut."""
        return self.readinto1(buffer)

    def close(self) -> None:
        super().close()
        self._packed.close()
