"""What is expected of many rows at once: those of one scenario share an evaluation over arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from rooflight.scenario.definite import Scenario
from rooflight.serve.metrics import of_run, run_of
from rooflight.values.measurement import Measurement

# Numbers of a workload that differ from row to row of one scenario.
_NUMBERS = ("batch", "prefill_batch", "isl", "osl", "cached_prefix")
# Fewer than this are cheaper one by one.
_FEW = 4

Asked = tuple[Scenario, Measurement]


def expected_of(asked: Sequence[Asked]) -> list[float]:
    """What is expected of rows of runs, each in its own metric, in their order."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, (sc, row) in enumerate(asked):
        load = sc.workload
        same = (id(sc.steps), sc.engine, sc.deployment, row.served, load.context is None, load.draft_tokens,
                load.acceptance, load.draft_share)  # fmt: skip
        groups.setdefault(same, []).append(place)
    found: dict[int, float] = {}
    for places in groups.values():
        found.update(zip(places, _together([asked[place] for place in places]), strict=True))
    return [found[place] for place in range(len(asked))]


def _together(asked: Sequence[Asked]) -> Iterable[float]:
    """Rows of one scenario under several loads."""
    places: dict[tuple[Any, ...], int] = {}
    for sc, _ in asked:
        places.setdefault(_numbers(sc), len(places))
    loads = list(places)
    if len(loads) < _FEW:
        runs = {load: run_of(sc, row) for load, (sc, row) in {_numbers(sc): (sc, row) for sc, row in asked}.items()}
        return [float(of_run(runs[_numbers(sc)], sc, row).expected) for sc, row in asked]
    import numpy as np

    first = asked[0][0]
    columns = dict(zip((*_NUMBERS, "context"), np.array(loads, dtype=float).T, strict=True))
    if first.workload.context is None:
        columns.pop("context")
    together = replace(first, workload=replace(first.workload, **columns))
    run = run_of(together, asked[0][1])
    by_metric: dict[str, Any] = {}
    for _, row in asked:
        if row.metric not in by_metric:
            by_metric[row.metric] = np.broadcast_to(of_run(run, together, row).expected, (len(loads),))
    return [float(by_metric[row.metric][places[_numbers(sc)]]) for sc, row in asked]


def _numbers(sc: Scenario) -> tuple[Any, ...]:
    load = sc.workload
    return (*(getattr(load, name) for name in _NUMBERS), load.context or 0)
