"""A scenario's times in a measurement's own metric and unit: what a published number is compared with."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.catalog.calibration import engine_named
from rooflight.errors import UnknownName
from rooflight.numeric import Number, floor, is_plain, maximum, minimum
from rooflight.roofline.formulas import largest
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve import phases
from rooflight.serve.expected import expected_of
from rooflight.serve.memory import room
from rooflight.units import to_base
from rooflight.values.analysis import Span
from rooflight.values.calibration import Engine
from rooflight.values.measurement import METRICS, Measurement
from rooflight.values.model import Attention, LatentAttention

_MS = to_base(1, "ms")
# Contexts at which the steps of a request are evaluated where their time is no straight line of the context.
_SAMPLES = 16
# Sequences at once that are taken for any number of them (a cache that costs nothing has no limit of its own).
MOST_SEQUENCES = 1 << 20


class Seconds(msgspec.Struct, frozen=True, kw_only=True):
    """The wall time that a metric measures, and the tokens it counts in that time (time metrics: 1).

    Every field may be an array. expected, low and high are None until a calibration supplies them.
    """

    tokens: Number
    ceiling: Number
    roofline: Number
    expected: Number | None = None
    low: Number | None = None
    high: Number | None = None


def metric_span(sc: Scenario, row: Measurement) -> Span:
    """The scenario in the row's metric and unit: the fastest value physics allows, roofline, and what is expected.

    Only the metric and the phase are taken from the row, all numbers from the scenario; they may be arrays. A decode
    step is averaged over the osl tokens after isl cached ones where the workload states no context of its own.
    """
    return in_metric(row_seconds(sc, row), row.metric)


def in_metric(seconds: Seconds, metric: str) -> Span:
    """Seconds as milliseconds, or as tokens per second: low and high are numerical, so for a rate they swap.

    Check: tokens 100, ceiling 2 s -> 50 tok/s; low 4 s, high 5 s -> 20 to 25 tok/s. A time metric: 2 s -> 2000 ms.
    """
    fast, slow = ("low", "high") if METRICS[metric].time else ("high", "low")
    return Span(
        ceiling=_converted(seconds.ceiling, seconds.tokens, metric),
        roofline=_converted(seconds.roofline, seconds.tokens, metric),
        expected=None if seconds.expected is None else _converted(seconds.expected, seconds.tokens, metric),
        **{
            fast: None if seconds.low is None else _converted(seconds.low, seconds.tokens, metric),
            slow: None if seconds.high is None else _converted(seconds.high, seconds.tokens, metric),
        },
    )


def _converted(time_s: Number, tokens: Number, metric: str) -> Number:
    return time_s / _MS if METRICS[metric].time else tokens / time_s


def bounds_s(sc: Scenario, row: Measurement, *, quick: bool = False) -> tuple[Number, Number]:
    """(ceiling, roofline) seconds of what the row's metric times; quick: a request's steps at their mean context."""
    if row.phase == "decode":
        return _step_s(sc)
    if row.phase == "prefill" or row.metric == "prefill_tok_s":
        return _prefill_s(sc)
    if row.metric == "ttft_ms":
        return _prefill_s(sc, prompts=1)
    if row.metric in ("tpot_ms", "output_tok_s_per_user") and row.phase == "e2e_server":
        return _served_token_s(sc, counted_tokens(sc, row))
    if row.metric == "tpot_ms":
        ceiling, roofline = _decode_s(sc, quick)
        steps = maximum(sc.workload.osl - 1, 1)
        return ceiling / steps, roofline / steps
    if row.phase == "e2e_server" and row.metric != "e2e_latency_ms":
        return _served_s(sc)
    (fill, fill_roofline), (decoding, decoding_roofline) = _prefill_s(sc), _decode_s(sc, quick)
    return fill + decoding, fill_roofline + decoding_roofline


def row_seconds(sc: Scenario, row: Measurement) -> Seconds:
    """Ceiling, roofline and expected seconds of what the row's metric times, and the tokens it counts in them."""
    ceiling, roofline = bounds_s(sc, row)
    named = sc.deployment.engine
    engine = engine_of(row, sc.accelerator.family) if named is None else engine_named(named, sc.accelerator.family)
    found = expected_of(sc, engine, phase=row.phase, metric=row.metric)
    middle = maximum(found.seconds, ceiling)
    return Seconds(
        tokens=counted_tokens(sc, row),
        ceiling=ceiling,
        roofline=roofline,
        expected=middle,
        low=maximum(minimum(found.low, middle), ceiling),
        high=maximum(found.high, middle),
    )


def engine_of(row: Measurement, family: str) -> Engine:
    """The row's engine, in the era of what was measured; the mean of the serving engines where it is not calibrated."""
    era = "2025" if row.phase == "e2e_server" else "2024"
    try:
        return engine_named(row.engine or None, family, era)
    except UnknownName:
        return engine_named(None)


def counted_tokens(sc: Scenario, row: Measurement) -> Number:
    """The tokens that the metric counts in the time of row_seconds; 1 for a time metric."""
    load = sc.workload
    if METRICS[row.metric].time:
        return 1
    if row.phase == "prefill" or row.metric == "prefill_tok_s":
        return load.prefill_batch * (load.isl - load.cached_prefix)
    each = 1 if row.phase == "decode" else load.osl
    if row.metric == "output_tok_s_per_user":
        return each
    if row.metric == "output_tok_s_per_gpu":
        return load.batch * each / sc.layout.devices
    if row.metric == "total_tok_s" and row.phase != "decode":
        return load.batch * (load.isl + each)
    return load.batch * each


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


Times = tuple[Number, Number]


def _prefill_s(sc: Scenario, prompts: Number | None = None) -> Times:
    time = phases.prefill(sc, prompts=prompts).time
    return time.ceiling_s, time.roofline_s


def _step_s(sc: Scenario) -> Times:
    """One decode step: at the context the workload states, else the mean over osl tokens after isl cached ones."""
    load = sc.workload
    if load.context is not None:
        time = phases.decode(sc).time
        return time.ceiling_s, time.roofline_s
    return _mean_step_s(sc, first=load.isl, steps=load.osl)


def _decode_s(sc: Scenario, quick: bool) -> Times:
    """All decode steps of a request, as phases.decode_total_s; of arrays at the mean context, see _mean_step_s."""
    load = sc.workload
    if is_plain(load.batch, load.isl, load.osl) and not quick:
        return phases.decode_total_s(sc)
    steps = maximum(load.osl - 1, 0)
    ceiling, roofline = _mean_step_s(sc, first=load.isl, steps=maximum(steps, 1))
    return ceiling * steps, roofline * steps


def _mean_step_s(sc: Scenario, *, first: Number, steps: Number) -> Times:
    """Mean seconds of `steps` decode steps from a context on.

    With plain attention the resources are straight lines of the context, and the largest of lines at their middle is
    never above its mean: still a ceiling. Windows and chunks bend the lines, so there several contexts are averaged.
    """
    if not bends(sc):
        time = phases.decode(sc, context=first + (steps - 1) / 2).time
        return time.ceiling_s, time.roofline_s
    import numpy as np

    first, steps = np.asarray(first, dtype=float)[..., None], np.asarray(steps, dtype=float)[..., None]
    places = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    batch = np.asarray(sc.workload.batch, dtype=float)[..., None]
    time = phases.decode(sc, batch=batch, context=np.maximum(first + steps * places - 0.5, 0)).time
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
    fill, step = phases.prefill(sc).time, phases.decode(sc, context=context).time
    weights = fill.work.weight_bytes / sc.rates.memory_bytes_per_s
    alone = (
        phases.prefill(sc, prompts=1).time.ceiling_s
        + steps * phases.decode(sc, batch=1, context=context).time.ceiling_s
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
    prefill = row.phase == "prefill" or row.metric in ("ttft_ms", "prefill_tok_s")
    if prefill:
        times = [phases.prefill(sc).time]
    else:
        context = context_tokens(sc.workload)
        times = [phases.decode(sc, context=context).time]
        if (
            row.phase != "decode"
            and row.metric != "tpot_ms"
            and times[0].ceiling_s * sc.workload.osl < (fill := phases.prefill(sc).time).ceiling_s
        ):
            times = [fill]
    parts = {"compute": times[0].compute_s, "memory": times[0].memory_s, "link": times[0].link_s}
    return max(parts, key=lambda name: parts[name])
