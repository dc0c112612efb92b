"""What replicas did over many scrapes at equal steps, as a Prometheus server keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rooflight.ingest.recorded.monitoring.between import Seen, between
from rooflight.ingest.recorded.monitoring.replicas import Replica, engines
from rooflight.ingest.recorded.monitoring.totals import clock
from rooflight.values.recorded import Watched
from rooflight.values.scraped import Scrape

# A server answers with a series' last sample for so long where there is none newer.
# https://prometheus.io/docs/prometheus/latest/querying/basics/#staleness
_LOOKBACK_S = 300.0


def kept(scrapes: Sequence[Scrape]) -> Seen:
    """Each replica between each state and the next; of those that came, went or restarted it is said when."""
    steps = [one.time_s for one in scrapes if one.time_s is not None]
    lives: dict[str, list[Replica]] = {}
    for scrape in scrapes:
        for replica in engines(scrape):
            lives.setdefault(replica.subject, []).append(replica)
    watched: list[Watched] = []
    notes: list[str] = []
    for subject, life in lives.items():
        notes += _came_and_went(subject, life, steps)
        for before, after in pairwise(_changed(life)):
            if _apart(before, after, steps) and not _lasts(before, after):
                continue
            found = between(before, after)
            if found is None:
                notes.append(f"{subject} counts less than before at {clock(after.time_s)}: it was started anew")
            else:
                watched.append(found)
    return Seen(tuple(watched), tuple(notes))


def _changed(life: Sequence[Replica]) -> list[Replica]:
    """Without those that a server repeats because it scrapes less often than it was asked for.

    A replica that runs requests counts on, so where nothing differs no new scrape came; if that lasts for longer than
    a server repeats a sample, it hangs.
    """
    runs: list[list[Replica]] = []
    for one in life:
        if runs and _same(runs[-1][-1], one):
            runs[-1].append(one)
        else:
            runs.append([one])
    found: list[Replica] = []
    for run in runs:
        whole = not run[0].gauges.get("running") or not _lasts(run[0], run[-1])
        found += run if whole else run[:1]
    return found


def _same(one: Replica, other: Replica) -> bool:
    return (one.counters, one.histograms, one.gauges) == (other.counters, other.histograms, other.gauges)


def _apart(before: Replica, after: Replica, steps: Sequence[float]) -> bool:
    """Whether steps lie between."""
    return steps.index(after.time_s or 0.0) - steps.index(before.time_s or 0.0) > 1


def _lasts(before: Replica, after: Replica) -> bool:
    return (after.time_s or 0.0) - (before.time_s or 0.0) <= _LOOKBACK_S


def _came_and_went(subject: str, life: Sequence[Replica], steps: Sequence[float]) -> Iterator[str]:
    if life[0].time_s != steps[0]:
        yield f"{subject} is there from {clock(life[0].time_s)} on"
    if life[-1].time_s != steps[-1]:
        yield f"{subject} is not there after {clock(life[-1].time_s)}"
    gaps = [before for before, after in pairwise(life) if _apart(before, after, steps)]
    if gaps:
        more = f", and {len(gaps) - 1} more times" if len(gaps) > 1 else ""
        yield f"{subject} was not seen for a while after {clock(gaps[0].time_s)}{more}"
