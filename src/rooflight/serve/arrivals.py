"""Requests that arrive at a rate, in place of a number in flight: how many that makes."""

from __future__ import annotations

import math

import msgspec

from rooflight.errors import BadInput, Named, NoSteadyState
from rooflight.roofline.rates import no_peak
from rooflight.scenario.definite import Scenario
from rooflight.serve.apart import apart
from rooflight.serve.memory import largest_batch
from rooflight.serve.replica import replica
from rooflight.serve.room import room
from rooflight.serve.schedule import chosen
from rooflight.serve.solve import crossing
from rooflight.serve.steady import steady
from rooflight.units import round_significant

# More requests in flight than that are a queue that does not end.
_MOST_USERS = 1 << 30


def in_flight(sc: Scenario, per_s: float) -> float:
    """The number C of requests in flight at which so many a second are finished: X(C) = per_s, and X rises with C.

    By Little's law C = per_s x (TTFT + TPOT (osl - 1)). Below what one user alone makes it is less than 1. Arrivals
    are taken as even; others widen the time to first token. Raises NoSteadyState.
    """
    most_per_s = capacity_per_s(sc)
    if per_s >= most_per_s:
        digits = 3 if per_s > 1.02 * most_per_s else 6
        limit = round_significant(most_per_s, digits)
        raise NoSteadyState(
            f"{sc.model.id} on {sc.devices} finishes {limit} requests a second at most: of "
            f"{round_significant(per_s, digits)} that arrive, ever more wait", most_per_s=most_per_s,
            where=Named.of("request_rate"), got=per_s, want=f"less than {limit}",
            try_this="more accelerators, shorter requests, or a narrower format",
        )  # fmt: skip
    least, most = 0.0, 1.0
    while _per_s(sc, most) < per_s and most < _MOST_USERS:
        least, most = most, most * 2
    return crossing(lambda users: _per_s(sc, users) if users else 0.0, per_s, least, most)


def capacity_per_s(sc: Scenario) -> float:
    """Requests a second that the deployment finishes however many are in flight: budget, memory and limits full."""
    return _per_s(sc, float(_MOST_USERS))


def loaded(sc: Scenario) -> tuple[Scenario, float]:
    """The scenario at a whole number in flight, and that number as it is; at one where not even that fits.

    Raises NoSteadyState, MissingFact, and BadInput where the run that is asked for is of a number, not of arrivals.
    """
    load = sc.workload
    if load.request_rate is None:
        return sc, load.batch
    if chosen(sc) not in ("served", "apart"):
        raise BadInput(
            f"a run {chosen(sc)} is of a number of requests, not of those that arrive",
            where=Named.of("request_rate"),
            got=load.request_rate,
            want=Named("{batch}, or {schedule}", schedule="served"),
        )
    if sc.unrated:
        raise no_peak(sc.accelerator, sc.unrated, "how many requests are in flight at that rate")
    users = in_flight(sc, load.request_rate) if holds_one(sc) else 1.0
    whole = msgspec.structs.replace(load, batch=max(1, math.ceil(round(users, 6))))
    return msgspec.structs.replace(sc, workload=whole), users


def holds_one(sc: Scenario) -> bool:
    """Whether memory holds a sequence beside the weights, or nobody asks."""
    return sc.deployment.ignore_capacity or sc.accelerator.memory_bytes is None or largest_batch(sc, room(sc)) >= 1


def _per_s(sc: Scenario, users: float) -> float:
    if chosen(sc) == "apart":
        return apart(sc, users=users).requests_per_s.expected
    one, engine = replica(sc, users), sc.engine
    found = steady(
        one, one.expected_s, server_s=engine.server_s, queue=engine.queue, first_share=engine.first_share
    )  # fmt: skip
    return float(found.per_s * one.copies)
