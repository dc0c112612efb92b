"""What a sweep may go over; what has no meaning in one is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rooflight.errors import BadInput, Named, UnknownName
from rooflight.values.question import swept
from rooflight.values.workload import Workload

# Axes whose values are arrays, in the order of the grid's dimensions; each takes one dimension.
GRID_AXES = swept("points")
# Axes that change the plan itself: one after the other.
PLAN_AXES = swept("deployments")
# More would run for minutes (points) or hold too many plans at once (deployments).
MOST_POINTS = 100_000_000
MOST_LAYOUTS = 2_000


def check_outputs(outputs: np.ndarray[Any, Any], phase: str | None) -> None:
    """Refuse steps that some point has none of. Raises BadInput."""
    if phase == "decode" and outputs.min() == 0:
        raise BadInput(
            "where no token is put out there is no decode step", where=Named.of("phase", "osl"), got="decode, osl 0",
            want=Named("{phase}, or a longer {osl}", phase="prefill"),
        )  # fmt: skip


def check_runs(schedule: str | None, phase: str | None) -> None:
    """Refuse what has no meaning in a sweep of runs, or of goals for them. Raises BadInput."""
    if schedule is not None and phase is not None:
        got = Named("{phase} and {schedule}")
        raise BadInput("a run is no phase", where=Named.of("phase"), got=got, want="one or the other")


def check_load(workload: Workload) -> None:
    """Refuse requests that arrive at a rate: the points are numbers of them. Raises BadInput."""
    if workload.request_rate is not None:
        raise BadInput(
            "a sweep goes over numbers of requests in flight", where=Named.of("request_rate"),
            got=workload.request_rate, want=Named("{batch}, one or several"),
        )  # fmt: skip


def check_axes(axes: Mapping[str, Sequence[Any]], devices: Sequence[object]) -> None:
    """Axes that are known, not empty, and not too many points. Raises BadInput."""
    if not isinstance(axes, Mapping):
        raise BadInput("axes map names to values", where="axes", got=axes, want='such as {"batch": [1, 2, 4]}')
    points, layouts = 1, len(devices)
    for name, values in axes.items():
        if name not in (*GRID_AXES, *PLAN_AXES):
            raise UnknownName(
                f"{name} cannot be swept", where="axes", got=name, want=", ".join((*GRID_AXES, *PLAN_AXES))
            )
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise BadInput(
                f"the axis {name} is not a list of values", where=Named.of(name), got=values, want="a list or an array"
            )
        if len(values) == 0:
            raise BadInput(f"the axis {name} has no values", where=Named.of(name), got="nothing", want="at least one")
        points *= len(values)
        layouts *= len(values) if name in PLAN_AXES else 1
    for what, count, most in (("points", points * len(devices), MOST_POINTS), ("deployments", layouts, MOST_LAYOUTS)):
        if count > most:
            raise BadInput(f"that is {count:,} {what}", where="axes", got=f"{count:,}", want=f"at most {most:,}")
