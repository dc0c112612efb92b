"""How often a run is timed, and how; never how long it took."""

from __future__ import annotations

import pytest

from rooflight.probe import device as devices
from rooflight.probe.timing import graph_timed, timed, timing
from rooflight.values.sample import Timing

CPU = devices.Device(kind="cpu", name="this")


@pytest.fixture(autouse=True)
def torch():
    return pytest.importorskip("torch", reason="needs the extra `measure`")


def slow(i):
    sum(range(20_000))  # longer than the clock's blocks


def test_runs_are_numbered_after_the_warm_up():
    calls = []

    def run(i):
        calls.append(i)
        slow(i)

    seconds = timed(run, CPU, least=4, budget_s=0.0, warmup=2)
    assert len(seconds) == 4
    assert calls[:2] == [0, 1]
    assert calls[-4:] == [0, 1, 2, 3]


def test_runs_too_short_for_the_clock_are_timed_in_blocks():
    calls = []
    seconds = timed(calls.append, CPU, least=5, budget_s=0.0)
    assert len(seconds) == 5
    assert len(calls) > 100
    assert all(one > 0 for one in seconds)


def test_the_budget_allows_more_runs_than_the_least():
    assert len(timed(slow, CPU, least=2, budget_s=0.1)) > 2


def test_a_card_is_timed_by_its_events(card):
    seconds = timed(slow, card, least=6, budget_s=0.0)
    assert len(seconds) == 6
    assert all(one > 0 for one in seconds)


def test_a_graph_holds_so_many_calls(card):
    calls = []
    seconds = graph_timed(calls.append, card, calls=32, least=5, budget_s=0.0)
    assert len(seconds) == 5
    assert calls[-32:] == list(range(32))


def test_a_processor_has_no_graphs():
    assert graph_timed(slow, CPU) is None


def test_median_and_what_eight_of_ten_lie_between():
    # eleven values 0 to 10: the tenth part of the way is 1, half of it 5, nine tenths 9
    assert timing([float(i) for i in range(11)]) == Timing(median=5.0, low=1.0, high=9.0, n=11)
