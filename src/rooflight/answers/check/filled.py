"""Which batch a value would need where nobody states one, by the ceiling and by what a well-run engine gets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from rooflight.answers.check.questions import Question
from rooflight.errors import MissingFact
from rooflight.scenario.definite import Scenario
from rooflight.serve.metrics import MOST_SEQUENCES, metric_span, saturating_batch
from rooflight.span import Span
from rooflight.values.measurement import Timed

# Batches tried between one sequence and all that memory holds, each so many times the one before; of a run, in which
# others may wait, so many times as many.
_POINTS = 41
_WAITING = 4


class Filled(msgspec.Struct, frozen=True, kw_only=True):
    """What a value needs of a batch that nobody states.

    least       sequences from which on the ceiling allows it; most: that memory holds at most
    usual       sequences at which it is what a well-run engine gets; None: at no number
    tried       the largest batch that was tried; one, all: spans at one sequence and at that; half: at half of what
                memory holds
    """

    least: int
    most: int
    usual: int | None
    tried: int
    one: Span
    all: Span
    half: Span | None = None


def filled(asked: Sequence[tuple[Scenario | None, Question]]) -> list[Filled | None]:
    """For each scenario with its question; those of one plan and shape share an evaluation."""
    found: list[Filled | None] = [None] * len(asked)
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, (sc, one) in enumerate(asked):
        if sc is not None:
            groups.setdefault((id(sc.steps), id(sc.engine), sc.deployment, one.shape, one.row.metric), []).append(place)
    for places in groups.values():
        try:
            for place, open_ in zip(places, _group([asked[place] for place in places]), strict=True):
                found[place] = open_
        except MissingFact:  # memory of an unknown size: any number may have run
            continue
    return found


def _group(asked: Sequence[tuple[Any, Question]]) -> list[Filled]:
    import numpy as np

    scenarios, questions = [sc for sc, _ in asked], [one for _, one in asked]
    first = scenarios[0]

    def column(name: str) -> Any:
        values = [getattr(sc.workload, name) for sc in scenarios]
        return None if values[0] is None else np.array(values, dtype=float)[:, None]

    load = {name: column(name) for name in ("isl", "osl", "cached_prefix", "context")}
    alone = msgspec.structs.replace(first.workload, **load, batch=1, prefill_batch=1)
    held = saturating_batch(msgspec.structs.replace(first, workload=alone))
    most = np.minimum(np.broadcast_to(held, (len(asked), 1)), MOST_SEQUENCES)
    most = np.maximum(most, 1.0)
    steps = questions[0].row.timed in (Timed.STEP, Timed.PREFILL)
    largest = np.minimum(most * (1 if steps else _WAITING), MOST_SEQUENCES)
    grid = np.round(largest ** (np.arange(_POINTS) / (_POINTS - 1)))
    batch = msgspec.structs.replace(first.workload, **load, batch=grid, prefill_batch=column("prefill_batch"))
    span = metric_span(msgspec.structs.replace(first, workload=batch), questions[0].row)
    parts = [
        np.broadcast_to(np.asarray(getattr(span, name), dtype=float), grid.shape) for name in Span.__struct_fields__
    ]
    return [
        _filled(one, int(most[place, 0]), grid[place], [part[place] for part in parts])
        for place, one in enumerate(questions)
    ]


def _filled(one: Question, most: int, grid: Any, parts: Sequence[Any]) -> Filled:
    """Of one row; most: that memory holds; grid: batches tried, rising."""
    import numpy as np

    ceiling, _, expected, low, high = parts
    value, time = one.row.value, one.row.measures.time
    allowed = np.flatnonzero(ceiling <= value if time else ceiling >= value)
    half = int(np.argmin(np.abs(np.log(grid / max(most / 2, 1)))))
    ends = [Span(**{name: float(part[place]) for name, part in zip(Span.__struct_fields__, parts, strict=True)})
            for place in (0, -1, half)]  # fmt: skip
    return Filled(
        least=int(grid[allowed[0] if allowed.size else -1]), most=most, tried=int(grid[-1]),
        usual=_usual(value, grid, expected, (low[0], high[0]), (low[-1], high[-1])), one=ends[0], all=ends[1],
        half=ends[2],
    )  # fmt: skip


def _usual(value: float, grid: Any, expected: Any, first: tuple[Any, Any], last: tuple[Any, Any]) -> int | None:
    """The batch at which the value is expected, between two that were tried by a power law.

    Else an end in whose interval it lies; None where there is none.
    """
    import numpy as np

    above = expected >= value
    turns = np.flatnonzero(above[1:] != above[:-1])
    if turns.size:
        place = int(turns[0])
        rise = math.log(expected[place + 1] / expected[place])
        share = math.log(value / expected[place]) / rise if rise else 0.0
        between: float = float(grid[place]) * float(grid[place + 1] / grid[place]) ** float(share)
        return max(1, round(between))
    for end, (low, high) in ((0, first), (-1, last)):
        if low <= value <= high:
            return round(float(grid[end]))
    return None
