"""The client's times against a server of known timing, on one clock that both share: real HTTP, no real waiting."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rooflight.probe.endpoint.drive import driven
from rooflight.probe.endpoint.figures import figures
from rooflight.values.endpoint import Driven, Load
from rooflight.words.endpoint import told
from streaming import Answer, Server, steady, virtual

pytest.importorskip("aiohttp", reason="the extra `endpoint` is not installed")
MS = 1e-3


def drive(server: Server, *, api=None, path="", **load) -> Driven:
    asked = {"isl": 20, "osl": 5, "num_prompts": 6, "timeout_s": 100.0, "seed": 1} | load

    async def main() -> Driven:
        async with server.running():
            return await driven(server.url + path, api, Load(**asked))

    return virtual(main())


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_first_and_later_tokens_take_what_the_server_waits(api):
    found = figures(drive(Server(steady(0.25, 0.02)), api=api, concurrency=2))

    assert found.answered == found.requests == 6
    for spread, seconds in ((found.ttft_s, 0.25), (found.tpot_s, 0.02), (found.itl_s, 0.02)):
        assert [spread.mean, spread.p50, spread.p90, spread.p95, spread.p99] == pytest.approx([seconds] * 5, abs=MS)
    assert found.request_s.mean == pytest.approx(0.25 + 4 * 0.02, abs=MS)
    assert found.itl_s.n == 6 * 4


def test_percentiles_are_those_of_known_times():
    """TTFT of 10 requests: 100, 200 ... 1,000 ms; p90 lies at 0.9 x 9 = 8.1 steps, so at 900 + 0.1 x 100 ms."""
    first = {number: 0.1 * (number + 1) for number in range(10)}
    before = 2  # a calibration, a warm-up
    server = Server(lambda number, _: Answer(first_s=first.get(number - before, 0.0), gaps_s=[0.01, 0.03]))
    found = figures(drive(server, osl=3, num_prompts=10, concurrency=1))

    ttft, itl = found.ttft_s, found.itl_s
    assert ttft.mean == pytest.approx(0.55, abs=MS)
    assert [ttft.p50, ttft.p90, ttft.p95, ttft.p99] == pytest.approx([0.55, 0.91, 0.955, 0.991], abs=MS)
    assert found.tpot_s.mean == pytest.approx((0.01 + 0.03) / 2, abs=MS)
    assert [itl.p50, itl.p90] == pytest.approx([0.02, 0.03], abs=MS)
    assert found.span_s == pytest.approx(sum(first.values()) + 10 * 0.04, abs=MS)
    assert found.requests_per_s == pytest.approx(10 / (5.5 + 0.4), rel=1e-3)
    assert found.output_tokens_per_s == pytest.approx(10 * 3 / (5.5 + 0.4), rel=1e-3)
    assert found.total_tokens_per_s == pytest.approx(10 * (3 + 20) / (5.5 + 0.4), rel=1e-3)


def test_the_clients_times_are_those_at_which_the_server_sent():
    server = Server(steady(0.1, 0.007))
    done = drive(server, concurrency=3)
    ours = {
        (round(began, 6), tuple(round(at - began, 6) for at in sent))
        for began, sent in zip(server.began_s[2:], server.sent_s[2:], strict=True)
    }
    first = min(server.began_s[2:])
    theirs = {
        (round(first + one.start_s, 6), tuple(round(at, 6) for at in one.chunks_s)) for one in done.loaded
    }  # fmt: skip

    assert theirs == ours


def test_chunks_of_several_tokens_make_long_gaps_and_true_times_per_token():
    """4 chunks of 2 tokens, 30 ms apart: ITL 30 ms, TPOT 90 ms / (8 - 1)."""
    server = Server(lambda *_: Answer(first_s=0.1, gaps_s=[0.03] * 3, tokens=2))
    found = figures(drive(server, osl=8))

    assert found.itl_s.mean == pytest.approx(0.03, abs=MS)
    assert found.tpot_s.mean == pytest.approx(3 * 0.03 / 7, abs=MS)
    assert found.tokens_a_chunk == 2
    assert found.osl == 8


def test_one_token_has_no_time_per_token():
    found = figures(drive(Server(steady(0.1, 0.01)), osl=1))

    assert found.tpot_s is None
    assert found.itl_s is None
    assert found.request_s.mean == pytest.approx(0.1, abs=MS)


@pytest.mark.parametrize("usage", [True, False])
def test_an_answer_in_one_chunk_shows_no_time_per_token(usage):
    """5 tokens at once: whether 1 ms a token was kept nobody saw; a TTFT that was missed was seen."""
    server = Server(lambda *_: Answer(first_s=0.1, tokens=5, usage=usage))
    done = drive(server, tpot_slo_s=0.001)
    found = figures(done)
    late = figures(drive(server, tpot_slo_s=0.001, ttft_slo_s=0.05))

    assert found.tpot_s is None
    assert found.good is found.goodput_per_s is None
    assert found.untold == 6
    assert "6 answers do not show the time between their tokens" in " ".join(told(done, found).notes)
    assert (late.good, late.untold) == (0, 0)


def test_goodput_leaves_out_what_cannot_be_told():
    server = Server(lambda number, _: Answer(tokens=5) if number % 2 else Answer(gaps_s=[0.02] * 4))
    found = figures(drive(server, concurrency=1, tpot_slo_s=0.025))

    assert (found.good, found.untold, found.answered) == (3, 3, 6)
    assert found.goodput_per_s == pytest.approx(3 / (3 * 0.08), rel=1e-2)


def test_goodput_counts_requests_that_keep_both_goals():
    """Of TTFT 0.1 and 0.3 s in turn half are within 0.2 s; a TPOT of 20 ms keeps 25 and misses 15."""
    server = Server(lambda number, _: Answer(first_s=0.1 if number % 2 else 0.3, gaps_s=[0.02] * 4))
    kept = figures(drive(server, concurrency=1, ttft_slo_s=0.2, tpot_slo_s=0.025))
    missed = figures(drive(server, concurrency=1, ttft_slo_s=0.2, tpot_slo_s=0.015))

    assert kept.good == 3
    assert kept.goodput_per_s == pytest.approx(3 / (3 * 0.1 + 3 * 0.3 + 6 * 0.08), rel=1e-3)
    assert missed.good == 0
    assert figures(drive(server)).goodput_per_s is None


def test_so_many_are_in_flight():
    server = Server(steady(0.1, 0.01))
    found = figures(drive(server, concurrency=3, num_prompts=9))

    assert server.most_open == 3
    assert found.in_flight == pytest.approx(3, rel=1e-3)
    assert found.span_s == pytest.approx(3 * 0.14, abs=MS)


@pytest.mark.parametrize("behind", ["open", "more"])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_an_answer_ends_with_its_last_word(behind, concurrency):
    """What the server does behind [DONE] delays nobody: the next is sent at once, over another connection."""
    server = Server(lambda *_: Answer(first_s=0.1, gaps_s=[0.01] * 4, behind=behind))
    found = figures(done := drive(server, concurrency=concurrency))
    rounds = 6 // concurrency

    assert found.answered == 6
    assert found.osl == 5
    assert any("open after [DONE]" in note for note in told(done, found).notes)
    assert found.span_s == pytest.approx(rounds * 0.14, abs=MS)
    assert found.in_flight == pytest.approx(concurrency, rel=1e-2)
    assert [one.start_s for one in done.loaded[::concurrency]] == pytest.approx(
        [0.14 * number for number in range(rounds)], abs=MS
    )


def test_a_connection_that_is_free_serves_the_next():
    class Counting(Server):
        connections = 0

        async def _connected(self, *given):
            self.connections += 1
            await super()._connected(*given)

    server = Counting(steady(0.1, 0.01))
    done = drive(server, concurrency=1)

    assert server.connections == 1
    assert not done.lingers


def test_a_burst_is_sent_at_once():
    server = Server(steady(0.1, 0.01))
    done = drive(server, concurrency=None, burst=True, num_prompts=7)

    assert server.most_open == 7
    assert all(one.start_s == 0 for one in done.loaded)


def test_arrivals_at_a_rate_do_not_wait_for_answers():
    server = Server(steady(2.0, 0.01))
    done = drive(server, concurrency=None, request_rate=10.0, num_prompts=40)
    starts = [one.start_s for one in done.loaded]
    gaps = [later - sooner for sooner, later in pairwise(starts)]

    assert server.most_open > 10
    assert starts[0] == 0
    assert max(one.late_s for one in done.loaded) < MS
    assert sum(gaps) / len(gaps) == pytest.approx(0.1, rel=0.5)  # 39 of an exponential: 16 % is one deviation
    assert max(gaps) > 2 * min(gaps)


def test_arrivals_without_burstiness_are_nearly_even():
    done = drive(Server(steady(0.1, 0.01)), concurrency=None, request_rate=10.0, burstiness=1e4, num_prompts=10)
    starts = [one.start_s for one in done.loaded]

    assert starts == pytest.approx([0.1 * number for number in range(10)], abs=0.02)


def test_a_duration_ends_the_sending_and_not_what_is_in_flight():
    """One at a time, 0.14 s each: the last begins before 0.5 s, so 4 are sent, and all are answered."""
    found = figures(drive(Server(steady(0.1, 0.01)), concurrency=1, num_prompts=1000, duration_s=0.5))

    assert found.requests == found.answered == 4
    assert found.span_s == pytest.approx(4 * 0.14, abs=MS)
    rated = figures(
        drive(Server(steady(0.1, 0.01)), concurrency=None, request_rate=100.0, num_prompts=1000, duration_s=0.5)
    )
    assert rated.requests == rated.answered < 100
