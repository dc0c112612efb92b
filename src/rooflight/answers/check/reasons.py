"""Verdicts in words."""

from __future__ import annotations

from collections.abc import Sequence

from rooflight.answers.check.mixups import MixUp, sentence
from rooflight.numeric import Number, maximum, minimum
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.expected import eager_s
from rooflight.serve.metrics import bound_of, with_engine_of
from rooflight.span import Span
from rooflight.units import round_significant, scaled
from rooflight.values.measurement import METRICS, Measurement
from rooflight.values.steptime import BOUNDS, StepTime

UNCALIBRATED = "at or under its ceiling; no expectation is calibrated for it"
# Fewer sequences than said explain more than launches do.
_MOST_BY_LAUNCHES = 0.65
# Collectives that take the slow path are worth a look from this share of a step on, however few bytes they carry.
_OFF_THE_FAST_PATH = 0.1
_NAMES = {
    "e2e_latency_ms": "end to end", "ttft_ms": "to the first token", "tpot_ms": "a token", "output_tok_s": "",
    "output_tok_s_per_gpu": "per GPU", "output_tok_s_per_user": "per user", "total_tok_s": "in and out",
    "prefill_tok_s": "of prefill",
}  # fmt: skip


def joined(reason: str, notes: Sequence[str]) -> str:
    """A reason, then what was taken for granted."""
    return "; ".join([reason, *notes])


def amount(value: float, metric: str) -> str:
    """A value with its unit: 47.4 tok/s."""
    return f"{round_significant(value)} {METRICS[metric].unit}"


def named(value: float, metric: str) -> str:
    """A value with its unit and what it measures: 47.4 tok/s per user."""
    return f"{amount(value, metric)} {_NAMES[metric]}".rstrip()


def impossible(sc: Scenario, row: Measurement, span: Span, found: Sequence[MixUp]) -> str:
    """Value, ceiling, what sets it, and the reading that would do."""
    return (
        f"{named(row.value, row.metric)} is impossible: the ceiling is {amount(span.ceiling, row.metric)}, because "
        f"{because(sc, row)}; {sentence(found)}"
    )


def possible(row: Measurement, span: Span, over: float, reason: str) -> str:
    """A claim that can be true: how far below its ceiling, and what else is said of it."""
    ceiling = amount(span.ceiling, row.metric)
    return f"{named(row.value, row.metric)} is possible, {over:.0%} of the speed of the ceiling ({ceiling}): {reason}"


def because(sc: Scenario, row: Measurement) -> str:
    """What sets the ceiling, with its numbers, for one device."""
    bound = bound_of(sc, row)
    prefill = row.timed.prompt
    time = _step(sc, row).time
    what = "the prefill" if prefill else "each decode step"
    each = "" if sc.layout.devices == 1 else " on each device"
    work, rates = time.work, sc.rates
    if bound == "memory":
        return (
            f"{what} moves {scaled(work.moved_bytes, 'B')}{each} through memory of "
            f"{scaled(rates.memory_bytes_per_s, 'B/s')} ({sc.devices})"
        )
    if bound == "link":
        speed = rates.link_bytes_per_s or 0.0
        return f"{what} sends {scaled(work.link_bytes, 'B')}{each} over a link of {scaled(speed, 'B/s')} ({sc.devices})"
    form = phases.main_format(sc, time)
    return (
        f"{what} takes {scaled(work.flop, 'FLOP')}{each}, at most {scaled(rates.fastest(form), 'FLOP/s')} "
        f"in {form} ({sc.devices})"
    )


def _step(sc: Scenario, row: Measurement) -> phases.PhaseTime:
    """The prefill or decode step that what the row times is mostly made of."""
    return phases.prefill(sc) if row.timed.prompt else phases.decode(sc)


def too_big(sc: Scenario) -> str:
    """Under the ceiling, but not on that hardware in that format."""
    return (
        f"possible, but not as stated: the weights of {sc.model.id} alone are more than {sc.layout.devices} x "
        f"{sc.accelerator.id} hold, so it ran on more devices, in a narrower format, or partly from host memory"
    )


def fast(row: Measurement, span: Span, over: float) -> str:
    """Under the ceiling, but faster than expected."""
    return f"faster than {_interval(row, span)}, yet possible: {over:.0%} of the ceiling's speed"


def _interval(row: Measurement, span: Span) -> str:
    low, high = span.low or 0.0, span.high or 0.0
    return f"the {round_significant(low)} to {amount(high, row.metric)} expected"


def slow(sc: Scenario, row: Measurement, span: Span) -> str:
    """Slower than expected, with the largest candidates."""
    factor = row.value / span.expected if METRICS[row.metric].time else span.expected / row.value
    found = ", ".join(candidates(sc, row, factor))
    return f"{factor:.1f}x slower than expected ({_interval(row, span)}); look at: {found}"


def candidates(sc: Scenario, row: Measurement, factor: float) -> list[str]:
    """What usually takes such time, the largest first: as shares of the step that a well-run engine takes.

    factor: so many times slower than that it was. Launches one by one, if they alone would take longer, are not it.
    """
    phase = _step(with_engine_of(sc, row), row)
    time, step = phase.time, phase.expected
    shares = dict.fromkeys(BOUNDS, 0.0)
    for op in time.operators:
        shares[BOUNDS[op.bound]] += op.share
    eager = eager_s(sc)
    unlaunched = eager == 0 or eager > factor * step.seconds
    told = [
        (step.host / step.seconds if step.host_measured else 0.0, "host time between steps")
        if unlaunched
        else (
            minimum((eager + step.host) / step.seconds, _MOST_BY_LAUNCHES),
            "kernels launched one by one, without graphs, and host time between steps",
        ),
        (_exchanges(step.link_s, time) / step.seconds, "collectives between the devices"),
        (shares["compute"] * 0.5, f"arithmetic below the {phases.main_format(sc, time)} peak, or in a wider format"),
        (shares["memory"] * 0.5, "memory bandwidth not reached: small or unfused kernels"),
    ]
    if row.measures.time and row.timed.prompt:
        told.append((1.0, "waiting in the queue behind other prompts"))
    elif not row.timed.prompt and row.served:
        told.append((0.8, "prefill of newcomers between decode steps"))
    if row.measures.together and sc.workload.batch > 1:
        told.append((0.7, f"fewer sequences at once than {sc.workload.batch:,.0f}"))
    return [words for share, words in sorted(told, reverse=True) if share > 0.05][:4]


def _exchanges(expected_s: Number, time: StepTime) -> Number:
    """Seconds of collectives, latency included; off the fast path (staged through the host) they are never few."""
    if not time.work.link_bytes:
        return 0.0
    return maximum(maximum(expected_s, time.link_s), _OFF_THE_FAST_PATH * time.roofline_s)
