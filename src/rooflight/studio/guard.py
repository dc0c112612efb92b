"""What stands between the network and the application: headers, and a limit on what a request may send."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# A config.json of the longest kind seen (a quantised model that lists every expert) is 3 MB.
MOST_BODY_BYTES = 4 << 20

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


class BodyLimit:
    """Refuses a body of more than MOST_BODY_BYTES with 413, by its declared length or while it arrives."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if not declared.isdigit() or len(declared) > 12 or int(declared) > MOST_BODY_BYTES:
            await _too_large(scope, receive, send)
            return
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return  # the client has gone
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > MOST_BODY_BYTES:
                await _too_large(scope, receive, send)
                return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replayed() -> Message:
            return whole.pop() if whole else await receive()

        await self.app(scope, replayed, send)


async def _too_large(scope: Scope, receive: Receive, send: Send) -> None:
    problem = {
        "error": "BadInput",
        "what": f"a request may hold at most {MOST_BODY_BYTES:,} bytes",
        "where": "body",
        "got": None,
        "want": None,
        "try": None,
        "field": "config",
    }
    await JSONResponse({"problems": [problem]}, status_code=413)(scope, receive, send)
