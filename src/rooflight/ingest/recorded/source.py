"""A file being read by whoever understands it: its first bytes to tell by, its text, its bytes, within limits."""

from __future__ import annotations

import codecs
import functools
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from rooflight.errors import BadConfig
from rooflight.files import STANDARD_INPUT
from rooflight.ingest.packed import DAMAGED
from rooflight.values.recorded import Recorded

# What a format is told by.
HEAD_BYTES = 1 << 16
# Text that is held whole; profiles are read in parts, up to MOST_STREAMED.
MOST_TEXT = 256 << 20
MOST_STREAMED = 16 << 30
_KEY = re.compile(r'"((?:[^"\\]|\\.){1,80})"\s*:')
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The start of a file, unpacked: what readers tell their format by.

    text    as decoded; json: it starts as JSON (an object, or a list of them), whose keys met so far are `keys`
    """

    raw: bytes
    text: str
    json: bool
    keys: frozenset[str]

    @classmethod
    def of(cls, raw: bytes) -> Head:
        """The head of a file that starts so."""
        text = decoded(raw)
        json = text.lstrip().startswith(("{", "["))
        return cls(raw=raw, text=text, json=json, keys=frozenset(_KEY.findall(text)) if json else frozenset())


class Source:
    """An open file that one reader reads once.

    name    what messages call it; path: where it lies, None of standard input and of what is packed
    """

    def __init__(self, file: io.BufferedReader, name: str, path: Path | None, head: Head) -> None:
        self.file, self.name, self.path, self.head = file, name, path, head

    @functools.cached_property
    def raw(self) -> bytes:
        """All of it. Raises BadConfig for more than is held whole, and where it cannot be read to its end."""
        found = bytearray()
        try:
            # one read at a time: in a damaged file more would lose what lies in front of the damage
            while part := self.file.read1(1 << 20):
                found += part
                if len(found) > MOST_TEXT:
                    got = f"more than {MOST_TEXT:,} bytes"
                    raise BadConfig(f"{self.name} is too large", where=self.name, got=got, want="a part of it")
        except DAMAGED as error:
            if not found:
                raise BadConfig(
                    f"{self.name} cannot be read", where=self.name, got=str(error)[:200], want="a whole file"
                ) from None
            self.cut = f"it cannot be read to its end: {str(error)[:160]}"
        return bytes(found)

    # Why it ends before its end, once `raw` is read; "" where it does not.
    cut: str = ""

    @functools.cached_property
    def text(self) -> str:
        """All of it as text: UTF-8 or UTF-16 by its mark, else Windows-1252."""
        return decoded(self.raw)

    @property
    def held(self) -> str | None:
        """All of it as text where a reader asked for that."""
        found: str | None = self.__dict__.get("text")
        return found

    @functools.cached_property
    def document(self) -> Any:
        """All of it as one JSON document; bare Infinity and NaN, which Python writes, are taken. Raises BadConfig."""
        text = self.text
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            pass
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            got = self.cut or str(error)[:160]
            raise BadConfig(f"{self.name} is no JSON", where=self.name, got=got, want="a whole JSON document") from None


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """A format that is read.

    name    "vllm-log"; words: "vLLM's start-up log", as a list of what is read has it
    looks   whether a head is of it; the first format that says so reads the file
    read    the whole of it. Raises BadConfig, which says what, where and what is wanted
    """

    name: str
    words: str
    looks: Callable[[Head], bool]
    read: Callable[[Source], Recorded]


def decoded(raw: bytes) -> str:
    """Bytes as text, without a byte-order mark."""
    for mark, name in _MARKS:
        if raw.startswith(mark):
            return raw.decode(name, "replace")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        # a head may end within a character
        return raw.decode("utf-8", "ignore") if _utf8(raw[:-3]) else raw.decode("cp1252", "replace")


def _utf8(raw: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(raw)
    except UnicodeDecodeError:
        return False
    return True


def plain_path(path: str | Path) -> Path | None:
    """The path, None of standard input."""
    return None if str(path) == STANDARD_INPUT else Path(path)
