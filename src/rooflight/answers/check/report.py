"""Rows, or claims about one deployment, judged in order; memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from rooflight.answers.check.joint import implied, load_of, of_its_run, paired, runs, stated_batch, together
from rooflight.answers.check.judge import Judge
from rooflight.answers.check.names import Names
from rooflight.answers.check.outcome import Judged, Load, NoCeiling
from rooflight.answers.check.questions import Question, claim, question
from rooflight.answers.check.spans import answered
from rooflight.ingest.rows import BadRow, GivenRow
from rooflight.roofline.rates import no_peak
from rooflight.scenario.change import uncalibrated
from rooflight.scenario.definite import Scenario
from rooflight.serve.apart import is_apart
from rooflight.serve.arrivals import loaded
from rooflight.serve.metrics import all_devices
from rooflight.values.measurement import METRICS, Measurement, Timed
from rooflight.values.question import FIELDS

# Rows judged together: enough to share evaluations, few enough for flat memory.
_BLOCK = 16_384


class RowBlock(NamedTuple):
    """Rows that are judged together, and whether they are the first ones."""

    rows: Sequence[GivenRow]
    first: bool


def judged_rows(rows: Iterable[GivenRow], names: Names) -> Iterator[Judged | NoCeiling]:
    """Each row judged, some thousands of rows at a time."""
    for block in row_blocks(rows):
        yield from judged_block(names, block)


def row_blocks(rows: Iterable[GivenRow]) -> Iterator[RowBlock]:
    """Rows as they are judged together."""
    waiting, first = iter(rows), True
    while block := list(islice(waiting, _BLOCK)):
        yield RowBlock(block, first)
        first = False


def judged_block(names: Names, given: RowBlock) -> Iterator[Judged | NoCeiling]:
    """Each row of a block judged; why a row is fast or impossible is looked for at length in the first block alone.

    With your own calibration each also has what would be expected without.
    """
    judged = _judged_block(names, given)
    if not names.calibrated:
        return judged
    return _beside(judged, _judged_block(names.uncalibrated, RowBlock(given.rows, first=False)))


def _beside(judged: Iterable[Judged | NoCeiling], plain: Iterable[Judged | NoCeiling]) -> Iterator[Judged | NoCeiling]:
    """What is judged, with what would be expected without your own calibration."""
    for one, other in zip(judged, plain, strict=True):
        if isinstance(one, Judged) and isinstance(other, Judged) and other.span.low is not None:
            yield replace(one, uncalibrated=other.span.expected)
        else:
            yield one


def _judged_block(names: Names, given: RowBlock) -> Iterator[Judged | NoCeiling]:
    block, judge = given.rows, Judge(thorough=given.first)
    loads: dict[int, Load] = {}
    batches: dict[int, int | None] = {}
    groups = runs(block)
    for places in groups:
        rows = [row for place in places if (row := block[place].row) is not None]
        batches |= dict.fromkeys(places, stated_batch(rows))
        load = load_of(rows, rows[0].output_len)
        loads |= dict.fromkeys(places, load) if load is not None else {}
    questions: dict[int, Question] = {}
    problems: dict[int, str | None] = {}
    for place, asked in enumerate(block):
        if asked.row is None:
            problems[place] = asked.problem
            continue
        row, said = of_its_run(asked.row, batches.get(place))
        row, more = implied(row, loads[place]) if place in loads else (row, ())
        try:
            questions[place] = question(row, names, said + more, phase_stated=bool(asked.given.get("phase")))
        except BadRow as bad:
            problems[place] = str(bad)
    yield from _judged(block, questions, problems, groups, loads, judge)


def _judged(
    block: Sequence[GivenRow], questions: Mapping[int, Question], problems: Mapping[int, str | None],
    groups: Sequence[tuple[int, ...]], loads: Mapping[int, Load], judge: Judge,
) -> list[Judged | NoCeiling]:  # fmt: skip
    """Each row's verdict, then what those of one run come to together."""
    pairs: dict[int, Question] = {}
    for number, places in enumerate(groups):
        mine = [questions[place] for place in places if place in questions]
        pair = paired([one.row for one in mine], mine) if len(mine) == len(places) else None
        pairs |= {number: pair} if pair is not None else {}
    answers = answered([*questions.values(), *pairs.values()])
    own, whole = answers[: len(questions)], answers[len(questions) :]
    found = dict(zip(questions, own, strict=True))
    wholes = dict(zip(pairs, whole, strict=True))
    result: list[Judged | NoCeiling] = [
        NoCeiling(asked=asked, problem=problems[place])
        if place in problems
        else judge.row(asked, questions[place], found[place])
        for place, asked in enumerate(block)
    ]
    for number, places in enumerate(groups):
        verdicts = [result[place] for place in places]
        joined = together(verdicts, loads.get(places[0]), pairs.get(number), wholes.get(number))
        for place, one in zip(places, joined, strict=True):
            result[place] = one
    return result


def judged_claims(
    sc: Scenario, values: Mapping[str, float], given: Collection[str] | None = None
) -> Iterator[Judged | NoCeiling]:
    """The claimed values of a scenario, by metric, each judged as a row of a table is, and all as values of one run.

    given       fields of the question that were stated, the others having their defaults; None: all were. Without a
                batch a rate of all is held against every batch.

    tpot and output tokens are those of a decode step, as analyze's decode phase; ttft and prefill tokens those of its
    prefill phase; the others those of a batch. Of a schedule or of workers apart, all are of that run.
    Raises MissingFact where all are of a prompt and the compute peak that it needs is not known.

    With your own calibration each also has what would be expected without.
    """
    found = _claims(sc, values, given)
    return found if sc.own is None else _beside(found, _claims(uncalibrated(sc), values, given))


def _claims(
    sc: Scenario, values: Mapping[str, float], given: Collection[str] | None = None
) -> Iterator[Judged | NoCeiling]:
    stated = set(FIELDS) if given is None else set(given)
    if sc.workload.request_rate is not None:
        sc, stated = loaded(sc)[0], stated | {"batch"}
    rows = [row_of(sc, metric, value, stated) for metric, value in values.items()]
    if sc.unrated and all(row.timed.prompt or row.timed is Timed.PREFILL for row in rows):
        raise no_peak(sc.accelerator, sc.unrated, "what a prompt takes")
    load = load_of(rows, int(sc.workload.osl) if "osl" in stated else None)
    questions = []
    for row in rows:
        one, more = implied(row, load) if load is not None else (row, ())
        at = sc if one.batch is None else replace(sc, workload=replace(sc.workload, batch=one.batch))
        questions.append(claim(at, one, more))
    block = [GivenRow(1, {}, row) for row in rows]
    loads = dict.fromkeys(range(len(rows)), load) if load is not None else {}
    groups = [tuple(range(len(rows)))] if len(rows) > 1 else []
    yield from _judged(block, dict(enumerate(questions)), {}, groups, loads, Judge())


def row_of(sc: Scenario, metric: str, value: float, stated: Collection[str]) -> Measurement:
    """A value claimed of a scenario, as a row says it; stated: the fields of the question that it has."""
    load, asked, cut = sc.workload, sc.deployment, sc.layout
    arrive = load.request_rate is not None
    schedule = asked.schedule or ("apart" if is_apart(sc) else "served" if arrive else None)
    phase = METRICS[metric].phases[0]
    if schedule is not None and not (metric == "prefill_tok_s" or schedule == "alone"):
        phase = "e2e_offline" if schedule == "batch" else "e2e_server"
    return Measurement(
        model=sc.model.id, accelerator=sc.accelerator.id, metric=metric, value=value, phase=phase,
        gpus=all_devices(sc), tp=cut.tp, pp=cut.pp, ep=cut.ep, dp=cut.dp,
        weights=asked.weights, kv_cache=asked.kv_cache, compute=asked.compute, engine=asked.engine or "",
        batch=int(load.batch) if "batch" in stated else None,
        input_len=int(load.isl) if "isl" in stated else None, output_len=int(load.osl) if "osl" in stated else None,
        draft_tokens=int(load.draft_tokens) or None, acceptance=load.acceptance if "acceptance" in stated else None,
        mode="disagg" if is_apart(sc) else None,
    )  # fmt: skip
