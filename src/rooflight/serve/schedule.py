"""Which schedule a question is of, and its run."""

from __future__ import annotations

from rooflight.numeric import Number
from rooflight.scenario.definite import Scenario
from rooflight.serve import run
from rooflight.serve.apart import apart, is_apart
from rooflight.values.run import Run


def chosen(sc: Scenario) -> str:
    """The schedule that fits the question: as asked, apart where workers are, alone for one request, else served."""
    load = sc.workload
    usual = "alone" if load.batch == 1 and load.request_rate is None else "served"
    return sc.deployment.schedule or ("apart" if is_apart(sc) else usual)


def scheduled(sc: Scenario, schedule: str | None = None, *, users: Number | None = None) -> Run:
    """The run under one of values.run.SCHEDULES. schedule None: the chosen one; users None: the workload's batch.

    Alone has one user whatever they are, a batch the workload's. Numbers of the workload, or users, may be arrays, and
    so the run's; then the schedule must be named.
    """
    name = schedule or chosen(sc)
    if name == "alone":
        return run.alone(sc)
    if name == "batch":
        return run.batch(sc)
    return (apart if name == "apart" else run.served)(sc, users=users)
