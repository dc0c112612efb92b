"""What usually takes the time of a row that is slower than a well-run engine, and what spares it in a faster one."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.check.mixups import TooFast, cached, cut_short, fewer, formats, speculative
from rooflight.answers.check.outcome import Finding
from rooflight.errors import RooflightError
from rooflight.numeric import Number, maximum, minimum
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.apart import is_apart
from rooflight.serve.expected import eager_s
from rooflight.serve.metrics import run_of
from rooflight.serve.replica import room
from rooflight.units import to_base
from rooflight.values.measurement import Measurement
from rooflight.values.steptime import BINDING, BOUNDS, StepTime

# Kernels launched one by one explain no more than that.
_MOST_BY_LAUNCHES = 0.65
# Collectives that take the slow path are worth a look from this share of a step on, however few bytes they carry.
_OFF_THE_FAST_PATH = 0.1
# Causes of a smaller share are not named, nor more of them.
_LEAST, _MOST = 0.05, 4
# A first token that takes so many times a prompt's prefill waited in a queue.
_QUEUE = 5
# Readings named of a value that is fast.
_FAST = 3
_MS = to_base(1, "ms")


def causes(sc: Scenario, row: Measurement, factor: float) -> tuple[Finding, ...]:
    """Candidates, the largest first: as shares of the step that a well-run engine takes.

    factor: so many times slower than that it was. Launches one by one, if they alone would take longer, are not it.
    """
    phase = phases.prefill(sc) if row.timed.prompt else phases.decode(sc)
    time, step = phase.time, phase.expected
    shares = dict.fromkeys(BOUNDS, 0.0)
    for op in time.operators:
        shares[BINDING[op.bound]] = shares.get(BINDING[op.bound], 0.0) + op.share
    eager = eager_s(sc)
    if eager == 0 or eager > factor * step.seconds:
        found = [Finding("host", share=step.host / step.seconds if step.host_measured else 0.0)]
    else:
        found = [Finding("launches", share=minimum((eager + step.host) / step.seconds, _MOST_BY_LAUNCHES))]
    found += [
        Finding("collectives", share=_exchanges(step.link_s, time) / step.seconds),
        Finding("memory", share=shares["memory"] * 0.5),
        Finding("host-memory", share=shares.get("host_memory", 0.0) * 0.5),
        Finding("arithmetic", phases.main_format(sc, time), shares["compute"] * 0.5),
    ]
    if row.measures.time and row.timed.prompt:
        found.append(_queue(sc, row))
    elif not row.timed.prompt and row.served and not is_apart(sc):
        found.append(Finding("newcomers", share=0.8))
    found.sort(key=lambda one: one.share, reverse=True)
    named = tuple(one for one in found if one.share > _LEAST)[:_MOST]
    # beside a queue of many prompts nothing else shows
    return named[:1] if named and named[0].kind == "queue" and named[0].value is not None else named


def _queue(sc: Scenario, row: Measurement) -> Finding:
    """A first token waits behind others: how many prefills of one prompt that is, and what runs at once there.

    value: (times, seconds of a prefill, sequences that run at once, requests finished a second), None where the wait
    is too short to tell.
    """
    one_s = phases.prefill(sc, prompts=1).expected.seconds
    times = row.value * _MS / one_s
    if times < _QUEUE:
        return Finding("queue", share=1.0)
    slots = per_s = None
    if row.served:
        try:
            run = run_of(sc, row)
            slots, per_s = min(float(run.running), sc.layout.dp * float(room(sc))), float(run.requests_per_s.expected)
        except RooflightError:
            pass
    return Finding("queue", (times, one_s, slots, per_s), 1.0)


def _exchanges(expected_s: Number, time: StepTime) -> Number:
    """Seconds of collectives, latency included; off the fast path (staged through the host) they are never few."""
    if not time.work.link_bytes:
        return 0.0
    return maximum(maximum(expected_s, time.link_s), _OFF_THE_FAST_PATH * time.roofline_s)


def spared(sc: Scenario, row: Measurement, *, briefly: bool = False) -> tuple[Finding, ...]:
    """Readings under which a value that is faster than expected is just what is expected, the nearest first.

    briefly     only what the row leaves open itself
    """
    one = TooFast(scenario=sc, row=row, over=1.0, likely=True)
    found: list[tuple[float, Finding]] = []
    for kind in () if briefly else (speculative, cached, formats, fewer, cut_short, _newer):
        if (first := next(iter(kind(one)), None)) is not None:
            found.append((one.distances[-1], first))
    found.sort(key=lambda pair: pair[0])
    named = [finding for _, finding in found]
    if row.speculative in ("yes", "unknown") and not row.timed.prompt and not sc.workload.draft_tokens:
        drafts = next((one for one in named if one.kind == "speculative decoding"), Finding("speculative decoding"))
        named = [drafts, *(one for one in named if one.kind != drafts.kind)]
    return tuple(named[:_FAST])


def _newer(one: TooFast) -> Iterator[Finding]:
    """A newer version of the engine than was said."""
    sc = one.scenario
    if sc.deployment.engine is None or sc.deployment.engine_version is None:
        return
    newest = changed(sc, engine_version=None)
    if newest.engine != sc.engine and one.possible(newest):
        yield Finding("newer engine", (sc.engine.id, newest.engine.era))
