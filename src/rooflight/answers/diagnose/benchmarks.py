"""A recorded run beside the run that is predicted for its load: which ceiling it hit."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rooflight.answers.diagnose.fitted.fit import BINDS
from rooflight.answers.diagnose.setting import Setting
from rooflight.answers.diagnose.timed.beside import Beside, beside
from rooflight.answers.diagnose.timed.oddities import Odd, arrival_rate, oddities
from rooflight.answers.diagnose.timed.placed import lengths_open
from rooflight.answers.diagnose.timed.seen import Seen, decoding, seen
from rooflight.values.diagnosis import Bound, Confidence, Found
from rooflight.values.recorded import Record, Recorded

# Runs that are set beside their prediction; of the rest only what arithmetic says.
_MOST = 12
# A first token that takes so many times its own prefill waited.
_QUEUE = 5.0
# ... and that wait binds where it is such a share of the request.
_MATTERS = 0.3
# Requests that were finished a second, of those that came, under which they pile up.
_KEPT = 0.9
# Requests that a deployment finishes, over those that came, from which on it has too little to do; and how far under
# the batch where output stops growing.
_SPARE, _UNDER = 2.0, 4.0
# So many times as fast as expected, and above its roofline, a value is another than its name says.
_FAST = 1.5
# A roofline that is so many times faster does not bind, even where no engine comes nearer to it.
_FAR = 1 / 3
# As expected, more or less: a run that is faster, and one that is slower, by so much.
_NEAR, _SLOWER = 1.35, 1.2
# An expected interval that is wider than that says little.
_WIDE = 3.0
# Prompts that take such a share of the time are what the machine does, and others wait for that.
_BUSY = 0.7
_SURE = {"high": 0, "medium": 1, "low": 2}
# Figures that do not go together: no verdict of such a run is sure.
_DOUBTFUL = ("in flight", "start-up", "decoding", "output counts prompts", "output is off", "short", "tail")


class RunFound(Found, frozen=True, kw_only=True):
    """A run and what it says.

    said        which sentence it is; words.diagnosis.benchmarks lists all of them
    in_flight   requests at once: as set where that closes, else by Little's law (`implied`)
    decoding    sequences that decode: output tokens a second x time of one; waiting: the rest
    asked_per_s, kept_per_s     requests that came and were finished a second, where they came at a rate
    prefill_s   of one prompt, as recorded, else as expected; queue_s: the rest of the first token
    prompt_share    of the time, that prompts take one after the other at the expected speed
    room        sequences that the pool holds; limit: that the engine lets run
    beside      its figures next to the predicted run's; None without a model and a machine
    lengths_open    no length of prompts and answers is said: the prediction is of the shortest
    """

    run: Seen
    said: str = ""
    in_flight: float | None = None
    implied: float | None = None
    decoding: float | None = None
    waiting: float | None = None
    asked_per_s: float | None = None
    kept_per_s: float | None = None
    prefill_s: float | None = None
    queue_s: float | None = None
    prompt_share: float | None = None
    room: float | None = None
    limit: float | None = None
    odd: tuple[Odd, ...] = ()
    beside: Beside | None = None
    lengths_open: bool = False


class BenchmarksFound(Found, frozen=True, kw_only=True):
    """The runs, the one that the verdict is of first. unplaced: more runs than are set beside a prediction."""

    runs: tuple[RunFound, ...]
    unplaced: int = 0


def benchmarks(recorded: Sequence[Recorded], setting: Setting) -> BenchmarksFound | None:
    """What single runs say; None where no file has figures of one."""
    return benchmarks_of([record for one in recorded for record in one.records], setting)


def benchmarks_of(records: Sequence[Record], setting: Setting) -> BenchmarksFound | None:
    """The same of records. Of many, those with the most in flight are set beside their prediction."""
    runs = [run for run in map(seen, records) if _is_run(run)]
    if not runs:
        return None
    order = sorted(range(len(runs)), key=lambda place: -(runs[place].in_flight or runs[place].implied or 0))
    near = set(order[:_MOST])
    found = [_found(run, setting, placed_too=place in near) for place, run in enumerate(runs)]
    waits = ("queue", "capacity")
    found.sort(key=lambda one: (one.cannot_tell, one.bound not in waits, _SURE[one.confidence], -(one.in_flight or 0)))
    first = found[0]
    return BenchmarksFound(
        bound=first.bound, confidence="low" if first.bound not in waits and _unlike(found) else first.confidence,
        cannot_tell=first.cannot_tell, runs=tuple(found), unplaced=max(len(runs) - _MOST, 0),
    )  # fmt: skip


def _unlike(found: Sequence[RunFound]) -> bool:
    """Whether runs of the first one's kind (prompts, or tokens) are bound by different things: none stands for all."""
    kind = found[0].beside is not None and found[0].beside.prompts
    alike = [one for one in found if one.beside is not None and one.beside.prompts == kind]
    return len({one.bound for one in alike if one.bound is not None}) > 1


def _is_run(run: Seen) -> bool:
    return any((run.token_s, run.rate, run.request_s, run.ttft_s, run.prompt_s))


def _found(run: Seen, setting: Setting, *, placed_too: bool) -> RunFound:
    odd = oddities(run)
    at_once = _at_once(run, odd)
    counted = replace(run, in_flight=at_once)
    named = setting.model is not None and setting.card is not None
    skipped = named and not placed_too
    known = RunFound(
        run=run, said="skipped" if skipped else "unfollowed" if named else "unplaced",
        in_flight=at_once, implied=run.implied, odd=odd, limit=run.record.stated.max_num_seqs,
        asked_per_s=arrival_rate(run), kept_per_s=run.record.measured.requests_per_s,
        beside=beside(counted, setting) if placed_too else None, lengths_open=lengths_open(run, setting),
    )  # fmt: skip
    known = _split(known)
    steps = (_beyond, _overloaded, _queued, _starved, _step)
    return next((found for step in steps if (found := step(known)) is not None), known)


def _at_once(run: Seen, odd: tuple[Odd, ...]) -> float | None:
    """Requests in flight: as set, unless rates and times make another number."""
    off = next((one for one in odd if one.kind in ("in flight", "start-up")), None)
    if off is not None:
        return max(off.second or 1.0, 1.0)
    if arrival_rate(run) is not None and run.implied and run.in_flight:  # the limit on those in flight is no load
        return max(min(run.implied, run.in_flight), 1.0)
    return run.in_flight or run.implied or decoding(run)


def _split(known: RunFound) -> RunFound:
    """How a first token divides into the queue and the prefill, and requests into those that decode and that wait."""
    run, found = known.run, known.run.record.measured
    queue = found.queue_s.middle if found.queue_s is not None else None
    prefill = found.prefill_s.middle if found.prefill_s is not None else None
    if prefill is None and known.beside is not None:
        prefill = known.beside.prefill_s
    if queue is None and prefill is not None and run.ttft_s:
        queue = max(run.ttft_s - prefill, 0.0)
    several = decoding(run)
    waiting = max(known.in_flight - several, 0.0) if known.in_flight and several else None
    pool = found.kv_tokens / (run.isl + (run.osl or 0)) if found.kv_tokens and run.isl else None
    room = pool if pool is not None else known.beside.room if known.beside is not None else None
    per_s = found.requests_per_s or (run.rate / run.osl if run.rate and run.osl else None)
    own = known.beside.prefill_s if known.beside is not None else None
    share = per_s * own if per_s and own else None
    return replace(
        known, prefill_s=prefill, queue_s=queue, decoding=several, waiting=waiting, room=room, prompt_share=share
    )


def _beyond(known: RunFound) -> RunFound | None:
    """Faster than physics allows: no ceiling can be told from what cannot be true."""
    if known.beside is None or not known.beside.above:
        return None
    return replace(known, said="beyond", cannot_tell=True)


def _overloaded(known: RunFound) -> RunFound | None:
    """More requests come than are finished, beyond what a finite run's end explains."""
    asked, kept, run = known.asked_per_s, known.kept_per_s, known.run
    if not asked or not kept or any(one.kind in ("capped", "short") for one in known.odd):
        return None
    stated = run.record.stated
    requests = stated.num_prompts or run.record.measured.requests
    drained = requests / (requests / asked + run.request_s) if requests and run.request_s else asked
    if kept >= _KEPT * drained:
        return None
    sure: Confidence = "high" if kept < _KEPT * _KEPT * drained else "medium"
    return replace(known, said="overload", **_full(known), confidence=sure)


def _full(known: RunFound) -> dict[str, Bound]:
    """A queue in front of a full pool is one of capacity."""
    held = known.room is not None and known.in_flight is not None and known.room < known.in_flight
    free = known.limit is None or (known.room or 0) < known.limit
    at_room = known.decoding is None or known.room is None or known.decoding >= BINDS * known.room
    return {"bound": "capacity" if held and free and at_room else "queue"}


def _queued(known: RunFound) -> RunFound | None:
    """The first token waits, many times as long as its own prompt takes, and that is much of the request."""
    run = known.run
    if not run.ttft_s:
        return None
    whole = run.request_s or run.ttft_s + (run.token_s or 0.0) * max((run.osl or 1) - 1, 0)
    share = (known.queue_s if known.queue_s is not None else run.ttft_s) / whole
    late = known.prefill_s is not None and run.ttft_s >= _QUEUE * known.prefill_s
    waits = known.waiting is not None and known.in_flight and known.waiting >= _MATTERS * known.in_flight
    several = (known.in_flight or 1) > 1
    if not several or share < _MATTERS or not (late or (waits and share >= BINDS)):
        return None
    sure: Confidence = "high" if late and share >= BINDS else "medium"
    bound = _full(known)["bound"]
    if bound == "queue" and (known.prompt_share or 0.0) >= _BUSY:
        return replace(known, said="prompts", bound="compute", confidence="medium")
    return replace(known, said="room" if bound == "capacity" else "queue", bound=bound, confidence=sure)


def _starved(known: RunFound) -> RunFound | None:
    """Requests come more slowly than they could be finished: the load is what limits output."""
    beside = known.beside
    if not known.asked_per_s or beside is None or beside.most_per_s is None or not known.kept_per_s:
        return None
    few = beside.knee is not None and (known.in_flight or 1) * _UNDER <= beside.knee
    if any(one.kind == "capped" for one in known.odd) or not few or beside.most_per_s < _SPARE * known.kept_per_s:
        return None
    return replace(known, said="starved", bound="starved", confidence="medium" if beside.close else "low")


def _step(known: RunFound) -> RunFound | None:
    """What binds the step at that batch, as far as the measured one is what is expected."""
    beside = known.beside
    if beside is None or beside.bound is None:
        return replace(known, said="open" if beside is not None else known.said, cannot_tell=True)
    if known.in_flight is None and not beside.prompts:
        return replace(known, said="uncounted", cannot_tell=True)
    if any(one.kind == "drafts" for one in known.odd) and not beside.judged:
        return replace(known, said="drafts", bound=beside.bound, confidence="low")
    if beside.slow is None:
        return replace(known, said="open", cannot_tell=True)
    below = beside.of_roof is not None and beside.of_roof < _FAR
    if known.lengths_open and beside.cached_tokens is not None and (beside.slow > 1 / BINDS or below):
        return replace(known, said="length", cannot_tell=True)  # a cache of some length may be all that is beyond it
    if beside.slow > 1 / BINDS:
        bound: Bound = "launch" if beside.of_roof is None or beside.of_roof < BINDS else beside.bound
        sure: Confidence = "medium" if beside.bound == "launch" else "low"
        return replace(known, said="slow", bound=bound, confidence=sure)
    if beside.slow < 1 / _FAST and (beside.of_roof or 0) > 1 and not beside.within:
        total = _if_total(known)
        found = replace(known, said="fast", bound=None if beside.open else beside.bound, cannot_tell=beside.open)
        return found if total is None else replace(found, odd=(*found.odd, total))
    if below and beside.of_roof is not None and not beside.prompts and beside.bound in ("memory", "compute"):
        sure = "medium" if beside.of_roof < _FAR * _FAR * 2 else "low"
        return replace(known, said="far", bound="launch", confidence=sure)
    wide = below or beside.width is None or beside.width > _WIDE
    near = max(beside.slow, 1 / beside.slow)
    apart = near > (_SLOWER if known.lengths_open else _FAST) and not beside.within
    close = near <= _NEAR and (beside.slow <= _SLOWER or beside.within)
    sure = "low" if wide or apart else "high" if close else "medium"
    off = any(one.kind in _DOUBTFUL for one in known.odd)
    if off and sure == "high":
        sure = "medium"
    return replace(known, said="bound", bound=beside.bound, confidence=sure)


def _if_total(known: RunFound) -> Odd | None:
    """Output as it would be, were prompt tokens counted in it, where that is what is expected."""
    run, beside = known.run, known.beside
    if beside is None or beside.slow is None or not (run.rate and run.isl and run.osl):
        return None
    times = (run.isl + run.osl) / run.osl
    return Odd("perhaps total", run.rate, run.rate / times) if 1 / _FAST < beside.slow * times < _FAST else None
