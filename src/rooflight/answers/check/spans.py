"""The spans of many questions at once: those of one scenario and shape share one evaluation over arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from rooflight.answers.check.filled import Filled, filled
from rooflight.answers.check.questions import Question
from rooflight.errors import RooflightError
from rooflight.scenario.definite import Scenario
from rooflight.serve.efficiency import Demand
from rooflight.serve.metrics import (
    MOST_SEQUENCES,
    STEPS,
    ceiling,
    metric_span,
    of_run,
    of_step,
    run_of,
    saturating_batch,
    timed_step,
)
from rooflight.serve.room import holds_weights
from rooflight.span import Span
from rooflight.values.measurement import Measurement, Timed
from rooflight.values.run import WholeRun

Column = list[float | None]
# Tokens of a prompt that llama.cpp passes at once, n_ubatch: what lies on the host is read for each so many.
_UBATCH = 512
# Fewer than this are cheaper one by one.
_FEW = 6


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A question's fastest scenario with its workload filled in, and the span there.

    Without a span: a problem says why there is not even a scenario, or the scenario's weights leave no room.
    filled      where no batch is stated: what the value would need of one
    demand      of the step that is timed; None of a run
    """

    scenario: Scenario | None = None
    span: Span | None = None
    problem: str | None = None
    filled: Filled | None = None
    demand: Demand | None = None


def answered(questions: Sequence[Question]) -> list[Answered]:
    """The fastest candidate of each question; what is expected is of the layout that it states, where it states one."""
    best: dict[int, Answered] = {}
    stated: dict[int, Answered] = {}
    lightest: dict[int, Answered] = {}
    ways: dict[int, list[Span]] = {}
    groups: dict[tuple[Any, ...], list[int]] = {}
    scenarios: dict[int, Scenario] = {}
    light = {id(sc) for one in questions for sc in one.options.least}
    aside = {id(sc) for one in questions for sc in one.options.beside}
    for place, one in enumerate(questions):
        for sc in (*one.options.scenarios, *one.options.beside, *one.options.least):
            scenarios[id(sc)] = sc
            groups.setdefault((id(sc), one.shape), []).append(place)
    for (scenario_id, _), places in groups.items():
        members = [questions[place] for place in places]
        for place, found in zip(places, _group(scenarios[scenario_id], members), strict=True):
            if scenario_id in light:
                if place not in lightest or _before(found, lightest[place], time=questions[place].row.measures.time):
                    lightest[place] = found
                continue
            if _states(questions[place], scenario_id):
                stated[place] = found
            if questions[place].options.hosted and found.span is not None:
                ways.setdefault(place, []).append(found.span)
            if scenario_id in aside:
                continue
            if place not in best or _before(found, best[place], time=questions[place].row.measures.time):
                best[place] = found
    for place, found in stated.items():
        best[place] = _expected_of(found, best[place], questions[place])
    for place, spans in ways.items():
        best[place] = _over_all(best[place], [*spans, *_in_chunks(questions[place])])
    for place, found in lightest.items():
        best[place] = _least_of(best[place], found, questions[place])
    for place, one in enumerate(questions):
        if place in best and one.one_wave:
            best[place] = _drained(best[place], one)
    open_ = [place for place in best if best[place].span is not None and _asks(questions[place], best[place])]
    needs = filled([(best[place].scenario, questions[place]) for place in open_])
    for place, need in zip(open_, needs, strict=True):
        best[place] = msgspec.structs.replace(best[place], filled=need)
    return [best[place] for place in range(len(questions))]


def _states(one: Question, scenario_id: int) -> bool:
    """Whether the scenario is the layout that the question states, of which there are other readings."""
    options = one.options
    left_open = options.layout_open and not options.split_open
    return len(options.scenarios) > 1 and not left_open and id(options.scenarios[0]) == scenario_id


def _in_chunks(one: Question) -> Iterator[Span]:
    """The slow end for a long prompt of which a part lies on the host: where that is read for each of its chunks."""
    tokens = one.isl - one.cached
    if one.row.timed is not Timed.PREFILL or tokens <= _UBATCH:
        return
    chunk = msgspec.structs.replace(one, isl=one.cached + _UBATCH)
    for sc in one.options.scenarios:
        span = _group(sc, [chunk])[0].span
        if span is not None and span.low is not None and span.high is not None:
            slow = span.high * tokens / _UBATCH if one.row.measures.time else span.low
            yield msgspec.structs.replace(span, low=slow, high=slow)


def _over_all(found: Answered, spans: Sequence[Span]) -> Answered:
    """With the interval of every host, and of every split between devices and host, that the row may have had."""
    span = found.span
    low = [one.low for one in spans if one.low is not None]
    high = [one.high for one in spans if one.high is not None]
    if span is None or span.low is None or not low or not high:
        return found
    return msgspec.structs.replace(found, span=msgspec.structs.replace(span, low=min(low), high=max(high)))


def _drained(found: Answered, one: Question) -> Answered:
    """Of a served run without newcomers: also what a batch started together is expected to take."""
    if found.scenario is None or found.span is None or one.bare:
        return found
    together = msgspec.structs.replace(one.row, phase="e2e_offline")
    return _over_all(found, [found.span, metric_span(found.scenario, together).plain()])


def _expected_of(stated: Answered, best: Answered, one: Question) -> Answered:
    """The ceiling of the best with what is expected of the stated layout; its scenario, but for what is above that."""
    if stated.span is None or best.span is None or stated.scenario is None or not holds_weights(stated.scenario):
        return best
    above = one.row.measures.speed_over(one.row.value, stated.span.ceiling) > 1
    span = msgspec.structs.replace(stated.span, ceiling=best.span.ceiling)
    return Answered(scenario=best.scenario if above else stated.scenario, span=span, demand=stated.demand)


def _least_of(best: Answered, least: Answered, one: Question) -> Answered:
    """Of a model by its size: the ceiling of the fewest bytes, with what is expected of the shape that was taken."""
    if best.span is None or least.span is None or not _faster(least, best, time=one.row.measures.time):
        return best
    above = one.row.measures.speed_over(one.row.value, least.span.ceiling) > 1
    span = msgspec.structs.replace(best.span, ceiling=least.span.ceiling)
    return msgspec.structs.replace(best, span=span, scenario=least.scenario if above else best.scenario)


def _asks(one: Question, found: Answered) -> bool:
    """Whether which batch it was decides what the value is."""
    span, row = found.span, one.row
    if span is None or one.bare or span.low is None or span.high is None:
        return False
    if one.counts_tokens and found.scenario is not None and found.scenario.workload.osl == 0:
        return False
    if row.measures.speed_over(row.value, span.ceiling) > 1:
        return False
    if one.batch is None:
        return True
    return one.alone and (row.value > span.high if row.measures.time else row.value < span.low)


def _before(one: Answered, other: Answered, *, time: bool) -> bool:
    """Whether a candidate counts before another: one whose devices hold the weights, then the faster."""
    if one.span is None or other.span is None or one.scenario is None or other.scenario is None:
        return one.span is not None
    holds, held = holds_weights(one.scenario), holds_weights(other.scenario)
    return _faster(one, other, time=time) if holds == held else holds


def _faster(one: Answered, other: Answered, *, time: bool) -> bool:
    if one.span is None or other.span is None:
        return one.span is not None
    return one.span.ceiling < other.span.ceiling if time else one.span.ceiling > other.span.ceiling


def _group(sc: Scenario, members: Sequence[Question]) -> list[Answered]:
    """Questions of one scenario and shape."""
    try:
        if len({_numbers(one) for one in members}) < _FEW:
            runs: dict[object, WholeRun] = {}
            return [_one(sc, one, runs) for one in members]
        return _many(sc, members)
    except RooflightError as error:
        return [Answered(problem=error.what)] * len(members)


def _loaded(sc: Scenario, one: Question, **numbers: Any) -> Scenario:
    """The scenario under the question's load; numbers may be arrays."""
    drafts = {name: getattr(one.drafts, name) for name in one.drafts.__struct_fields__}
    load = msgspec.structs.replace(sc.workload, **drafts, **numbers)
    return msgspec.structs.replace(sc, workload=load)


def _numbers(one: Question) -> tuple[int | None, ...]:
    """What tells it from others of its scenario and shape, beside the metric."""
    return one.batch, one.isl, one.osl, one.context, one.cached, one.prompts


def _one(sc: Scenario, one: Question, runs: dict[object, WholeRun]) -> Answered:
    """A question by itself; runs: those that others of its scenario and shape came to."""
    numbers: dict[str, Any] = {
        "isl": one.isl, "osl": one.osl, "cached_prefix": one.cached, "context": one.context,
        "batch": one.batch or 1, "prefill_batch": one.prompts or one.batch or 1,
    }  # fmt: skip
    asked = _loaded(sc, one, **numbers)
    if one.batch is None:
        most = saturating_batch(asked)
        if most < 1:
            return Answered(scenario=sc)
        batch = int(most)
        asked = _loaded(sc, one, **{**numbers, "batch": batch, "prefill_batch": one.prompts or batch})
    if one.row.timed in STEPS:
        step = timed_step(asked, one.row)
        return Answered(scenario=asked, span=of_step(step, asked, one.row).plain(), demand=step.demand)
    key = _numbers(one)
    if key not in runs:
        runs[key] = run_of(asked, one.row)
    span = of_run(runs[key], asked, one.row).plain()
    return Answered(scenario=asked, span=span if one.batch is not None else _crowded(span, asked, one.row).plain())


def _crowded(span: Span, sc: Scenario, row: Measurement) -> Span:
    """The span with the ceiling of any number in flight: more than memory holds at once may have waited."""
    crowd = msgspec.structs.replace(sc.workload, batch=MOST_SEQUENCES)
    return msgspec.structs.replace(span, ceiling=ceiling(msgspec.structs.replace(sc, workload=crowd), row))


def _many(sc: Scenario, members: Sequence[Question]) -> list[Answered]:
    import numpy as np

    def column(name: str) -> Any:
        return np.array([getattr(one, name) or 0 for one in members], dtype=float)

    first = members[0]
    names = {"isl": "isl", "osl": "osl", "cached_prefix": "cached"}
    numbers: dict[str, Any] = {name: column(of) for name, of in names.items()}
    numbers["context"] = None if first.context is None else column("context")
    if first.batch is None:
        bare = _loaded(sc, first, **numbers, batch=1, prefill_batch=1)
        batch = np.broadcast_to(np.asarray(saturating_batch(bare), dtype=float), (len(members),))
    else:
        batch = column("batch")
    held = batch >= 1
    batch = np.maximum(batch, 1)
    prompts = batch if first.prompts is None else column("prompts")
    together = _loaded(sc, first, **numbers, batch=batch, prefill_batch=prompts)
    columns = _columns(together, members)
    result = []
    for place, one in enumerate(members):
        if not held[place]:
            result.append(Answered(scenario=sc))
            continue
        own = _loaded(
            sc, one, isl=one.isl, osl=one.osl, cached_prefix=one.cached, context=one.context,
            batch=int(batch[place]), prefill_batch=int(prompts[place]),
        )  # fmt: skip
        spans, needs = columns[one.row.metric]
        asks = None if needs is None else Demand(*(None if column is None else column[place] for column in needs))
        result.append(Answered(scenario=own, span=_span(spans, place), demand=asks))
    return result


class _Columns(NamedTuple):
    """Fields of spans, and of demands where single steps are timed; a place a member."""

    spans: list[Column]
    demand: list[Column | None] | None


def _columns(sc: Scenario, members: Sequence[Question]) -> dict[str, _Columns]:
    """What is known of the members by metric; those of one run or step are of one evaluation."""
    rows = {one.row.metric: one.row for one in members}
    first, count = members[0].row, len(members)
    step = timed_step(sc, first) if first.timed in STEPS else None
    run = None if step is not None else run_of(sc, first)
    needs = None if step is None else [None if one is None else _column(one, count) for one in step.demand]
    found = {}
    for metric, row in rows.items():
        if step is not None:
            span = of_step(step, sc, row)
        elif run is not None:
            span = of_run(run, sc, row)
            span = _crowded(span, sc, row) if members[0].batch is None else span
        found[metric] = _Columns([_column(getattr(span, name), count) for name in Span.__struct_fields__], needs)
    return found


def _column(values: Any, count: int) -> Column:
    """A field of an array Span as a plain list."""
    if values is None:
        return [None] * count
    import numpy as np

    plain: Column = np.broadcast_to(np.asarray(values, dtype=float), (count,)).tolist()
    return plain


def _span(columns: list[Column], place: int) -> Span:
    ceiling, roofline, expected, low, high = (values[place] for values in columns)
    return Span(
        ceiling=ceiling or math.nan, roofline=roofline or math.nan, expected=expected or math.nan, low=low, high=high
    )
