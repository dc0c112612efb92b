"""The steady state of continuous batching: a run `served`, as the laws of a step's budget and of waiting give it.

A request that leaves makes room for a newcomer, whose prompt is prefilled beside the others' decode steps. Everything
here is of one pass of one replica (serve.replica). Ours, found by trying on 1,111 served runs: docs/expected.md.
"""

from __future__ import annotations

import msgspec

from rooflight.numeric import Number, clipped, expm1, is_plain, maximum, minimum, where
from rooflight.serve.formulas import prompts_ahead
from rooflight.serve.replica import NO_STEPS, Clock, Replica
from rooflight.serve.solve import solved

# Newcomers a step below which there are none.
_NOBODY = 1e-12


class Steady(msgspec.Struct, frozen=True, kw_only=True):
    """The steady state of a pass; every number may be an array.

    inside      requests that run, the others wait in front
    step_s      of a step in the mean
    request_s   of those inside, to the first token and all steps
    per_s       requests finished a second
    decoding    sequences that decode in the mean; own_s: a prompt's own prefill
    step        sequences decoding and prompt tokens of a step that has some, and the share of such steps
    prompt_s    what such a step takes longer than one without prompts, for the tokens of one prompt
    turn_s      what a prompt ahead takes: such steps, for the tokens of one prompt
    """

    inside: Number
    step_s: Number
    request_s: Number
    per_s: Number
    decoding: Number
    own_s: Number
    step: tuple[Number, Number, Number]
    prompt_s: Number
    turn_s: Number


class _Point(msgspec.Struct, frozen=True, kw_only=True):
    """What so many decoding sequences come to."""

    shape: tuple[Number, Number, Number]
    quiet_s: Number
    loud_s: Number
    token_s: Number
    own_s: Number
    turn_s: Number
    first_s: Number


def steady(
    one: Replica, clock: Clock, *, server_s: Number, queue: Number, first_share: float = 1.0, like: Steady | None = None
) -> Steady:
    """The steady state under a clock; server_s, queue and first_share as in values.calibration.Engine.

    like    of another clock, whose share of decoding sequences is near: where the search begins
    """
    inside = minimum(one.users, one.room)
    others = 1 - 1 / inside
    alone_s = one.prompt_s(clock)

    def at(decoding: Number) -> _Point:
        point = _point(one, clock, inside, decoding, server_s=server_s, queue=queue, alone_s=alone_s)
        return point if first_share == 1 else msgspec.structs.replace(point, first_s=point.first_s * first_share)

    full = _full(one)
    most = where(others > 0, minimum(inside, (full - 1) / maximum(others, _NOBODY)), 1.0)
    begin = {} if like is None else {"share": like.decoding / like.inside}
    _, point = solved(at, lambda point: point.first_s / (one.steps * point.token_s), inside, most, **begin)
    full_tokens = one.budget - one.rows * full
    full_s = clock(full, full_tokens)
    alone_request_s = (server_s + alone_s) * first_share + one.steps * clock(1, None)
    per_s = maximum(full_tokens / (one.prompt * full_s), 1 / alone_request_s)
    if not is_plain(one.steps) or one.steps <= NO_STEPS:
        per_s = where(one.steps <= NO_STEPS, one.budget / (one.prompt * clock(None, one.budget)), per_s)
    request_s = clipped(point.first_s + one.steps * point.token_s, inside / per_s, inside * alone_request_s)
    token_s = minimum(maximum(point.token_s, (request_s - point.first_s) / one.steps), full_s)
    finished = inside / request_s
    return Steady(
        inside=inside, step_s=token_s, request_s=request_s, per_s=finished,
        decoding=finished * one.steps * token_s, own_s=point.own_s, step=point.shape,
        prompt_s=where(inside > 1, one.prompt / point.shape[1] * (point.loud_s - point.quiet_s), alone_s),
        turn_s=point.turn_s,
    )  # fmt: skip


def _full(one: Replica) -> Number:
    """Sequences decoding in a step that the budget leaves no room in: each leaves a prompt behind it.

    = (B N + P) / (N + P), without drafts 1 + (B - 1) N / (N + P). Check: B 8192, N 1, P 1 -> 4096.5.
    """
    return (one.budget * one.steps + one.prompt) / (one.rows * one.steps + one.prompt)


def _point(
    one: Replica, clock: Clock, inside: Number, decoding: Number, *, server_s: Number, queue: Number, alone_s: Number
) -> _Point:
    """The step, the first token and what they take where so many of those inside decode."""
    others = 1 - 1 / inside
    rows = 1 + decoding * others
    coming = decoding * others / one.steps
    held = maximum(coming, _NOBODY)
    free = maximum(one.budget - one.rows * rows, 1)
    tokens = minimum(one.prompt * held / -expm1(-held), free)
    share = minimum(coming * one.prompt / tokens, 1)
    quiet_s, loud_s = clock(rows, None), clock(rows, tokens)
    loud_s = maximum(loud_s, quiet_s)
    token_s = (1 - share) * quiet_s + share * loud_s
    own_s = alone_s / inside + others * one.prompt / minimum(one.prompt, free) * loud_s
    turn_s = loud_s * one.prompt / tokens
    first_s = server_s + own_s + others * token_s / 2 + prompts_ahead(inside, queue) * turn_s
    return _Point(
        shape=(rows, tokens, share), quiet_s=quiet_s, loud_s=loud_s, token_s=token_s, own_s=own_s, turn_s=turn_s,
        first_s=first_s,
    )  # fmt: skip
