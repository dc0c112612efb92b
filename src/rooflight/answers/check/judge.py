"""A measurement judged: possible, as expected, slow, or faster than physics allows, and why."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from msgspec.structs import replace

from rooflight.answers.check.causes import causes
from rooflight.answers.check.doubts import doubts
from rooflight.answers.check.mixups import TOLERANCE, mix_ups, too_fast
from rooflight.answers.check.outcome import Finding, Judged, Limit, NoCeiling
from rooflight.answers.check.questions import Question
from rooflight.answers.check.spans import Answered
from rooflight.ingest.rows import GivenRow
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.memory import holds_weights
from rooflight.serve.metrics import bound_of, metric_span
from rooflight.span import Span
from rooflight.values.measurement import Measurement
from rooflight.values.note import Note

# Mix-ups are looked for in full so often; beyond that only the first that fits.
_EXPLAINED = 500


class Judge:
    """Verdicts on measurements, one after the other."""

    def __init__(self) -> None:
        self._explained = 0

    def row(self, asked: GivenRow, question: Question, found: Answered) -> Judged | NoCeiling:
        """A row's verdict from its fastest scenario."""
        sc, span = found.scenario, found.span
        if sc is None or span is None:
            return NoCeiling(asked=asked, problem=found.problem, scenario=sc)
        notes, layout = list(question.notes), sc.layout
        if question.options.layout_open:
            notes.append(Note(key="layout", value=(layout.tp, layout.pp, layout.dp, layout.ep)))
        if question.batch is None:
            notes.append(Note(key="filled_batch", value=sc.workload.batch))
        span = _bare(span) if question.bare else span
        return self._judged(asked, sc, question.row, span, notes, gpus_open=question.options.gpus_open)

    def claim(self, asked: GivenRow, sc: Scenario, row: Measurement) -> Judged:
        """The verdict on a claim about a scenario whose every blank has its default: nothing is left open."""
        found = self._judged(asked, sc, row, metric_span(sc, row), (), claimed=True)
        return replace(found, bound=bound_of(sc, row)) if found.verdict == "ok" else found

    def _judged(
        self, asked: GivenRow, sc: Scenario, row: Measurement, span: Span, notes: Sequence[Note], *,
        claimed: bool = False, gpus_open: bool = False,
    ) -> Judged:  # fmt: skip
        """The verdict by where the value lies against the span, and what follows from there."""
        known = Judged(asked=asked, row=row, verdict="ok", scenario=sc, span=span, notes=tuple(notes))
        held = claimed or holds_weights(sc)
        if known.over > 1 + TOLERANCE:
            one = too_fast(sc, row, known.over)
            doubt = next(doubts(one, claimed=claimed, gpus_open=gpus_open), None)
            if doubt is not None:
                return replace(known, verdict="cannot-judge", found=(doubt,))
            notes = known.notes if held else (*known.notes, _beyond(sc))
            self._explained += 1
            found = tuple(islice(mix_ups(one), None if self._explained <= _EXPLAINED else 1))
            bound = bound_of(sc, row)
            limit = _limit(sc, row, bound)
            return replace(known, verdict="impossible", bound=bound, limit=limit, found=found, notes=notes)
        if not held:
            return replace(known, verdict="cannot-judge", span=_bare(span), found=(Finding("too big"),))
        if span.low is None or span.high is None or span.low <= row.value <= span.high:
            return known
        if row.measures.time == (row.value < span.low):
            return replace(known, verdict="fast", bound=bound_of(sc, row))
        # the causes first: they ask for the whole step, of which the bound is a part
        found = causes(sc, row, row.measures.speed_over(span.expected, row.value))
        return replace(known, verdict="slow", bound=bound_of(sc, row), found=found)


def _beyond(sc: Scenario) -> Note:
    return Note(key="weights_beyond", value=sc.layout.devices, why=sc.accelerator.id)


def _bare(span: Span) -> Span:
    """The same with nothing expected."""
    return replace(span, low=None, high=None)


def _limit(sc: Scenario, row: Measurement, bound: str) -> Limit:
    """What sets the ceiling, with its numbers, for one device."""
    prompt = row.timed.prompt
    time = (phases.prefill(sc, bounds_only=True) if prompt else phases.decode(sc, bounds_only=True)).time
    if bound == "memory":
        return Limit(amount=time.work.moved_bytes, rate=sc.rates.memory_bytes_per_s, prompt=prompt)
    if bound == "link":
        return Limit(amount=time.work.link_bytes, rate=sc.rates.link_bytes_per_s or 0.0, prompt=prompt)
    form = phases.main_format(sc, time)
    return Limit(amount=time.work.flop, rate=sc.rates.fastest(form), prompt=prompt, form=form)
