"""Serving the application with uvicorn until it is interrupted."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from rooflight.studio.app import make_app, vega_bundle

# More at once are told to come back; each holds a body of at most 4 MiB.
MOST_CONNECTIONS = 256


def serve(listening: socket.socket, *, opened: bool, say: Callable[[str], None]) -> int:
    """Serve on a listening socket; says where, and returns when interrupted."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}/"
    vega_bundle()  # takes a second; better before the page asks
    config = uvicorn.Config(
        make_app(host),
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=64 << 10,
    )
    say(f"rooflight studio is at {address} (Ctrl-C ends it)")
    if opened:
        import webbrowser

        webbrowser.open(address)
    uvicorn.Server(config).run(sockets=[listening])
    return 0
