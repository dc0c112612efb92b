"""A file that somebody else's tool wrote, read by the reader that knows its format."""

from __future__ import annotations

import io
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from rooflight.errors import BadConfig, RooflightError
from rooflight.files import name_of, opened
from rooflight.ingest.packed import DAMAGED, unpacked
from rooflight.ingest.recorded.source import HEAD_BYTES, Format, Head, Source, plain_path
from rooflight.values.recorded import Measurements, Recorded

_GROUPS = ("traces", "bench", "monitoring", "logs")
_RESULTS = "bench"
# Formats that one reader reads together, or that share lines.
_ALIKE = (("engine-metrics", "device-metrics", "metrics"),)
# So many parts of a text are looked at from either end.
_PARTS = 32
_WANT = "a profile, an engine's log or metrics, monitoring, or a benchmark's results"


def formats(*groups: str) -> tuple[Format, ...]:
    """All that are read, or those of some groups, in the order in which they are tried."""
    found: list[Format] = []
    for group in groups or _GROUPS:
        names = import_module(f"rooflight.ingest.recorded.{group}").FORMATS
        found += [import_module(f"rooflight.ingest.recorded.{group}.{name}").FORMAT for name in names]
    return tuple(found)


def recorded(path: str | Path) -> Recorded:
    """What a file ("-": standard input; gzip or not) recorded, told by its content.

    Raises BadInput where there is none, BadConfig where nobody knows it or it is damaged from its start.
    """
    name = name_of(path)
    with opened(path, _WANT) as bare, unpacked(bare) as file:
        return _read(file, name, None if file is not bare else path)


def recorded_bytes(data: bytes, name: str, *, most: int) -> Recorded:
    """What the bytes of a file recorded, gzip or not; nothing is opened by its name, which is for messages alone.

    Raises BadConfig as recorded() does, and for a packed file that holds more than `most` bytes.
    """
    with unpacked(io.BufferedReader(io.BytesIO(data))) as file, _Bounded.whole(file, name, most) as bounded:
        return _read(bounded, name, None)


def _read(file: io.BufferedReader, name: str, path: str | Path | None) -> Recorded:
    """What an open file recorded; path: None of what is packed, or came as bytes."""
    try:
        raw = _head(file)
    except DAMAGED as error:
        raise BadConfig(f"{name} cannot be read", where=name, got=str(error)[:200], want=_WANT) from None
    head = Head.of(raw)
    if not raw.strip():
        raise BadConfig(f"{name} is empty", where=name, got="nothing", want=_WANT)
    form = _form(head)
    if form is None:
        raise BadConfig(
            f"nothing that is read looks like {name}", where=name, got=repr(head.text[:60]), want=_WANT,
            try_this="rooflight diagnose --formats",
        )  # fmt: skip
    return _understood(form, _Rejoined.whole(raw, file), path, name, head)


def results_or_bytes(bare: io.BufferedReader, path: str | Path) -> Recorded | io.BufferedReader:
    """What an open file holds where it is a benchmark's results, else its bytes from their start on.

    Raises BadConfig for a file of another kind that is known: it has no results.
    """
    name = name_of(path)
    file = unpacked(bare)
    try:
        raw = _head(file)
    except DAMAGED as error:
        raise BadConfig(f"{name} cannot be read", where=name, got=str(error)[:200], want=_WANT) from None
    head = Head.of(raw)
    whole = _Rejoined.whole(raw, file)
    form = _form(head) if raw.strip() else None
    if form is None:
        return whole
    if form not in formats(_RESULTS):
        raise BadConfig(
            f"{name} holds no results of a benchmark", where=name, got=form.words,
            want="a table of measurements, or a benchmark's results", try_this=f"rooflight diagnose {name}",
        )  # fmt: skip
    return _understood(form, whole, None if file is not bare else path, name, head)


def _form(head: Head) -> Format | None:
    return next((one for one in formats() if one.looks(head)), None)


def _understood(form: Format, whole: io.BufferedReader, path: str | Path | None, name: str, head: Head) -> Recorded:
    """A file read by the reader of its format; path: None of what is packed."""
    source = Source(whole, name, None if path is None else plain_path(path), head)
    found = form.read(source)
    others = () if source.held is None or head.json else beside(form, source.held)
    unread = [f"it also holds {one.words}: that is not read, unless it is a file of its own" for one in others]
    notes = (*found.notes, *([source.cut] if source.cut else []), *unread)
    return replace(found, file=name, format=form.name, notes=notes)


def beside(form: Format, text: str) -> tuple[Format, ...]:
    """Other formats of which a text holds something that their readers understand, one of those that are alike.

    It is looked for in the first and the last parts of the text, each as long as what formats are told by.
    """
    starts = range(0, len(text), HEAD_BYTES)
    parts = [text[at : at + HEAD_BYTES] for at in (*starts[:_PARTS], *starts[_PARTS:][-_PARTS:])]
    heads = [Head.of(part.encode("utf-8", "replace")) for part in parts]
    told = {_kin(form)}
    found: list[Format] = []
    for one in formats():
        head = None if _kin(one) in told else next((head for head in heads if one.looks(head)), None)
        if head is not None and _understands(one, head):
            told.add(_kin(one))
            found.append(one)
    return tuple(found)


def _kin(form: Format) -> str:
    """What formats that one reader reads together, or that share lines, have in common."""
    return next((names[0] for names in _ALIKE if form.name in names), form.name)


def _understands(form: Format, head: Head) -> bool:
    """Whether a part of a text has values for a format's reader; a load generator's console has an engine's lines."""
    try:
        one = form.read(Source(io.BufferedReader(io.BytesIO(head.raw)), "", None, head))
    except RooflightError:
        return False
    measured = any(record.measured != Measurements() for record in one.records)
    return bool(measured or one.watched or one.traced or one.samples or one.scrape)


class _Bounded(io.RawIOBase):
    """A file of which so much is read and no more."""

    def __init__(self, file: io.BufferedReader, name: str, most: int) -> None:
        super().__init__()
        self._file, self._name, self._most, self._read = file, name, most, 0

    @classmethod
    def whole(cls, file: io.BufferedReader, name: str, most: int) -> io.BufferedReader:
        """All of it, or BadConfig at the byte that is one too many."""
        return io.BufferedReader(cast(io.RawIOBase, cls(file, name, most)), HEAD_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._file.read1(len(buffer))
        self._read += len(part)
        if self._read > self._most:
            got = f"more than {self._most:,} bytes, unpacked"
            raise BadConfig(
                f"{self._name} is too large", where=self._name, got=got, want="a part of it",
                try_this="rooflight diagnose FILE, on the command line",
            )  # fmt: skip
        buffer[: len(part)] = part
        return len(part)


class _Rejoined(io.RawIOBase):
    """A file whose first bytes were read already, from its start on."""

    def __init__(self, head: bytes, file: io.BufferedReader) -> None:
        super().__init__()
        self._head, self._file = head, file

    @classmethod
    def whole(cls, head: bytes, file: io.BufferedReader) -> io.BufferedReader:
        """All of it, head first."""
        return io.BufferedReader(cast(io.RawIOBase, cls(head, file)), HEAD_BYTES)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        super().close()
        self._file.close()

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
