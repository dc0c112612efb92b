"""What happened between two scrapes of one /metrics address: the differences of its counters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace

from rooflight.ingest.recorded.monitoring.families import scrapes
from rooflight.ingest.recorded.monitoring.histograms import Histogram
from rooflight.ingest.recorded.monitoring.replicas import Replica, engines, known
from rooflight.ingest.recorded.monitoring.totals import SECOND, SINGLE, clock, lifetime, moment, totalled
from rooflight.values.recorded import Recorded, Watched
from rooflight.values.scraped import Scrape

# Two ends of a time differ grossly where one is below half of the other (from so many requests on), or the cache's use
# by a tenth: a mean of the two is then a state that never was.
_HALF, _SOME, _TENTH = 0.5, 4.0, 0.1
_ENDS = ("running", "waiting", "swapped", "kv_usage")


class Seen(NamedTuple):
    """What replicas did, and what was odd about it."""

    watched: tuple[Watched, ...] = ()
    notes: tuple[str, ...] = ()


def watched_between(before: str, after: str, seconds: float | None = None) -> Recorded:
    """What engines did between two texts of one /metrics address, the earlier first.

    seconds     between them; None: by the texts' own times, and no rates where they have none
    """
    notes: list[str] = []
    first, second = (scrapes(text, known, notes) for text in (before, after))
    if not first or not second:
        return Recorded(file="", format="engine-metrics", notes=(*notes, "a scrape has no metrics that are known"))
    found = interval(first[-1], second[-1], seconds)
    return Recorded(
        file="", format="engine-metrics", watched=found.watched, scrape=second[-1], notes=(*notes, *found.notes)
    )


def difference(before: Recorded, after: Recorded, seconds: float | None = None) -> Recorded | None:
    """The later of two recorded scrapes with what lies between them; None: they are not of the same process.

    The order of the two does not matter: counters grow.
    """
    if before.scrape is None or after.scrape is None:
        return None
    sign = order(before.scrape, after.scrape)
    if sign is None:
        return None
    if sign < 0:
        before, after = after, before
    assert before.scrape is not None
    assert after.scrape is not None
    found = interval(before.scrape, after.scrape, seconds)
    devices = tuple(one for one in (*before.watched, *after.watched) if one.kind == "device")
    said = f"what lies between it and {before.file} is taken, not all since the engine's start"
    return replace(
        after, watched=(*found.watched, *devices), lacks=tuple(one for one in after.lacks if one != SECOND),
        notes=(*(one for one in after.notes if one != SINGLE), *found.notes, said),
    )  # fmt: skip


def paired(files: Sequence[Recorded], seconds: float | None = None) -> tuple[Recorded, ...]:
    """Recorded files, where two or more are scrapes of one process: in their place the differences, in time's order.

    The first scrape goes, as the differences say all that it does. seconds: from each to the next; None: by their own
    times, and no rates where they have none.
    """
    groups: list[list[Recorded]] = []
    found: list[Recorded] = []
    for one in files:
        group = next((each for each in groups if _same(each[0], one)), None)
        if one.scrape is None or group is None:
            groups.append([one])
        else:
            group.append(one)
    for group in groups:
        ordered = _sorted(group)
        made = [difference(a, b, seconds) for a, b in pairwise(ordered)]
        found += [each or b for each, b in zip(made, ordered[1:], strict=True)] if made else ordered
    return tuple(found)


def _same(one: Recorded, other: Recorded) -> bool:
    """Scrapes of one process at two times; one scrape given twice is no interval."""
    if one.scrape is None or other.scrape is None:
        return False
    sign = order(one.scrape, other.scrape)
    return bool(sign) or (sign == 0 and one.scrape.time_s != other.scrape.time_s)


def _sorted(group: list[Recorded]) -> list[Recorded]:
    """Scrapes of one process by how much it had counted."""
    return sorted(group, key=lambda one: sum(_grown(one.scrape)) if one.scrape is not None else 0.0)


def _grown(scrape: Scrape) -> list[float]:
    return [value for replica in engines(scrape) for value in _monotone(replica).values()]


def _monotone(replica: Replica) -> dict[str, float]:
    return replica.counters | {name: one.count for name, one in replica.histograms.items()}


def order(one: Scrape, other: Scrape) -> int | None:
    """1: the second is later, -1: earlier, 0: nothing was counted between, None: of different processes."""
    first = {replica.subject: replica for replica in engines(one)}
    signs: set[int] = set()
    met = False
    for after in engines(other):
        before = first.get(after.subject)
        if before is None or before.model != after.model:
            continue
        if before.started_s != after.started_s:
            return None
        met = True
        earlier = _monotone(before)
        for name, value in _monotone(after).items():
            if name in earlier and value != earlier[name]:
                signs.add(1 if value > earlier[name] else -1)
    if not met or len(signs) > 1:
        return None
    return signs.pop() if signs else 0


def interval(before: Scrape, after: Scrape, seconds: float | None = None) -> Seen:
    """What each replica that both scrapes have did between them; of others and of restarted ones what the later has."""
    if seconds is None and before.time_s is not None and after.time_s is not None:
        seconds = after.time_s - before.time_s
    if seconds is not None and seconds <= 0:
        seconds = None
    first = {replica.subject: replica for replica in engines(before)}
    watched: list[Watched] = []
    notes: list[str] = []
    for replica in engines(after):
        earlier = first.get(replica.subject)
        less = None if earlier is None else _less(replica, earlier)
        if earlier is None or less is None:
            why = "is in the later scrape alone" if earlier is None else "counts less than before: it was started anew"
            notes.append(f"{replica.subject} {why}; there is no difference to take, only values since its start")
            watched += [one for one in (moment(replica), lifetime(replica)) if one is not None]
            continue
        watched.append(_watched(earlier, replica, less, seconds))
        if _apart(moment(earlier), moment(replica)):
            notes.append(f"{replica.subject} had another load at the first scrape: what runs and waits is the later's")
    notes += [f"{name} is in the earlier scrape alone" for name in first.keys() - {one.subject for one in watched}]
    if watched and seconds is None:
        notes.append(
            "how long lies between the scrapes is not known (--interval says it): means of that time, no rates"
        )
    return Seen(tuple(watched), tuple(notes))


def between(before: Replica, after: Replica) -> Watched | None:
    """What one replica did between two states; None: it was started anew."""
    less = _less(after, before)
    apart = None if before.time_s is None or after.time_s is None else after.time_s - before.time_s
    return None if less is None else _watched(before, after, less, apart)


def _less(after: Replica, before: Replica) -> Replica | None:
    """A replica with what was counted since; None: its counters fell, or its process is another."""
    if None not in (after.started_s, before.started_s) and after.started_s != before.started_s:
        return None
    counters = {name: value - before.counters.get(name, 0.0) for name, value in after.counters.items()}
    histograms: dict[str, Histogram] = {}
    for name, one in after.histograms.items():
        less = one.less(before.histograms.get(name, Histogram()))
        if less is None:
            return None
        histograms[name] = less
    return None if any(value < 0 for value in counters.values()) else replace(
        after, counters=counters, histograms=histograms
    )  # fmt: skip


def _watched(before: Replica, after: Replica, less: Replica, seconds: float | None) -> Watched:
    """The interval: what was counted in it, and what the two scrapes saw at its ends.

    Requests running and waiting are the mean of the two ends, and the later one's where the two differ grossly; else by
    Little's law from the time that requests spent there; else a step's sequences, each of which got one token. A load
    that ended between two scrapes leaves zeros at the later one, which say nothing of it.
    """
    found = totalled(less, seconds, "interval")
    first, last = moment(before), moment(after)
    ends = [one for one in (first, last) if one is not None]
    seen = ends[-1:] if _apart(first, last) else ends
    if found is not None and (last is None or not (last.running or last.waiting)):
        seen = []
    if found is None:
        base = ends[-1] if ends else Watched(subject=after.subject, kind="engine", engine=after.engine)
        rate = 0.0 if seconds else None
        found = replace(base, span="interval", seconds=seconds, requests=0.0, output_tokens_per_s=rate)
    values = {name: _mean(seen, name) for name in _ENDS}
    for name, spent_s in (("running", _inference_s(less)), ("waiting", _total(less, "queue_s"))):
        if values[name] is None and spent_s is not None and seconds:
            values[name] = spent_s / seconds
    if values["running"] is None:
        values["running"] = _stepped(less) or _slots(before, after, less)
    if found.acceptance is None and last is not None and last.acceptance:  # of drafts, where no counter has it
        found = replace(found, acceptance=last.acceptance)
    return replace(found, start=clock(before.time_s), **values)


def _apart(first: Watched | None, last: Watched | None) -> bool:
    """Whether two moments differ so much that no mean is said of them."""
    if first is None or last is None:
        return False
    if first.kv_usage is not None and last.kv_usage is not None and abs(last.kv_usage - first.kv_usage) > _TENTH:
        return True
    if 0 in (first.running, last.running) and first.running != last.running:
        return True
    pairs = [(first.running, last.running), (first.waiting, last.waiting), (first.swapped, last.swapped)]
    known = [sorted((one, other)) for one, other in pairs if one is not None and other is not None]
    return any(most >= _SOME and least < _HALF * most for least, most in known)


def _mean(ends: list[Watched], name: str) -> float | None:
    values: list[float] = [value for one in ends if (value := getattr(one, name)) is not None]
    return sum(values) / len(values) if values else None


def _total(less: Replica, name: str) -> float | None:
    found = less.histograms.get(name)
    return None if found is None else found.total


def _inference_s(less: Replica) -> float | None:
    """Time in the engine of all requests that ended; where it is not counted, their whole time without the queue's."""
    whole, queue = _total(less, "request_s"), _total(less, "queue_s")
    inference = _total(less, "inference_s")
    return max(whole - queue, 0.0) if inference is None and whole is not None and queue is not None else inference


def _stepped(less: Replica) -> float | None:
    """Tokens that a step gave, one for each sequence where nothing is drafted."""
    steps = less.histograms.get("step_tokens")
    if steps is None or steps.count <= 0 or less.counters.get("drafted"):
        return None
    return less.counters.get("output_tokens", 0.0) / steps.count or None


def _slots(before: Replica, after: Replica, less: Replica) -> float | None:
    """llama.cpp's busy slots a step, whose mean since its start both scrapes have."""
    steps = less.counters.get("steps")
    if not steps or not {"busy_slots"} <= before.gauges.keys() & after.gauges.keys():
        return None
    held = [one.gauges["busy_slots"] * one.counters.get("steps", 0.0) for one in (before, after)]
    return max(held[1] - held[0], 0.0) / steps or None
