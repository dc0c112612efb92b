"""A recorded run in the few numbers that are compared: how many at once, how long, how fast."""

from __future__ import annotations

import msgspec

from rooflight.values.recorded import Measurements, Record, Spread, Stated


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A run's own numbers; None: neither said nor following from what is said.

    in_flight   sequences at once as they were set (batch, else the load generator's concurrency); of one timed in
                decode alone, and of a single stream, 1
    isl, osl    tokens in the mean, as counted, else as asked for
    context     tokens cached before a later token, in the mean
    token_s     between two later tokens of a sequence; basis: what it is taken from ("tpot", "itl", "request", "user",
                "little": sequences over the rate of all, the first token taken off; "rate": with it)
    rate        output tokens a second of all; each_s: its inverse
    prompt_s    of a prompt's tokens by themselves
    """

    record: Record
    in_flight: float | None = None
    isl: float | None = None
    osl: float | None = None
    context: float | None = None
    token_s: float | None = None
    basis: str = ""
    ttft_s: float | None = None
    request_s: float | None = None
    prompt_s: float | None = None
    rate: float | None = None

    @property
    def name(self) -> str:
        """What tells it from the others."""
        return self.record.name

    @property
    def each_s(self) -> float | None:
        """Seconds a token of all sequences together."""
        return None if not self.rate else 1 / self.rate

    @property
    def prompt_token_s(self) -> float | None:
        """Seconds a prompt token, by their own rate."""
        rate = self.record.measured.prefill_tokens_per_s
        return 1 / rate if rate else None

    @property
    def implied(self) -> float | None:
        """Requests in flight in the mean by Little's law, requests a second x time of one; else as measured."""
        found = self.record.measured
        per_s = found.requests_per_s or (self.rate / self.osl if self.rate and self.osl else None)
        whole = self.request_s
        if whole is None and self.ttft_s and self.token_s and self.osl and self.basis in ("tpot", "itl", "user"):
            whole = self.ttft_s + max(self.osl - 1, 0) * self.token_s  # below 1 in the mean: some put out none
        if per_s and whole:
            return per_s * whole
        return found.in_flight if self.in_flight is None else None  # beside a setting it is those that run of them


def seen(record: Record) -> Seen:
    """The numbers of a record."""
    stated, found = record.stated, record.measured
    in_flight = _first(stated.batch, stated.concurrency)
    isl = _first(found.isl, stated.isl, _share(found.input_tokens, found.requests))
    osl = _first(found.osl, stated.osl, _share(found.output_tokens, found.requests))
    ttft_s, request_s = middle(found.ttft_s), middle(found.request_s)
    rate = output_rate(found, isl, osl)
    token_s, basis = _token(stated, found, in_flight, osl, rate)
    if in_flight is None and basis == "rate":
        in_flight = 1
    return Seen(
        record=record, in_flight=in_flight, isl=isl, osl=osl, context=_context(stated, isl, osl), token_s=token_s,
        basis=basis, ttft_s=ttft_s, request_s=request_s, prompt_s=_prompt(stated, found, isl), rate=rate,
    )  # fmt: skip


def decoding(run: Seen) -> float | None:
    """Sequences that decode in the mean: output tokens a second x time between two of one sequence, else as counted."""
    own = run.basis in ("tpot", "itl", "request", "user", "little")
    if run.rate and run.token_s and own:
        return run.rate * run.token_s
    running = run.record.measured.in_flight
    return running if running and run.in_flight and running < run.in_flight else None


def middle(spread: Spread | None) -> float | None:
    """The mean, else the median, of what took any time."""
    return None if spread is None or not spread.middle else spread.middle


def output_rate(found: Measurements, isl: float | None, osl: float | None) -> float | None:
    """Output tokens a second of all: as said, else of the requests, else of the total of tokens."""
    if found.output_tokens_per_s:
        return found.output_tokens_per_s
    if found.requests_per_s and osl:
        return found.requests_per_s * osl
    if found.total_tokens_per_s and isl and osl:
        return found.total_tokens_per_s * osl / (isl + osl)
    return None


def _token(
    stated: Stated, found: Measurements, in_flight: float | None, osl: float | None, rate: float | None
) -> tuple[float | None, str]:
    """The time between two later tokens, and what says it."""
    first, whole, with_first = map(middle, (found.ttft_s, found.request_s, found.tpot_with_first_s))
    if (tpot := middle(found.tpot_s)) is not None:
        return tpot, "tpot"
    drafted = stated.speculative or stated.draft_tokens
    if (itl := middle(found.itl_s)) is not None and not drafted:
        return itl, "itl"
    if whole is None and with_first is not None and osl:
        whole = with_first * osl
    if first is not None and whole is not None and osl and osl > 1 and whole > first:
        return (whole - first) / (osl - 1), "request"
    if found.output_tokens_per_s_per_user:
        return 1 / found.output_tokens_per_s_per_user, "user"
    if rate and in_flight and first is not None and osl and osl > 1 and stated.request_rate is None:
        whole = in_flight * osl / rate
        return ((whole - first) / (osl - 1), "little") if whole > first else (None, "")
    alone = in_flight or (1 if stated.phase == "decode" else None)
    if rate and alone and first is None:
        return alone / rate, "rate"
    return None, ""


def _prompt(stated: Stated, found: Measurements, isl: float | None) -> float | None:
    """The time of a prompt by its own rate, one prompt at a time."""
    several = stated.phase != "prefill" and (stated.batch or 1) > 1
    return isl / found.prefill_tokens_per_s if found.prefill_tokens_per_s and isl and not several else None


def _context(stated: Stated, isl: float | None, osl: float | None) -> float | None:
    """Tokens cached before a later token: isl + osl / 2 - 1 of a request, and what was cached before it."""
    if stated.depth is None and isl is None:
        return None
    mine = 0.0 if stated.phase == "decode" and stated.depth is not None else isl or 0.0
    return (stated.depth or 0) + max(mine + (osl or 0) / 2 - 1, 0)


def _share(amount: float | None, of: float | None) -> float | None:
    return None if amount is None or not of else amount / of


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value), None)
