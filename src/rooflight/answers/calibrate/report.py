"""A calibration from judged rows: an entry an engine and accelerator, each with its error before and after."""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from rooflight.answers.calibrate.expect import expected_of
from rooflight.answers.calibrate.rows import Counted, Why, counted, intervals, key, known, nudged, why_not
from rooflight.answers.calibrate.shrink import (
    BETWEEN,
    EIGHT_OF_TEN,
    MODELS,
    WITHIN,
    Chosen,
    Fitted,
    Known,
    Left,
    Seen,
    chosen,
    ends,
    fitted,
    shows,
    surprised,
)
from rooflight.answers.check.outcome import Judged, NoCeiling
from rooflight.catalog.calibration import fitted_family
from rooflight.catalog.own import fit_of
from rooflight.serve.expected import widening
from rooflight.serve.metrics import STEPS
from rooflight.values.own import KINDS, QUANTITIES, SHIFTED, OwnEntry, OwnError, Shift, Shifts

# Runs are no straight lines of the factors: so often each row is evaluated with those found.
_ROUNDS = 2
_DIGITS = 16
_MOST, _LEAST = 20.0, 0.05
_WIDEST = 50.0


class LeftRow(NamedTuple):
    """A row that counts for nothing."""

    one: Judged | NoCeiling
    why: Why


class Found(NamedTuple):
    """What rows come to."""

    entries: tuple[OwnEntry, ...]
    left_out: tuple[LeftRow, ...]


def calibrated(judged: Iterable[Judged | NoCeiling]) -> Found:
    """An entry for every engine and accelerator among the rows, in their order, and the rows that count for nothing."""
    groups: dict[tuple[str, str, str], list[Judged]] = {}
    left: list[LeftRow] = []
    for one in judged:
        why = why_not(one)
        if why is not None or isinstance(one, NoCeiling):
            left.append(LeftRow(one, why or "verdict"))
        else:
            groups.setdefault(key(one), []).append(one)
    return Found(tuple(entry(counted(rows)) for rows in groups.values()), tuple(left))


def entry(rows: Sequence[Counted]) -> OwnEntry:
    """What rows of one engine on one accelerator come to."""
    scenarios = [row.one.scenario for row in rows]
    before = surprised([row.seen for row in rows], known(scenarios))
    seen, choice = _straightened(rows, before)
    one = fitted(seen, before, choice.active)
    engine, card = scenarios[0].engine, scenarios[0].accelerator
    asked = [row.one.asked.row or row.one.row for row in rows]
    kinds = {bool(sc.expert_layers) for sc in scenarios}
    models = dict.fromkeys(row.model for row in seen)
    return OwnEntry(
        engine=engine.full_id, era=engine.era,
        engine_versions=tuple(dict.fromkeys(row.engine_version for row in asked if row.engine_version)),
        accelerator=card.id, fit=fit_of(engine, fitted_family(card)), widened=widening(card, engine),
        kinds=tuple(kind for kind, routed in zip(KINDS, (False, True), strict=True) if routed in kinds),
        rows=len(rows), runs=len({row.run for row in seen}), sha256=_digest(rows),
        dropped=tuple(name for name in shows(seen) if name not in choice.active),
        others=_shifts("", seen, one, rows),
        models=tuple(_shifts(model, seen, one, rows) for model in models),
        errors=tuple(_errors(rows, seen, choice)),
    )  # fmt: skip


def _straightened(rows: Sequence[Counted], before: Known) -> tuple[list[Seen], Chosen]:
    """The rows with what a run makes of the factors in their y, and which factors help."""
    seen = [row.seen for row in rows]
    choice = chosen(seen, before)
    for _ in range(_ROUNDS if any(row.one.row.timed not in STEPS for row in rows) else 0):
        seen = _there(rows, fitted(seen, before, choice.active))
        choice = chosen(seen, before)
    return seen, choice


def _there(rows: Sequence[Counted], one: Fitted) -> list[Seen]:
    """Rows of runs as straight lines through what is expected of them with the factors that were found."""
    found = [row.seen for row in rows]
    places = [place for place, row in enumerate(rows) if row.one.row.timed not in STEPS]
    runs = [rows[place].one for place in places]
    logs = {seen.model: [one.shift(seen.model, {name: 1.0})[0] for name in SHIFTED] for seen in found}
    factors = {model: dict(zip(SHIFTED, map(math.exp, ones), strict=True)) for model, ones in logs.items()}
    base = expected_of([(run.scenario, run.row) for run in runs])
    there = expected_of([(nudged(run.scenario, factors[run.scenario.model.id]), run.row) for run in runs])
    for place, run, before, then in zip(places, runs, base, there, strict=True):
        seen = found[place]
        if before > 0 and then > 0:
            straight = sum(slope * log for slope, log in zip(seen.slopes, logs[seen.model], strict=True))
            moved = math.log(run.row.measures.speed_over(before, then))
            found[place] = replace(seen, y=seen.y - moved + straight)
    return found


def _shifts(model: str, seen: Sequence[Seen], one: Fitted, rows: Sequence[Counted]) -> Shifts:
    """The factors and intervals of a model, or ("") of any other."""
    mine = [row for row in seen if row.model == model] if model else list(seen)
    own = next((row.one.scenario for row in rows if row.one.scenario.model.id == model), rows[0].one.scenario)
    wide = intervals(own)
    found = {name: _shift(name, model, mine, one, wide[name]) for name in SHIFTED}
    return Shifts(model=model, request=_request(model, mine, one, wide), **found)


def _shift(name: str, model: str, mine: Sequence[Seen], one: Fitted, wide: tuple[float, float]) -> Shift:
    """One quantity's factor and interval: the engine's own where nothing shows it."""
    count = sum(row.quantity == name for row in mine)
    if name in one.active:
        mean, variance = one.shift(model, {name: 1.0})
        factor = min(max(math.exp(mean), _LEAST), _MOST)
    else:
        factor, variance = 1.0, 0.0
    if name not in one.active and not count:
        return Shift(low=wide[0], high=wide[1])
    rest = one.rest[name] if count else one.known.variance(name) * WITHIN
    low, high = ends(variance + rest)
    return Shift(factor=factor, low=max(low, 1 / _WIDEST), high=min(high, _WIDEST), rows=count)


def _request(model: str, mine: Sequence[Seen], one: Fitted, own: dict[str, tuple[float, float]]) -> Shift:
    """The interval of whole requests: of the rows that are of them, else narrower as far as steps are known."""
    wide, step = own["request"], own["step"]
    requests = [row for row in mine if row.quantity == "request"]
    if requests:
        shifts = [one.shift(model, dict(zip(SHIFTED, row.slopes, strict=True)))[1] for row in requests]
        low, high = ends(statistics.fmean(shifts) + one.rest["request"])
        return Shift(low=max(low, 1 / _WIDEST), high=min(high, _WIDEST), rows=len(requests))
    if "step" not in one.active:
        # steps that spread further than was known make requests that do, whether or not a factor helps
        spread = 2 * EIGHT_OF_TEN * math.sqrt(one.rest["step"]) / math.log(step[1] / step[0])
        share = max(spread, 1.0) if any(row.quantity == "step" for row in mine) else 1.0
        return Shift(low=max(wide[0] ** share, 1 / _WIDEST), high=min(wide[1] ** share, _WIDEST))
    common = BETWEEN + MODELS
    told = one.shift(model, {"step": 1.0})[1] / (common * one.known.variance("step"))
    wider = max(one.known.step * 2 * EIGHT_OF_TEN / math.log(step[1] / step[0]), 1.0)
    share = wider * math.sqrt(WITHIN + common * min(told, 1.0))
    return Shift(low=max(wide[0] ** share, 1 / _WIDEST), high=min(wide[1] ** share, _WIDEST))


def _errors(rows: Sequence[Counted], seen: Sequence[Seen], choice: Chosen) -> list[OwnError]:
    """Of all rows, then by quantity."""
    names = [name for name in QUANTITIES if any(one.quantity == name for one in seen)]
    found = []
    for name in ("all", *(names if len(names) > 1 else ())):
        places = [place for place, one in enumerate(seen) if name in ("all", one.quantity)]
        left = None if choice.left is None else [choice.left[place] for place in places]
        found.append(_error(name, [rows[place] for place in places], [seen[place] for place in places], left))
    return found


def _error(of: str, rows: Sequence[Counted], seen: Sequence[Seen], left: Sequence[Left] | None) -> OwnError:
    """How far off some rows are."""
    plain = [_off(row, row.seen.y) for row in rows]
    spans = [(row.one.span, row.one.row.value) for row in rows]
    inside = [span.low <= value <= span.high for span, value in spans if span.low is not None and span.high is not None]
    if left is None:
        return OwnError(
            of=of, rows=len(rows), before=statistics.median(plain), mean_before=statistics.fmean(plain),
            inside=statistics.fmean(inside),
        )  # fmt: skip
    rest = [one.y - there.shift for one, there in zip(seen, left, strict=True)]
    then = [_off(row, y) for row, y in zip(rows, rest, strict=True)]
    held = [abs(y) <= EIGHT_OF_TEN * math.sqrt(there.variance) for y, there in zip(rest, left, strict=True)]
    return OwnError(
        of=of, rows=len(rows), before=statistics.median(plain), mean_before=statistics.fmean(plain),
        after=statistics.median(then), mean_after=statistics.fmean(then), inside=statistics.fmean(inside),
        inside_after=statistics.fmean(held),
    )  # fmt: skip


def _off(row: Counted, y: float) -> float:
    """|expected - measured| / measured, of a row whose measured time is exp(y) times the expected one."""
    return abs(math.exp(-y if row.one.row.measures.time else y) - 1)


def _digest(rows: Sequence[Counted]) -> str:
    """The first digits of the SHA-256 of the rows as they were read, a line each; their order does not matter."""
    lines = sorted(msgspec.json.encode(row.one.asked.row).decode() for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_DIGITS]
