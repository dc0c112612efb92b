"""A small OpenAI-compatible streaming server whose timing is known, and a loop whose clock jumps from timer to timer.

Under `virtual` client and server share one clock that stands still while anything runs: what the server waits is what
the client measures, on a machine however loaded. Sockets are real.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import selectors
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

Result = TypeVar("Result")
# What bytes take through the loopback, in real time: before that no timer is due.
_GRACE_S = 0.01
_STUCK_S = 20.0


class _Jumping(selectors.DefaultSelector):
    """Where no socket is ready, the time to the next timer passes at once."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        ready = super().select(_STUCK_S if timeout is None else _GRACE_S)
        if not ready:
            assert timeout is not None, "nothing is left to happen"
            self.now += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def virtual(main: Coroutine[Any, Any, Result]) -> Result:
    """The coroutine's result, run by the clock that jumps."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main)


@dataclass
class Answer:
    """How the server answers one request.

    first_s, gaps_s     what it waits before each chunk; tokens: in a chunk
    fault       what goes wrong, and after how many chunks; "": nothing
    counts      output tokens as it counts them, in place of what it sent; early: with the first chunk, not the last
    usage       whether it counts tokens; done: whether it says that nothing follows
    behind      what it does behind that: "open" keeps the connection, "more" keeps sending, "": it ends
    """

    first_s: float = 0.0
    gaps_s: Sequence[float] = ()
    tokens: int = 1
    fault: str = ""
    after: int = 0
    usage: bool = True
    counts: int | None = None
    early: bool = False
    done: bool = True
    behind: str = ""
    status: int = 200
    kind: str = "text/event-stream"
    body: str = ""
    cached: int | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Server:
    """Answers by the number of the request (from 0) and what it asks; keeps what was asked and when it sent.

    tokens_a_word, template     how long a prompt is: words x tokens_a_word + template
    refused     options that make a 400 of a request
    """

    answer: Callable[[int, dict[str, Any]], Answer]
    models: Sequence[tuple[str, str]] | None = (("toy", "toys"),)
    tokens_a_word: float = 1.0
    template: int = 0
    refused: Sequence[str] = ()
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    began_s: list[float] = field(default_factory=list)
    sent_s: list[list[float]] = field(default_factory=list)
    most_open: int = 0
    open: int = 0
    port: int = 0
    _tasks: set[asyncio.Task[None] | None] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextlib.asynccontextmanager
    async def running(self) -> Any:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.sleep(0)  # transports close in the turn after

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._tasks.add(task)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while head := await self._head(reader):
                path, headers = head
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if not await self._answered(path, headers, body, writer):
                    break
        writer.close()
        self._tasks.discard(task)

    async def _head(self, reader: asyncio.StreamReader) -> tuple[str, dict[str, str]] | None:
        first = await reader.readline()
        if not first:
            return None
        headers = {}
        while (line := await reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        return first.decode().split()[1], headers

    async def _answered(self, path: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection may serve another request."""
        if path.endswith("/models"):
            found = [{"id": name, "owned_by": owner} for name, owner in self.models or ()]
            status = 404 if self.models is None else 200
            return await self._whole(writer, status, "application/json", json.dumps({"data": found}))
        asks = json.loads(body)
        number = len(self.asked)
        self.asked.append(asks | {"path": path})
        self.headers.append(headers)
        self.began_s.append(asyncio.get_running_loop().time())
        self.sent_s.append([])
        refused = [name for name in self.refused if name in asks]
        if refused:
            told = json.dumps({"error": {"message": f"unknown field {refused[0]}"}})
            return await self._whole(writer, 400, "application/json", told)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            return await self._one(self.answer(number, asks), asks, self.sent_s[number], writer)
        finally:
            self.open -= 1

    async def _whole(
        self, writer: asyncio.StreamWriter, status: int, kind: str, text: str, more: dict[str, str] | None = None
    ) -> bool:
        raw = text.encode()
        lines = [f"HTTP/1.1 {status} Said", f"Content-Type: {kind}", f"Content-Length: {len(raw)}"]
        lines += [f"{name}: {value}" for name, value in (more or {}).items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + raw)
        await writer.drain()
        return True

    async def _one(self, one: Answer, asks: dict[str, Any], sent_s: list[float], writer: asyncio.StreamWriter) -> bool:
        if one.fault == "silent":
            await asyncio.sleep(10_000)
        if one.fault == "closed":
            return False
        if one.fault == "garbage":
            writer.write(b"this is no HTTP\r\n\r\n")
            return False
        if one.status != 200 or one.kind != "text/event-stream":
            return await self._whole(writer, one.status, one.kind, one.body, one.headers)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        waits = [one.first_s, *one.gaps_s]
        for place, wait_s in enumerate(waits):
            if one.fault and place == one.after:
                return await self._faulty(one.fault, writer)
            await asyncio.sleep(wait_s)
            if one.early and place == 0:
                self._event(writer, self._usage(one, asks, len(waits)))
            self._event(writer, self._chunk(asks, place, last=place == len(waits) - 1))
            sent_s.append(asyncio.get_running_loop().time())
            await writer.drain()
        if one.fault:
            return await self._faulty(one.fault, writer)
        options = asks.get("stream_options") or {}
        if one.usage and not one.early and options.get("include_usage"):
            self._event(writer, self._usage(one, asks, len(waits)))
        if one.done:
            self._event(writer, "[DONE]")
        while one.behind:
            if one.behind == "more":
                self._event(writer, self._chunk(asks, 1, last=False))
            await writer.drain()
            await asyncio.sleep(0.005 if one.behind == "more" else 10_000)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    def _usage(self, one: Answer, asks: dict[str, Any], chunks: int) -> str:
        sent = chunks * one.tokens if one.counts is None else one.counts
        usage: dict[str, Any] = {"prompt_tokens": self._prompt_tokens(asks), "completion_tokens": sent}
        if one.cached is not None:
            usage |= {"prompt_tokens_details": {"cached_tokens": one.cached}}
        return json.dumps({"choices": [], "usage": usage})

    async def _faulty(self, fault: str, writer: asyncio.StreamWriter) -> bool:
        if fault == "hang":
            await asyncio.sleep(10_000)
        elif fault == "broken":
            self._event(writer, '{"choices": [{"text": "a"')
        elif fault == "shape":
            self._event(writer, '{"choices": {"text": 5}}')
        elif fault == "error":
            self._event(writer, json.dumps({"error": {"message": "out of blocks", "code": 500}}))
        elif fault == "half":
            writer.write(b'40\r\ndata: {"choices": [{"te\r\n')
        elif fault == "ends":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return True
        elif fault == "empty":
            self._event(writer, json.dumps({"choices": [{"text": "", "finish_reason": "stop"}]}))
            self._event(writer, "[DONE]")
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return True
        await writer.drain()
        return False

    def _event(self, writer: asyncio.StreamWriter, data: str) -> None:
        raw = f"data: {data}\n\n".encode()
        writer.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")

    def _chunk(self, asks: dict[str, Any], place: int, *, last: bool) -> str:
        reason = "length" if last else None
        if asks["path"].endswith("/chat/completions") if "path" in asks else "messages" in asks:
            delta = {"role": "assistant", "content": f"w{place}"} if place == 0 else {"content": f"w{place}"}
            return json.dumps({"choices": [{"delta": delta, "finish_reason": reason}]})
        return json.dumps({"choices": [{"text": f" w{place}", "finish_reason": reason}]})

    def _prompt_tokens(self, asks: dict[str, Any]) -> int:
        text = asks["prompt"] if "prompt" in asks else asks["messages"][0]["content"]
        return round(len(text.split()) * self.tokens_a_word) + self.template


def steady(first_s: float, gap_s: float) -> Callable[[int, dict[str, Any]], Answer]:
    """As many tokens as are asked for, the first after first_s and the others gap_s apart."""
    return lambda _, asks: Answer(first_s=first_s, gaps_s=[gap_s] * (asks["max_tokens"] - 1))


@contextlib.contextmanager
def serving(server: Server) -> Iterator[Server]:
    """The server in a thread of its own, by the real clock."""
    ready = threading.Event()
    end: list[Callable[[], object]] = []

    async def whole() -> None:
        loop, ends = asyncio.get_running_loop(), asyncio.Event()
        end.append(lambda: loop.call_soon_threadsafe(ends.set))
        async with server.running():
            ready.set()
            await ends.wait()

    thread = threading.Thread(target=asyncio.run, args=(whole(),), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield server
    finally:
        end[0]()
        thread.join(20)
