"""Histograms as Prometheus has them: counts up to each bound, of which means are exact and percentiles estimates."""

from __future__ import annotations

import math
from bisect import bisect_right

import msgspec

from rooflight.values.recorded import Spread

_RANKS = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99))


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """Observations: their sum, how many, and how many up to each bound, the last being infinite."""

    total: float = 0.0
    count: float = 0.0
    buckets: tuple[tuple[float, float], ...] = ()

    def less(self, before: Histogram) -> Histogram | None:
        """What came after an earlier state; None: that is no earlier state, so the process was started anew."""
        bounds = [bound for bound, _ in before.buckets]
        earlier = [0.0, *(count for _, count in before.buckets)]
        # a native histogram leaves empty buckets out: what is below such a bound is what is below the one before it
        buckets = tuple((bound, count - earlier[bisect_right(bounds, bound)]) for bound, count in self.buckets)
        count, total = self.count - before.count, self.total - before.total
        if count < 0 or (count and total < 0) or any(each < 0 for _, each in buckets):
            return None
        return Histogram(total=total, count=count, buckets=buckets)

    @property
    def mean(self) -> float | None:
        """Of all observations, None: there are none."""
        return self.total / self.count if self.count > 0 and math.isfinite(self.total) else None

    def spread(self) -> Spread | None:
        """As a Spread of times or other amounts from 0 on; None: nothing was observed.

        A share s of such amounts can lie above mean / s at most (Markov): that bounds what a wide bucket leaves open.
        """
        mean = self.mean
        if mean is None or mean < 0:
            return None
        ranks = {name: (self.quantile(share), mean / (1 - share)) for name, share in _RANKS}
        found = {name: None if one is None else min(one, most) for name, (one, most) in ranks.items()}
        return Spread(mean=mean, **found)

    def quantile(self, share: float) -> float | None:
        """The value below which that share lies, linear within its bucket.

        As Prometheus' histogram_quantile (https://prometheus.io/docs/prometheus/latest/querying/functions/), except
        that what lies beyond the last finite bound is not known, where Prometheus gives that bound.
        """
        rows = sorted(self.buckets)
        if not rows or not math.isinf(rows[-1][0]) or rows[-1][1] <= 0:
            return None
        rank, low, under = share * rows[-1][1], 0.0, 0.0
        for bound, count in rows:
            upto = max(count, under)  # counts of one scrape may be a few apart
            if upto >= rank:
                if math.isinf(bound):
                    return None
                if bound <= 0 or upto == under:
                    return bound
                return min(low + (bound - low) * (rank - under) / (upto - under), bound)
            low, under = max(bound, 0.0), upto
        return None
