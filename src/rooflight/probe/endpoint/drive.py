"""An endpoint driven: what it is, how it wants to be asked, a warm-up, then the load."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from msgspec.structs import replace

from rooflight.errors import BadInput, Named, printable
from rooflight.probe.endpoint import arrivals, client
from rooflight.probe.endpoint.bodies import OPTIONAL, Form, follows, near, words_for
from rooflight.probe.endpoint.stream import Fault
from rooflight.probe.timing import now
from rooflight.values.endpoint import Api, Driven, Load, Sent, Stage

_PATHS: dict[Api, str] = {"completions": "/completions", "chat": "/chat/completions"}
# Requests that find how many words make a prompt of the asked length.
_CALIBRATIONS = 3
# Bodies made before the load begins, so that making them takes no time of it.
_READY_BYTES = 1 << 28
# What a server knows itself as, by the owner of the models that it lists.
_ENGINES = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama.cpp"}
_REFUSALS = (400, 422)
# The characters of a header's name, a token of RFC 9110.
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# What further requests would only repeat: 4xx but for those that ask to wait.
_HOPELESS = ("unreachable", "tls", "redirect", "content-type", "timeout", "unfinished")
_HOPELESS_STATUS = frozenset(range(400, 500)) - {408, 425, 429}


class Ended(NamedTuple):
    """A request that has ended, the name it asked for, and when all began (ISO 8601, UTC)."""

    sent: Sent
    model: str
    start: str


Watch = Callable[[Ended], None]


def address(url: str, api: Api | None) -> tuple[str, Api]:
    """The whole address that requests of an API go to, from a server's or from that. Raises BadInput.

    Check: http://localhost:8000 -> http://localhost:8000/v1/completions; http://host/v1 and api chat ->
    http://host/v1/chat/completions.
    """
    parts = _parts(url)
    path = parts.path.rstrip("/")
    of_path: Api | None = "chat" if path.endswith(_PATHS["chat"]) else None
    of_path = of_path or ("completions" if path.endswith(_PATHS["completions"]) else None)
    if of_path is not None and api not in (None, of_path):
        raise BadInput(
            "the URL is of another API than was asked for", where=Named.of("api"), got=f"{api}, and {path}",
            want="one of them, or the server's own address",
        )  # fmt: skip
    chosen: Api = of_path or api or "completions"
    whole = path if of_path else (path or "/v1") + _PATHS[chosen]
    return parts._replace(path=whole, fragment="").geturl(), chosen


def _parts(url: str) -> SplitResult:
    """A URL in its parts. Raises BadInput for what is none of HTTP, and for one with a password in it."""
    want, hint = "http://HOST:PORT, with or without /v1", "http://localhost:8000"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadInput("this is no URL", where="URL", got=f"{url[:200]} ({error})", want=want, try_this=hint) from None
    if parts.scheme not in ("http", "https") or not _is_host(parts.hostname or "") or port == 0:
        raise BadInput("this is no URL of HTTP", where="URL", got=url[:200], want=want, try_this=hint)
    if parts.username is not None or parts.password is not None:
        raise BadInput(
            "a password in a URL is shown wherever the URL is", where="URL", got=f"one before @{parts.hostname}",
            want="a URL without it", try_this=Named("{api_key_env} NAME of the variable that holds the key"),
        )  # fmt: skip
    return parts


def _is_host(name: str) -> bool:
    """Whether a name can be a host's: no part of it is empty, too long, or holds a blank."""
    try:
        return bool(name.encode("idna")) and not re.search(r"\s", name)
    except UnicodeError:
        return False


def drive(
    url: str, api: Api | None, load: Load, *, served_model: str | None = None, fallback_model: str | None = None,
    headers: Mapping[str, str] | None = None, watch: Watch | None = None,
) -> Driven:  # fmt: skip
    """driven(), waited for. An interrupt ends it, and what is done is kept."""
    return _run(
        lambda: driven(
            url, api, load, served_model=served_model, fallback_model=fallback_model, headers=headers, watch=watch
        )
    )


async def driven(
    url: str, api: Api | None, load: Load, *, served_model: str | None = None, fallback_model: str | None = None,
    headers: Mapping[str, str] | None = None, watch: Watch | None = None,
) -> Driven:  # fmt: skip
    """Send the load and say how every request went, by the clock of the loop; faults are outcomes.

    served_model    the name to ask for; None: the one the server lists, or fallback_model where it lists others
    watch           is called as requests end

    A cancellation ends it, and what is done is kept. Raises BadInput for a URL, or where the server lists several
    models and none is named; MissingExtra.
    """
    whole, chosen = address(url, api)
    place = client.Place(whole, dict(headers or {}), load.timeout_s, client.Habits())
    job = _Job(place, chosen, load, watch)
    client.library()
    return await job.whole(served_model, fallback_model)


def _run(main: Callable[[], Coroutine[Any, Any, Driven]]) -> Driven:
    """A coroutine's result; in a thread of its own where this one runs others already, as notebooks do."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main())
    from concurrent.futures import ThreadPoolExecutor

    ends: list[Callable[[], object]] = []

    async def stoppable() -> Driven:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        ends.append(lambda: loop.call_soon_threadsafe(task.cancel) if task is not None else None)
        return await main()

    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(lambda: asyncio.run(stoppable()))
        try:
            return job.result()
        except KeyboardInterrupt:  # it comes to the main thread alone
            for end in ends:
                end()
            return job.result()


class _Job:
    """One load on one endpoint, while it is sent."""

    def __init__(self, place: client.Place, api: Api, load: Load, watch: Watch | None) -> None:
        self.place, self.api, self.load, self.watch = place, api, load, watch
        self.sent: list[Sent] = []
        self.form = Form(api=api, model="", seed=load.seed)
        self.words = load.isl
        self.astray: tuple[tuple[int, int], ...] = ()
        self.cut = False
        self.span_s = 0.0
        self.start = now()

    async def whole(self, served_model: str | None, fallback_model: str | None) -> Driven:
        engine, on_list = None, False
        async with client.session() as http:
            try:
                names = await client.listed(http, self._models_url(), self.place)
                model, engine = _named(names, served_model, fallback_model)
                on_list = model in dict(names)
                self.form = replace(self.form, model=model)
                if await self._settled(http) and await self._warm(http):
                    await self._loaded(http)
            except Fault as fault:
                self.sent.append(Sent(number=1, stage="calibration", outcome=fault.outcome, why=fault.why, end_s=0.0))
            except asyncio.CancelledError:
                self.cut = True
        return Driven(
            url=urlsplit(self.place.url)._replace(query="").geturl(), api=self.api, model=self.form.model,
            listed=on_list, engine=engine, load=self.load, refused=tuple(self.form.left_out), words=self.words,
            astray=self.astray, lingers=self.place.habits.lingers,
            sent=tuple(self.sent), span_s=self.span_s, interrupted=self.cut, start=self.start,
        )  # fmt: skip

    def _models_url(self) -> str:
        parts = urlsplit(self.place.url)
        return parts._replace(path=parts.path.removesuffix(_PATHS[self.api]) + "/models").geturl()

    async def _settled(self, http: Any) -> bool:
        """Which options the server takes, and how many words a prompt has; False where no load is worth sending."""
        for left_out in OPTIONAL:
            self.form = replace(self.form, left_out=left_out)
            tried = await self._one(http, "calibration", len(self.sent) + 1, tokens=1)
            if tried.status not in _REFUSALS:
                break
        if tried.outcome in _HOPELESS or (tried.status or 0) in _HOPELESS_STATUS:
            return False
        await self._measured(http, tried)
        return not self.cut

    async def _measured(self, http: Any, tried: Sent) -> None:
        """Set the words of a prompt, so that the server counts the asked tokens; as asked where its count is none."""
        pairs: list[tuple[int, int]] = []
        while tried.isl is not None:
            pairs.append((self.words, tried.isl))
            if not follows(pairs):
                self.words, self.astray = self.load.isl, tuple(pairs)
            if self.astray or near(self.load.isl, tried.isl) or len(pairs) >= _CALIBRATIONS:
                return
            self.words = words_for(self.load.isl, pairs)
            tried = await self._one(http, "calibration", len(self.sent) + 1, tokens=1)
        if pairs:  # a longer prompt than was ever answered might never be
            self.words = min(self.words, max(words for words, _ in pairs))

    async def _warm(self, http: Any) -> bool:
        """Requests before those that count; False where an interrupt ended them."""
        for number in range(1, self.load.warmup + 1):
            await self._one(http, "warm-up", number)
            if self.cut:
                return False
        return True

    async def _one(self, http: Any, stage: Stage, number: int, tokens: int | None = None) -> Sent:
        tokens = tokens or self.load.osl
        body = self.form.body(stage, number, words=self.words, tokens=tokens)
        began_s = asyncio.get_running_loop().time()
        one = self._counted(await client.ask(http, self.place, client.Asks(stage, number, body, tokens, began_s)))
        self.sent.append(one)
        self._told(one)
        self.cut = self.cut or one.outcome == "unfinished"
        return one

    def _counted(self, one: Sent) -> Sent:
        """A request without a count of its prompt that follows no prompt."""
        return replace(one, isl=None) if self.astray else one

    def _told(self, one: Sent) -> None:
        if self.watch is not None:
            self.watch(Ended(one, self.form.model, self.start))

    async def _loaded(self, http: Any) -> None:
        """The load itself."""

        def body(number: int) -> bytes:
            return self.form.body("load", number, words=self.words, tokens=self.load.osl)

        first = body(1)
        few = min(self.load.num_prompts, _READY_BYTES // len(first))
        ready = {1: first} if few else {}
        for number in range(2, few + 1):
            ready[number] = body(number)
            await asyncio.sleep(0)  # so that an interrupt is heard between long bodies
        began_s = asyncio.get_running_loop().time()

        async def send(number: int, due_s: float | None) -> Sent:
            content = ready.pop(number, None) or body(number)
            asks = client.Asks("load", number, content, self.load.osl, began_s, due_s)
            one = self._counted(await client.ask(http, self.place, asks))
            self._told(one)
            return one

        found, cut = await arrivals.sent(self.load, send)
        self.sent += found
        self.cut = self.cut or cut
        self.span_s = max((one.start_s + one.end_s for one in found), default=0.0)


def _named(
    names: tuple[tuple[str, str], ...], served: str | None, fallback: str | None
) -> tuple[str, str | None]:  # fmt: skip
    """The name to ask for, and the engine that the list betrays. Raises BadInput where several could be meant."""
    owners = {owner for _, owner in names}
    engine = _ENGINES.get(owners.pop().lower()) if len(owners) == 1 else None
    known = [name for name, _ in names]
    if served is not None:
        return served, engine
    if fallback in known:
        return str(fallback), engine
    if len(known) > 1:
        shown = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
        raise BadInput(
            "the server has several models", where=Named.of("served_model"), got="no name", want=f"one of {shown}",
            try_this=Named("{served_model}", served_model=known[0]),
        )  # fmt: skip
    return (known[0] if known else fallback or "default"), engine


def headers_of(given: Mapping[str, str], key: str | None) -> dict[str, str]:
    """The headers of every request, with a key as a bearer's. Raises BadInput for what is none."""
    for name, value in given.items():
        if (
            not _TOKEN.fullmatch(name.strip())
            or not printable(name + value) == name + value
            or not (name + value).isascii()
        ):
            raise BadInput("this is no header", where=Named.of("header"), got=repr(name[:60]), want="Name: value")
    found = {name.strip(): value.strip() for name, value in given.items()}
    return found | ({"Authorization": f"Bearer {key}"} if key else {})


def header_lines(lines: Iterable[str]) -> dict[str, str]:
    """Headers from lines `Name: value`. Raises BadInput for what is none; of a value nothing is shown."""
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise BadInput("this is no header", where=Named.of("header"), got=repr(name[:12]), want="Name: value")
        found[name] = value
    return found
