"""What stands between the network and the application: headers, whose page asks, and what a request may send."""

from __future__ import annotations

from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# A config.json of the longest kind seen (a quantised model that lists every expert) is 3 MB.
MOST_BODY_BYTES = 4 << 20
# Where recorded files come: 16 MiB of them, in base64, beside a question.
FILES_AT, MOST_FILES_BYTES = ("/api/diagnose", "/api/gguf"), 26 << 20
# Bodies above MOST_BODY_BYTES that are held at once.
MOST_LARGE = 4
# A body comes whole within this time, or not at all.
BODY_S = 20.0

# Nothing but our own files runs, loads or is connected to; no page may frame this one. Vega draws through attributes
# and the style objects of elements, which need no allowance; exported pictures are blobs.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class SecurityHeaders:
    """Adds HEADERS to every response; answers of the API are never kept by a cache."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self.app(scope, receive, send_with)


class OwnOrigin:
    """Refuses with 403 what another page's script asks: a browser names that page's origin, and it is not ours."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        origin = headers.get("origin")
        if origin is None or _place_of(origin) == headers.get("host", "").lower():
            await self.app(scope, receive, send)
            return
        await _refused(403, "another page's script may not ask this server", "origin")(scope, receive, send)


def _place_of(origin: str) -> str | None:
    """Host and port of an origin; None for "null" and what is none."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


class BodyLimit:
    """Refuses a body of more than MOST_BODY_BYTES with 413, by its declared length or while it arrives.

    One that does not come within body_s seconds is refused with 408. Where recorded files come, MOST_FILES_BYTES may be
    declared; those above MOST_BODY_BYTES are refused with 503 while MOST_LARGE of them are here.
    """

    def __init__(self, app: ASGIApp, body_s: float = BODY_S) -> None:
        self.app = app
        self.body_s = body_s
        self.large = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        files = scope["path"] in FILES_AT
        most = MOST_FILES_BYTES if files else MOST_BODY_BYTES
        if not declared.isdigit() or len(declared) > 12 or int(declared) > most:
            await _too_large(most, files, scope, receive, send)
        elif int(declared) <= MOST_BODY_BYTES:
            await self._whole(MOST_BODY_BYTES, files, scope, receive, send)
        elif self.large >= MOST_LARGE:
            said = "the studio is busy with other files: ask again in a moment"
            await _refused(503, said, "body", headers={"Retry-After": "1"})(scope, receive, send)
        else:
            self.large += 1
            try:
                await self._whole(most, files, scope, receive, send)
            finally:
                self.large -= 1

    async def _whole(self, most: int, files: bool, scope: Scope, receive: Receive, send: Send) -> None:
        """The application asked, once the body is here."""
        body, gone = b"", True
        with anyio.move_on_after(self.body_s) as waited:
            body, gone = await _body(receive, most)
        if waited.cancelled_caught:
            await _refused(408, f"the request did not come within {self.body_s:g} s", "body")(scope, receive, send)
            return
        if gone:
            return
        if len(body) > most:
            await _too_large(most, files, scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Message:
            return whole.pop() if whole else await receive()

        await self.app(scope, replayed, send)


async def _body(receive: Receive, most: int) -> tuple[bytes, bool]:
    """The body as far as it may be long, and one byte more; whether the client has gone."""
    body, more = bytearray(), True
    while more and len(body) <= most:
        message = await receive()
        if message["type"] != "http.request":
            return b"", True
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(body), False


async def _too_large(most: int, files: bool, scope: Scope, receive: Receive, send: Send) -> None:
    what = f"a request may hold at most {most:,} bytes"
    await _refused(413, what, "body", field="files" if files else "config")(scope, receive, send)


def _refused(
    status: int, what: str, where: str, field: str | None = None, headers: dict[str, str] | None = None
) -> JSONResponse:
    problem = {"error": "BadInput", "what": what, "where": where, "got": None, "want": None, "try": None}
    return JSONResponse({"problems": [{**problem, "field": field}]}, status_code=status, headers=headers)
