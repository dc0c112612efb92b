"""Which schedule a question is of, and its run."""

from __future__ import annotations

from typing import Protocol

from rooflight.numeric import Number, is_plain, where
from rooflight.roofline.rates import no_peak
from rooflight.scenario.definite import Scenario
from rooflight.serve import run
from rooflight.serve.apart import apart, is_apart
from rooflight.values.run import Run, WholeRun


class MakesRun(Protocol):
    """What gives the run under a schedule: `scheduled`, or what knows some of them already."""

    def __call__(self, sc: Scenario, schedule: str, *, users: Number) -> Run:
        """As `scheduled`, of which it is a part."""


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
    if sc.unrated:
        return _tokens_alone(sc, name, sc.workload.batch if users is None else users)
    return _run(sc, name, users)


def whole(sc: Scenario, schedule: str | None = None, *, users: Number | None = None) -> WholeRun:
    """The run that has all its quantities. Raises MissingFact where arithmetic decides some and has no peak."""
    name = schedule or chosen(sc)
    if sc.unrated:
        raise no_peak(sc.accelerator, sc.unrated, f"a run {name}")
    return _run(sc, name, users)


def _run(sc: Scenario, name: str, users: Number | None) -> WholeRun:
    if name == "alone":
        return run.alone(sc)
    if name == "batch":
        return run.batch(sc)
    return (apart if name == "apart" else run.served)(sc, users=users)


def _tokens_alone(sc: Scenario, name: str, users: Number) -> Run:
    """What is left of a run where a prompt takes nobody knows how long: the time of a token, of steps without prompts.

    Alone and in a batch every step is one; where newcomers are served beside others, only with one user.
    """
    together = name in ("alone", "batch")
    found = _run(sc, name, users if together else 1) if together or not is_plain(users) or users <= 1 else None
    token = None if found is None else found.tpot_s
    if token is not None and not together and not is_plain(users):
        token = token.each(lambda value: where(users <= 1, value, float("nan")))
    counts = (found.running, found.waiting) if found is not None and together else (None, None)
    return Run(
        schedule=name, engine=sc.engine.id, running=counts[0], decoding=None, waiting=counts[1],
        ttft_s=None, tpot_s=token, request_s=None, requests_per_s=None,
        output_tokens_per_s=None, output_tokens_per_s_per_user=None if token is None else token.rate(1),
        output_tokens_per_s_per_accelerator=None, prefill_share=None, utilization=None,
    )  # fmt: skip
