"""A scenario's times in a measurement's own metric and unit: what a published number is compared with."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from rooflight.numeric import Number, floor, maximum, minimum
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.scenario.pools import prompts_on
from rooflight.serve import phases, run
from rooflight.serve.apart import apart, apart_limits, is_apart, pools
from rooflight.serve.efficiency import Demand, demand
from rooflight.serve.formulas import tokens_per_verify
from rooflight.serve.limits import Limits, Sums, decode_sums, limits, prompt_sums
from rooflight.serve.phases import PhaseTime
from rooflight.serve.replica import replica
from rooflight.serve.room import decode_workers, labelled
from rooflight.span import Span
from rooflight.units import to_base
from rooflight.values.measurement import Measurement, Timed
from rooflight.values.run import WholeRun
from rooflight.values.steptime import StepTime

_MS = to_base(1, "ms")
# Metrics of single steps, which have no run.
STEPS = (Timed.STEP, Timed.PREFILL)
# Sequences at once that are taken for any number of them (a cache that costs nothing has no limit of its own).
MOST_SEQUENCES = 1 << 20


def metric_span(sc: Scenario, row: Measurement) -> Span:
    """The scenario in the row's metric and unit: the fastest value physics allows, roofline, and what is expected.

    Only what is timed is taken from the row, all numbers from the scenario; they may be arrays. Steps are those of
    serve.phases (with drafts: the verify step's share of a token), everything else is of a run: served requests of the
    steady state (or of workers apart), a batch started together of the run `batch`.

    Without a compute peak a prompt's metric is not a number; of a whole run nothing is expected, and its ceiling, which
    has the arithmetic for free, stands.
    """
    if row.timed in STEPS:
        return of_step(timed_step(sc, row), sc, row)
    return of_run(run_of(sc, row), sc, row)


class TimedStep(NamedTuple):
    """What a row of single steps times, per token of a sequence (of a prefill: all of it), and what that asks for."""

    span: Span
    demand: Demand


def timed_step(sc: Scenario, row: Measurement) -> TimedStep:
    """The step of such a row. Of a prefill without a compute peak there is none that can be told."""
    if row.timed is not Timed.PREFILL:
        phase, span = phases.token(sc)
        asked = demand(sc, phase)
        for one, count in phases.drafts(sc) if sc.workload.draft_tokens else ():
            asked = asked.and_more(demand(sc, one), count)
        return TimedStep(span, asked.shared(_each(sc)))
    if sc.unrated:
        return TimedStep(Span.same(float("nan")), Demand(None, None))
    phase = phases.prefill(sc)
    return TimedStep(phase.span, demand(prompts_on(sc), phase))


def of_step(one: TimedStep, sc: Scenario, row: Measurement) -> Span:
    """The row's metric in a step."""
    return one.span / _MS if row.measures.time else one.span.rate(counted_tokens(sc, row))


def measured_s(sc: Scenario, row: Measurement) -> float:
    """Seconds of the step that a row of single steps times, by its value."""
    return row.value * _MS if row.measures.time else float(counted_tokens(sc, row)) / row.value


def _each(sc: Scenario) -> Number:
    """Tokens that a sequence gets out of a step."""
    return tokens_per_verify(draft_tokens=sc.workload.draft_tokens, acceptance=sc.workload.acceptance)


def run_of(sc: Scenario, row: Measurement) -> WholeRun:
    """The run that the row is of."""
    if not row.served:
        return run.batch(sc)
    return apart(sc) if is_apart(sc) else run.served(sc)


def of_run(one: WholeRun, sc: Scenario, row: Measurement) -> Span:
    """What the row's metric is in a run; not a number where its requests generate one token and the row times more."""
    found = _of_run(one, sc, row)
    if not sc.unrated:
        return found
    return Span.same(float("nan")) if row.timed.prompt else msgspec.structs.replace(found, low=None, high=None)


def _of_run(one: WholeRun, sc: Scenario, row: Measurement) -> Span:
    metric = row.measures
    if row.timed.prompt:
        return one.ttft_s / _MS if metric.time else one.requests_per_s * counted_tokens(sc, row)
    if row.timed.step:
        return (one.tpot_s or Span.same(float("nan"))) / _MS
    if metric.time:
        return one.request_s / _MS
    if metric.per_user:
        user: Span = one.output_tokens_per_s_per_user or Span.same(float("nan"))
        return user if row.served else one.request_s.rate(sc.workload.osl)
    if metric.prompts:
        total: Span = one.requests_per_s * (sc.workload.isl + sc.workload.osl)
        return total
    rate: Span = one.output_tokens_per_s_per_accelerator if metric.per_gpu else one.output_tokens_per_s
    return rate


def ceiling(sc: Scenario, row: Measurement) -> Number:
    """The ceiling of metric_span by itself, a tenth of its work."""
    seconds = _ceiling_s(sc, row)
    return seconds / _MS if row.measures.time else counted_tokens(sc, row) / seconds


def _ceiling_s(sc: Scenario, row: Measurement) -> Number:
    """The least seconds in which counted_tokens are made."""
    timed = row.timed
    if timed is Timed.STEP and sc.workload.draft_tokens:
        drafts = (count * one.time.ceiling_s for one, count in phases.drafts(sc, bounds_only=True))
        return (phases.verify(sc, bounds_only=True).time.ceiling_s + sum(drafts)) / _each(sc)
    if timed is Timed.STEP:
        return phases.decode(sc, bounds_only=True).time.ceiling_s
    if timed is Timed.PREFILL:
        return phases.prefill(sc, bounds_only=True).time.ceiling_s
    least = run_limits(sc)
    if timed.prompt:
        return least.first_s
    if timed.step or timed is Timed.SERVED_USER:
        return least.token_s * counted_tokens(sc, row)
    return least.request_s


def run_limits(sc: Scenario) -> Limits:
    """What no schedule of the scenario's run beats."""
    return apart_limits(sc) if is_apart(sc) else limits(replica(sc))


def all_devices(sc: Scenario) -> int:
    """Accelerators of the deployment, of all its workers."""
    return pools(sc).devices if is_apart(sc) else sc.layout.devices


def counted_tokens(sc: Scenario, row: Measurement) -> Number:
    """The tokens that the metric counts in the time that it is a rate over; 1 for a time metric."""
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
    return load.batch * each / all_devices(sc) if metric.per_gpu else load.batch * each


def saturating_batch(sc: Scenario) -> Number:
    """The most sequences that can run at once, 0 where the weights alone do not fit.

    An upper limit: all that the label says holds caches beside the weights, and sequences are half way through on
    average, or as far as the engine reckons with; no more than a stated limit. Of a size that is in no source any
    number.
    """
    load = sc.workload
    done = load.osl * minimum(sc.engine.reserved_output, 0.5)
    half = msgspec.structs.replace(load, batch=1, context=maximum(load.isl + floor(done) - 1, 0))
    replicas, cap = sc.layout.dp * decode_workers(sc), sc.deployment.max_num_seqs
    cap = MOST_SEQUENCES if cap is None else cap * replicas
    if sc.accelerator.most_bytes is None:
        return cap
    one = labelled(msgspec.structs.replace(sc, workload=half))
    left = maximum(one.left, 0)
    each = maximum(floor(left / maximum(one.cache, left / MOST_SEQUENCES + 1)), 0)
    return minimum(each * replicas, cap)


def bound_of(sc: Scenario, row: Measurement) -> str:
    """The resource that sets the ceiling of what the row measures: compute, memory or link."""
    if row.timed.prompt:
        return _largest(phases.prefill(sc, bounds_only=True).time)
    if whole_run(row):
        one = replica(sc)
        sums = prompt_sums(one) + decode_sums(one)
        if sums.request_s > sums.lone_s:
            return _largest(sums)
    step = lone_step(sc, row).time
    if row.timed.step or row.timed is Timed.SERVED_USER:
        return _largest(step)
    fill = phases.prefill(sc, prompts=1, bounds_only=True).time
    return _largest(fill if step.ceiling_s * sc.workload.osl < fill.ceiling_s else step)


def lone_step(sc: Scenario, row: Measurement) -> PhaseTime:
    """The decode step that bounds a token: of all sequences, in a run of one of them alone."""
    batch = None if row.timed is Timed.STEP else 1
    return phases.decode(sc, batch=batch, context=context_tokens(sc.workload), bounds_only=True)


def whole_run(row: Measurement) -> bool:
    """Whether it is requests from end to end that the row times."""
    return row.timed in (Timed.BATCH, Timed.SERVED_ALL, Timed.SERVED_REQUEST)


def _largest(time: StepTime | Sums) -> str:
    parts = {name: seconds for name, seconds in time.terms.items() if name != "launch"}
    return max(parts, key=lambda name: parts[name])
