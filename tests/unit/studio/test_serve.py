"""The studio on a real socket: connections that idle, and how it ends."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading

import pytest

pytest.importorskip("uvicorn", reason="needs the extra `studio`")

import uvicorn

from rooflight.studio import serve

pytestmark = pytest.mark.slow  # starts servers

ASKED = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
HALF = {
    "nothing": b"",
    "half a line": b"GET / HT",
    "half the headers": b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n",
    "half a body": b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n\r\nabc",
    "one request, and half of another": ASKED + b"GET / HT",
}


async def plain(scope, receive, send):
    if scope["type"] == "http":
        more = True
        while more:
            more = (await receive()).get("more_body", False)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


@contextlib.contextmanager
def served():
    """The port of a plain application, served as the studio is."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        server = uvicorn.Server(serve.config_of(plain))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def answer(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as asking:
        asking.sendall(ASKED)
        return asking.recv(4096)


@pytest.mark.parametrize("front", HALF.values(), ids=HALF)
def test_hundreds_of_idle_connections_stop_nobody(front):
    with served() as port, contextlib.ExitStack() as held:
        for _ in range(serve.MOST_CONNECTIONS + 50):
            idle = held.enter_context(socket.create_connection(("127.0.0.1", port)))
            with contextlib.suppress(OSError):  # those in front are given up already
                idle.sendall(front)

        assert answer(port).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("front", ["nothing", "half a line", "half the headers"])
def test_headers_that_do_not_come_are_not_waited_for(front, monkeypatch):
    monkeypatch.setattr(serve, "HEADERS_S", 0.05)
    with served() as port, socket.create_connection(("127.0.0.1", port)) as idle:
        idle.sendall(HALF[front])
        with contextlib.suppress(ConnectionResetError):
            while idle.recv(4096):  # to the end, which only the server makes
                pass


def test_a_client_that_asks_again_is_answered_on_its_connection(monkeypatch):
    monkeypatch.setattr(serve, "HEADERS_S", 30)
    with served() as port, socket.create_connection(("127.0.0.1", port)) as asking:
        for _ in range(5):
            asking.sendall(ASKED)
            found = b""
            while not found.endswith(b"ok"):
                found += asking.recv(4096)
            assert found.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("asked", [False, True], ids=["at once", "after an answer"])
def test_an_interrupt_ends_it_without_a_word(asked):
    """As Ctrl-C does in a terminal: every process of the group gets the signal."""
    words = [sys.executable, "-m", "rooflight", "studio", "--no-open", "--port", "0"]
    studio = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    port = int(re.search(r":(\d+)/", studio.stdout.readline())[1])
    with socket.create_connection(("127.0.0.1", port)):
        if asked:
            assert answer(port).startswith(b"HTTP/1.1 200")
        os.killpg(studio.pid, signal.SIGINT)
        said, complained = studio.communicate(timeout=60)  # to the end of what its processes share

    assert (said, complained) == ("", "")
    assert studio.returncode == 128 + signal.SIGINT
