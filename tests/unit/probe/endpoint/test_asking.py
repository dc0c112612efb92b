"""What is asked, where it goes, and how it is settled with the server."""

from __future__ import annotations

import json

import pytest

from rooflight.errors import BadInput
from rooflight.probe.endpoint.bodies import Form, follows, words_for
from rooflight.probe.endpoint.drive import address, driven, header_lines, headers_of
from rooflight.probe.endpoint.figures import figures, sample, spread
from rooflight.values.endpoint import Driven, Load
from rooflight.values.sample import Origin
from rooflight.words.endpoint import told
from streaming import Answer, Server, steady, virtual

pytest.importorskip("aiohttp", reason="the extra `endpoint` is not installed")


def drive(server: Server, *, api=None, path="", headers=None, **load) -> Driven:
    asked = {"isl": 100, "osl": 4, "num_prompts": 3, "timeout_s": 50.0, "seed": 1} | load

    async def main() -> Driven:
        async with server.running():
            return await driven(server.url + path, api, Load(**asked), headers=headers)

    return virtual(main())


@pytest.mark.parametrize(
    ("url", "api", "whole", "chosen"),
    [
        ("http://h:8000", None, "http://h:8000/v1/completions", "completions"),
        ("http://h:8000/", "chat", "http://h:8000/v1/chat/completions", "chat"),
        ("https://h/v1", None, "https://h/v1/completions", "completions"),
        ("https://h/openai/v1/", "chat", "https://h/openai/v1/chat/completions", "chat"),
        ("http://h/v1/completions", None, "http://h/v1/completions", "completions"),
        ("http://h/v1/chat/completions/", None, "http://h/v1/chat/completions", "chat"),
        ("http://h/v1?key=1#there", None, "http://h/v1/completions?key=1", "completions"),
        ("http://[::1]:80", None, "http://[::1]:80/v1/completions", "completions"),
    ],
)
def test_where_requests_go(url, api, whole, chosen):
    assert address(url, api) == (whole, chosen)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("localhost:8000", "http://HOST"),
        ("ftp://h", "http://HOST"),
        ("http://", "http://HOST"),
        ("http://h:99999", "http://HOST"),
        ("http://[::1", "http://HOST"),
        ("http://a..b/", "http://HOST"),
        ("http://a b/", "http://HOST"),
        (f"http://{'a' * 64}.b/", "http://HOST"),
        ("", "http://HOST"),
        ("http://me:secret@h", "without it"),
        ("http://h/v1/chat/completions", "one of them"),
    ],
)
def test_what_is_no_address(url, said):
    with pytest.raises(BadInput, match="URL") as told:
        address(url, "completions")
    assert said in str(told.value)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(("api", "path"), [("completions", "/v1/completions"), ("chat", "/v1/chat/completions")])
def test_a_request_asks_for_a_stream_of_so_many_tokens(api, path):
    server = Server(steady(0.1, 0.01))
    drive(server, api=api, headers={"X-Test": "yes"})
    asked = server.asked[-1]

    assert asked["path"] == path
    assert ("messages" in asked) == (api == "chat")
    assert asked["stream"] is True
    assert asked["stream_options"] == {"include_usage": True}
    assert asked["max_tokens"] == asked["min_tokens"] == 4
    assert asked["ignore_eos"] is True
    assert asked["model"] == "toy"
    assert server.headers[-1]["x-test"] == "yes"


def test_the_environments_proxies_are_not_asked(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert figures(drive(Server(steady(0.1, 0.01)))).answered == 3


def test_prompts_differ_and_a_seed_makes_them_anew():
    servers = [Server(steady(0.1, 0.01)) for _ in range(3)]
    for server, seed in zip(servers, (1, 1, 2), strict=True):
        drive(server, seed=seed)
    first, again, other = ([one["prompt"] for one in server.asked] for server in servers)

    assert len(set(first)) == len(first) == 5
    assert first == again
    assert not set(first) & set(other)


@pytest.mark.parametrize(("a_word", "template", "calibrations"), [(1.0, 0, 1), (1.5, 0, 2), (1.3, 12, 3), (0.5, 40, 3)])
def test_prompts_get_the_asked_length_as_the_server_counts(a_word, template, calibrations):
    server = Server(steady(0.1, 0.01), tokens_a_word=a_word, template=template)
    found = figures(done := drive(server))

    assert found.isl == pytest.approx(100, abs=1)
    assert sum(one.stage == "calibration" for one in done.sent) == calibrations
    assert server.asked[0]["max_tokens"] == 1


def test_words_of_a_prompt():
    """150 tokens of 100 words: 100 / 1.5; with 110 of 67 the line 1.21 a word and 28.8 beside: (100 - 28.8) / 1.21."""
    assert words_for(100, []) == 100
    assert words_for(100, [(100, 150)]) == round(100 / 1.5)
    slope = (150 - 110) / (100 - 67)
    assert words_for(100, [(100, 150), (67, 110)]) == round((100 - (110 - 67 * slope)) / slope)
    assert words_for(100, [(100, 150), (67, 150)]) == round(100 / (150 / 67))
    assert words_for(2, [(2, 500)]) == 1
    assert words_for(1000, [(1000, 1)]) == 4 * 1000
    assert words_for(1000, [(1000, 1), (4000, 2)]) == 4 * 1000


@pytest.mark.parametrize(
    ("tried", "told"),
    [
        ([(1000, 1)], True),
        ([(1000, 1), (4000, 1)], False),
        ([(1000, 512), (1953, 512)], False),
        ([(1000, 10**6), (1, 1000)], False),
        ([(100, 150), (67, 110)], True),
        ([(1000, 1020), (980, 1021)], True),  # too alike to tell
        ([(10, 510), (1, 501)], True),
    ],
)
def test_whether_a_count_is_of_the_prompt(tried, told):
    assert follows(tried) is told


@pytest.mark.parametrize("counts", [1, 512, 10**9])
def test_a_count_that_does_not_follow_the_prompt_is_none(counts):
    server = Server(steady(0.1, 0.01), tokens_a_word=0, template=counts)
    done = drive(server, isl=1000)
    found = figures(done)

    assert len({tokens for _, tokens in done.astray}) == 1
    assert max(len(one["prompt"].split()) for one in server.asked) <= 4 * 1000
    assert len(server.asked[-1]["prompt"].split()) == done.words == 1000
    assert found.answered == 3
    assert found.isl is found.total_tokens_per_s is None
    assert f"{counts:,} for 1,000 words" in " ".join(told(done, found).notes)


def test_a_prompt_too_long_for_the_server_is_not_kept():
    """It counts 1 token, and refuses the longer prompt that this leads to."""
    refusal = Answer(status=400, kind="text/plain", body="too long")
    good = steady(0.1, 0.01)
    server = Server(
        lambda number, asks: refusal if len(asks["prompt"].split()) > 100 else good(number, asks),
        tokens_a_word=0, template=1,
    )  # fmt: skip
    done = drive(server)

    assert done.words == 100
    assert figures(done).answered == 3


@pytest.mark.parametrize(
    ("refused", "left_out"),
    [
        ((), ()),
        (("ignore_eos",), ("ignore_eos", "min_tokens")),
        (("stream_options",), ("stream_options",)),
        (("min_tokens", "stream_options"), ("ignore_eos", "min_tokens", "stream_options")),
    ],
)
def test_what_a_server_refuses_is_left_out(refused, left_out):
    server = Server(steady(0.1, 0.01), refused=refused)
    done = drive(server)
    found = figures(done)

    assert done.refused == left_out
    assert found.answered == 3
    assert not set(server.asked[-1]) & set(left_out)
    counted = "stream_options" not in left_out
    assert (found.isl is not None) == (found.tokens_a_chunk is not None) == counted
    assert found.osl == 4


def test_a_server_that_does_not_count_has_its_chunks_counted():
    found = figures(drive(Server(lambda _, asks: Answer(gaps_s=[0.01] * 6, usage=False))))

    assert found.osl == 7
    assert found.isl is found.total_tokens_per_s is found.tokens_a_chunk is None


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("counts", [0, -3, 6, 10**9])
def test_a_count_of_output_tokens_that_cannot_be_is_none(counts, early):
    """4 asked for and 4 chunks: 0 and less are no tokens, 5 could hold one that ends the answer, 6 are too many."""
    done = drive(Server(lambda *_: Answer(gaps_s=[0.01] * 3, counts=counts, early=early)))
    found = figures(done)

    assert found.osl == 4
    assert found.tokens_a_chunk is None
    assert found.tpot_s.mean == pytest.approx(0.01, abs=1e-3)
    assert [one.disbelieved for one in done.loaded] == [counts] * 3
    assert f"cannot be one in 3 answers (most often {counts:,}," in " ".join(told(done, found).notes)


@pytest.mark.parametrize(("counts", "osl"), [(1, 1), (5, 5)])
def test_a_count_that_can_be_is_kept(counts, osl):
    """One token in 4 chunks may be its parts."""
    done = drive(Server(lambda *_: Answer(gaps_s=[0.01] * 3, counts=counts)))
    found = figures(done)

    assert found.osl == osl
    assert found.tokens_a_chunk == osl / 4
    assert ("a token comes in 4.00 chunks" in " ".join(told(done, found).notes)) == (counts == 1)


def test_a_server_without_a_limit_counts_no_more_than_its_chunks():
    """12 chunks where 4 tokens were asked for: 12 can be, 13 cannot."""
    for counts, counted in ((12, True), (13, False)):
        done = drive(Server(lambda *_, said=counts: Answer(gaps_s=[0.01] * 11, counts=said)))
        assert {(one.osl, one.counted) for one in done.loaded} == {(12, counted)}


def test_no_prompt_tokens_are_no_count():
    server = Server(steady(0.1, 0.01), tokens_a_word=0)
    found = figures(done := drive(server))

    assert found.isl is None
    assert done.words == 100


def test_cached_tokens_are_read():
    found = figures(drive(Server(lambda *_: Answer(gaps_s=[0.01] * 3, cached=16))))

    assert found.cached == 16


@pytest.mark.parametrize(("warmup", "before"), [(0, 1), (3, 4)])
def test_warm_up_counts_for_nothing(warmup, before):
    server = Server(lambda number, asks: steady(5.0 if number < before else 0.1, 0.01)(number, asks))
    done = drive(server, warmup=warmup)

    assert sum(one.stage == "warm-up" for one in done.sent) == warmup
    assert figures(done).ttft_s.mean == pytest.approx(0.1, abs=1e-3)


def test_a_spread_is_linear_between_neighbours():
    found = spread([5.0, 1.0, 4.0, None, 2.0, 3.0])

    assert (found.mean, found.p50, found.p90, found.n) == (3, 3, pytest.approx(4 + 0.6), 5)
    assert found.p99 == pytest.approx(4 + 0.96)
    assert spread([None]) is None


def test_every_request_is_a_sample():
    done = drive(Server(lambda number, _: Answer(first_s=0.1, gaps_s=[0.02] * 3, fault="cut" if number == 3 else "")))
    about = {"model": done.model, "start": done.start, "device": "h100", "count": 2, "source": Origin(tool="t")}
    found = [sample(one, done.load, **about) for one in done.sent]

    assert [one.name for one in found] == ["calibration", "warm-up", "load", "load", "load"]
    assert sorted(one.outcome for one in found) == ["ok", "ok", "ok", "ok", "truncated"]
    whole = found[2]
    assert (whole.kind, whole.device, whole.count, whole.isl, whole.osl) == ("request", "h100", 2, 100, 4)
    assert whole.time_s.median == pytest.approx(0.16, abs=1e-3)
    assert whole.gaps_s == pytest.approx([0.02] * 3, abs=1e-5)
    assert whole.tokens_per_s == pytest.approx(4 / 0.16, rel=1e-3)


def test_headers():
    assert headers_of(header_lines(["A: b: c", "D:e"]), "k") == {"A": "b: c", "D": "e", "Authorization": "Bearer k"}
    for bad in ("no colon", ": value", "X Y: z", "X(Y): z"):
        with pytest.raises(BadInput, match="header"):
            headers_of(header_lines([bad]), None)
    with pytest.raises(BadInput, match="header") as told:
        headers_of({"A": "secret\r\nB: c"}, None)
    assert "secret" not in str(told.value)


def test_a_body_is_json():
    body = Form(api="chat", model='a"b', seed=0).body("load", 1, words=3, tokens=2)

    assert json.loads(body)["model"] == 'a"b'
    assert len(json.loads(body)["messages"][0]["content"].split()) == 3
