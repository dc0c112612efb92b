"""Judged rows as what a calibration is made of: which quantity each measures, and what would move it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from rooflight.answers.calibrate.expect import expected_of
from rooflight.answers.calibrate.shrink import EIGHT_OF_TEN, Known, Seen
from rooflight.answers.check.outcome import Judged, NoCeiling
from rooflight.scenario.definite import Scenario
from rooflight.serve.expected import widening
from rooflight.serve.metrics import STEPS
from rooflight.serve.replica import step_interval
from rooflight.serve.run import first_interval, whole_interval
from rooflight.values.measurement import Timed
from rooflight.values.own import SHIFTED
from rooflight.work.layout import share_out

# Why a row counts for nothing: what `check` says of it; nothing expected of it; a batch that nobody states; drafts of
# which the row says nothing more; or further off than any factor.
Why = Literal["verdict", "not expected", "no batch", "drafts", "far"]

QUANTITY = {
    Timed.STEP: "step", Timed.BATCH_TOKEN: "step", Timed.SERVED_TOKEN: "step", Timed.SERVED_USER: "step",
    Timed.PREFILL: "prefill", Timed.BATCH_FIRST: "prefill", Timed.SERVED_FIRST: "first",
}  # fmt: skip
# By so much an engine's part is changed to see what that does to a row's expected time.
_NUDGE = 1.1
# As far as a factor of values.own reaches.
_FURTHEST = 20.0
# What tells rows of one run from those of another, where they do not say it: all but what was measured.
_MEASURED = {"id": "", "metric": "", "value": 0.0, "run": "", "weights_as_given": "", "model_as_given": ""}


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """A row that counts, and what it shows."""

    one: Judged
    seen: Seen


def key(one: Judged) -> tuple[str, str, str]:
    """The (engine, era, accelerator) that a row is of."""
    sc = one.scenario
    return sc.engine.full_id, sc.engine.era, sc.accelerator.id


def counted(rows: Sequence[Judged]) -> list[Counted]:
    """Rows with what they show. Raises nothing: those that count for nothing are not among them (why_not)."""
    return [
        Counted(one=one, seen=Seen(
            model=one.scenario.model.id, quantity=QUANTITY.get(one.row.timed, "request"),
            run=one.row.run or repr(replace(one.row, **_MEASURED)), y=_off(one), slopes=slope,
        ))
        for one, slope in zip(rows, slopes(rows), strict=True)
    ]  # fmt: skip


def _off(one: Judged) -> float:
    return math.log(one.row.measures.speed_over(one.span.expected, one.row.value))


def why_not(one: Judged | NoCeiling) -> Why | None:
    """Why a row counts for nothing; None where it counts."""
    if isinstance(one, NoCeiling) or one.verdict in ("impossible", "cannot-judge"):
        return "verdict"
    if one.filled is not None:
        return "no batch"
    if one.span.low is None or not (math.isfinite(one.span.expected) and one.span.expected > 0):
        return "not expected"
    if one.row.speculative in ("yes", "unknown") and not one.scenario.workload.draft_tokens:
        return "drafts"
    return "far" if abs(_off(one)) > math.log(_FURTHEST) else None


def slopes(rows: Sequence[Judged]) -> list[tuple[float, float, float]]:
    """By how much each row's expected time grows, in logarithms, with each of SHIFTED.

    A step or a prefill by itself is one of them. Of a run they are found by trying; where what is expected is the
    roofline, nothing moves.
    """
    found = [(1.0, 0.0, 0.0) if one.row.timed is Timed.STEP else (0.0, 1.0, 0.0) for one in rows]
    places = [place for place, one in enumerate(rows) if one.row.timed not in STEPS]
    runs = [rows[place] for place in places]
    tried = ({}, *({name: _NUDGE} for name in SHIFTED))
    base, *moved = (expected_of([(nudged(one.scenario, factors), one.row) for one in runs]) for factors in tried)
    for place, one, before, *after in zip(places, runs, base, *moved, strict=True):
        step, prefill, first = (_slope(one, before, then) for then in after)
        found[place] = step, prefill, first
    return found


def _slope(one: Judged, before: float, then: float) -> float:
    """Of a row of which so much is expected, and so much with a part of it _NUDGE times as long."""
    if not (math.isfinite(before) and math.isfinite(then) and before > 0 and then > 0):
        return 0.0
    return math.log(one.row.measures.speed_over(before, then)) / math.log(_NUDGE)


def nudged(sc: Scenario, factors: dict[str, float]) -> Scenario:
    """The scenario whose engine takes so much longer; what a lone prefill takes has the factor of steps in it."""
    engine = sc.engine
    step = factors.get("step", 1.0)
    return replace(sc, engine=replace(
        engine, step_share=engine.step_share * step,
        prefill_share=engine.prefill_share * factors.get("prefill", 1.0) / step,
        first_share=engine.first_share * factors.get("first", 1.0),
    ))  # fmt: skip


def intervals(sc: Scenario) -> dict[str, tuple[float, float]]:
    """The engine's own intervals by quantity, as wide as they are on this accelerator."""
    engine, wider = sc.engine, widening(sc.accelerator, sc.engine)
    requests = share_out(sc.workload.batch, sc.layout).sequences
    ends = {
        "step": step_interval(sc, requests), "prefill": (engine.prefill_low / wider, engine.prefill_high * wider),
        "first": first_interval(sc, requests), "request": whole_interval(sc, requests),
    }  # fmt: skip
    return {name: (float(low), float(high)) for name, (low, high) in ends.items()}


def known(scenarios: list[Scenario]) -> Known:
    """The standard deviations that those intervals stand for, of several scenarios the median."""
    found: dict[str, list[float]] = {}
    for sc in scenarios:
        for name, (low, high) in intervals(sc).items():
            found.setdefault(name, []).append(math.log(high / low) / (2 * EIGHT_OF_TEN))
    middle = {name: sorted(ones)[len(ones) // 2] for name, ones in found.items()}
    return Known(middle["step"], middle["prefill"], middle["first"], middle["request"])
