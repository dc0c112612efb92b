"""A file that somebody else's tool wrote, read by the reader that knows its format."""

from __future__ import annotations

import io
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from rooflight.errors import BadConfig
from rooflight.files import name_of, opened
from rooflight.ingest.packed import DAMAGED, unpacked
from rooflight.ingest.recorded.source import HEAD_BYTES, Format, Head, Source, plain_path
from rooflight.values.recorded import Recorded

_GROUPS = ("traces", "bench", "monitoring", "logs")
_WANT = "a profile, an engine's log or metrics, monitoring, or a benchmark's results"


def formats() -> tuple[Format, ...]:
    """All that are read, in the order in which they are tried."""
    found: list[Format] = []
    for group in _GROUPS:
        names = import_module(f"rooflight.ingest.recorded.{group}").FORMATS
        found += [import_module(f"rooflight.ingest.recorded.{group}.{name}").FORMAT for name in names]
    return tuple(found)


def recorded(path: str | Path) -> Recorded:
    """What a file ("-": standard input; gzip or not) recorded, told by its content.

    Raises BadInput where there is none, BadConfig where nobody knows it or it is damaged from its start.
    """
    name = name_of(path)
    with opened(path, _WANT) as bare, unpacked(bare) as file:
        packed = file is not bare
        try:
            raw = _head(file)
        except DAMAGED as error:
            raise BadConfig(f"{name} cannot be read", where=name, got=str(error)[:200], want=_WANT) from None
        head = Head.of(raw)
        if not raw.strip():
            raise BadConfig(f"{name} is empty", where=name, got="nothing", want=_WANT)
        form = next((one for one in formats() if one.looks(head)), None)
        if form is None:
            raise BadConfig(
                f"nothing that is read looks like {name}", where=name, got=repr(head.text[:60]), want=_WANT,
                try_this="rooflight diagnose --formats",
            )  # fmt: skip
        whole = cast(io.BufferedReader, io.BufferedReader(cast(io.RawIOBase, _Rejoined(raw, file)), HEAD_BYTES))
        source = Source(whole, name, None if packed else plain_path(path), head)
        found = form.read(source)
    notes = (*found.notes, *([source.cut] if source.cut else []))
    return replace(found, file=name, format=form.name, notes=notes)


class _Rejoined(io.RawIOBase):
    """A file whose first bytes were read already, from its start on."""

    def __init__(self, head: bytes, file: io.BufferedReader) -> None:
        super().__init__()
        self._head, self._file = head, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._head[: len(buffer)] or self._file.read1(len(buffer))
        self._head = self._head[len(part) :]
        buffer[: len(part)] = part
        return len(part)


def _head(file: io.BufferedReader) -> bytes:
    """The first bytes; of a damaged file those in front of the damage."""
    found = b""
    try:
        while len(found) < HEAD_BYTES and (part := file.read1(HEAD_BYTES - len(found))):
            found += part
    except DAMAGED:
        if not found:
            raise
    return found
