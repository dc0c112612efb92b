"""Figures of one run that cannot be what their names say, or not be of one run: found by arithmetic alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from rooflight.answers.diagnose.timed.seen import Seen, decoding, middle

# Figures that are further from each other than that do not agree.
_APART, _FAR, _NEAR = 0.1, 1.5, 0.02
# Between chunks and between tokens: the one is longer by so much where a chunk holds several.
_CHUNKS, _SKEWED = 1.15, 1.2
# Prompts of fewer tokens than this share of the answer cannot be told from none in a total.
_PROMPTS = 0.1
# Prompts that are so many times as long as answers may take the time in which their sequences do not decode.
_LONG = 4.0
# A run of fewer requests than so many times those in flight is never steady: it ends in a tail.
_TAIL = 1.5

# words.diagnosis.benchmarks lists what `first` and `second` hold of each.
Kind = Literal[
    "tpot counts the first token", "itl is per chunk", "tpot above itl", "output counts prompts", "total is off",
    "output is off", "in flight", "start-up", "decoding", "tail", "user rate is of all", "drafts", "short", "capped",
    "perhaps total",
]  # fmt: skip


class Odd(msgspec.Struct, frozen=True):
    """What does not agree, and the two figures, the second being what the first should be."""

    kind: Kind
    first: float | None = None
    second: float | None = None


def oddities(run: Seen) -> tuple[Odd, ...]:
    """All of a run."""
    return (*_tokens(run), *_rates(run), *_load(run))


def _tokens(run: Seen) -> Iterator[Odd]:
    found, osl = run.record.measured, run.osl
    tpot, itl, with_first = middle(found.tpot_s), middle(found.itl_s), middle(found.tpot_with_first_s)
    between = itl if itl is not None else run.token_s
    if with_first is not None and between is not None and with_first > between:
        yield Odd("tpot counts the first token", with_first, between)
    elif tpot and run.ttft_s and run.request_s and osl and osl > 1:
        counted, later = run.request_s / osl, (run.request_s - run.ttft_s) / (osl - 1)
        if _near(tpot, counted) and not _near(counted, later) and abs(later - counted) > 2 * _NEAR * counted:
            yield Odd("tpot counts the first token", tpot, later)
    if run.record.stated.speculative or run.record.stated.draft_tokens:
        yield Odd("drafts", found.acceptance, itl / tpot if itl and tpot else None)
    elif tpot and itl and itl > _CHUNKS * tpot:
        yield Odd("itl is per chunk", itl, tpot)
    elif tpot and itl and tpot > _SKEWED * itl:
        yield Odd("tpot above itl", tpot, itl)


def _rates(run: Seen) -> Iterator[Odd]:
    found, isl, osl = run.record.measured, run.isl, run.osl
    output, total, per_s = found.output_tokens_per_s, found.total_tokens_per_s, found.requests_per_s
    if output and per_s and osl:
        with_prompts = per_s * (osl + (isl or 0))
        if isl and isl > _PROMPTS * osl and _near(output, with_prompts):
            yield Odd("output counts prompts", output, per_s * osl)
        elif abs(output - per_s * osl) > _APART * output:
            yield Odd("output is off", output, per_s * osl)
    if output and total and isl and osl:
        whole = output * (isl + osl) / osl
        if abs(total - whole) > _APART * whole and not _near(total, output):
            yield Odd("total is off", total, whole)
    user, several = found.output_tokens_per_s_per_user, run.in_flight or 1
    if user and output and several > 1 and _near(user, output):
        yield Odd("user rate is of all", user, output / several)


def _load(run: Seen) -> Iterator[Odd]:
    stated, found = run.record.stated, run.record.measured
    asked, implied = run.in_flight, run.implied
    requests = stated.num_prompts or found.requests
    if asked and implied:
        if implied > _FAR * asked:
            yield Odd("in flight", asked, implied)
        elif implied * _FAR < asked and not (requests and requests < 3 * asked) and arrival_rate(run) is None:
            yield Odd("start-up" if asked <= 1 else "in flight", asked, implied)
    elif asked and run.basis in ("tpot", "itl", "user") and (several := decoding(run)):
        if several > _FAR * asked:
            yield Odd("in flight", asked, several)
        elif several * 2 < asked and asked <= 1:
            yield Odd("start-up", asked, several)
        elif several * _FAR < asked:
            prompts = run.isl and run.osl and run.isl > _LONG * run.osl
            yield Odd("decoding" if prompts or not run.isl else "in flight", asked, several)
    if requests and asked and asked > 1 and requests < _TAIL * asked and run.rate:
        yield Odd("tail", requests, asked)
    rate = arrival_rate(run)
    if rate and requests and run.request_s and requests / rate < run.request_s:
        yield Odd("short", requests / rate, run.request_s)
    if rate and stated.concurrency and found.requests_per_s and found.requests_per_s < (1 - _APART) * rate:
        full = implied is None or implied > stated.concurrency / _FAR
        if full:
            yield Odd("capped", rate, found.requests_per_s)


def arrival_rate(run: Seen) -> float | None:
    """Requests a second that were asked for; None where they came all at once, or as others ended."""
    rate = run.record.stated.request_rate
    return rate if rate and rate != float("inf") else None


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= _NEAR * max(one, other)
