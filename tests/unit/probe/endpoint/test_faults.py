"""Every kind of fault is reported as such, and every request is there with its outcome."""

from __future__ import annotations

import asyncio

import pytest

from rooflight.errors import BadInput
from rooflight.probe.endpoint import client
from rooflight.probe.endpoint.drive import driven
from rooflight.probe.endpoint.figures import figures
from rooflight.values.endpoint import Driven, Load
from streaming import Answer, Server, steady, virtual

pytest.importorskip("aiohttp", reason="the extra `endpoint` is not installed")
BEFORE = 2  # a calibration, a warm-up


def load(**changed) -> Load:
    return Load(**({"isl": 20, "osl": 4, "num_prompts": 6, "timeout_s": 50.0, "seed": 1, "concurrency": 2} | changed))


def drive(server: Server, url: str | None = None, *, served_model: str | None = None, **changed) -> Driven:
    async def main() -> Driven:
        async with server.running():
            return await driven(url or server.url, None, load(**changed), served_model=served_model)

    return virtual(main())


def with_one(bad: Answer) -> Server:
    """All answers are whole but the third of the load."""
    good = steady(0.1, 0.01)
    return Server(lambda number, asks: bad if number == BEFORE + 2 else good(number, asks))


@pytest.mark.parametrize(
    ("bad", "outcome", "said"),
    [
        (Answer(status=500, kind="application/json", body='{"error": {"message": "no memory"}}'), "http", "no memory"),
        (Answer(status=503, kind="text/html", body="<h1>busy</h1>"), "http", "HTTP 503: <h1>busy</h1>"),
        (Answer(status=429, kind="application/json", body='{"detail": "slower"}'), "http", "HTTP 429: slower"),
        (Answer(status=404, kind="application/json", body=""), "http", "HTTP 404: nothing"),
        (Answer(status=307, headers={"Location": "http://192.0.2.1/"}), "redirect", "192.0.2.1/, which is not"),
        (Answer(kind="application/json", body='{"choices": []}'), "content-type", "type application/json"),
        (Answer(first_s=0.1, gaps_s=[0.01] * 3, fault="broken", after=2), "broken", "chunk 3 is not as expected"),
        (Answer(first_s=0.1, gaps_s=[0.01] * 3, fault="shape", after=1), "broken", "chunk 2 is not as expected"),
        (Answer(first_s=0.1, gaps_s=[0.01] * 3, fault="error", after=2), "error", "out of blocks"),
        (Answer(first_s=0.1, gaps_s=[0.01] * 3, fault="cut", after=2), "truncated", "after 2 chunks"),
        (Answer(first_s=0.1, gaps_s=[0.01] * 3, fault="half", after=2), "truncated", "after 2 chunks"),
        (Answer(first_s=0.1, gaps_s=[0.01] * 3, fault="ends", after=2), "truncated", "ends after 2 chunks"),
        (Answer(first_s=0.1, gaps_s=[0.01] * 3, fault="hang", after=2), "timeout", "within 50 s, after 2 chunks"),
        (Answer(gaps_s=[20.0] * 9), "timeout", "not done within 50 s, after 3 chunks with tokens, the last at 40 s"),
        (Answer(first_s=0.1, gaps_s=[0.01] * 3, fault="hang", after=0), "timeout", "before the first token"),
        (Answer(fault="silent"), "timeout", "before any answer"),
        (Answer(first_s=60.0, gaps_s=[0.01] * 3), "timeout", "before the first token"),
        (Answer(fault="empty"), "empty", "no token"),
        (Answer(fault="garbage"), "broken", "no HTTP as expected"),
    ],
)
def test_a_fault_is_one_request_among_others(bad, outcome, said):
    done = drive(with_one(bad))
    (odd,) = [one for one in done.loaded if not one.ok]

    assert odd.outcome == outcome
    assert said in odd.why
    assert len(done.loaded) == 6
    assert figures(done).outcomes == {"ok": 5, outcome: 1}
    assert sorted(one.number for one in done.loaded) == [1, 2, 3, 4, 5, 6]


def test_what_came_before_a_fault_is_kept():
    done = drive(with_one(Answer(first_s=0.1, gaps_s=[0.01] * 3, fault="hang", after=3)))
    (odd,) = [one for one in done.loaded if not one.ok]

    assert odd.chunks_s == pytest.approx([0.1, 0.11, 0.12], abs=1e-3)
    assert odd.end_s == pytest.approx(50, abs=1e-3)
    assert odd.tpot_s is None


def test_a_slow_answer_is_an_answer():
    found = figures(drive(Server(steady(40.0, 0.5)), num_prompts=2))

    assert found.answered == 2
    assert found.ttft_s.mean == pytest.approx(40, abs=1e-3)


def test_a_connection_closed_without_a_word_is_said():
    done = drive(Server(lambda number, _: Answer(fault="closed")), num_prompts=3)

    assert {one.outcome for one in done.loaded} == {"truncated"}
    assert "closed before any answer" in done.loaded[0].why


def test_a_kept_connection_that_turns_out_closed_is_opened_anew():
    """As some servers close it behind an answer; the request was never seen, so it is sent again."""

    class Closing(Server):
        async def _one(self, *given):
            await super()._one(*given)
            return False

    done = drive(Closing(steady(0.1, 0.01)), num_prompts=5)

    assert figures(done).outcomes == {"ok": 5}


@pytest.mark.parametrize(
    ("bad", "outcome"),
    [
        (Answer(status=401, kind="application/json", body='{"error": "no key"}'), "http"),
        (Answer(status=302, headers={"Location": "/elsewhere"}), "redirect"),
        (Answer(kind="text/html", body="<html>"), "content-type"),
        (Answer(fault="silent"), "timeout"),
    ],
)
def test_no_load_is_sent_where_it_would_only_fail(bad, outcome):
    server = Server(lambda *_: bad)
    done = drive(server)

    assert done.loaded == ()
    assert {one.outcome for one in done.sent} == {outcome}
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [400, 422])
def test_a_request_that_is_refused_however_it_is_asked_ends_it(status):
    bad = Answer(status=status, kind="application/json", body='{"message": "too long"}')
    server = Server(lambda *_: bad)
    done = drive(server)

    assert done.loaded == ()
    assert len(server.asked) == 4  # with all options, and without some
    assert "too long" in done.sent[0].why


def test_a_load_is_sent_to_a_server_that_fails_by_itself():
    done = drive(Server(lambda *_: Answer(status=500, kind="text/plain", body="no")))

    assert figures(done).outcomes == {"http": 6}
    assert figures(done).answered == 0


def test_nobody_there():
    async def main() -> Driven:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        return await driven(f"http://127.0.0.1:{port}", None, load())

    (only,) = virtual(main()).sent
    assert only.outcome == "unreachable"
    assert only.why == "Connection refused"


def test_a_server_without_tls_is_said():
    async def plain(reader, writer):
        await reader.read(5)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def main() -> Driven:
        async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
            return await driven(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", None, load())

    (only,) = virtual(main()).sent
    assert only.outcome == "tls"


def test_an_interrupt_keeps_what_is_done():
    async def main() -> Driven:
        server = Server(steady(0.1, 0.01))
        async with server.running():
            task = asyncio.ensure_future(driven(server.url, None, load(num_prompts=1000)))
            await asyncio.sleep(2.0)
            task.cancel()
            return await task

    done = virtual(main())
    found = figures(done)

    assert done.interrupted
    assert found.outcomes["unfinished"] == 2
    assert found.outcomes["ok"] == found.requests - 2 > 10


@pytest.mark.parametrize("rate", [None, 5.0])
def test_an_interrupt_of_arrivals_keeps_what_is_done(rate):
    async def main() -> Driven:
        server = Server(lambda number, asks: steady(0.1 if number < 6 else 50.0, 0.01)(number, asks))
        async with server.running():
            asked = load(num_prompts=20, timeout_s=100.0, concurrency=None, request_rate=rate, burst=rate is None)
            task = asyncio.ensure_future(driven(server.url, None, asked))
            await asyncio.sleep(10.0)
            task.cancel()
            return await task

    done = virtual(main())

    assert done.interrupted
    assert figures(done).outcomes == {"ok": 4, "unfinished": 16}


def test_several_models_need_a_name():
    server = Server(steady(0.1, 0.01), models=[("a", "x"), ("b", "x")])

    with pytest.raises(BadInput, match="several models") as told:
        drive(server)
    assert "one of a, b" in str(told.value)
    assert drive(server, served_model="b").model == "b"
    assert {one["model"] for one in server.asked} == {"b"}


def test_a_long_list_of_models_is_read_whole():
    models = [(f"model-{number:05}", "x") for number in range(3000)]

    assert drive(Server(steady(0.1, 0.01), models=models), served_model="model-02999").listed


def test_a_list_without_an_end_is_a_fault(monkeypatch):
    monkeypatch.setattr(client, "_LONGEST_LIST", 1000)
    server = Server(steady(0.1, 0.01), models=[(f"model-{number}", "x") for number in range(1000)])
    (only,) = drive(server).sent

    assert (only.outcome, only.why) == ("broken", "over 1,000 bytes of the list of models, /v1/models")
    assert server.asked == []


def test_a_list_that_does_not_come_is_said():
    class Hanging(Server):
        async def _answered(self, path, *given):
            await asyncio.sleep(10_000)

    (only,) = drive(Hanging(steady(0.1, 0.01))).sent
    assert (only.outcome, only.why) == ("timeout", "nothing of the list of models, /v1/models, within 50 s")


def test_a_server_that_lists_nothing_is_asked_for_the_default():
    assert drive(Server(steady(0.1, 0.01), models=None)).model == "default"


@pytest.mark.parametrize(("owner", "engine"), [("vllm", "vllm"), ("llamacpp", "llama.cpp"), ("sglang", "sglang")])
def test_the_engine_is_read_from_the_list(owner, engine):
    assert drive(Server(steady(0.1, 0.01), models=[("m", owner)])).engine == engine
