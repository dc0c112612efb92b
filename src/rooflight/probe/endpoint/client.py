"""One request to an endpoint over HTTP, and how it went; every fault has its name."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from rooflight.errors import MissingExtra, printable
from rooflight.probe.endpoint.stream import Fault, Reader, told
from rooflight.values.endpoint import Sent, Stage

_LONGEST_BODY = 1 << 16
# No list of models is longer; one that is would be read for ever.
_LONGEST_LIST = 1 << 24
# What an answer that is no stream may take to say what it is.
_PATIENCE_S = 1.0
# In which the end of a connection's answer follows [DONE], so that the connection can serve the next request.
_END_S = 0.02
_STREAM = "text/event-stream"


class Habits:
    """What was learned of a server: whether it keeps an answer open behind [DONE]."""

    lingers = False


class Place(NamedTuple):
    """Where requests go, the headers they carry, and what was learned there."""

    url: str
    headers: Mapping[str, str]
    timeout_s: float
    habits: Habits


class Asks(NamedTuple):
    """A request to be sent: which one it is, its body, the tokens that this asks for, and when its stage began and it
    was due, by the loop's clock.
    """

    stage: Stage
    number: int
    body: bytes
    tokens: int
    began_s: float
    due_s: float | None = None


def library() -> Any:
    """aiohttp. Raises MissingExtra."""
    try:
        import aiohttp
    except ImportError:
        raise MissingExtra(
            "driving an endpoint needs aiohttp, which is not installed", where="rooflight measure endpoint",
            got="an installation without the extra `endpoint`", want="aiohttp",
            try_this="pip install 'rooflight[endpoint]'",
        ) from None  # fmt: skip
    return aiohttp


def session() -> Any:
    """A client that goes only where it is told: no proxies of the environment, no cookies, any number at once."""
    http = library()
    watched = http.TraceConfig()
    watched.on_connection_reuseconn.append(_reused)
    return http.ClientSession(
        connector=http.TCPConnector(limit=0), timeout=http.ClientTimeout(total=None), trust_env=False,
        cookie_jar=http.DummyCookieJar(), raise_for_status=False, trace_configs=[watched],
    )  # fmt: skip


async def _reused(_client: Any, context: Any, _which: Any) -> None:
    if context.trace_request_ctx is not None:
        context.trace_request_ctx.reused = True


async def ask(client: Any, place: Place, asks: Asks) -> Sent:
    """Send a request and read its answer to the end. Nothing is raised: what went wrong is its outcome."""
    clock = asyncio.get_running_loop().time
    begun, reader, seen = clock(), Reader(), _Seen()
    outcome, why = "ok", ""
    try:
        async with asyncio.timeout(place.timeout_s):
            await _whole(client, place, asks.body, reader, seen, begun)
    except Fault as fault:
        outcome, why = fault.outcome, fault.why
    except asyncio.CancelledError:
        outcome, why = "unfinished", "cut off by an interrupt"
    except Exception as error:
        outcome, why = _fault(error, reader, seen, place.timeout_s)
    ended, osl = clock() - begun, counted(reader, asks.tokens)
    return Sent(
        number=asks.number, stage=asks.stage, outcome=outcome, why=why, status=seen.status,  # type: ignore[arg-type]
        start_s=begun - asks.began_s, late_s=max(0.0, begun - asks.due_s) if asks.due_s is not None else 0.0,
        isl=reader.prompt_tokens if (reader.prompt_tokens or 0) > 0 else None,
        osl=len(reader.chunks_s) if osl is None else osl, counted=osl is not None,
        disbelieved=reader.output_tokens if osl is None else None,
        cached=reader.cached_tokens if (reader.cached_tokens or 0) >= 0 else None,
        end_s=ended if outcome != "ok" or reader.end_s is None else reader.end_s, chunks_s=tuple(reader.chunks_s),
    )  # fmt: skip


def counted(reader: Reader, asked: int) -> int | None:
    """The server's count of an answer's tokens; None where there is none that can be.

    Chunks with tokens hold one at least, together. A server counts no more than was asked for, with one that ends the
    answer; where it has sent more chunks than that, as one that takes no limit, no more than those.
    Check: 8 chunks, 8 asked for -> of the counts 0, -1, 8, 9, 10 only 8 and 9.
    """
    said, chunks = reader.output_tokens, len(reader.chunks_s)
    if said is None or not min(1, chunks) <= said <= max(asked + 1, chunks):
        return None
    return said


class _Seen:
    """The status of an answer, as soon as there is one, and whether it came over a connection that was open already."""

    status: int | None = None
    reused = False


async def _whole(client: Any, place: Place, body: bytes, reader: Reader, seen: _Seen, begun: float) -> None:
    """An exchange; again where a kept connection turns out to be closed: the server has never seen the request."""
    http = library()
    while True:
        seen.reused = False
        try:
            return await _exchange(client, place, body, reader, seen, begun)
        except (http.ServerDisconnectedError, http.ClientOSError):
            if seen.status is not None or not seen.reused:
                raise


async def _exchange(client: Any, place: Place, body: bytes, reader: Reader, seen: _Seen, begun: float) -> None:
    clock = asyncio.get_running_loop().time
    headers = {"Content-Type": "application/json", "Accept": _STREAM, "Accept-Encoding": "identity", **place.headers}
    async with client.post(
        place.url, data=body, headers=headers, allow_redirects=False, trace_request_ctx=seen
    ) as answer:
        seen.status = answer.status
        await _refuse_others(answer)
        pieces = answer.content.iter_any()
        async for data in pieces:
            reader.feed(data, clock() - begun)
            if reader.done:
                break
        reader.close(clock() - begun)
        if reader.done:
            await _ended(pieces, place.habits)


async def _ended(pieces: Any, habits: Habits) -> None:
    """Read what follows [DONE], so that the connection is free; where it is not at once, it is left to be closed.

    That is waited for once on a server, before the load as a rule: waiting is time in which the next request is not
    sent.
    """
    if habits.lingers:
        return
    try:
        async with asyncio.timeout(_END_S):
            async for _ in pieces:
                pass
    except TimeoutError:
        habits.lingers = True
    except Exception:  # a connection that breaks behind a whole answer
        return


async def _refuse_others(answer: Any) -> None:
    """Raises Fault for what is no stream of events."""
    if 300 <= answer.status < 400:
        to = printable(answer.headers.get("Location", "nowhere"))[:200]
        raise Fault("redirect", f"HTTP {answer.status} to {to}, which is not followed")
    if answer.status != 200:
        raise Fault("http", f"HTTP {answer.status}: {told(await _body(answer))}")
    kind = printable(answer.headers.get("Content-Type", "none"))
    if kind.partition(";")[0].strip().lower() != _STREAM:
        raise Fault("content-type", f"an answer of type {kind[:80]}: {told(await _body(answer))}")


async def _body(answer: Any) -> bytes:
    """The start of an answer that is no stream, as far as it comes soon."""
    pieces: list[bytes] = []
    with contextlib.suppress(Exception):  # what it says is known without it
        async with asyncio.timeout(_PATIENCE_S):
            async for piece in answer.content.iter_any():
                pieces.append(piece)
                if sum(map(len, pieces)) > _LONGEST_BODY:
                    break
    return b"".join(pieces)


def _fault(error: Exception, reader: Reader, seen: _Seen, timeout_s: float) -> tuple[str, str]:
    """The outcome that an exception of the client is, and what was seen."""
    http = library()
    got = len(reader.chunks_s)
    if isinstance(error, TimeoutError):
        if got:
            last = f"{got:,} chunks with tokens, the last at {reader.chunks_s[-1]:.3g} s"
            return "timeout", f"not done within {timeout_s:g} s, after {last}"
        return "timeout", f"nothing within {timeout_s:g} s, before {'the first token' if seen.status else 'any answer'}"
    if isinstance(error, ssl.SSLError | http.ClientSSLError | ssl.CertificateError):
        return "tls", _reason(error)
    inner = getattr(error, "os_error", None)
    if isinstance(inner, ConnectionAbortedError | ConnectionResetError):  # somebody is there, who does not shake hands
        return "tls", _reason(error)
    if isinstance(error, http.ClientConnectorError):
        return "unreachable", _reason(error)
    if isinstance(error, http.ClientPayloadError) or (seen.status is not None and isinstance(error, OSError)):
        return "truncated", f"the connection broke after {got:,} chunks with tokens"
    if isinstance(error, http.ServerDisconnectedError | OSError):
        where = "inside the answer" if seen.status is not None else "before any answer"
        return "truncated", f"the connection was closed {where}"
    return "broken", f"no HTTP as expected: {_reason(error)}"


def _reason(error: Exception) -> str:
    """What the system, or else the client, says."""
    inner = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    number = getattr(inner, "errno", None)
    if isinstance(number, int) and number in errno.errorcode and not isinstance(inner, ssl.SSLError):
        return os.strerror(number)
    text = getattr(inner, "strerror", None) or getattr(inner, "message", None) or str(inner) or type(error).__name__
    return printable(str(text))[:200]


async def listed(client: Any, url: str, place: Place) -> tuple[tuple[str, str], ...]:
    """(name, owner) of the models that a server lists; () where it does not.

    Raises Fault where nobody is there, where no whole list comes in time, or one without an end.
    """
    seen, asked = _Seen(), f"the list of models, {urlsplit(url).path}"
    try:
        async with (
            asyncio.timeout(place.timeout_s),
            client.get(url, headers=dict(place.headers), allow_redirects=False) as answer,
        ):
            seen.status = answer.status
            body = await _list(answer, asked) if answer.status == 200 else b""
    except TimeoutError:
        raise Fault("timeout", f"nothing of {asked}, within {place.timeout_s:g} s") from None
    except Fault:
        raise
    except Exception as error:
        outcome, why = _fault(error, Reader(), seen, place.timeout_s)
        if outcome in ("unreachable", "tls"):
            raise Fault(outcome, why) from None  # type: ignore[arg-type]
        return ()
    try:
        found = msgspec.json.decode(body, type=_Models).data
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()
    return tuple((printable(one.id), one.owned_by or "") for one in found or ())


async def _list(answer: Any, asked: str) -> bytes:
    """The whole of a list. Raises Fault where it is too long to be one."""
    read = bytearray()
    async for piece in answer.content.iter_any():
        read += piece
        if len(read) > _LONGEST_LIST:
            raise Fault("broken", f"over {_LONGEST_LIST:,} bytes of {asked}")
    return bytes(read)


class _Listed(msgspec.Struct):
    id: str
    owned_by: str | None = None


class _Models(msgspec.Struct):
    data: list[_Listed] | None = None
