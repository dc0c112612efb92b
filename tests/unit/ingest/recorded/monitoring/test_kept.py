"""Replicas over many scrapes at equal steps: rates, gaps, restarts, and scrapes that a server repeats."""

from __future__ import annotations

import pytest

from rooflight.ingest.recorded.monitoring.kept import kept
from rooflight.values.scraped import Scrape, Series


def scrape(time_s, tokens, running=4.0):
    values = {"vllm:num_requests_running": running, "vllm:generation_tokens_total": tokens}
    return Scrape(series=tuple(Series(name, {"instance": "a"}, value) for name, value in values.items()), time_s=time_s)


def rates(scrapes):
    return [one.output_tokens_per_s for one in kept(scrapes).watched]


def test_each_step_has_its_rate():
    assert rates([scrape(15.0 * at, 1500.0 * at) for at in range(4)]) == [100.0] * 3  # 1500 tokens / 15 s


@pytest.mark.parametrize("each", [30, 60, 120, 300])
def test_a_target_that_is_scraped_less_often_than_asked_for_has_the_same_rates(each):
    # a server repeats the last sample at the steps between: 100 tokens a second, counted at every scrape alone
    scrapes = [scrape(float(at), 100.0 * (at // each * each)) for at in range(0, 1201, 15)]

    assert rates(scrapes) == [100.0] * (1200 // each)


def test_a_target_that_went_does_not_stand_still_for_as_long_as_the_server_repeats_it():
    scrapes = [scrape(15.0 * at, 1500.0 * min(at, 10)) for at in range(30)]  # 19 steps = 285 s

    assert rates(scrapes) == [100.0] * 10


def test_an_engine_that_hangs_for_longer_has_no_rate():
    found = rates([scrape(15.0 * at, 1500.0 * min(at, 10)) for at in range(60)])

    assert found[:10] == [100.0] * 10
    assert set(found[10:]) == {0.0}


def test_an_idle_engine_is_seen_as_idle():
    assert rates([scrape(15.0 * at, 9.0, running=0.0) for at in range(4)]) == [0.0] * 3


def test_a_restart_is_said_and_gives_no_rate():
    found = kept([scrape(0.0, 1000.0), scrape(15.0, 2500.0), scrape(30.0, 10.0), scrape(45.0, 1510.0)])

    assert [one.output_tokens_per_s for one in found.watched] == [100.0, 100.0]
    (note,) = found.notes
    assert "started anew" in note
    assert "00:00:30" in note


def test_what_came_went_or_was_away_is_said_with_its_time():
    other = Scrape(series=(Series("vllm:num_requests_running", {"instance": "b"}, 0.0),), time_s=0.0)
    scrapes = [other, scrape(15.0, 0.0), Scrape(time_s=30.0), scrape(45.0, 3000.0), Scrape(time_s=60.0)]
    found = kept(scrapes)

    assert any("at b is not there after 1970-01-01T00:00:00" in note for note in found.notes)
    assert any("at a is there from 1970-01-01T00:00:15" in note for note in found.notes)
    assert any("at a was not seen for a while after 1970-01-01T00:00:15" in note for note in found.notes)
    # 3000 tokens between 15 s and 45 s: the counter went on
    assert [one.output_tokens_per_s for one in found.watched] == [100.0]
