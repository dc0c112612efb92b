"""A request by itself and a batch run offline: prefill, then every decode step as its context grows."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rooflight.numeric import is_plain
from rooflight.roofline.engine import Expected
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.expected import expected
from rooflight.values.model import Attention
from rooflight.work import step as steps
from rooflight.work.layout import share_out

# A stretch of decode steps counts as straight where its middle is this close to the line (relative).
STRAIGHT_TOLERANCE = 1e-6
# Decode steps of a request that are evaluated at most before stretches are taken as straight all the same.
MOST_STEPS = 400

Times = tuple[float, float]


def decode_total_s(sc: Scenario) -> Times:
    """(ceiling, roofline) seconds of all decode steps of a request: contexts isl .. isl + osl - 2.

    Times are straight lines of the context between kinks (a bound changes, a window fills). Chunked attention starts
    anew at each chunk: there the sum over whole chunks is one over chunks of sums within them.
    """
    if not is_plain(sc.workload.isl, sc.workload.osl) or sc.workload.osl < 2:
        return 0.0, 0.0
    first, end = int(sc.workload.isl), int(sc.workload.isl + sc.workload.osl - 1)

    def step(context: int) -> Times:
        time = phases.decode(sc, context=context, bounds_only=True).time
        return time.ceiling_s, time.roofline_s

    mixers = [layer.mixer for layer in sc.model.layers if isinstance(layer.mixer, Attention)]
    size = min((mixer.reach.chunk for mixer in mixers if mixer.reach.chunk), default=0)
    if size == 0 or end - first <= size:
        return straight_sum(step, first, end)
    start, stop = -(-first // size), end // size
    whole = straight_sum(lambda chunk: straight_sum(step, chunk * size, (chunk + 1) * size), start, stop)
    return _added(straight_sum(step, first, start * size), whole, straight_sum(step, stop * size, end))


def straight_sum(of: Callable[[int], Times], first: int, end: int) -> Times:
    """The sum of a pair of functions over first .. end - 1: a stretch whose middle lies on the line between its ends
    is summed as one, others are halved."""
    seen: dict[int, Times] = {}

    def at(place: int) -> Times:
        if place not in seen:
            seen[place] = of(place)
        return seen[place]

    def stretch(low: int, high: int) -> Times:
        count, middle = high - low + 1, (low + high) // 2
        (a0, a1), (b0, b1) = at(low), at(high)
        if count <= 2:
            return (a0 + b0) / 2 * count, (a1 + b1) / 2 * count
        share = (middle - low) / (high - low)
        line = (a0 + (b0 - a0) * share, a1 + (b1 - a1) * share)
        straight = all(abs(y - on) <= STRAIGHT_TOLERANCE * on for y, on in zip(at(middle), line, strict=True))
        if straight or len(seen) > MOST_STEPS:
            return (a0 + b0) / 2 * count, (a1 + b1) / 2 * count
        return _added(stretch(low, middle), stretch(middle + 1, high))

    return stretch(first, end - 1) if end > first else (0.0, 0.0)


def _added(*parts: Times) -> Times:
    return sum(part[0] for part in parts), sum(part[1] for part in parts)


def mean_step(sc: Scenario) -> Expected:
    """What is expected of a decode step of the batch at the mean context of a request."""
    load = sc.workload
    sequences = share_out(load.batch, sc.layout).sequences
    part = sc.steps.parts(steps.decode(sequences=sequences, context=load.isl + load.osl / 2))
    return expected(sc, part, sequences=sequences)


def expected_request(sc: Scenario, prefill: Expected) -> Expected:
    """A request by itself: its prefill, then its decode steps at their mean context."""
    step, times = mean_step(sc), sc.workload.osl - 1
    return msgspec.structs.replace(
        step,
        seconds=prefill.seconds + times * step.seconds,
        low=prefill.low + times * step.low,
        high=prefill.high + times * step.high,
    )


def batch_run(sc: Scenario) -> tuple[Expected, Expected]:
    """(prefill of the whole batch, its mean decode step): a batch run offline, all sequences alike."""
    load = sc.workload
    sequences = share_out(load.batch, sc.layout).sequences
    part = sc.steps.parts(steps.prefill(sequences=sequences, isl=load.isl, cached_prefix=load.cached_prefix))
    return expected(sc, part, sequences=sequences), mean_step(sc)
