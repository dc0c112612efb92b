"""Serving the application with uvicorn until it is interrupted."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from rooflight.studio.app import make_app, vega_bundle
from rooflight.studio.own import Own
from rooflight.studio.workers import Workers

# Open at once; each holds a body of at most 4 MiB.
MOST_CONNECTIONS = 256
# A request's headers come within this time, the first as the next.
HEADERS_S = 10
KEPT_OPEN_S = 30
# How long an interrupted server waits for answers on their way.
_LAST_S = 2


class Connection(H11Protocol):
    """A connection that does not wait for ever, and makes room for others while it waits.

    Why not uvicorn's own limits: it has no timeout for headers, and counts connections that ask nothing among those it
    serves, so that a few hundred half-open ones lock everybody out.
    """

    _hurry: asyncio.TimerHandle | None = None
    born = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in H11Protocol
        super().connection_made(transport)
        self.born = self.loop.time()
        self._hurry = self.loop.call_later(HEADERS_S, self._give_up)
        if len(self.connections) >= MOST_CONNECTIONS:
            waiting = (one for one in _in_order(self.connections) if one is not self and one.is_waiting)
            oldest = next(waiting, None)
            if oldest is not None:
                oldest._give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        self._be_patient()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_asking:
            self._be_patient()
        elif self._hurry is None:  # the front of a next request
            self._hurry = self.loop.call_later(HEADERS_S, self._give_up)

    @property
    def is_asking(self) -> bool:
        """Whether the headers of a request are here, and its answer is not out."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for its client: for headers, or for a body."""
        return not self.is_asking or self.cycle.more_body

    def _be_patient(self) -> None:
        if self._hurry is not None:
            self._hurry.cancel()
            self._hurry = None

    def _give_up(self) -> None:
        self._be_patient()
        self.connections.discard(self)
        self.transport.abort()


def _in_order(connections: set[Any]) -> list[Connection]:
    """Those of ours, by age."""
    return sorted((one for one in connections if isinstance(one, Connection)), key=lambda one: one.born)


def serve(listening: socket.socket, *, opened: bool, say: Callable[[str], None], own: Own | None = None) -> int:
    """Serve on a listening socket; says where, and returns when interrupted. own: what is expected is by that."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}/"
    vega_bundle()  # takes a second; better before the page asks
    # asyncio warns of processes that ended before it asked, as those of the workers do with the server
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    say(f"rooflight studio is at {address} (Ctrl-C ends it)")
    if opened:
        import webbrowser

        webbrowser.open(address)
    server = uvicorn.Server(config_of(make_app(host, Workers(own=own))))
    # From the first moment, or asyncio's own answer would cancel a server that is half started. A mask would not keep
    # it away: it is one thread's, and libraries have threads of their own.
    before = signal.signal(signal.SIGINT, server.handle_exit)
    try:
        server.run(sockets=[listening])
    finally:
        signal.signal(signal.SIGINT, before)
    if server.should_exit:
        raise KeyboardInterrupt
    return 0


def config_of(app: ASGIApp) -> uvicorn.Config:
    """How an application is served."""
    return uvicorn.Config(
        app,
        http=Connection,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=2 * MOST_CONNECTIONS,  # reached only where all of them have asked something
        timeout_keep_alive=KEPT_OPEN_S,
        timeout_graceful_shutdown=_LAST_S,
        h11_max_incomplete_event_size=64 << 10,
    )
