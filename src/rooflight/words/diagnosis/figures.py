"""Figures of a run beside what is expected of them, as evidence: each figure once, with what it is held against."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.check.outcome import Judged
from rooflight.answers.diagnose.benchmarks import RunFound
from rooflight.answers.diagnose.timed.beside import Beside
from rooflight.units import round_significant, scaled, to_base
from rooflight.values.diagnosis import Evidence

_MS = to_base(1, "ms")
# What evidence calls a metric of `check`.
_FIGURES = {
    "ttft_ms": "time to first token", "tpot_ms": "time per later token", "e2e_latency_ms": "time of a request",
    "output_tok_s": "output of all", "total_tok_s": "input and output of all",
    "prefill_tok_s": "prefill",
}  # fmt: skip
_RATE = "tokens/s"
_WAITS = ("queue", "capacity")
# Prompts that take no more of the time than that say nothing of a step.
_MOSTLY = 0.5


def evidence(one: RunFound) -> Iterator[Evidence]:
    """What speaks for the verdict or against it: how many are in flight, what waits, each figure beside its prediction.

    What is expected is no evidence by itself: it stands beside the figure that was measured.
    """
    yield from _flight(one)
    yield from _first(one)
    if one.beside is None or one.said == "length":
        return
    for metric, judged in one.beside.judged:
        if isinstance(judged, Judged):
            yield _figure(one, metric, judged)


def _flight(one: RunFound) -> Iterator[Evidence]:
    """What is in flight, where the verdict is of that or its figures do not close."""
    asked, queued = one.run.in_flight, one.bound in (*_WAITS, "starved")
    closes = asked is None or not any(odd.kind in ("in flight", "start-up") for odd in one.odd)
    if one.implied is not None and (queued or not closes):
        set_ = f", where {round_significant(asked)} were set" if asked is not None else ""
        yield Evidence(what=f"in flight by Little's law{set_}", value=one.implied, supports=closes)
    if one.decoding is not None and one.bound in _WAITS:
        yield Evidence(what="sequences that decode, of those in flight", value=one.decoding)
    if one.room is not None and (one.bound == "capacity" or one.room < (one.in_flight or 0)):
        supports = one.bound == "capacity" or one.room < 1
        yield Evidence(what="sequences that memory holds", value=one.room, supports=supports)


def _first(one: RunFound) -> Iterator[Evidence]:
    """The parts of a first token, where the verdict is of them; how much of the time prompts take."""
    queued = one.bound in _WAITS
    if one.queue_s is not None and (queued or one.bound == "launch" or one.said == "prompts"):
        alone = (one.in_flight or 1) <= 1 and one.run.record.measured.queue_s is None
        what = "of the first token, beyond its prefill" if alone else "of the first token, waiting"
        if one.prefill_s is not None:
            what += f" (its prefill: {scaled(one.prefill_s, 's')})"
        yield Evidence(what=what, value=one.queue_s, unit="s")
    share = one.prompt_share
    if share is not None and one.run.ttft_s and one.said != "beyond" and (one.bound == "compute" or share > _MOSTLY):
        what = "of the time, prompts at the expected speed"
        yield Evidence(what=what, value=min(share, 1.0), unit="share", supports=one.bound == "compute")


def _figure(one: RunFound, metric: str, judged: Judged) -> Evidence:
    """time per later token (expected 11.2 ms, 10.2 ms to 13.1 ms; ...): 12.7 ms."""
    time, beside = metric.endswith("_ms"), one.beside
    value, unit = judged.row.value * (_MS if time else 1), "s" if time else _RATE
    parts = [said] if (said := _expected(judged)) else []
    if metric == "tpot_ms" and beside is not None and beside.step is not None and beside.of_step is not None:
        parts.append(f"the ceiling of its step: {step_words(beside)}")
    else:
        parts.append(f"no schedule beats {_amount(judged, judged.span.ceiling)}")
    return Evidence(
        what=f"{_FIGURES[metric]}, measured ({'; '.join(parts)})", value=value, unit=unit,
        supports=_speaks_for(one, judged),
    )  # fmt: skip


def _amount(judged: Judged, value: float) -> str:
    time = judged.row.measures.time
    return scaled(value * _MS, "s") if time else f"{round_significant(value)} {_RATE}"


def _expected(judged: Judged) -> str:
    span = judged.span
    if span.low is None or span.high is None:
        return ""
    mean = _amount(judged, span.expected)
    return f"expected {mean}, {_amount(judged, span.low)} to {_amount(judged, span.high)}"


def expected(beside: Beside) -> str:
    """What is expected of the figure that decides, and of which schedule."""
    judged = dict(beside.judged).get(beside.decisive or "")
    if not isinstance(judged, Judged) or not (said := _expected(judged)):
        return ""
    if beside.prompts or beside.scenario.workload.batch == 1:
        return said
    how = "served, with prompts of others between tokens" if beside.served else "a batch in lock-step"
    return f"{said}: {how}"


def step_words(beside: Beside) -> str:
    """5.97 ms at 32 in flight: the least that the step takes at the batch that ran."""
    if beside.step is None:
        return ""
    batch = round_significant(beside.batch or 1)
    return f"{scaled(beside.step.ceiling_s, 's')} at {batch} in flight"


def _speaks_for(one: RunFound, judged: Judged) -> bool:
    """Whether a figure beside its prediction speaks for what binds: time that no ceiling explains is the host's or a
    queue's, and what is as fast as expected is bound by what the prediction is."""
    if one.said in ("slow", "far", "queue", "room", "overload", "starved"):
        return judged.verdict != "impossible"
    return judged.verdict in ("ok", "fast")
