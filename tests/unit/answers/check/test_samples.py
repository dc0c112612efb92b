"""Two files of samples held against each other: what is the same thing, and what is a difference."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rooflight.answers.check.samples import together
from rooflight.values.sample import Sample, Timing
from rooflight.values.samples import Stored
from rooflight.words.samples import told

ONE = Sample(
    kind="kernel", name="linear", shape={"tokens": 8.0}, device="a", time_s=Timing(median=4.0, low=3.0, high=5.0, n=9)
)


def file(*samples, source="a.jsonl"):
    return Stored(source=source, samples=samples)


def lasting(low, median, high, n=9, **changes):
    return replace(ONE, time_s=Timing(median=median, low=low, high=high, n=n), **changes)


@pytest.mark.parametrize(
    "other, ratio, differs",
    [
        (lasting(1.0, 2.0, 2.5), 4 / 2, True),  # 2.5 lies below 3
        (lasting(1.0, 2.0, 3.5), 4 / 2, False),
        (lasting(6.0, 8.0, 9.0, device="b"), 4 / 8, True),  # another device is what is compared
        (lasting(2.0, 2.0, 2.0, n=1), 4 / 2, None),  # a single run has no interval
    ],
)
def test_the_same_thing_in_two_files(other, ratio, differs):
    (found,) = together(file(ONE), file(other, source="b.jsonl")).kinds
    assert found.ratio == pytest.approx(ratio)
    assert found.differs is differs
    assert found.samples == 2


@pytest.mark.parametrize("changes", [{"shape": {"tokens": 16.0}}, {"batch": 2}, {"format": "bf16"}, {"model": "m"}])
def test_other_sizes_are_another_thing(changes):
    found = together(file(ONE), file(replace(ONE, **changes)))
    assert [one.ratio for one in found.kinds] == [None, None]
    assert "nothing in common" in told(found).answer


def test_samples_of_one_thing_are_taken_together():
    """Medians 4 and 2: 3, within all that was seen, 1 to 5, of 18 runs."""
    (found,) = together(file(ONE, lasting(1.0, 2.0, 2.5))).kinds
    assert found.first == Timing(median=3.0, low=1.0, high=5.0, n=18)


def test_single_runs_together_have_percentiles():
    """Requests of 0, 1 ... 10 s: eight of ten lie between 1 and 9."""
    requests = [replace(lasting(t, t, t, n=1), kind="request") for t in range(11)]
    (found,) = together(file(*requests)).kinds
    assert found.first == Timing(median=5.0, low=pytest.approx(1.0), high=pytest.approx(9.0), n=11)


def test_sentences():
    request = Sample(kind="request", name="chat")
    one = told(together(file(ONE, ONE, replace(request, start="2026-11-28T10:00:00+00:00"))))
    assert one.answer == "a.jsonl holds 2 kernels, 1 request on a, 2026-11-28."
    two = told(together(file(ONE), file(lasting(1.0, 2.0, 2.5), source="b.jsonl")))
    assert two.answer == (
        "Of 1 things that both files time, 1 differ by more than their runs do: "
        "b.jsonl is 2 times as fast in the median (2 to 2)."
    )
