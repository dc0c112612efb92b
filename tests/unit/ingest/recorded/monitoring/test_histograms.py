"""Means and percentiles of Prometheus' histograms, by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.ingest.recorded.monitoring.histograms import Histogram


def histogram(*rows, total=0.0):
    return Histogram(total=total, count=rows[-1][1], buckets=rows)


# 10 requests: 2 up to 1 s, 6 more up to 2 s, 2 more up to 4 s.
TEN = histogram((1.0, 2.0), (2.0, 8.0), (4.0, 10.0), (math.inf, 10.0), total=17.0)


@pytest.mark.parametrize(
    ("share", "value"),
    [
        (0.1, 0.5),  # the first of two in the bucket from 0 to 1
        (0.2, 1.0),
        (0.5, 1 + 3 / 6),  # the fifth is the third of six between 1 and 2
        (0.9, 2 + 1 / 2 * 2),  # the ninth is the first of two between 2 and 4
    ],
)
def test_a_percentile_is_linear_within_its_bucket(share, value):
    assert TEN.quantile(share) == pytest.approx(value)


def test_the_mean_is_exact():
    assert TEN.mean == 17 / 10
    assert TEN.spread().mean == 17 / 10


def test_beyond_the_last_bound_nothing_is_known():
    """Prometheus gives the last finite bound there, which is below the truth."""
    found = histogram((1.0, 2.0), (math.inf, 4.0), total=100.0)

    assert found.quantile(0.5) == 1.0
    assert found.quantile(0.9) is None
    assert found.spread().p90 is None


def test_a_wide_first_bucket_cannot_lift_a_percentile_above_what_the_mean_allows():
    """24 waits of 1 ms in all, in a bucket to 0.3 s: half lie below 2 means, as more would lift the mean."""
    found = histogram((0.3, 24.0), (math.inf, 24.0), total=0.001)
    mean = 0.001 / 24

    assert found.quantile(0.5) == pytest.approx(0.15)
    assert found.spread().p50 == pytest.approx(mean / 0.5)
    assert found.spread().p99 == pytest.approx(mean / 0.01)


def test_a_difference_is_bucket_by_bucket():
    before = histogram((1.0, 2.0), (2.0, 3.0), (math.inf, 3.0), total=3.0)
    after = histogram((1.0, 2.0), (2.0, 7.0), (math.inf, 8.0), total=15.0)
    found = after.less(before)

    assert found is not None
    assert (found.count, found.total, found.buckets) == (5.0, 12.0, ((1.0, 0.0), (2.0, 4.0), (math.inf, 5.0)))
    assert found.quantile(0.5) == pytest.approx(1 + 2.5 / 4)


def test_counts_that_fell_are_of_a_process_started_anew():
    assert TEN.less(histogram((1.0, 3.0), (math.inf, 12.0))) is None
    assert TEN.less(histogram((1.0, 3.0), (math.inf, 10.0), total=17.0)) is None


def test_no_observation_is_no_time():
    assert histogram((1.0, 0.0), (math.inf, 0.0)).spread() is None
    assert Histogram().spread() is None
    assert Histogram(total=math.nan, count=3).spread() is None


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=30), st.lists(st.floats(1e-3, 2e3), min_size=1, max_size=6))
def test_percentiles_rise_and_lie_in_their_buckets(values, bounds):
    """Of any observations in any buckets: in order, and within the bucket of the true one."""
    rows = [(bound, float(sum(one <= bound for one in values))) for bound in sorted(set(bounds))]
    found = Histogram(total=sum(values), count=len(values), buckets=(*rows, (math.inf, float(len(values)))))
    got = [one for share in (0.1, 0.5, 0.9, 0.99) if (one := found.quantile(share)) is not None]

    assert got == sorted(got)
    assert all(0 <= one <= max(bound for bound, _ in rows) for one in got)


def test_a_bucket_that_was_empty_before_is_counted_from_the_one_below():
    before = Histogram(total=1.0, count=4.0, buckets=((0.1, 4.0), (math.inf, 4.0)))
    after = Histogram(total=3.0, count=10.0, buckets=((0.1, 5.0), (0.2, 10.0), (math.inf, 10.0)))

    # 1 more up to 0.1; up to 0.2 there were the 4 of 0.1
    assert after.less(before).buckets == ((0.1, 1.0), (0.2, 6.0), (math.inf, 6.0))
