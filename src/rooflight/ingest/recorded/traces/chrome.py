"""Chrome's trace format as a stream: documents of any length, cut into batches of events between two of them.

A document is an object whose `traceEvents` hold events, or a bare list of them; several may follow one another. The
format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

from rooflight.errors import BadConfig
from rooflight.ingest.packed import DAMAGED
from rooflight.ingest.recorded.source import MOST_STREAMED, Source

_PART = 1 << 20
_BATCH = 1 << 22
# No event and no value beside them is longer, and no number.
_MOST_VALUE = 1 << 24
_MOST_WORD = 1 << 12
_DEEPEST = 500
# Nobody writes more, and each costs more than what it holds.
_MOST_DOCUMENTS = 1 << 10
_MOST_ODD = 1 << 18
# Between two events. Neither quote nor letter can be a string's: a quote in one is escaped, and behind one that ends a
# string no letter may stand. Objects that lie deeper are told by the batch, which is then no JSON.
_BORDERS = (
    re.compile(rb'\}(\s*,\s*)\{\s*"(?=(?:ph|name|cat|ts|pid|tid|args|dur|id|bp|s)")'),
    re.compile(rb'\}(\s*,\s*)\{\s*"(?=[A-Za-z_])'),
)
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(")?|[][{}]', re.DOTALL)
_WORD = re.compile(rb"[^\s,:\"\]\[{}]+")
_SPACE, _SPACE_AND_COLON = re.compile(rb"[\s,]*"), re.compile(rb"[\s,:]*")
_QUOTE, _LIST = b'"'[0], b"["[0]
# What Python and C++ print for numbers that JSON has no words for.
_BARE = re.compile(rb"([:\[,]\s*)[+-]?(?:Infinity|NaN|inf|nan)(?:\(\w*\))?(?=\s*[,}\]])")
_NO = msgspec.Raw(b"")


class Args(msgspec.Struct, gc=False):
    """What profilers say of an event: the fields that are read, by the names that versions of PyTorch gave them."""

    # "external id" and "Input dims" until PyTorch 1.11: torch/csrc/profiler/kineto_shim.cpp, profiler_kineto.cpp
    external: int | None = msgspec.field(name="External id", default=None)
    external_old: int | None = msgspec.field(name="external id", default=None)
    dims: msgspec.Raw = msgspec.field(name="Input Dims", default=_NO)
    dims_old: msgspec.Raw = msgspec.field(name="Input dims", default=_NO)
    types: msgspec.Raw = msgspec.field(name="Input type", default=_NO)
    concrete: msgspec.Raw = msgspec.field(name="Concrete Inputs", default=_NO)
    device: int | str | None = None
    correlation: int | None = None


class Event(msgspec.Struct, gc=False):
    """One event; times in microseconds."""

    ph: str = ""
    cat: str | None = None
    name: str | None = None
    ts: float = 0.0
    dur: float = 0.0
    pid: int | str | None = None
    args: Args | None = None


class Sink(Protocol):
    """Who is told of what is read."""

    def events(self, batch: list[Event]) -> None: ...

    def said(self, key: str, value: Any) -> None: ...

    def ended(self) -> None: ...


_DECODER = msgspec.json.Decoder(list[Event], strict=False)
_ONE = msgspec.json.Decoder(Event, strict=False)
_WRONG = (msgspec.DecodeError, UnicodeError, RecursionError, ValueError)


class Walk:
    """Reads what a source holds to its end and tells a sink.

    odd     events that could not be understood; cut: it ends within a document, or goes on as no JSON does
    """

    def __init__(self, source: Source, sink: Sink) -> None:
        self._parts, self._sink, self._name = _parts(source), sink, source.name
        self._buffer, self._at, self._batch = b"", 0, _BATCH
        self.odd, self.cut = 0, False

    def run(self) -> None:
        """All documents. Raises BadConfig for more than is read, and for one value that is larger than any real one."""
        documents = 0
        while not self.cut and (mark := self._peek()):
            documents += 1
            if mark not in (b"{", b"[") or documents > _MOST_DOCUMENTS:
                self.cut = True
                return
            self._at += 1
            self.cut = not (self._events() if mark == b"[" else self._object())
            self._sink.ended()

    def _object(self) -> bool:
        """A document up to its end; False where it has none."""
        while self._peek() == b'"':
            key = self._value()
            if key is None or not self._peek(_SPACE_AND_COLON):
                return False
            name = str(_decoded(key))
            if name == "traceEvents" and self._buffer[self._at] == _LIST:
                self._at += 1
                if not self._events():
                    return False
                continue
            value = self._value()
            if value is None:
                return False
            self._sink.said(name, _decoded(value))
        ended = self._peek() == b"}"
        self._at += ended
        return ended

    def _events(self) -> bool:
        """The events of a list up to its end; False where it has none."""
        while True:
            self._fill(self._batch)
            self._peek()
            until = min(len(self._buffer), self._at + self._batch)
            border = self._last_border(until)
            if border is not None and self._fast(*border):
                self._batch = min(2 * self._batch, _BATCH)
                continue
            # a list ends here, or a part of it is odd: little is looked at twice
            self._batch = max(self._batch // 8, _PART >> 5)
            ended = self._slow(border[1] if border else until)
            if ended is not None:
                return ended

    def _last_border(self, until: int) -> tuple[int, int] | None:
        """Where the last event but one in front of a place ends, and where the last begins; None without a second."""
        for border in _BORDERS:
            reach, start = _PART >> 4, until
            while start > self._at:
                start = max(self._at, until - reach)
                last = None
                for last in border.finditer(self._buffer, start, until):  # noqa: B007
                    pass
                if last is not None:
                    return last.start() + 1, last.end(1)
                reach *= 8
        return None

    def _fast(self, end: int, following: int) -> bool:
        """A batch at once; False where it is no list of events, which the slow way then tells apart."""
        text = b"[" + self._buffer[self._at : end] + b"]"
        try:
            batch = _DECODER.decode(text)
        except _WRONG:
            plain = _BARE.sub(rb"\1null", text)
            if plain == text:
                return False
            try:
                batch = _DECODER.decode(plain)
            except _WRONG:
                return False
        self._sink.events(batch)
        self._at = following
        return True

    def _slow(self, until: int) -> bool | None:
        """Event by event up to a place of the buffer; True at the list's end, False at the file's, None before both."""
        batch: list[Event] = []
        left, ended = max(until - self._at, 1), None
        while left > 0 and ended is None:
            mark = self._peek()
            if mark in (b"]", b"}", b":", b""):
                ended = mark == b"]"
                self._at += ended
            elif (value := self._value()) is None:
                ended = False
            else:
                left -= len(value) + 1
                event = _event(value) if mark == b"{" else None
                if event is None:
                    self.odd += 1
                    self._refuse_endless(self.odd, _MOST_ODD, "values that are no events")
                else:
                    batch.append(event)
        self._sink.events(batch)
        return ended

    def _value(self) -> bytes | None:
        """The value that begins here, passed; None where the file ends in it. Raises BadConfig for one without an end.

        Check: at `{"a": "}"}, 1` it is `{"a": "}"}`.
        """
        if self._buffer[self._at] not in b'"[{':
            return self._word()
        scan, depth = self._at, 0
        while True:
            for token in _TOKEN.finditer(self._buffer, scan):
                mark = self._buffer[token.start()]
                if mark == _QUOTE and token.start(1) < 0:
                    scan = token.start()
                    break
                scan = token.end()
                depth += (mark in b"[{") - (mark in b"]}")
                if depth == 0:
                    start, self._at = self._at, scan
                    return self._buffer[start:scan]
            else:
                scan = len(self._buffer)
            self._refuse_endless(len(self._buffer) - self._at, _MOST_VALUE)
            self._refuse_endless(depth, _DEEPEST, "brackets within one another")
            scan -= self._at
            if not self._more():
                self._at = len(self._buffer)
                return None

    def _word(self) -> bytes:
        """A number or a word, or one byte that begins no value."""
        while True:
            found = _WORD.match(self._buffer, self._at)
            end = found.end() if found else self._at + 1
            self._refuse_endless(end - self._at, _MOST_WORD)
            if end < len(self._buffer) or not self._more():
                word, self._at = self._buffer[self._at : end], end
                return word

    def _refuse_endless(self, size: int, most: int, what: str = "bytes without an end") -> None:
        if size > most:
            got = f"over {most:,} {what}"
            raise BadConfig(f"{self._name} holds no profile's events", where=self._name, got=got, want="events")

    def _peek(self, passing: re.Pattern[bytes] = _SPACE) -> bytes:
        """The next byte that is none of those passed over; b"" at the end."""
        while True:
            found = passing.match(self._buffer, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._buffer):
                return self._buffer[self._at : self._at + 1]
            if not self._more():
                return b""

    def _more(self) -> bool:
        """More in the buffer, twice as much at least, so that a long value is looked at few times; False at the end."""
        before = len(self._buffer) - self._at
        self._fill(2 * before + _PART)
        return len(self._buffer) > before

    def _fill(self, most: int) -> None:
        """So many bytes in front of it, if there are; what was passed is dropped."""
        have = len(self._buffer) - self._at
        if have >= most:
            return
        pieces = [self._buffer[self._at :]]
        while have < most and (part := next(self._parts, b"")):
            pieces.append(part)
            have += len(part)
        self._buffer, self._at = b"".join(pieces), 0


def _event(value: bytes) -> Event | None:
    """One event, by whichever way it can be read; None where there is none."""
    # as in a batch: where an event stands does not change what is read of it
    for text in dict.fromkeys((value, _BARE.sub(rb"\1null", value))):
        try:
            return _ONE.decode(text)
        except _WRONG:
            pass
    try:
        return msgspec.convert(json.loads(value.decode("utf-8", "replace"), strict=False), Event, strict=False)
    except _WRONG:
        return None


def _decoded(value: bytes) -> Any:
    """A small value beside the events; None where it is no JSON."""
    try:
        return msgspec.json.decode(value)
    except _WRONG:
        pass
    try:
        return json.loads(value.decode("utf-8", "replace"), strict=False)
    except _WRONG:
        return None


def _parts(source: Source) -> Iterator[bytes]:
    """What a source holds, as UTF-8 in parts, without a mark; of a damaged one what lies in front of the damage."""
    raw = source.head.raw
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    decoder = codecs.getincrementaldecoder("utf-16")("replace") if wide else None
    first, count = not wide, 0
    while True:
        try:
            part = source.file.read1(_PART)
        except DAMAGED as error:
            source.cut = f"it cannot be read to its end: {str(error)[:160]}"
            return
        if not part:
            return
        count += len(part)
        if count > MOST_STREAMED:
            got = f"more than {MOST_STREAMED:,} bytes"
            raise BadConfig(f"{source.name} is too large", where=source.name, got=got, want="a shorter profile")
        if decoder is not None:
            part = decoder.decode(part).encode("utf-8", "replace")
        yield part.removeprefix(codecs.BOM_UTF8) if first else part
        first = False
