"""The run that is predicted for a recorded load, and its figures judged as values of it."""

from __future__ import annotations

from typing import cast

import msgspec

from rooflight.answers.check.outcome import Judged, NoCeiling
from rooflight.answers.check.report import judged_claims
from rooflight.answers.diagnose.setting import Setting
from rooflight.answers.diagnose.timed.placed import StepRoof, lengths_open, placed, step_roof
from rooflight.answers.diagnose.timed.seen import Seen
from rooflight.errors import RooflightError
from rooflight.numeric import is_plain
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.analyze import expected_bound, split
from rooflight.serve.arrivals import capacity_per_s, holds_one
from rooflight.serve.landmarks import landmarks
from rooflight.serve.memory import admitted
from rooflight.serve.schedule import scheduled
from rooflight.units import to_base
from rooflight.values.diagnosis import Bound
from rooflight.values.run import Run

_MS = to_base(1, "ms")
# Prompts that take more than this share of the machine's time bind it.
_PROMPTS = 0.5
# An expected value and a measured one are close within that.
_CLOSE = 1.5
# Sequences that decode are those in flight within that: a few are always in prefill.
_ALL = 0.9


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """What is predicted where a run ran.

    run         predicted; None where not one sequence fits
    judged      its figures, by the metric of `check`
    bound       of the expected step at that batch, or of prompts where they take most of the time
    step        the decode step; None of a run that times prompts alone
    prefill_s   expected of one prompt alone; room: sequences that memory holds
    most_per_s  requests that it finishes a second at most; knee: the batch where doubling it gains half of that
    slow        measured time over expected time of what decides; of_roof: the ceiling's time over the measured one
    width       of the expected interval of it, high over low; within: the measured one lies in it
    decisive    which figure that is; of_step: the ceiling of the decode step over the measured time between tokens
    batch       sequences that the step is of; served: predicted with prompts of others between a request's tokens,
                as servers run, else in lock-step
    cached_tokens   of a sequence, whose reading explains the time where no length is stated; None: no length does
    of_ceiling  its speed over that of the fastest arithmetic, which may be above the roof of the weights' own format
    """

    scenario: Scenario
    run: Run | None
    judged: tuple[tuple[str, Judged | NoCeiling], ...] = ()
    bound: Bound | None = None
    step: StepRoof | None = None
    prefill_s: float | None = None
    prompts: bool = False
    room: float | None = None
    most_per_s: float | None = None
    knee: int | None = None
    slow: float | None = None
    of_roof: float | None = None
    width: float | None = None
    within: bool = False
    decisive: str | None = None
    of_step: float | None = None
    batch: float | None = None
    served: bool = False
    cached_tokens: float | None = None
    of_ceiling: float | None = None

    @property
    def above(self) -> bool:
        """Whether a figure is faster than its ceiling."""
        return any(isinstance(one, Judged) and one.above and not one.on_measured for _, one in self.judged)

    @property
    def open(self) -> bool:
        """Whether a figure leaves open what it is of, so that it can be neither true nor false."""
        return any(one.verdict == "cannot-judge" for _, one in self.judged)

    @property
    def close(self) -> bool:
        """Whether what was measured is what is expected, more or less."""
        return self.slow is not None and 1 / _CLOSE <= self.slow <= _CLOSE


def beside(run: Seen, setting: Setting) -> Beside | None:
    """The prediction for a run with so many in flight; None without a model and a machine that it can be made for."""
    sc = placed(setting, run)
    if sc is None:
        return None
    try:
        sc = _served(sc, run)
        one = scheduled(sc) if holds_one(sc) else None
    except RooflightError:
        return None
    served = sc.deployment.schedule == "served"
    known = Beside(scenario=sc, run=one, judged=_judged(sc, run, setting), room=_room(sc), served=served)
    known = _with_prompts(known, run)
    return _decisive(_with_load(known, run, open_=lengths_open(run, setting)), run)


def _served(sc: Scenario, run: Seen) -> Scenario:
    """Requests that come one after the other, unless one phase alone was timed or one request at a time."""
    stated = run.record.stated
    one_by_one = run.ttft_s or (stated.concurrency is not None and stated.batch is None and run.isl)
    if stated.phase is not None or sc.deployment.schedule is not None or sc.workload.batch == 1 or not one_by_one:
        return sc
    return changed(sc, schedule="served")


def _judged(sc: Scenario, run: Seen, setting: Setting) -> tuple[tuple[str, Judged | NoCeiling], ...]:
    stated = run.record.stated
    drafted = stated.speculative and not stated.draft_tokens
    values: dict[str, float] = {}
    alone = run.isl is not None  # a first token hangs on the prompt, and so do requests
    if run.ttft_s and alone and not drafted:
        values["ttft_ms"] = run.ttft_s / _MS
    if run.record.measured.prefill_tokens_per_s and not run.rate:
        values["prefill_tok_s"] = run.record.measured.prefill_tokens_per_s
    if run.token_s and not drafted and run.basis != "rate":
        values["tpot_ms"] = run.token_s / _MS
    if run.request_s and alone and run.osl and not drafted:
        values["e2e_latency_ms"] = run.request_s / _MS
    if run.rate and (alone or "tpot_ms" not in values) and not drafted:
        values["output_tok_s"] = run.rate
    if not values:
        return ()
    told = set(setting.given)
    told |= {"isl"} if run.isl else set()
    told |= {"osl"} if run.osl else set()
    told |= {"batch"} if run.in_flight else set()
    told |= {"context"} if stated.depth is not None else set()
    found: list[tuple[str, Judged | NoCeiling]] = []
    for metric, value in values.items():  # one by one: how they go together is judged by oddities
        try:
            found += [(metric, one) for one in judged_claims(sc, {metric: value}, told)]
        except RooflightError:
            continue
    return tuple(found)


def _room(sc: Scenario) -> float | None:
    if sc.accelerator.given_bytes is None:
        return None
    try:
        held = admitted(sc)
    except (RooflightError, ZeroDivisionError):
        return None
    return float(held) * sc.layout.dp if is_plain(held) else None


def _with_prompts(known: Beside, run: Seen) -> Beside:
    """The prompt alone, and what binds prompts where they take most of the time."""
    sc = known.scenario
    if sc.unrated:
        return known
    try:
        phase = phases.prefill(sc, prompts=1)
    except RooflightError:
        return known
    bound = expected_bound(split(phase.time.operators), phase.expected)
    alone = run.record.stated.phase == "prefill" or (not run.token_s and run.rate is None)
    share = known.run.prefill_share if known.run is not None else None
    mostly = alone or (share is not None and share > _PROMPTS and run.token_s is None)
    return msgspec.structs.replace(
        known, prefill_s=float(phase.span.expected), prompts=mostly, bound=cast(Bound, bound) if mostly else None
    )


def _with_load(known: Beside, run: Seen, *, open_: bool) -> Beside:
    """The decode step, and what a heavier load would find."""
    sc = known.scenario
    if known.prompts:
        return known
    batch = _decoding(known, run)
    step = step_roof(sc, in_flight=batch)
    most = knee = None
    if run.record.stated.request_rate is not None and not sc.unrated:
        try:
            most, knee = capacity_per_s(sc), landmarks(sc).knee_batch
        except RooflightError:
            most = knee = None
    bound = known.bound or (cast(Bound, step.expected_bound) if step is not None else None)
    cached = _cached(sc, batch, step, run.token_s) if open_ else None
    return msgspec.structs.replace(
        known, step=step, batch=batch, most_per_s=most, knee=knee, bound=bound, cached_tokens=cached
    )


def _cached(sc: Scenario, batch: float, empty: StepRoof | None, token_s: float | None) -> float | None:
    """Tokens of a sequence whose reading is what the step takes beyond that of an empty cache; None: too many."""
    longest = sc.model.max_context
    full = step_roof(sc, in_flight=batch, context=longest) if longest else None
    if empty is None or full is None or longest is None or token_s is None:
        return None
    short, grows = token_s - empty.span.expected, full.span.expected - empty.span.expected
    return longest * float(short / grows) if 0 < short <= grows else None


def _decoding(known: Beside, run: Seen) -> float:
    """Sequences that decode at once: no more than are in flight, than rate and time make, than memory holds.

    Where memory holds none, the run was of another memory than was said, and its step is of those that were stated.
    """
    several: list[float] = [known.scenario.workload.batch]
    if run.rate and run.token_s and run.basis != "rate":
        decode = run.rate * run.token_s
        several += [decode] if decode < _ALL * several[0] else []
    if known.room is not None and known.room >= 1:
        several.append(known.room)
    return max(1, round(min(several)))


def _decisive(known: Beside, run: Seen) -> Beside:
    """The figure that says how near the run is to its prediction: a token's time, else output, else a prompt."""
    metrics = dict(known.judged)
    order = ("prefill_tok_s", "ttft_ms") if known.prompts else ("tpot_ms", "output_tok_s", "e2e_latency_ms")
    for metric in order:
        one = metrics.get(metric)
        if not isinstance(one, Judged):
            continue
        value, span = one.row.value, one.span
        slow = one.row.measures.speed_over(span.expected, value)
        width = span.high / span.low if span.low and span.high else None
        of_roof = one.row.measures.speed_over(value, span.roofline)
        within = one.verdict == "ok" or bool(
            span.low is not None and span.high is not None and span.low <= value <= span.high
        )
        token = (
            metric == "tpot_ms" and run.token_s and known.step is not None and not one.scenario.workload.draft_tokens
        )
        of_step = known.step.ceiling_s / run.token_s if token and known.step is not None and run.token_s else None
        return msgspec.structs.replace(
            known, slow=float(slow), of_roof=float(of_roof), width=width, within=within, decisive=metric,
            of_ceiling=float(one.over),
            of_step=None if of_step is None else float(of_step),
        )  # fmt: skip
    return known
