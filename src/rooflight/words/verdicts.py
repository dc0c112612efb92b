"""Verdicts on measurements in words: why each row is what it is, and how many are what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rooflight.answers.check.filled import Filled
from rooflight.answers.check.names import Names
from rooflight.answers.check.opened import OpenedRows, opened_rows
from rooflight.answers.check.outcome import Judged, Limit, Load, NoCeiling, Pair
from rooflight.answers.check.recorded import Said
from rooflight.answers.check.report import RowBlock, judged_block, judged_claims
from rooflight.answers.check.tally import Counts
from rooflight.ingest.rows import RowLike
from rooflight.scenario.assume import file_notes
from rooflight.scenario.basis import basis_of
from rooflight.scenario.definite import Scenario
from rooflight.serve.efficiency import Efficiency
from rooflight.span import Span
from rooflight.units import percent, round_significant, scaled, to_base
from rooflight.values.measurement import Measurement, Report, Tally, Verdict
from rooflight.values.own import OwnCalibration
from rooflight.values.recorded import Recorded
from rooflight.words.analysis import does_not_fit
from rooflight.words.basis import basis_clause, behind
from rooflight.words.notes import sentence, worded
from rooflight.words.readings import cause, doubt, mix_up, mix_ups, spared
from rooflight.words.seen import FASTER, FASTEST, ceiling

_UNKNOWN = Efficiency()
# An interval so many times as wide says little.
_WIDE = 4
# Of so many values a file's answer is what is said of each.
_FEW = 6
_NAMES = {
    "e2e_latency_ms": "end to end", "ttft_ms": "to the first token", "tpot_ms": "a token", "output_tok_s": "",
    "output_tok_s_per_gpu": "per GPU", "output_tok_s_per_user": "per user", "total_tok_s": "in and out",
    "prefill_tok_s": "of prefill",
}  # fmt: skip


def checked(
    source: str | Path | Recorded | Iterable[RowLike] | RowLike, *, configs: Iterable[str | Path] = (),
    said: Said | None = None, calibration: OwnCalibration | None = None,
) -> Report:  # fmt: skip
    """All rows of a file, or of mappings, judged; or what a benchmark recorded, with what is said beside it.

    Raises BadInput, BadConfig for a file that is neither, and BadInput for rows with something said beside them.
    """
    found = opened_rows(source, configs=configs, said=said, calibration=calibration)
    return reported(found.judged, found.notes) if found.results is None else _recorded(found)


def _recorded(found: OpenedRows) -> Report:
    """What a benchmark recorded, judged: each time and rate of a run as a row, those of one run together."""
    counts = Counts()
    rows = tuple(map(_claim, counts.over(found.judged)))
    tally = counts.tally()
    few = " ".join(f"{one.reason.rstrip('.')}." for one in rows) if len(rows) <= _FEW else ""
    return Report(answer=few or answer(tally), summary=tally, notes=tuple(found.notes), rows=rows)


def told(names: Names, block: RowBlock) -> tuple[list[Verdict], Counts]:
    """A block of rows judged, in words and counted."""
    counts = Counts()
    return [verdict(one) for one in counts.over(judged_block(names, block))], counts


def reported(judged: Iterable[Judged | NoCeiling], notes: Sequence[str]) -> Report:
    """Rows judged, in words and counted."""
    counts = Counts()
    rows = tuple(map(verdict, counts.over(judged)))
    tally = counts.tally()
    return Report(answer=answer(tally), summary=tally, notes=tuple(notes), rows=rows)


def claimed(sc: Scenario, values: Mapping[str, float], given: Collection[str] | None = None) -> Report:
    """The claimed values of a scenario, by metric, as answers.check.report judges them; given: the fields stated."""
    return claims_reported(sc, judged_claims(sc, values, given), given)


def claims_reported(
    sc: Scenario, judged: Iterable[Judged | NoCeiling], given: Collection[str] | None = None
) -> Report:  # fmt: skip
    """Claims about a scenario that were judged, in words and counted."""
    counts = Counts()
    rows = tuple(map(_claim, counts.over(judged)))
    tally = counts.tally()
    said = " ".join(f"{one.reason.rstrip('.')}." for one in rows)
    open_ = given is not None and "batch" not in given
    assumed = [note for note in sc.assumptions if not (open_ and note.key == "batch")]
    assumed = [*file_notes(sc.model.warnings), *assumed]
    return Report(answer=said or answer(tally), summary=tally, notes=worded(assumed), rows=rows)


def answer(tally: Tally) -> str:
    """How many rows were judged, and how many cannot be true."""
    if tally.rows == 1:
        words = "The row cannot be judged" if tally.cannot_judge else "The row is possible"
        if tally.faster_than_measured:
            words = f"The row is {FASTER}"
        words = "The row is faster than physics allows" if tally.impossible else words
        beside = ", and slower than expected" if tally.slow else ""
        return f"{words}{beside or (', and faster than expected' if _only_fast(tally) else '')}."
    if not tally.rows:
        return "There are no rows to judge."
    if tally.impossible:
        words = f"{tally.impossible:,} of {tally.rows:,} rows {'are' if tally.impossible > 1 else 'is'}"
        words += " faster than physics allows"
    elif tally.judged == tally.on_measured > 0 and not tally.faster_than_measured:
        words = f"No row of {tally.rows:,} is {FASTER}"
    elif tally.judged == tally.on_measured > 0:
        words = f"{tally.faster_than_measured:,} of {tally.rows:,} rows {_are(tally.faster_than_measured)} {FASTER}"
    elif tally.judged:
        words = f"No row of {tally.rows:,} is faster than physics allows"
    else:
        return f"None of the {tally.rows:,} rows can be judged."
    unjudged = f"; {tally.cannot_judge:,} cannot be judged" if tally.cannot_judge else ""
    slow = f"; {tally.slow:,} slower than expected" if tally.slow else ""
    possible = tally.fast - tally.faster_than_measured
    fast = f"; {possible:,} faster than expected" if possible else ""
    if tally.faster_than_measured and FASTER not in words:
        fast = f"; {tally.faster_than_measured:,} {FASTER}{fast}"
    error = f"; median error of the expected value {tally.median_error:.1%}" if tally.median_error is not None else ""
    return f"{words}{slow}{fast}{unjudged}{error}."


def _only_fast(tally: Tally) -> bool:
    """Whether a single row is faster than expected, and nothing more."""
    return bool(tally.fast and not tally.faster_than_measured and not tally.impossible)


def _are(count: int) -> str:
    return "are" if count > 1 else "is"


def verdict(one: Judged | NoCeiling) -> Verdict:
    """A row of the documented report."""
    if isinstance(one, NoCeiling):
        return _without_ceiling(one)
    span, used = one.span, one.efficiency or _UNKNOWN
    return Verdict(
        line=one.asked.line, verdict=one.verdict, reason="; ".join([_reason(one), *map(sentence, one.notes)]),
        ceiling=span.ceiling, expected=None if span.low is None else span.expected, low=span.low, high=span.high,
        over_ceiling=one.over, bound="capacity" if one.held else one.bound, mix_up=_first_mix_up(one),
        mfu=used.mfu, mbu=used.mbu, given=one.asked.given,
        on_measured_or_absent=one.on_measured or msgspec.UNSET,
        expected_uncalibrated_or_absent=msgspec.UNSET if one.uncalibrated is None else one.uncalibrated,
        **_about(one.row),
    )  # fmt: skip


def _without_ceiling(one: NoCeiling) -> Verdict:
    asked, sc = one.asked, one.scenario
    if asked.row is None:
        about: dict[str, Any] = {name: asked.given.get(name, "") for name in ("model", "accelerator", "metric")}
    else:
        about = _about(asked.row)
    if sc is None:
        reason = one.problem or ""
    elif one.held is None:
        reason = f"the weights of {sc.model.id} do not fit on {_devices(sc)}"
    else:
        reason, about["bound"] = does_not_fit(sc, one.held), "capacity"
    return Verdict(line=asked.line, verdict=one.verdict, reason=reason, given=asked.given, **about)


def _about(row: Measurement) -> dict[str, Any]:
    return {
        "model": row.model, "accelerator": row.accelerator, "metric": row.metric, "unit": row.measures.unit,
        "value": row.value,
    }  # fmt: skip


def _first_mix_up(one: Judged) -> str | None:
    """The first reading that would explain a value above its ceiling."""
    found = one.found if one.limit is not None else one.others
    return mix_up(found[0]) if found else None


def _claim(one: Judged | NoCeiling) -> Verdict:
    """A claim that can be true also says how far below its ceiling it is."""
    found = verdict(one)
    if isinstance(one, NoCeiling) or one.above or one.verdict in ("impossible", "cannot-judge"):
        return found
    possible = f"{_named(one.row)} is possible, {_share(one)}: {found.reason}"
    return msgspec.structs.replace(found, reason=possible)


def _share(one: Judged) -> str:
    """How near the ceiling it is; where routing is at its most alike there, how near the roofline of even routing."""
    limit = ceiling(one.scenario.accelerator)
    of = f"of {limit}"
    if one.row.served and not one.on_measured and not one.row.timed.prompt:
        of = "that no schedule can beat"  # fewer at once may be faster: it is not the ceiling of the step that ran
    said = f"{_percent(one.over)} of the speed {of} ({_amount(one.span.ceiling, one.row)})"
    said += _efficiency(one)
    speed = one.row.measures.speed_over(one.row.value, one.span.roofline)
    if one.scenario.expert_layers and one.scenario.workload.batch > 1 and speed > 1.1 * one.over:
        said += ", which allows for half of the experts that even routing takes; "
        said += f"{_percent(speed)} of the roofline with those"
    return said


def _efficiency(one: Judged) -> str:
    """The share that is used of what mostly binds such a step: bandwidth of a token, arithmetic of a prompt."""
    used = one.efficiency or _UNKNOWN
    name, share = ("MFU", used.mfu) if one.row.timed.prompt or one.row.metric == "prefill_tok_s" else ("MBU", used.mbu)
    return "" if share is None else f", {name} {percent(share)}"


def _reason(one: Judged) -> str:
    """Why a row is what it is, what was taken for granted aside."""
    row, span = one.row, one.span
    if one.pair is not None:
        return _paired(one.pair, one.on_measured)
    if one.held is not None and one.limit is None:
        return does_not_fit(one.scenario, one.held).rstrip(".")
    limit = ceiling(one.scenario.accelerator)
    if one.limit is not None:
        because = _because(one.limit, one.bound or "", one.scenario)
        what = FASTER if one.on_measured else "impossible"
        said = f"{_named(row)} is {what}: {limit} is {_amount(span.ceiling, row)}, because {because}; "
        said += mix_ups(one.found)
        return said if one.held is None else f"{said}; and {does_not_fit(one.scenario, one.held).rstrip('.')}"
    if one.load is not None:
        return _loaded(one.load)
    if one.verdict == "cannot-judge":
        said = doubt(one.found[0], one.scenario, "claim" if one.claimed else "row")
        return f"{said}; {mix_ups(one.others)}" if one.others else said
    if one.filled is not None:
        return _filled(one, one.filled)
    if span.low is None or span.high is None:
        if one.scenario.unrated:
            forms = " or ".join(one.scenario.unrated)
            return (
                f"at or under {_own(limit)}, which has the arithmetic of prompts for free: what is expected hangs on "
                f"the {forms} peak of {one.scenario.accelerator.id}, which nobody published"
            )
        return f"at or under {_own(limit)}; no expectation is calibrated for it"
    if one.verdict == "ok":
        wide = span.high > _WIDE * span.low
        little = f"inside what little is known ({_percent(one.over)} of {limit})"
        return little if wide else "as a well-run engine does"
    interval, unseen = f"the {round_significant(span.low)} to {_amount(span.high, row)} expected", _unseen(one)
    if one.verdict == "fast":
        why = f" ({unseen})" if unseen else ""
        said = f"faster than {interval}{why}, yet possible: {_share_of(one)}"
        return f"{said}; {spared(one.found)}" if one.found else said
    return _slow(one, span, f"{interval}{behind(unseen)}")


def _unseen(one: Judged) -> str:
    """Of a card without measurements, what is expected instead: it may be that, not the row, which is off."""
    return basis_clause(basis_of(one.scenario), one.scenario.deployment.engine)


def _own(limit: str) -> str:
    return limit.replace("the ceiling", "its ceiling")


def _share_of(one: Judged) -> str:
    if one.on_measured:
        return f"{_percent(one.over)} of the speed of {FASTEST}"
    return f"{_percent(one.over)} of the ceiling's speed"


def _slow(one: Judged, span: Span, interval: str) -> str:
    factor = one.row.measures.speed_over(span.expected, one.row.value)
    look = ", ".join(cause(each) for each in one.found)
    return f"{factor:.1f}x slower than expected ({interval}); look at: {look}"


def _filled(one: Judged, open_: Filled) -> str:
    """A value of a batch that nobody states: which one it would need."""
    row = one.row
    together = row.measures.together
    if one.verdict == "fast":
        found = open_.all if together else open_.one
        said = f"faster than the {_amount(found.high or found.expected, row)} expected at most, of any batch"
        said += f", yet possible: {_share_of(one)}"
        return f"{said}; {spared(one.found)}" if one.found else said
    if one.verdict == "slow":
        end, at = (open_.one, "one sequence alone") if together else (open_.all, f"{open_.tried:,} at once")
        low, high = round_significant(end.low or end.expected), _amount(end.high or end.expected, row)
        return _slow(one, end, f"the {low} to {high} expected even of {at}")
    if open_.usual is None:
        return f"less than one request at a time gets ({_amount(open_.one.expected, row)}): requests may have been few"
    needs = f"; no fewer than {open_.least:,} could" if open_.least > 1 else ""
    alone = "" if together else f" (one sequence alone: {_amount(open_.one.expected, row)})"
    return f"what a well-run engine gets of about {open_.usual:,} at once{needs}{alone}"


def _paired(pair: Pair, on_measured: bool) -> str:
    what = f"together {FASTER}" if on_measured else "impossible together"
    least = "was seen to give" if on_measured else "gives"
    first, token = (f"{round_significant(ms)} ms" for ms in (pair.first_ms, pair.token_ms))
    return (
        f"{first} to the first token and {token} a token are {what}: a request of {pair.tokens:,} more "
        f"tokens would take {_ms(pair.first_ms + pair.tokens * pair.token_ms)}, where {pair.batch:,} in flight need at "
        f"least {_ms(pair.ceiling_ms)}; beside that first token no schedule {least} less than "
        f"{_ms(pair.least_token_ms)} a token"
    )


def _ms(value: float) -> str:
    return f"{round_significant(value)} ms"


def _loaded(load: Load) -> str:
    """Which of batch, rate and time cannot be together."""
    rate = f"{round_significant(load.rate)} output tok/s"
    stated = load.stated or 0
    if load.request_ms is not None:
        times = f"requests of {_ms(load.request_ms)}"
    elif load.first_ms is not None and not load.decoding:
        times = f"{_ms(load.first_ms)} to the first token and {_ms(load.token_ms or 0)} a token"
    else:
        times = f"{_ms(load.token_ms or 0)} a token"
    found = round_significant(load.in_flight)
    said = f"{rate} and {times} make {found} in flight, not {stated:,}: batch, rate and time cannot all be true"
    if load.wait_ms is not None and load.in_flight < stated:
        said += f", unless each request waits {_ms(load.wait_ms)} for its first token"
    if load.decoding and load.token_ms:
        need = round_significant(stated / (load.token_ms * to_base(1, "ms")))
        said += f"; {stated:,} in flight at {_ms(load.token_ms)} a token would be {need} tok/s"
    return said


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else f"{share * 100:.1g}%"


def _amount(value: float, row: Measurement) -> str:
    """A value with its unit: 47.4 tok/s."""
    return f"{round_significant(value)} {row.measures.unit}"


def _named(row: Measurement) -> str:
    """The row's value with its unit and what it measures: 47.4 tok/s per user."""
    return f"{_amount(row.value, row)} {_NAMES[row.metric]}".rstrip()


def _devices(sc: Scenario) -> str:
    return sc.devices if sc.accelerator.joined else f"{sc.layout.devices} x {sc.accelerator.id}"


_BESIDE = {"host_memory": "from a host's memory", "host_link": "over a link to the host"}


def _because(limit: Limit, bound: str, sc: Scenario) -> str:
    """What sets the ceiling, with its numbers, for one device."""
    what = "the prefill" if limit.prompt else "each decode step"
    if limit.whole:
        count = int(sc.workload.batch)
        what = "a whole request" if count == 1 else f"serving {count:,} requests"
    each = "" if sc.layout.devices == 1 else " on each device"
    if limit.form is not None:
        return (
            f"{what} takes {scaled(limit.amount, 'FLOP')}{each}, at most {scaled(limit.rate, 'FLOP/s')} "
            f"in {limit.form} ({sc.devices})"
        )
    over = {"network": "over the network between machines", "PCIe": "over PCIe"}.get(limit.level or "", "over a link")
    if bound in _BESIDE:
        return f"{what} reads {scaled(limit.amount, 'B')}{each} {_BESIDE[bound]} of {scaled(limit.rate, 'B/s')}"
    does, through = ("moves", "through memory") if bound == "memory" else ("sends", over)
    return f"{what} {does} {scaled(limit.amount, 'B')}{each} {through} of {scaled(limit.rate, 'B/s')} ({sc.devices})"
