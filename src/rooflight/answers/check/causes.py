"""What usually takes the time of a row that is slower than a well-run engine."""

from __future__ import annotations

from rooflight.answers.check.outcome import Finding
from rooflight.numeric import Number, maximum, minimum
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.expected import eager_s
from rooflight.serve.metrics import with_engine_of
from rooflight.values.measurement import Measurement
from rooflight.values.steptime import BOUNDS, StepTime

# Fewer sequences than said explain more than launches do.
_MOST_BY_LAUNCHES = 0.65
# Collectives that take the slow path are worth a look from this share of a step on, however few bytes they carry.
_OFF_THE_FAST_PATH = 0.1
# Causes of a smaller share are not named, nor more of them.
_LEAST, _MOST = 0.05, 4


def causes(sc: Scenario, row: Measurement, factor: float) -> tuple[Finding, ...]:
    """Candidates, the largest first: as shares of the step that a well-run engine takes.

    factor: so many times slower than that it was. Launches one by one, if they alone would take longer, are not it.
    """
    engine = with_engine_of(sc, row)
    phase = phases.prefill(engine) if row.timed.prompt else phases.decode(engine)
    time, step = phase.time, phase.expected
    shares = dict.fromkeys(BOUNDS, 0.0)
    for op in time.operators:
        shares[BOUNDS[op.bound]] += op.share
    eager = eager_s(sc)
    if eager == 0 or eager > factor * step.seconds:
        found = [Finding("host", share=step.host / step.seconds if step.host_measured else 0.0)]
    else:
        found = [Finding("launches", share=minimum((eager + step.host) / step.seconds, _MOST_BY_LAUNCHES))]
    found += [
        Finding("collectives", share=_exchanges(step.link_s, time) / step.seconds),
        Finding("memory", share=shares["memory"] * 0.5),
        Finding("arithmetic", phases.main_format(sc, time), shares["compute"] * 0.5),
    ]
    if row.measures.time and row.timed.prompt:
        found.append(Finding("queue", share=1.0))
    elif not row.timed.prompt and row.served:
        found.append(Finding("newcomers", share=0.8))
    if row.measures.together and sc.workload.batch > 1:
        found.append(Finding("sequences", sc.workload.batch, 0.7))
    found.sort(key=lambda one: one.share, reverse=True)
    return tuple(one for one in found if one.share > _LEAST)[:_MOST]


def _exchanges(expected_s: Number, time: StepTime) -> Number:
    """Seconds of collectives, latency included; off the fast path (staged through the host) they are never few."""
    if not time.work.link_bytes:
        return 0.0
    return maximum(maximum(expected_s, time.link_s), _OFF_THE_FAST_PATH * time.roofline_s)
