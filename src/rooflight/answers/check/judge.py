"""Rows of measurements judged: possible, as expected, slow, or faster than physics allows, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from rooflight.answers.check import layouts, reasons
from rooflight.answers.check.mixups import TOLERANCE, Claim, MixUp, claim, formats, mix_ups
from rooflight.answers.check.names import Names
from rooflight.answers.check.questions import Question, question
from rooflight.answers.check.spans import Answered, answered
from rooflight.answers.check.tally import Counts, answer
from rooflight.ingest.rows import BadRow, GivenRow, RowLike, given_rows, open_table, table_rows
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import holds_weights
from rooflight.serve.metrics import bound_of, metric_span
from rooflight.span import Span
from rooflight.values.measurement import METRICS, Measurement, Report, Verdict

# Rows judged together: enough to share evaluations, few enough for flat memory.
_BLOCK = 8192
# Weights whose format says in which 16-bit type the products ran.
_SAID = ("bf16", "fp32")
# Mix-ups are looked for in full so often; beyond that only the first that fits.
_EXPLAINED = 500


def check(source: str | Path | Iterable[RowLike] | RowLike, *, configs: Iterable[str | Path] = ()) -> Report:
    """All rows of a file, or of mappings, judged. Raises BadInput, BadConfig for a file that is no table."""
    names = Names(configs)
    counts = Counts()
    notes: list[str] = []
    if isinstance(source, str | Path):
        with open_table(source) as table:
            verdicts = tuple(counts.over(check_rows(table_rows(table), names)))
        notes = table.notes
    else:
        if isinstance(source, Mapping | Measurement):
            source = (source,)
        verdicts = tuple(counts.over(check_rows(given_rows(source), names)))
    tally = counts.tally()
    return Report(answer=answer(tally), summary=tally, notes=tuple(notes), rows=verdicts)


def check_rows(rows: Iterable[GivenRow], names: Names) -> Iterator[Verdict]:
    """A verdict a row, in order, some thousands of rows at a time; memory does not grow with their number."""
    judge = Judge()
    waiting = iter(rows)
    while block := list(islice(waiting, _BLOCK)):
        yield from _check_block(block, names, judge)


def _check_block(block: Sequence[GivenRow], names: Names, judge: Judge) -> Iterator[Verdict]:
    questions: dict[int, Question] = {}
    problems: dict[int, str] = {}
    for place, asked in enumerate(block):
        if asked.row is None:
            problems[place] = asked.problem or "the row cannot be read"
            continue
        try:
            questions[place] = question(asked.row, names)
        except BadRow as bad:
            problems[place] = str(bad)
    found = dict(zip(questions, answered(list(questions.values())), strict=True))
    for place, asked in enumerate(block):
        if place in problems:
            yield _unjudged(asked, problems[place])
        else:
            yield judge.verdict(asked, questions[place], found[place])


def _unjudged(asked: GivenRow, reason: str, **fields: Any) -> Verdict:
    row = asked.row
    if row is None:
        model, accelerator, metric = (asked.given.get(name, "") for name in ("model", "accelerator", "metric"))
        return Verdict(
            line=asked.line, verdict="cannot-judge", reason=reason, given=asked.given, model=model,
            accelerator=accelerator, metric=metric,
        )  # fmt: skip
    return Verdict(
        line=asked.line, verdict="cannot-judge", reason=reason, given=asked.given, model=row.model,
        accelerator=row.accelerator, metric=row.metric, unit=METRICS[row.metric].unit, value=row.value, **fields,
    )  # fmt: skip


class Judge:
    """Verdicts on measurements, one after the other."""

    def __init__(self) -> None:
        self._explained = 0

    def verdict(self, asked: GivenRow, question: Question, found: Answered) -> Verdict:
        """The row's verdict from its fastest scenario."""
        if found.scenario is None or found.span is None:
            return _unjudged(asked, found.problem or "it cannot be computed")
        sc, span, row = found.scenario, found.span, question.row
        if question.bare:
            span = msgspec.structs.replace(span, low=None, high=None)
        notes = list(question.notes)
        if question.options.layout_open:
            notes.append(f"layout not stated: the fastest legal one, {layouts.layout_words(sc)}")
        if question.batch is None:
            notes.append(f"batch not stated: as many sequences as memory holds at most, {sc.workload.batch:,}")
        if over_ceiling(row, span) > 1 + TOLERANCE:
            doubt = self._doubt(sc, row, question)
            if doubt is not None:
                return _unjudged(asked, reasons.joined(doubt, notes), **numbers(row, span))
            if not holds_weights(sc):
                notes.append(f"the weights alone are more than {sc.layout.devices} x {sc.accelerator.id} hold")
        elif not holds_weights(sc):
            bare = msgspec.structs.replace(span, low=None, high=None)
            return _unjudged(asked, reasons.joined(reasons.too_big(sc), notes), **numbers(row, bare))
        return self.judged(asked, sc, row, span, notes)

    def judged(self, asked: GivenRow, sc: Scenario, row: Measurement, span: Span, notes: Sequence[str]) -> Verdict:
        """The verdict on a value whose circumstances are all known."""
        fields = numbers(row, span)
        over = over_ceiling(row, span)
        mix_up: str | None = None
        if over > 1 + TOLERANCE:
            verdict = "impossible"
            found = self._mix_ups(sc, row)
            mix_up = found[0].words if found else None
            reason = reasons.impossible(sc, row, span, found)
        elif span.low is None or span.high is None:
            verdict, reason = "ok", reasons.UNCALIBRATED
        elif span.low <= row.value <= span.high:
            verdict, reason = "ok", "as a well-run engine does"
        elif METRICS[row.metric].time == (row.value < span.low):
            verdict, reason = "fast", reasons.fast(row, span, over)
        else:
            verdict, reason = "slow", reasons.slow(sc, row, span)
        return Verdict(
            line=asked.line, verdict=verdict, reason=reasons.joined(reason, notes), model=row.model,
            accelerator=row.accelerator, metric=row.metric, unit=METRICS[row.metric].unit, value=row.value,
            bound=bound_of(sc, row) if verdict != "ok" else None, mix_up=mix_up, given=asked.given, **fields,
        )  # fmt: skip

    def _mix_ups(self, sc: Scenario, row: Measurement) -> list[MixUp]:
        self._explained += 1
        found = mix_ups(claim(sc, row))
        return list(found if self._explained <= _EXPLAINED else islice(found, 1))

    def _doubt(self, sc: Scenario, row: Measurement, question: Question) -> str | None:
        """What the row leaves unsaid that would make a value above the ceiling possible; None where nothing does."""
        one = claim(sc, row)
        if row.weights is None:
            fit = next(formats(one, sc.deployment.kv_cache), None)
            if fit is not None:
                own = sc.model.quantization or sc.model.dtype
                return f"above the ceiling of {own} weights, possible {fit.words}: the row does not say which it ran"
        doubt = _integer_products(one)
        if doubt is not None:
            return doubt
        half = one.with_deployment(compute="fp16") if row.compute is None and row.weights not in _SAID else None
        if half is not None and one.possible(half, one.time_s):
            return (
                f"above the ceiling of bf16 arithmetic, possible in fp16, which {sc.accelerator.id} adds up faster: "
                "the row does not say which it ran"
            )
        if question.options.gpus_open:
            fit = next((found for found in mix_ups(one) if found.kind == "more devices"), None)
            if fit is not None:
                return f"above the ceiling of one device, possible {fit.words}: the row does not say how many it ran on"
        return None


def _integer_products(one: Claim) -> str | None:
    """That the value is possible in int8, if an engine may have multiplied the weights so and nobody says otherwise."""
    stored = one.scenario.numbers.weights
    if one.scenario.deployment.compute is not None or stored is None or not stored.integer_products:
        return None
    narrow = one.with_deployment(compute="int8")
    if narrow is None or not one.possible(narrow, one.time_s):
        return None
    return (
        f"above the ceiling of bf16 arithmetic, possible in int8, in which llama.cpp multiplies {stored.id}: "
        "state compute int8 to have it judged so"
    )


def over_ceiling(row: Measurement, span: Span) -> float:
    """Measured speed over ceiling speed; above 1 is faster than physics allows."""
    return span.ceiling / row.value if METRICS[row.metric].time else row.value / span.ceiling


def numbers(row: Measurement, span: Span) -> dict[str, float | None]:
    """The numbers of a verdict; without an interval nothing is expected."""
    return {
        "ceiling": span.ceiling,
        "expected": None if span.low is None else span.expected,
        "low": span.low,
        "high": span.high,
        "over_ceiling": over_ceiling(row, span),
    }


def check_claim(sc: Scenario, row: Measurement) -> Verdict:
    """One claim about a scenario whose every blank has its default: nothing is left open."""
    span = metric_span(sc, row)
    if over_ceiling(row, span) > 1 + TOLERANCE:
        doubt = _integer_products(claim(sc, row))
        if doubt is not None:
            return _unjudged(GivenRow(1, {}, row), doubt, **numbers(row, span))
    found = Judge().judged(GivenRow(1, {}), sc, row, span, ())
    reason = (
        found.reason
        if found.verdict == "impossible"
        else reasons.possible(row, span, over_ceiling(row, span), found.reason)
    )
    return msgspec.structs.replace(found, reason=reason, bound=bound_of(sc, row))
