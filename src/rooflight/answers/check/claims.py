"""A single claim: one value of a deployment that is described in full, every blank a documented default."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rooflight.answers.check.judge import check_claim
from rooflight.answers.check.tally import Counts, answer
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve.memory import memory
from rooflight.values.measurement import METRICS, Measurement, Report, Timed, Verdict
from rooflight.words.analysis import does_not_fit
from rooflight.words.notes import worded


def judge(sc: Scenario, values: Mapping[str, float]) -> Report:
    """The claimed values of a scenario, by metric, each judged.

    tpot and output tokens are those of a decode step, as analyze's decode phase; ttft and prefill tokens those of its
    prefill phase; the others those of the whole request, all prompts of the batch prefilled together.
    """
    held = memory(sc)
    counts = Counts()
    fits = held.fits or sc.deployment.ignore_capacity
    rows = [_judged(sc, metric, value) if fits else _too_big(sc, metric, value) for metric, value in values.items()]
    verdicts = tuple(counts.over(rows))
    said = " ".join(f"{one.reason.rstrip('.')}." for one in verdicts)
    tally = counts.tally()
    return Report(answer=said or answer(tally), summary=tally, notes=worded(sc.assumptions), rows=verdicts)


def _judged(sc: Scenario, metric: str, value: float) -> Verdict:
    row = _measurement(sc, metric, value)
    load = sc.workload
    if row.timed is Timed.STEP:
        load = msgspec.structs.replace(load, context=context_tokens(load))
    elif row.timed is not Timed.PREFILL:
        load = msgspec.structs.replace(load, prefill_batch=load.batch, context=None)
    return check_claim(msgspec.structs.replace(sc, workload=load), row)


def _measurement(sc: Scenario, metric: str, value: float) -> Measurement:
    return Measurement(
        model=sc.model.id, accelerator=sc.accelerator.id, metric=metric, value=value, phase=METRICS[metric].phases[0],
        gpus=sc.layout.devices, batch=int(sc.workload.batch),
    )  # fmt: skip


def _too_big(sc: Scenario, metric: str, value: float) -> Verdict:
    return Verdict(
        line=1, verdict="impossible", reason=does_not_fit(sc, memory(sc)), model=sc.model.id,
        accelerator=sc.accelerator.id, metric=metric, unit=METRICS[metric].unit, value=value, bound="capacity",
    )  # fmt: skip
