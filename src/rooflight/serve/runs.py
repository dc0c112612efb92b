"""Many runs of one deployment at once: a block of a sweep's grid under a schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooflight.numeric import Number
from rooflight.scenario.definite import Scenario
from rooflight.serve.apart import pools
from rooflight.serve.memory import all_fit, largest_batch
from rooflight.serve.replica import room as admitted
from rooflight.serve.room import room
from rooflight.serve.run import batch, served
from rooflight.serve.schedule import scheduled
from rooflight.span import Span
from rooflight.values.placed import Placed
from rooflight.values.run import Run, Utilization
from rooflight.values.sweep import RunBlock

# Quantities of a run that are spans, and those that are plain numbers of what is expected.
SPANS = (
    "ttft_s", "tpot_s", "request_s", "requests_per_s", "output_tokens_per_s", "output_tokens_per_s_per_user",
    "output_tokens_per_s_per_accelerator",
)  # fmt: skip
NUMBERS = ("running", "decoding", "waiting", "prefill_share")
BASES = Span.__struct_fields__
# Runs remembered of one deployment.
_MOST = 512
# Schedules whose runs of many numbers of requests are made at once.
_ALONG: dict[str, Callable[..., Run]] = {"served": served, "batch": batch}


def run_block(sc: Scenario, schedule: str, shape: tuple[int, ...]) -> RunBlock:
    """The runs of a scenario whose workload holds arrays that broadcast to `shape`."""
    load, memory = sc.workload, room(sc)
    most = np.asarray(largest_batch(sc, memory), dtype=np.int64)
    fits = np.broadcast_to(all_fit(sc, memory), shape)
    return RunBlock(
        **placed(sc, schedule),
        schedule=schedule,
        shape=shape,
        batch=load.batch,
        isl=load.text_tokens,
        osl=load.osl,
        run=scheduled(sc, schedule),
        fits=fits,
        holds=fits | (most > 0) | sc.deployment.ignore_capacity,
        max_batch=most,
    )


def placed(sc: Scenario, schedule: str) -> dict[str, Any]:
    """What the run is on: all workers' devices where they are apart."""
    return sc.placed | ({"devices": pools(sc).devices} if schedule == "apart" else {})


def run_arrays(block: RunBlock) -> dict[str, Any]:
    """A block's quantities by the paths of their JSON; no number where there is none."""
    found: dict[str, Any] = {}
    for name in NUMBERS:
        found[name] = _number(getattr(block.run, name), block)
    for name in SPANS:
        span = getattr(block.run, name)
        for basis in BASES:
            found[f"{name}.{basis}"] = _number(None if span is None else getattr(span, basis), block)
    return found


def _number(value: Any, block: RunBlock) -> np.ndarray[Any, Any]:
    return np.where(block.holds, np.nan if value is None else value, np.nan)


def run_columns(block: RunBlock) -> dict[str, Any]:
    """A block's numbers by column name."""
    return {
        **{name: getattr(block, name) for name in (*Placed.__struct_fields__, "schedule")},
        **{name: np.asarray(getattr(block, name)).astype(np.int64) for name in ("batch", "isl", "osl")},
        "fits": block.fits,
        "max_batch": block.max_batch,
        **run_arrays(block),
    }


class RunsAlong:
    """Runs of one deployment while its batch or its context moves and nothing else: stands for `scheduled`.

    A run at one of the stops that was made is looked up. Many at once take a few times what one takes, so those of all
    `stops` are made when a second of them is asked for; they may differ from each made by itself in the last bits.
    """

    def __init__(self, stops: Sequence[int]) -> None:
        self._places = {float(stop): place for place, stop in enumerate(stops)}
        self._made: dict[object, Run] = {}
        self._asked: dict[str, set[float]] = {name: set() for name in _ALONG}

    def __call__(self, sc: Scenario, schedule: str, *, users: Number) -> Run:
        """The run: looked up, or made. Those between stops are not kept, which would be any number."""
        if sc.unrated or schedule == "apart" or (schedule in _ALONG and users not in self._places):
            return scheduled(sc, schedule, users=users)
        # what memory and the engine leave of the deployment is all that a context changes of its runs
        same = schedule, admitted(sc), sc.budget_tokens
        return self._found((*same, None if schedule == "alone" else users), lambda: self._run(sc, same, users))

    def _run(self, sc: Scenario, same: tuple[str, float, int], users: Number) -> Run:
        schedule, *_ = same
        if schedule in _ALONG:
            self._asked[schedule].add(users)
        if schedule not in _ALONG or len(self._asked[schedule]) == 1:
            return scheduled(sc, schedule, users=users)
        stops = np.asarray(list(self._places))
        return one_of(self._found(same, lambda: _ALONG[schedule](sc, users=stops)), self._places[users])

    def _found(self, key: object, make: Callable[[], Run]) -> Run:
        found = self._made.get(key)
        if found is None:
            found = make()
            if len(self._made) >= _MOST:  # a new one when it is full: another thread may be reading the old
                self._made = {}
            self._made[key] = found
        return found


def one_of(many: Run, place: int) -> Run:
    """One of the runs that arrays hold, in Python's numbers."""

    def one(value: Any) -> Any:
        if isinstance(value, Span):
            return value.each(one)
        if isinstance(value, Utilization):
            return Utilization(**{name: one(getattr(value, name)) for name in value.__struct_fields__})
        return float(value[place]) if isinstance(value, np.ndarray) else value

    return type(many)(**{name: one(getattr(many, name)) for name in many.__struct_fields__})
