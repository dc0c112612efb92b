"""A measurement judged: possible, as expected, slow, or faster than physics allows, and why."""

from __future__ import annotations

import math
from itertools import islice

from msgspec.structs import replace

from rooflight.answers.check.causes import causes, spared
from rooflight.answers.check.doubts import doubts
from rooflight.answers.check.filled import Filled
from rooflight.answers.check.mixups import TOLERANCE, TooFast, mix_ups, too_fast
from rooflight.answers.check.outcome import Finding, Judged, Limit, NoCeiling
from rooflight.answers.check.questions import NO_TOKENS, ONE_TOKEN, Question
from rooflight.answers.check.spans import Answered
from rooflight.errors import RooflightError
from rooflight.ingest.rows import GivenRow
from rooflight.roofline.rates import no_peak
from rooflight.scenario import assume
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.efficiency import Efficiency, efficiency
from rooflight.serve.limits import decode_sums, prompt_sums
from rooflight.serve.memory import memory
from rooflight.serve.metrics import bound_of, lone_step, measured_s, saturating_batch, whole_run
from rooflight.serve.replica import replica
from rooflight.serve.room import holds_weights
from rooflight.span import Span
from rooflight.values.held import MemoryBlock
from rooflight.values.measurement import Measurement
from rooflight.values.note import Note
from rooflight.values.steptime import StepTime

# Mix-ups are looked for in full so often; beyond that only the first that fits. What makes a row fast, so often.
_EXPLAINED = 500
_SPARED = 200


class Judge:
    """Verdicts on measurements, one after the other.

    thorough    why they are fast or impossible is looked for at length while they are few
    """

    def __init__(self, *, thorough: bool = True) -> None:
        self._explained, self._spared = (0, 0) if thorough else (_EXPLAINED, _SPARED)

    def row(self, asked: GivenRow, question: Question, found: Answered) -> Judged | NoCeiling:
        """The verdict on a row or a claim from its fastest scenario."""
        sc, span = found.scenario, found.span
        if sc is not None and sc.workload.osl == 0 and question.counts_tokens:
            return NoCeiling(asked=asked, problem=NO_TOKENS)
        held = _too_little(sc, question)
        if sc is None or span is None:
            return NoCeiling(asked=asked, problem=found.problem, scenario=sc, held=held)
        if math.isnan(span.expected) and sc.unrated:
            return NoCeiling(asked=asked, problem=no_peak(sc.accelerator, sc.unrated, "what a prompt takes").what)
        only = question.claimed and question.row.metric == "tpot_ms" and question.row.output_len == 1
        if only or math.isnan(span.expected):  # of a run whose requests generate one token
            return NoCeiling(asked=asked, problem=ONE_TOKEN)
        notes, layout = list(question.notes), sc.layout
        if question.options.layout_open:
            notes.append(Note(key="layout", value=(layout.tp, layout.pp, layout.dp, layout.ep)))
        if question.batch is None:
            notes.append(Note(key="filled_batch", value=sc.workload.batch))
        notes += assume.warnings(sc.model, sc.accelerator, sc.workload, layout, sc.rates.links)
        known = Judged(
            asked=asked, row=question.row, verdict="ok", scenario=sc, span=_bare(span) if question.bare else span,
            notes=tuple(notes), filled=found.filled, claimed=question.claimed, efficiency=_efficiency(question, found),
        )  # fmt: skip
        if known.over > 1 + TOLERANCE:
            return self._above(known, question, held)
        if held is not None:
            return NoCeiling(asked=asked, scenario=sc, held=held)
        if not question.claimed and not question.row.offloaded and not holds_weights(sc):
            return replace(known, verdict="cannot-judge", span=_bare(span), found=(Finding("too big"),), filled=None)
        under = self._open(known, question) if known.filled is not None else self._under(known, known.span)
        return replace(under, bound=under.bound or bound_of(sc, known.row)) if question.claimed else under

    def _above(self, known: Judged, question: Question, held: MemoryBlock | None) -> Judged:
        """Faster than the ceiling: what is left open may allow it, else it is impossible.

        Of a measured machine it is fast: nothing says that what was seen there is all that it can do. What its memory
        does not hold stays impossible as a claim, and as a row it ran otherwise than it says.
        """
        sc, row = known.scenario, known.row
        one = too_fast(sc, row, known.over, lengths=question.lengths)
        doubt = next(doubts(one, gpus_open=question.options.gpus_open), None)
        if doubt is not None and held is None:
            return replace(known, verdict="cannot-judge", found=(doubt,), others=self._mix_ups(one), filled=None)
        fits = holds_weights(sc) or row.offloaded
        if known.on_measured and held is not None:
            return replace(known, verdict="impossible", held=held, bound="capacity", filled=None)
        if known.on_measured and not fits:
            return replace(
                known, verdict="cannot-judge", span=_bare(known.span), found=(Finding("too big"),), filled=None
            )
        notes = known.notes if held or fits else (*known.notes, _beyond(sc))
        bound = bound_of(sc, row)
        return replace(
            known, verdict=beyond(known), bound=bound, limit=limit(sc, row, bound), found=self._mix_ups(one),
            notes=notes, held=held, filled=None,
        )  # fmt: skip

    def _mix_ups(self, one: TooFast) -> tuple[Finding, ...]:
        self._explained += 1
        return tuple(islice(mix_ups(one), None if self._explained <= _EXPLAINED else 1))

    def _under(self, known: Judged, span: Span) -> Judged:
        """At or under the ceiling: by where the value lies against what is expected."""
        sc, row = known.scenario, known.row
        if span.low is None or span.high is None or span.low <= row.value <= span.high:
            return known
        if row.measures.time == (row.value < span.low):
            self._spared += 1
            found = spared(sc, row, briefly=self._spared > _SPARED)
            return replace(known, verdict="fast", bound=bound_of(sc, row), found=found)
        if sc.unrated and sc.workload.batch > 1:  # arithmetic that several share may take the difference
            found = (Finding("no peak", sc.unrated),)
            return replace(known, verdict="cannot-judge", span=_bare(known.span), found=found, filled=None)
        # the causes first: they ask for the whole step, of which the bound is a part
        found = causes(sc, row, row.measures.speed_over(span.expected, row.value))
        return replace(known, verdict="slow", bound=bound_of(sc, row), found=found)

    def _open(self, known: Judged, question: Question) -> Judged:
        """No batch is stated: slow is what is slow at every batch, fast what is fast at every one.

        A rate of all, whose ceiling is that of all that memory holds, is not held against what is expected there, but
        of a saturated run: as many ran, or half as many where requests came and went.
        """
        filled, row = known.filled, known.row
        if filled is None:
            return known
        full = _full(known.span, filled, row) if question.saturated else None
        if full is not None and row.value >= (full.low or 0.0):
            return self._under(replace(known, span=full, filled=None), full)
        together = question.batch is None
        if filled.usual is not None:
            return replace(known, span=_bare(known.span)) if together else known
        slow = row.measures.speed_over(row.value, filled.one.expected) < 1 if together else True
        end = filled.one if slow == together else filled.all
        if slow and together and row.served:  # requests may have been few
            return replace(known, span=_bare(known.span))
        expected = {name: getattr(end, name) for name in ("expected", "low", "high")} if together else {}
        sc = known.scenario
        at = sc if together != slow else replace(sc, workload=replace(sc.workload, batch=1))
        judged = self._under(replace(known, scenario=at, span=replace(known.span, **expected)), end)
        return replace(judged, scenario=sc)


def _full(span: Span, filled: Filled, row: Measurement) -> Span | None:
    """What is expected of a saturated run: of all that memory holds, down to what half as many get.

    None where there were fewer requests than that, or nothing is expected.
    """
    if span.low is None or filled.half is None or filled.half.low is None:
        return None
    if row.prompts is not None and row.prompts < filled.most:
        return None
    return replace(span, low=min(span.low, filled.half.low))


def _efficiency(question: Question, found: Answered) -> Efficiency | None:
    """MFU and MBU in the value's time, where it is of a step whose batch is known."""
    if found.demand is None or found.scenario is None or question.batch is None or found.filled is not None:
        return None
    return efficiency(found.demand, measured_s(found.scenario, question.row))


def beyond(one: Judged) -> str:
    """The verdict on what is above its ceiling."""
    return "fast" if one.on_measured else "impossible"


def _too_little(sc: Scenario | None, question: Question) -> MemoryBlock | None:
    """The memory of a claim whose machine does not hold the weights and one sequence."""
    if sc is None or not question.claimed or sc.deployment.ignore_capacity:
        return None
    try:
        # the cache of a shape that was assumed makes nothing impossible
        some = sc.checkpoint.sized is not None or saturating_batch(sc) >= 1
        return None if holds_weights(sc) and some else memory(sc)
    except RooflightError:
        return None


def _beyond(sc: Scenario) -> Note:
    return Note(key="weights_beyond", value=sc.layout.devices, why=sc.accelerator.id)


def _bare(span: Span) -> Span:
    """The same with nothing expected."""
    return replace(span, low=None, high=None)


def limit(sc: Scenario, row: Measurement, bound: str) -> Limit:
    """What sets the ceiling, with its numbers, for one device."""
    prompt = row.timed.prompt
    time = (phases.prefill(sc, bounds_only=True) if prompt else lone_step(sc, row)).time
    rates, form = sc.rates, phases.main_format(sc, time)
    if whole_run(row):
        one = replica(sc)
        both = prompt_sums(one) + decode_sums(one)
        if both.request_s > both.lone_s:
            by_bound = {"memory": rates.fast_memory_bytes_per_s, "link": _sent(sc, time)[1], **_beside(sc)}
            of = by_bound.get(bound) or rates.fastest(form)
            seconds: float = getattr(both, f"{bound}_s")
            return Limit(
                amount=seconds * of, rate=of, prompt=False, form=form if bound == "compute" else None, whole=True,
                level=phases.link_level(sc, time) if bound == "link" else None,
            )  # fmt: skip
    if bound in time.terms and (there := _beside(sc).get(bound)):
        return Limit(amount=float(time.terms[bound]) * there, rate=there, prompt=prompt, level=bound)
    if bound == "memory":
        rate = rates.fast_memory_bytes_per_s
        return Limit(amount=float(time.memory_s) * rate, rate=rate, prompt=prompt)
    if bound == "link":
        amount, rate = _sent(sc, time)
        return Limit(amount=amount, rate=rate, prompt=prompt, level=phases.link_level(sc, time))
    rate = rates.fastest(form)
    return Limit(amount=float(time.compute_s) * rate, rate=rate, prompt=prompt, form=form)


def _beside(sc: Scenario) -> dict[str, float]:
    """Rates of the host's memory and of the link to it in a ceiling, where something lies there."""
    beside = sc.rates.beside
    if beside is None:
        return {}
    return {"host_memory": beside.rates.fast_memory_bytes_per_s, "host_link": beside.link_bytes_per_s or 0.0}


def _sent(sc: Scenario, time: StepTime) -> tuple[float, float]:
    """(bytes one device sends over the slower level of links, at how many a second)."""
    across, links, seconds = time.work.network_bytes, sc.rates.links, float(time.link_s)
    if phases.link_level(sc, time) != "within" and links is not None and links.far_fastest_bytes_per_s:
        return seconds * links.far_fastest_bytes_per_s, links.far_fastest_bytes_per_s
    amount = float(time.work.link_bytes - across)
    return amount, amount / seconds if seconds else 0.0
