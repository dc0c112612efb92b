"""Rows, or claims about one deployment, judged in order; memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from rooflight.answers.check.judge import Judge
from rooflight.answers.check.names import Names
from rooflight.answers.check.outcome import Judged, NoCeiling
from rooflight.answers.check.questions import Question, question
from rooflight.answers.check.spans import answered
from rooflight.ingest.rows import BadRow, GivenRow
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve.memory import memory
from rooflight.values.measurement import METRICS, Measurement, Timed

# Rows judged together: enough to share evaluations, few enough for flat memory.
_BLOCK = 8192


def judged_rows(rows: Iterable[GivenRow], names: Names) -> Iterator[Judged | NoCeiling]:
    """Each row judged, some thousands of rows at a time."""
    judge = Judge()
    waiting = iter(rows)
    while block := list(islice(waiting, _BLOCK)):
        yield from _block(block, names, judge)


def _block(block: Sequence[GivenRow], names: Names, judge: Judge) -> Iterator[Judged | NoCeiling]:
    questions: dict[int, Question] = {}
    problems: dict[int, str | None] = {}
    for place, asked in enumerate(block):
        if asked.row is None:
            problems[place] = asked.problem
            continue
        try:
            questions[place] = question(asked.row, names)
        except BadRow as bad:
            problems[place] = str(bad)
    found = dict(zip(questions, answered(list(questions.values())), strict=True))
    for place, asked in enumerate(block):
        if place in problems:
            yield NoCeiling(asked=asked, problem=problems[place])
        else:
            yield judge.row(asked, questions[place], found[place])


def judged_claims(sc: Scenario, values: Mapping[str, float]) -> Iterator[Judged | NoCeiling]:
    """The claimed values of a scenario, by metric, each judged; every blank of it has a documented default.

    tpot and output tokens are those of a decode step, as analyze's decode phase; ttft and prefill tokens those of its
    prefill phase; the others those of the whole request, all prompts of the batch prefilled together.
    """
    held, judge = memory(sc), Judge()
    for metric, value in values.items():
        row = Measurement(
            model=sc.model.id, accelerator=sc.accelerator.id, metric=metric, value=value,
            phase=METRICS[metric].phases[0], gpus=sc.layout.devices, batch=int(sc.workload.batch),
        )  # fmt: skip
        asked = GivenRow(1, {}, row)
        if held.fits or sc.deployment.ignore_capacity:
            yield judge.claim(asked, _loaded(sc, row.timed), row)
        else:
            yield NoCeiling(asked=asked, scenario=sc, held=held)


def _loaded(sc: Scenario, timed: Timed) -> Scenario:
    """The scenario under the load of what is timed."""
    load = sc.workload
    if timed is Timed.STEP:
        load = msgspec.structs.replace(load, context=context_tokens(load))
    elif timed is not Timed.PREFILL:
        load = msgspec.structs.replace(load, prefill_batch=load.batch, context=None)
    return msgspec.structs.replace(sc, workload=load)
