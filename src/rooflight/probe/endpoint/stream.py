"""A streamed answer read as it comes: bytes and when they came in, chunks with tokens and faults out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from rooflight.errors import printable
from rooflight.values.endpoint import Outcome

# A line of an event that is longer is none; a chunk holds a few tokens.
_LONGEST_LINE = 1 << 22
_SHOWN = 160
_DONE = b"[DONE]"
# Any of the three that the standard of server-sent events has.
_LINE_END = re.compile(rb"\r\n|\r|\n")


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Delta(msgspec.Struct):
    role: str | None = None
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: Any = None


class _Choice(msgspec.Struct):
    text: str | None = None
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None
    object: Any = None


class Fault(Exception):
    """An answer that is none: which kind, and what was seen."""

    def __init__(self, outcome: Outcome, why: str) -> None:
        super().__init__(why)
        self.outcome, self.why = outcome, why


class Reader:
    """Server-sent events of one answer.

    chunks_s    when each chunk with tokens came; end_s: the last of those, or the one that says why the answer ends
    done        the server said that nothing follows; finished: that, or why the answer ends
    prompt_tokens, output_tokens, cached_tokens     as the server counts them, None where it does not
    """

    def __init__(self) -> None:
        self.chunks_s: list[float] = []
        self.end_s: float | None = None
        self.done = self.finished = False
        self.prompt_tokens: int | None = None
        self.output_tokens: int | None = None
        self.cached_tokens: int | None = None
        self._left = b""
        self._returned = False
        self._event: list[bytes] = []
        self._seen = 0

    def feed(self, data: bytes, at_s: float) -> None:
        """Bytes as they came, however they are cut. Raises Fault for what is no chunk of an answer."""
        if not data:
            return
        if self._returned:  # the other half of a line's end, cut in two
            data = data.removeprefix(b"\n")
        self._returned = data.endswith(b"\r")
        pieces = _LINE_END.split(self._left + data)
        self._left = pieces.pop()
        if len(self._left) > _LONGEST_LINE:
            raise Fault("broken", f"a line of over {_LONGEST_LINE:,} bytes")
        for line in pieces:
            self._line(line, at_s)

    def close(self, at_s: float) -> None:
        """No more bytes come. Raises Fault where the answer is not whole, or empty."""
        try:
            self.feed(b"\n\n", at_s)
        except Fault as fault:
            if fault.outcome != "broken":
                raise
            raise Fault("truncated", f"the stream ends inside chunk {self._seen:,}") from None
        if not self.finished:
            raise Fault("truncated", f"the stream ends after {self._seen:,} chunks, without a reason and [DONE]")
        if not self.chunks_s:
            raise Fault("empty", "the answer holds no token")

    def _line(self, line: bytes, at_s: float) -> None:
        if not line:
            event, self._event = b"\n".join(self._event), []
            if event:
                self._chunk(event, at_s)
            return
        name, _, value = line.removeprefix(b"\xef\xbb\xbf").partition(b":")
        value = value.removeprefix(b" ")
        if name == b"error":
            raise Fault("error", _told(value))
        if name == b"data" and value.strip() == _DONE:
            self.done = self.finished = True
        elif name == b"data" and not self.done:
            self._event.append(value)
            if sum(map(len, self._event)) > _LONGEST_LINE:
                raise Fault("broken", f"an event of over {_LONGEST_LINE:,} bytes")
        elif name.lstrip()[:1] in (b"{", b"<"):
            raise Fault("broken", f"no server-sent event: {_shown(line)}")

    def _chunk(self, event: bytes, at_s: float) -> None:
        self._seen += 1
        try:
            chunk = msgspec.json.decode(event, type=_Chunk)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Fault("broken", f"chunk {self._seen} is not as expected ({error}): {_shown(event)}") from None
        if chunk.error is not None or chunk.object == "error":
            raise Fault("error", _told(event))
        if chunk.usage is not None:
            self._count(chunk.usage)
        for choice in chunk.choices or ():
            self._take(choice, at_s)

    def _count(self, usage: _Usage) -> None:
        known = (usage.prompt_tokens, self.prompt_tokens), (usage.completion_tokens, self.output_tokens)
        self.prompt_tokens, self.output_tokens = (older if newer is None else newer for newer, older in known)
        if usage.prompt_tokens_details is not None:
            self.cached_tokens = usage.prompt_tokens_details.cached_tokens

    def _take(self, choice: _Choice, at_s: float) -> None:
        if choice.finish_reason is not None:
            self.finished = True
            self.end_s = at_s
        if _holds_tokens(choice):
            self.chunks_s.append(at_s)
            self.end_s = at_s


def _holds_tokens(choice: _Choice) -> bool:
    """Whether a chunk holds tokens: a text; or none, of tokens that are no whole character yet.

    The first of a chat names the role, and the last may say no more than why the answer ends.
    """
    delta = choice.delta
    if delta is None:
        return bool(choice.text) or (choice.text is not None and choice.finish_reason is None)
    if delta.content or delta.reasoning_content or delta.reasoning or delta.tool_calls:
        return True
    return delta.content is not None and delta.role is None and choice.finish_reason is None


def _told(raw: bytes) -> str:
    """The message of an error, however deep it lies."""
    try:
        found = next(_messages(msgspec.json.decode(raw)), None)
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = None
    return printable(found)[:_SHOWN] if found else _shown(raw)


def _messages(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, dict):
        for name in ("error", "message", "detail", "msg"):
            yield from _messages(value.get(name))
    elif isinstance(value, list):
        for one in value[:1]:
            yield from _messages(one)


def told(raw: bytes) -> str:
    """What a server says of an error, in a line: the message of its JSON, else the start of the text."""
    return _told(raw.strip()) if raw.strip() else "nothing"


def _shown(raw: bytes) -> str:
    text = printable(raw[: _SHOWN * 4].decode(errors="replace").strip())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
