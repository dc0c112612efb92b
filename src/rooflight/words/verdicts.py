"""Verdicts on measurements in words: why each row is what it is, and how many are what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rooflight.answers.check.names import Names
from rooflight.answers.check.outcome import Finding, Judged, Limit, NoCeiling
from rooflight.answers.check.report import judged_claims, judged_rows
from rooflight.answers.check.tally import Counts
from rooflight.errors import BadInput, Named
from rooflight.ingest.rows import RowLike, given_rows, open_table, table_rows
from rooflight.scenario.definite import Scenario
from rooflight.units import round_significant, scaled
from rooflight.values.measurement import Measurement, Report, Tally, Verdict
from rooflight.words.analysis import does_not_fit
from rooflight.words.notes import sentence, worded

_NAMES = {
    "e2e_latency_ms": "end to end", "ttft_ms": "to the first token", "tpot_ms": "a token", "output_tok_s": "",
    "output_tok_s_per_gpu": "per GPU", "output_tok_s_per_user": "per user", "total_tok_s": "in and out",
    "prefill_tok_s": "of prefill",
}  # fmt: skip


def checked(source: str | Path | Iterable[RowLike] | RowLike, *, configs: Iterable[str | Path] = ()) -> Report:
    """All rows of a file, or of mappings, judged. Raises BadInput, BadConfig for a file that is no table."""
    names = Names(configs)
    if isinstance(source, str | Path):
        with open_table(source) as table:
            return _reported(judged_rows(table_rows(table), names), table.notes)
    rows = (source,) if isinstance(source, Mapping | Measurement) else source
    if not isinstance(rows, Iterable):
        raise BadInput("there are no rows to check", where=Named.of("source"), got=source, want="a file or mappings")
    return _reported(judged_rows(given_rows(rows), names), ())


def _reported(judged: Iterable[Judged | NoCeiling], notes: Sequence[str]) -> Report:
    counts = Counts()
    rows = tuple(map(verdict, counts.over(judged)))
    tally = counts.tally()
    return Report(answer=answer(tally), summary=tally, notes=tuple(notes), rows=rows)


def claimed(sc: Scenario, values: Mapping[str, float]) -> Report:
    """The claimed values of a scenario, by metric, as answers.check.report judges them."""
    counts = Counts()
    rows = tuple(map(_claim, counts.over(judged_claims(sc, values))))
    tally = counts.tally()
    said = " ".join(f"{one.reason.rstrip('.')}." for one in rows)
    return Report(answer=said or answer(tally), summary=tally, notes=worded(sc.assumptions), rows=rows)


def answer(tally: Tally) -> str:
    """How many rows were judged, and how many cannot be true."""
    if tally.rows == 1:
        words = "The row cannot be judged" if tally.cannot_judge else "The row is possible"
        return f"{'The row is faster than physics allows' if tally.impossible else words}."
    if tally.impossible:
        words = f"{tally.impossible:,} of {tally.rows:,} rows {'are' if tally.impossible > 1 else 'is'}"
        words += " faster than physics allows"
    elif tally.judged:
        words = f"No row of {tally.rows:,} is faster than physics allows"
    else:
        return f"None of the {tally.rows:,} rows can be judged."
    unjudged = f"; {tally.cannot_judge:,} cannot be judged" if tally.cannot_judge else ""
    slow = f"; {tally.slow:,} slower than expected" if tally.slow else ""
    fast = f"; {tally.fast:,} faster than expected" if tally.fast else ""
    error = f"; median error of the expected value {tally.median_error:.1%}" if tally.median_error is not None else ""
    return f"{words}{slow}{fast}{unjudged}{error}."


def verdict(one: Judged | NoCeiling) -> Verdict:
    """A row of the documented report."""
    if isinstance(one, NoCeiling):
        return _without_ceiling(one)
    span = one.span
    return Verdict(
        line=one.asked.line, verdict=one.verdict, reason="; ".join([_reason(one), *map(sentence, one.notes)]),
        ceiling=span.ceiling, expected=None if span.low is None else span.expected, low=span.low, high=span.high,
        over_ceiling=one.over, bound=one.bound, mix_up=mix_up(one.found[0]) if one.limit and one.found else None,
        given=one.asked.given, **_about(one.row),
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


def _claim(one: Judged | NoCeiling) -> Verdict:
    """A claim that can be true also says how far below its ceiling it is."""
    found = verdict(one)
    if isinstance(one, NoCeiling) or one.verdict in ("impossible", "cannot-judge"):
        return found
    ceiling = _amount(one.span.ceiling, one.row)
    possible = f"{_named(one.row)} is possible, {one.over:.0%} of the speed of the ceiling ({ceiling}): {found.reason}"
    return msgspec.structs.replace(found, reason=possible)


def _reason(one: Judged) -> str:
    """Why a row is what it is, what was taken for granted aside."""
    row, span = one.row, one.span
    if one.limit is not None:
        ceiling = _amount(span.ceiling, row)
        because = _because(one.limit, one.bound or "", one.scenario)
        return f"{_named(row)} is impossible: the ceiling is {ceiling}, because {because}; {mix_ups(one.found)}"
    if one.verdict == "cannot-judge":
        return _DOUBTS[one.found[0].kind](one.scenario, one.found[0].value)
    if span.low is None or span.high is None:
        return "at or under its ceiling; no expectation is calibrated for it"
    if one.verdict == "ok":
        return "as a well-run engine does"
    interval = f"the {round_significant(span.low)} to {_amount(span.high, row)} expected"
    if one.verdict == "fast":
        return f"faster than {interval}, yet possible: {one.over:.0%} of the ceiling's speed"
    factor = row.measures.speed_over(span.expected, row.value)
    look = ", ".join(_CAUSES[cause.kind](cause.value) for cause in one.found)
    return f"{factor:.1f}x slower than expected ({interval}); look at: {look}"


def _amount(value: float, row: Measurement) -> str:
    """A value with its unit: 47.4 tok/s."""
    return f"{round_significant(value)} {row.measures.unit}"


def _named(row: Measurement) -> str:
    """The row's value with its unit and what it measures: 47.4 tok/s per user."""
    return f"{_amount(row.value, row)} {_NAMES[row.metric]}".rstrip()


def _devices(sc: Scenario) -> str:
    return f"{sc.layout.devices} x {sc.accelerator.id}"


def _because(limit: Limit, bound: str, sc: Scenario) -> str:
    """What sets the ceiling, with its numbers, for one device."""
    what = "the prefill" if limit.prompt else "each decode step"
    each = "" if sc.layout.devices == 1 else " on each device"
    if limit.form is not None:
        return (
            f"{what} takes {scaled(limit.amount, 'FLOP')}{each}, at most {scaled(limit.rate, 'FLOP/s')} "
            f"in {limit.form} ({sc.devices})"
        )
    does, through = ("moves", "through memory") if bound == "memory" else ("sends", "over a link")
    return f"{what} {does} {scaled(limit.amount, 'B')}{each} {through} of {scaled(limit.rate, 'B/s')} ({sc.devices})"


def mix_ups(found: Sequence[Finding]) -> str:
    """The first reading under which the value is possible, and the others that would do."""
    if not found:
        return "none of the usual mix-ups explains it"
    first, *others = map(mix_up, found)
    also = f" (or {', or '.join(others)})" if others else ""
    return f"it would be right {first}{also}"


def mix_up(one: Finding) -> str:
    """A reading, as it goes on from "it would be right"."""
    return _MIX_UPS[one.kind](one.value)


def _speculative(accepted: int) -> str:
    return f"with speculative decoding, {accepted} drafted token{'s' * (accepted > 1)} accepted a step"


def _format(formats: tuple[str | None, str | None]) -> str:
    weights, cache = formats
    said = [f"{weights} weights"] if weights else []
    return "for " + " and ".join([*said, *([f"an {cache} KV cache"] if cache else [])])


_MIX_UPS: dict[str, Callable[[Any], str]] = {
    "total tokens": lambda _: "if input tokens were counted as output tokens",
    # value: devices
    "total for per-GPU": lambda devices: f"as the total of all {devices} devices, not of each",
    "more devices": lambda devices: f"for {devices} devices",
    # value: sequences
    "total for per-user": lambda sequences: f"as the total of all {sequences:,} sequences, not of each",
    "another batch": lambda sequences: f"at batch {sequences:,}",
    "several sequences": lambda sequences: f"as what {sequences} sequences yield together",
    # value: drafted tokens accepted a step
    "speculative decoding": _speculative,
    # value: formats of (weights, KV cache), None for the stated one
    "number format": _format,
    # value: an accelerator's id
    "another card": lambda card: f"on {card}",
    # value: (tokens cached, tokens of the prompt)
    "cached prefix": lambda tokens: f"with {tokens[0]:,} of the {tokens[1]:,} prompt tokens cached already",
    "unit": lambda _: "in seconds, not milliseconds",
    # value: (tokens generated, output_len)
    "cut short": lambda tokens: f"if only {tokens[0]:,} of {tokens[1]:,} output tokens were generated",
}

_CAUSES: dict[str, Callable[[Any], str]] = {
    "host": lambda _: "host time between steps",
    "launches": lambda _: "kernels launched one by one, without graphs, and host time between steps",
    "collectives": lambda _: "collectives between the devices",
    # value: a hardware format
    "arithmetic": lambda form: f"arithmetic below the {form} peak, or in a wider format",
    "memory": lambda _: "memory bandwidth not reached: small or unfused kernels",
    "queue": lambda _: "waiting in the queue behind other prompts",
    "newcomers": lambda _: "prefill of newcomers between decode steps",
    # value: as stated
    "sequences": lambda batch: f"fewer sequences at once than {batch:,.0f}",
}


def _doubted_weights(sc: Scenario, fit: str) -> str:
    own = sc.model.quantization or sc.model.dtype
    return f"above the ceiling of {own} weights, possible for {fit} weights: the row does not say which it ran"


def _doubted_fp16(sc: Scenario, _: None) -> str:
    return (
        f"above the ceiling of bf16 arithmetic, possible in fp16, which {sc.accelerator.id} adds up faster: "
        "the row does not say which it ran"
    )


def _doubted_int8(sc: Scenario, _: None) -> str:
    return (
        f"above the ceiling of bf16 arithmetic, possible in int8, in which llama.cpp multiplies {sc.weights}: "
        "state compute int8 to have it judged so"
    )


def _doubted_devices(_: Scenario, devices: int) -> str:
    return f"above the ceiling of one device, possible for {devices} devices: the row does not say how many it ran on"


def _too_big(sc: Scenario, _: None) -> str:
    """Under the ceiling, but not on that hardware in that format."""
    return (
        f"possible, but not as stated: the weights of {sc.model.id} alone are more than {_devices(sc)} hold, so it "
        "ran on more devices, in a narrower format, or partly from host memory"
    )


_DOUBTS: dict[str, Callable[[Scenario, Any], str]] = {
    # value: the format they fit in
    "weights": _doubted_weights,
    "int8": _doubted_int8,
    "fp16": _doubted_fp16,
    # value: devices it would be possible on
    "devices": _doubted_devices,
    "too big": _too_big,
}
