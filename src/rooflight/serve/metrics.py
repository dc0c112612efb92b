"""A scenario's times in a measurement's own metric and unit: what a published number is compared with."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.catalog.calibration import engine_named
from rooflight.errors import UnknownName
from rooflight.numeric import Number, floor, is_plain, maximum
from rooflight.roofline.engine import Expected
from rooflight.roofline.formulas import largest
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve import phases
from rooflight.serve.expected import in_proportion
from rooflight.serve.memory import room
from rooflight.serve.request import batch_run, decode_total_s
from rooflight.serve.served import served
from rooflight.span import Span
from rooflight.units import to_base
from rooflight.values.measurement import METRICS, Measurement, Timed
from rooflight.values.model import Attention, LatentAttention

_MS = to_base(1, "ms")
# Contexts at which the steps of a request are evaluated where their time is no straight line of the context.
_SAMPLES = 16
# Sequences at once that are taken for any number of them (a cache that costs nothing has no limit of its own).
MOST_SEQUENCES = 1 << 20

# (ceiling, roofline) in seconds.
Times = tuple[Number, Number]


def metric_span(sc: Scenario, row: Measurement) -> Span:
    """The scenario in the row's metric and unit: the fastest value physics allows, roofline, and what is expected.

    Only what is timed is taken from the row, all numbers from the scenario; they may be arrays. A decode step is
    averaged over the osl tokens after isl cached ones where the workload states no context of its own.
    """
    return in_metric(row_seconds(sc, row), row.metric, counted_tokens(sc, row))


def in_metric(seconds: Span, metric: str, tokens: Number = 1) -> Span:
    """Seconds as milliseconds, or as tokens per second.

    Check: tokens 100, ceiling 2 s -> 50 tok/s; low 4 s, high 5 s -> 20 to 25 tok/s. A time metric: 2 s -> 2000 ms.
    """
    return seconds / _MS if METRICS[metric].time else seconds.rate(tokens)


def bounds_s(sc: Scenario, row: Measurement, *, quick: bool = False) -> Times:
    """(ceiling, roofline) seconds of what the row times; quick: a request's steps at their mean context."""
    timed = row.timed
    if timed is Timed.STEP:
        return _step_s(sc)
    if timed is Timed.PREFILL:
        return _prefill_s(sc)
    if timed.prompt:
        return _prefill_s(sc, prompts=1)
    if timed in (Timed.SERVED_TOKEN, Timed.SERVED_USER):
        return _served_token_s(sc, counted_tokens(sc, row))
    if timed is Timed.BATCH_TOKEN:
        ceiling, roofline = _decode_s(sc, quick)
        steps = maximum(sc.workload.osl - 1, 1)
        return ceiling / steps, roofline / steps
    if timed is Timed.SERVED_ALL:
        return _served_s(sc)
    (fill, fill_roofline), (decoding, decoding_roofline) = _prefill_s(sc), _decode_s(sc, quick)
    return fill + decoding, fill_roofline + decoding_roofline


def row_seconds(sc: Scenario, row: Measurement) -> Span:
    """Seconds of what the row times: those tokens that counted_tokens counts take so long."""
    engine = with_engine_of(sc, row)
    if row.timed is Timed.PREFILL:
        phase = phases.prefill(engine)
        (ceiling, roofline), found = (phase.time.ceiling_s, phase.time.roofline_s), phase.expected
    else:
        # what is expected first: it evaluates steps in full, of which the bounds are a part
        found = expected_seconds(engine, row.timed)
        ceiling, roofline = bounds_s(sc, row)
    # what is expected of a row is held to the ceiling alone
    span = Span.of_time(ceiling=ceiling, roofline=ceiling, expected=found.seconds, low=found.low, high=found.high)
    return msgspec.structs.replace(span, roofline=roofline)


def with_engine_of(sc: Scenario, row: Measurement) -> Scenario:
    """The scenario under the row's engine, in the era of what was measured; one that the scenario names stays."""
    if sc.deployment.engine is not None:
        return sc
    era = "2025" if row.served else "2024"
    try:
        engine = engine_named(row.engine or None, sc.accelerator.family, era)
    except UnknownName:
        return sc
    return msgspec.structs.replace(sc, engine=engine)


def expected_seconds(sc: Scenario, timed: Timed) -> Expected:
    """Expected seconds of what a measurement times, at the scenario's numbers.

    Of prompts together and of the first token of a batch: their prefill; of a batch from end to end: prefill, then all
    decode steps; of served requests: the steady state, in which those that wait get no tokens.
    """
    if timed is Timed.STEP:
        return phases.decode(sc).expected
    if timed is Timed.PREFILL:
        return phases.prefill(sc).expected
    osl = sc.workload.osl
    if timed in (Timed.BATCH_FIRST, Timed.BATCH_TOKEN, Timed.BATCH):
        fill, step = batch_run(sc)
        if timed is Timed.BATCH:
            return _times(step, maximum(osl - 1, 0), beside=fill.seconds)
        return fill if timed is Timed.BATCH_FIRST else step
    state = served(sc)
    if timed is Timed.SERVED_FIRST:
        return state.ttft
    if timed is Timed.SERVED_TOKEN:
        return state.tpot
    if timed is Timed.SERVED_REQUEST:
        return _times(state.tpot, osl, beside=state.ttft.seconds)
    turns = 1 if timed is Timed.SERVED_USER else sc.workload.batch / state.running
    return _times(state.tpot, osl * turns)


def _times(one: Expected, times: Number, beside: Number = 0) -> Expected:
    """`times` steps and `beside` seconds, with the relative interval of a step."""
    found = in_proportion(one, one.seconds * times + beside)
    return msgspec.structs.replace(found, host=one.host * times)


def counted_tokens(sc: Scenario, row: Measurement) -> Number:
    """The tokens that the metric counts in the time of row_seconds; 1 for a time metric."""
    load, metric, timed = sc.workload, row.measures, row.timed
    if metric.time:
        return 1
    if timed is Timed.PREFILL:
        return load.prefill_batch * (load.isl - load.cached_prefix)
    each = 1 if timed is Timed.STEP else load.osl
    if metric.per_user:
        return each
    if metric.prompts and timed is not Timed.STEP:
        each = load.isl + each
    return load.batch * each / sc.layout.devices if metric.per_gpu else load.batch * each


def saturating_batch(sc: Scenario) -> Number:
    """The most sequences that can run at once, 0 where the weights alone do not fit.

    An upper limit: all device memory beside the weights holds caches, and sequences are half way through on average.
    """
    load = sc.workload
    half = msgspec.structs.replace(load, batch=1, context=maximum(load.isl + load.osl // 2 - 1, 0))
    deployment = msgspec.structs.replace(sc.deployment, gpu_memory_utilization=1.0)
    one = room(msgspec.structs.replace(sc, workload=half, deployment=deployment))
    left = maximum(one.left + one.chunk + one.engine, 0)
    each = maximum(floor(left / maximum(one.cache, left / MOST_SEQUENCES + 1)), 0)
    return each * sc.layout.dp


def _prefill_s(sc: Scenario, prompts: Number | None = None) -> Times:
    time = phases.prefill(sc, prompts=prompts, bounds_only=True).time
    return time.ceiling_s, time.roofline_s


def _step_s(sc: Scenario) -> Times:
    """One decode step: at the context the workload states, else the mean over osl tokens after isl cached ones."""
    load = sc.workload
    if load.context is not None:
        time = phases.decode(sc, bounds_only=True).time
        return time.ceiling_s, time.roofline_s
    return _mean_step_s(sc, first=load.isl, steps=load.osl)


def _decode_s(sc: Scenario, quick: bool) -> Times:
    """All decode steps of a request, as request.decode_total_s; of arrays at the mean context, see _mean_step_s."""
    load = sc.workload
    if is_plain(load.batch, load.isl, load.osl) and not quick:
        return decode_total_s(sc)
    steps = maximum(load.osl - 1, 0)
    ceiling, roofline = _mean_step_s(sc, first=load.isl, steps=maximum(steps, 1))
    return ceiling * steps, roofline * steps


def _mean_step_s(sc: Scenario, *, first: Number, steps: Number) -> Times:
    """Mean seconds of `steps` decode steps from a context on.

    With plain attention the resources are straight lines of the context, and the largest of lines at their middle is
    never above its mean: still a ceiling. Windows and chunks bend the lines, so there several contexts are averaged.
    """
    if not bends(sc):
        time = phases.decode(sc, context=first + (steps - 1) / 2, bounds_only=True).time
        return time.ceiling_s, time.roofline_s
    import numpy as np

    first, steps = np.asarray(first, dtype=float)[..., None], np.asarray(steps, dtype=float)[..., None]
    places = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    batch = np.asarray(sc.workload.batch, dtype=float)[..., None]
    time = phases.decode(sc, batch=batch, context=np.maximum(first + steps * places - 0.5, 0), bounds_only=True).time
    means: Any = [np.asarray(part).mean(axis=-1) for part in (time.ceiling_s, time.roofline_s)]
    if is_plain(sc.workload.batch, sc.workload.isl, sc.workload.osl):
        return float(means[0]), float(means[1])
    return means[0], means[1]


def bends(sc: Scenario) -> bool:
    """Whether some layer's cost is no straight line of the context: windows, chunks, sparse picks."""
    mixers = (layer.mixer for layer in sc.model.layers)
    reaches = [mixer.reach for mixer in mixers if isinstance(mixer, Attention | LatentAttention)]
    return any(reach.window or reach.chunk or reach.top_k or reach.stride > 1 for reach in reaches)


def _served_s(sc: Scenario) -> Times:
    """The time in which a saturated engine finishes `batch` requests, prefill of some running beside decode of others.

    ceiling     each resource's own sum over prefill and decode, weights read once for both; no request is faster
                than alone
    roofline    prefill, then decode: nothing overlapped
    """
    load = sc.workload
    context = maximum(load.isl + load.osl / 2 - 1, 0)
    steps = maximum(load.osl - 1, 0)
    fill = phases.prefill(sc, bounds_only=True).time
    step = phases.decode(sc, context=context, bounds_only=True).time
    weights = fill.work.weight_bytes / sc.rates.memory_bytes_per_s
    alone = (
        phases.prefill(sc, prompts=1, bounds_only=True).time.ceiling_s
        + steps * phases.decode(sc, batch=1, context=context, bounds_only=True).time.ceiling_s
    )
    ceiling = largest(
        fill.compute_s + steps * step.compute_s,
        maximum(fill.memory_s - weights, 0.0) + steps * step.memory_s,
        fill.link_s + steps * step.link_s,
        alone,
    )
    return ceiling, maximum(fill.roofline_s + steps * step.roofline_s, ceiling)


def _served_token_s(sc: Scenario, tokens: Number) -> Times:
    """A served request's own tokens, each the mean step: the ceiling is that of one sequence, for the others may be
    waiting or in prefill; the roofline that of all of them decoding together.
    """
    load = sc.workload
    steps = maximum(load.osl - 1, 1)
    alone = msgspec.structs.replace(sc, workload=msgspec.structs.replace(load, batch=1 + 0 * load.batch))
    ceiling = _mean_step_s(alone, first=load.isl, steps=steps)[0]
    return ceiling * tokens, _mean_step_s(sc, first=load.isl, steps=steps)[1] * tokens


def bound_of(sc: Scenario, row: Measurement) -> str:
    """The resource that sets the ceiling of what the row measures: compute, memory or link."""
    if row.timed.prompt:
        times = [phases.prefill(sc, bounds_only=True).time]
    else:
        context = context_tokens(sc.workload)
        times = [phases.decode(sc, context=context, bounds_only=True).time]
        if (
            not row.timed.step
            and times[0].ceiling_s * sc.workload.osl < (fill := phases.prefill(sc, bounds_only=True).time).ceiling_s
        ):
            times = [fill]
    parts = {"compute": times[0].compute_s, "memory": times[0].memory_s, "link": times[0].link_s}
    return max(parts, key=lambda name: parts[name])
