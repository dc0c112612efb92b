"""The spans of many questions at once: those of one scenario and shape share one evaluation over arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from rooflight.answers.check.questions import Question
from rooflight.errors import RooflightError
from rooflight.scenario.definite import Scenario
from rooflight.serve.metrics import bends, metric_span, saturating_batch
from rooflight.span import Span
from rooflight.values.workload import Workload

# Fewer than this are cheaper one by one.
_FEW = 3


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A question's fastest scenario with its workload filled in, and the span there.

    Without a span: a problem says why there is not even a scenario, or the scenario's weights leave no room.
    """

    scenario: Scenario | None = None
    span: Span | None = None
    problem: str | None = None


def answered(questions: Sequence[Question]) -> list[Answered]:
    """The fastest candidate of each question."""
    best: dict[int, Answered] = {}
    groups: dict[tuple[Any, ...], list[int]] = {}
    scenarios: dict[int, Scenario] = {}
    for place, one in enumerate(questions):
        for sc in one.options.scenarios:
            scenarios[id(sc)] = sc
            groups.setdefault((id(sc), one.shape), []).append(place)
    for (scenario_id, _), places in groups.items():
        members = [questions[place] for place in places]
        for place, found in zip(places, _group(scenarios[scenario_id], members), strict=True):
            if place not in best or _faster(found, best[place], time=questions[place].row.measures.time):
                best[place] = found
    return [best[place] for place in range(len(questions))]


def _faster(one: Answered, other: Answered, *, time: bool) -> bool:
    if one.span is None or other.span is None:
        return one.span is not None
    return one.span.ceiling < other.span.ceiling if time else one.span.ceiling > other.span.ceiling


def _group(sc: Scenario, members: Sequence[Question]) -> list[Answered]:
    """Questions of one scenario and shape."""
    try:
        if len(members) < _FEW and not bends(sc):
            return [_one(sc, question) for question in members]
        return _many(sc, members)
    except RooflightError as error:
        return [Answered(problem=error.what)] * len(members)


def _workload(batch: Any, isl: Any, osl: Any, cached: Any, prompts: Any) -> Workload:
    return Workload(batch=batch, prefill_batch=prompts, isl=isl, osl=osl, cached_prefix=cached)


def _one(sc: Scenario, question: Question) -> Answered:
    batch = question.batch
    load = _workload(batch or 1, question.isl, question.osl, question.cached, question.prompts or batch or 1)
    if batch is None:
        most = saturating_batch(msgspec.structs.replace(sc, workload=load))
        if most < 1:
            return Answered(scenario=sc)
        load = msgspec.structs.replace(load, batch=int(most), prefill_batch=int(most))
    asked = msgspec.structs.replace(sc, workload=load)
    return Answered(scenario=asked, span=metric_span(asked, question.row))


def _many(sc: Scenario, members: Sequence[Question]) -> list[Answered]:
    import numpy as np

    def column(name: str) -> Any:
        return np.array([getattr(one, name) or 0 for one in members], dtype=float)

    isl, osl, cached = column("isl"), column("osl"), column("cached")
    if members[0].batch is None:
        bare = msgspec.structs.replace(sc, workload=_workload(1, isl, osl, cached, 1))
        batch = np.broadcast_to(np.asarray(saturating_batch(bare), dtype=float), isl.shape)
    else:
        batch = column("batch")
    held = batch >= 1
    batch = np.maximum(batch, 1)
    prompts = batch if members[0].prompts is None else column("prompts")
    together = msgspec.structs.replace(sc, workload=_workload(batch, isl, osl, cached, prompts))
    span = metric_span(together, members[0].row)
    columns = [_column(getattr(span, name), len(members)) for name in Span.__struct_fields__]
    result = []
    for place, one in enumerate(members):
        if not held[place]:
            result.append(Answered(scenario=sc))
            continue
        load = _workload(int(batch[place]), one.isl, one.osl, one.cached, int(prompts[place]))
        own = msgspec.structs.replace(sc, workload=load)
        result.append(Answered(scenario=own, span=_span(columns, place)))
    return result


def _column(values: Any, count: int) -> list[float | None]:
    """A field of an array Span as a plain list."""
    if values is None:
        return [None] * count
    import numpy as np

    plain: list[float | None] = np.broadcast_to(np.asarray(values, dtype=float), (count,)).tolist()
    return plain


def _span(columns: list[list[float | None]], place: int) -> Span:
    ceiling, roofline, expected, low, high = (values[place] for values in columns)
    return Span(
        ceiling=ceiling or math.nan, roofline=roofline or math.nan, expected=expected or math.nan, low=low, high=high
    )
