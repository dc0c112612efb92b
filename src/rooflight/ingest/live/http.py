"""One answer of an HTTP server, within a time and a size; no proxy, no redirect, nothing but what was named."""

from __future__ import annotations

import base64
import http.client
import socket
import time
import zlib
from collections.abc import Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from rooflight.errors import BadInput
from rooflight.values.watching import TIMEOUT_S

MOST_BYTES = 256 << 20
_WANT = "http://host:port, or https://"
_HINTS = {
    401: "--header or --api-key-env with what the server asks for", 403: "a key that may read it",
    404: "the address with its path, as http://localhost:8000/metrics",
}  # fmt: skip


def address(url: str) -> SplitResult:
    """The parts of an address. Raises BadInput for what is none."""
    try:
        parts = urlsplit(url.strip())
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        known = False
    if not known or not url.isascii() or not url.strip().isprintable() or " " in url.strip():
        raise BadInput("this is no address of a server", where="url", got=repr(url[:120]), want=_WANT)
    return parts


def fetch(
    url: str, headers: Mapping[str, str] | None = None, *, form: str | None = None, timeout_s: float = TIMEOUT_S
) -> bytes:
    """The body of an answer to GET, or to POST of a form. Raises BadInput where there is none, saying why.

    timeout_s   of the whole answer
    """
    parts = address(url)
    shown = f"{parts.scheme}://{parts.hostname}{'' if parts.port is None else f':{parts.port}'}{parts.path}"
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout_s)
    until = time.monotonic() + timeout_s
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        sent = {"Accept-Encoding": "gzip", "User-Agent": "rooflight", **_account(parts), **(headers or {})}
        if form is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request("GET" if form is None else "POST", path, body=form, headers=sent)
        with connection.getresponse() as answer:
            if answer.status != http.client.OK:
                raise _refused(shown, answer)
            return _unpacked(_body(answer, connection, until, shown), answer.headers.get("Content-Encoding"), shown)
    except (OSError, http.client.HTTPException) as error:
        raise _failed(shown, error, timeout_s) from None
    finally:
        connection.close()


def _account(parts: SplitResult) -> dict[str, str]:
    """The header that name and password of an address ask for."""
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def _body(
    answer: http.client.HTTPResponse, connection: http.client.HTTPConnection, until: float, shown: str
) -> bytes:  # fmt: skip
    found = bytearray()
    while True:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if connection.sock is not None:
            connection.sock.settimeout(left)
        part = answer.read1(1 << 16)
        if not part:
            if answer.length:
                raise http.client.IncompleteRead(bytes(found), answer.length)
            return bytes(found)
        found += part
        if len(found) > MOST_BYTES:
            raise _too_much(shown)


def _unpacked(body: bytes, encoding: str | None, shown: str) -> bytes:
    if (encoding or "").strip().lower() != "gzip":
        return body
    try:
        unpacking = zlib.decompressobj(wbits=31)
        found = unpacking.decompress(body, MOST_BYTES + 1)
    except zlib.error:
        raise BadInput(
            f"{shown} answers with damaged data", where=shown, got="gzip that is none", want="text"
        ) from None
    if len(found) > MOST_BYTES:
        raise _too_much(shown)
    return found


def _too_much(shown: str) -> BadInput:
    return BadInput(
        f"{shown} answers with too much", where=shown, got=f"over {MOST_BYTES >> 20} MiB", want="less of it"
    )


def _refused(shown: str, answer: http.client.HTTPResponse) -> BadInput:
    said = f"HTTP {answer.status} {answer.reason}"[:80]
    if 300 <= answer.status < 400:
        to = (answer.headers.get("Location") or "elsewhere")[:120]
        return BadInput(f"{shown} sends on to another address", where=shown, got=said, want="an answer", try_this=to)
    return BadInput(
        f"{shown} gives no answer", where=shown, got=said, want="HTTP 200", try_this=_HINTS.get(answer.status)
    )  # fmt: skip


def _failed(shown: str, error: Exception, timeout_s: float) -> BadInput:
    if isinstance(error, TimeoutError):
        got, try_this = f"nothing whole within {timeout_s:g} s", "a shorter range or a longer --timeout"
    elif isinstance(error, ConnectionRefusedError):
        got, try_this = "nobody listens there", "whether the server runs, and on which port"
    elif isinstance(error, socket.gaierror):
        got, try_this = "no host of that name", "its address"
    elif isinstance(error, http.client.IncompleteRead):
        got, try_this = "an answer that ends too early", None
    else:
        got, try_this = (str(error) or type(error).__name__)[:160], None
    return BadInput(f"{shown} cannot be read", where=shown, got=got, want="an answer", try_this=try_this)
