"""One answer of an HTTP server, within a time and a size; no proxy, no redirect, nothing but what was named."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import re
import socket
import ssl
import threading
import zlib
from collections.abc import Iterator, Mapping
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from rooflight.errors import BadInput
from rooflight.values.watching import TIMEOUT_S

MOST_BYTES = 256 << 20
_WANT = "http://host:port, or https://"
_HINTS = {
    401: "--header or --api-key-env with what the server asks for", 403: "a key that may read it",
    404: "the address with its path, as http://localhost:8000/metrics",
}  # fmt: skip
# Name and password of an address, and what a query may hold of keys.
_SECRET = re.compile(r"(?<=//)[^/?#]*@|[?#].*", re.DOTALL)
# The same in what is no address.
_ACCOUNT = re.compile(r"^(\w+://)?.*@", re.DOTALL)
_MOST_SAID = 1 << 16


def shown(url: str) -> str:
    """An address as it may be printed: without name, password and query, which may be secrets."""
    return _SECRET.sub("", url.strip())


def address(url: str) -> SplitResult:
    """The parts of an address. Raises BadInput for what is none."""
    try:
        parts = urlsplit(url.strip())
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        known = False
    if not known or not url.isascii() or not url.strip().isprintable() or " " in url.strip():
        raise BadInput(
            "this is no address of a server", where="url", got=repr(shown(_ACCOUNT.sub(r"\1", url))[:120]), want=_WANT
        )
    return parts


def fetch(
    url: str, headers: Mapping[str, str] | None = None, *, form: str | None = None, timeout_s: float = TIMEOUT_S
) -> bytes:
    """The body of an answer to GET, or to POST of a form. Raises BadInput where there is none, saying why.

    timeout_s   of the whole answer
    """
    parts, named = address(url), shown(url)
    sent = {"Accept-Encoding": "gzip", "User-Agent": "rooflight", **_account(parts), **_given(headers or {})}
    if form is not None:
        sent["Content-Type"] = "application/x-www-form-urlencoded"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout_s)
    late = threading.Event()
    try:
        with _ended(connection, late, timeout_s):
            connection.request("GET" if form is None else "POST", path, body=form, headers=sent)
            with connection.getresponse() as answer:
                if answer.status != http.client.OK:
                    raise _refused(url, answer)
                body = _body(answer, named)
            if late.is_set():  # an end of the connection is an end of the answer where its length is not said
                raise TimeoutError
        return _unpacked(body, answer.headers.get("Content-Encoding"), named)
    except (OSError, http.client.HTTPException) as error:
        raise _failed(named, TimeoutError() if late.is_set() else error, timeout_s) from None
    finally:
        connection.close()


@contextlib.contextmanager
def _ended(connection: http.client.HTTPConnection, late: threading.Event, timeout_s: float) -> Iterator[None]:
    """Connected, and cut off when the time is up: a socket's own limit begins anew with each byte."""
    connection.connect()
    held = connection.sock

    def end() -> None:
        late.set()
        with contextlib.suppress(OSError):
            socket.socket.shutdown(held, socket.SHUT_RDWR)  # below TLS, which would wait for the other side

    timer = threading.Timer(timeout_s, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _given(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Headers that can be sent. Raises BadInput, which shows nothing of a value."""
    for name, value in headers.items():
        if not all(isinstance(one, str) and one.isascii() and one.isprintable() for one in (name, value)):
            raise BadInput("this is no header", where="header", got=repr(name)[:60], want="Name: value, in ASCII")
    return headers


def _account(parts: SplitResult) -> dict[str, str]:
    """The header that name and password of an address ask for."""
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def _body(answer: http.client.HTTPResponse, named: str) -> bytes:
    found = bytearray()
    while part := answer.read1(1 << 16):
        found += part
        if len(found) > MOST_BYTES:
            raise _too_much(named)
    if answer.length:
        raise http.client.IncompleteRead(bytes(found), answer.length)
    return bytes(found)


def _unpacked(body: bytes, encoding: str | None, named: str) -> bytes:
    if (encoding or "").strip().lower() != "gzip":
        return body
    try:
        unpacking = zlib.decompressobj(wbits=31)
        found = unpacking.decompress(body, MOST_BYTES + 1)
    except zlib.error:
        raise BadInput(
            f"{named} answers with damaged data", where=named, got="gzip that is none", want="text"
        ) from None
    if len(found) > MOST_BYTES:
        raise _too_much(named)
    if not unpacking.eof:
        raise _failed(named, http.client.IncompleteRead(b""), 0)
    return found


def _too_much(named: str) -> BadInput:
    return BadInput(
        f"{named} answers with too much", where=named, got=f"over {MOST_BYTES >> 20} MiB", want="less of it"
    )


def _refused(url: str, answer: http.client.HTTPResponse) -> BadInput:
    named = shown(url)
    said = f"HTTP {answer.status} {answer.reason}"[:80]
    if 300 <= answer.status < 400:
        to = shown(urljoin(url, answer.headers.get("Location") or ""))[:120]
        return BadInput(f"{named} sends on to another address", where=named, got=said, want="an answer", try_this=to)
    why = _reason(answer)
    return BadInput(
        f"{named} gives no answer", where=named, got=f"{said}: {why}" if why else said, want="HTTP 200",
        try_this=_HINTS.get(answer.status),
    )  # fmt: skip


def _reason(answer: http.client.HTTPResponse) -> str | None:
    """What Prometheus says of an error. https://prometheus.io/docs/prometheus/latest/querying/api/#format-overview"""
    try:
        found = json.loads(_unpacked(answer.read(_MOST_SAID), answer.headers.get("Content-Encoding"), ""))
        return str(found["error"])[:200]
    except (ValueError, KeyError, TypeError, RecursionError, BadInput):
        return None


def _failed(named: str, error: Exception, timeout_s: float) -> BadInput:
    if isinstance(error, TimeoutError):
        got, try_this = f"nothing whole within {timeout_s:g} s", "a shorter range or a longer --timeout"
    elif isinstance(error, ConnectionRefusedError):
        got, try_this = "nobody listens there", "whether the server runs, and on which port"
    elif isinstance(error, socket.gaierror):
        got, try_this = "no host of that name", "its address"
    elif isinstance(error, http.client.IncompleteRead):
        got, try_this = "an answer that ends too early", None
    elif isinstance(error, ssl.SSLCertVerificationError):
        got = f"a certificate that is not trusted: {error.verify_message}"[:160]
        try_this = "SSL_CERT_FILE=FILE in front of the command, with the certificate of who signed it"
    elif isinstance(error, ssl.SSLError):
        got, try_this = "no TLS", "http://, or the port that speaks TLS"
    else:
        got, try_this = (str(error) or type(error).__name__)[:160], None
    return BadInput(f"{named} cannot be read", where=named, got=got, want="an answer", try_this=try_this)
