"""Every card of the catalog answers the plainest question."""

from __future__ import annotations

import pytest

from rooflight import analyze
from rooflight.catalog import accelerators

# Of no card is the bandwidth left out: whoever adds one names it here, with why nobody has published it.
NO_BANDWIDTH: dict[str, str] = {}


@pytest.mark.parametrize("card", accelerators.ids())
def test_an_8b_is_answered_or_does_not_fit(card: str) -> None:
    """Exit 0 or 1: an answer with a ceiling of decode, or the word that it does not fit; never a missing fact."""
    found = analyze("llama-3.1-8b", on=card)

    phases = found.phases_or_null
    if phases is None:
        assert found.memory.fits is False
    else:
        times = phases["decode"].time_s
        assert 0 < times.ceiling <= times.roofline <= times.expected


def test_every_card_has_a_bandwidth_but_those_named() -> None:
    without = {card.id for card in accelerators.all_accelerators() if card.memory_bytes_per_s is None}

    assert without == NO_BANDWIDTH.keys()


def test_there_are_as_many_as_were_asked_for() -> None:
    assert len(accelerators.ids()) >= 180


def test_sockets_add_up_and_say_how() -> None:
    """Two sockets of EPYC 9654 stream 2 x 461 GB/s: half the time of one, and a note on whose memory is read."""
    alone, both = (analyze("llama-3.1-8b", on=name, batch=1, context=0) for name in ("epyc-9654", "2xepyc-9654"))
    slow, fast = (one.phases["decode"].time_s.ceiling for one in (alone, both))

    # norms are read by both sockets: a little more than half
    assert fast == pytest.approx(slow / 2, rel=0.01)
    assert any("NUMA" in line for line in both.assumptions)
