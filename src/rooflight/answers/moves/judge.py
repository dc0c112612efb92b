"""Moves evaluated and ranked: what each would do to the asked objective, and why."""

from __future__ import annotations

import math

from rooflight.answers.moves import (  # noqa: F401 - they register their moves
    kernels,
    machines,
    models,
    offload,
    serving,
    settings,
)
from rooflight.answers.moves.fields import fields_of
from rooflight.answers.moves.option import KINDS, Asked, Kind, Option, noted
from rooflight.answers.pair import gains
from rooflight.errors import RooflightError
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import memory
from rooflight.span import Span
from rooflight.values.moves import Outcome, Tried, wanted
from rooflight.values.note import Note

# Gains within this of 1 are nothing: less than what any fit is off by.
NOTHING = 0.02
# Moves that trade one user's speed for the machine's: both are said.
_BOTH_VIEWS = ("layout", "tp", "replicas")
_ORDER = ("helps", "nothing", "hurts", "does-not-fit", "not-possible")


def judged(sc: Scenario, before: Outcome | None, objective: str, asked: Asked) -> tuple[Tried, ...]:
    """Every move, the best first."""
    tried = [_tried(kind, one, before, objective, asked, sc) for kind in KINDS for one in kind.options(sc, asked)]

    def rank(one: Tried) -> tuple[int, float]:
        gain = 0.0 if one.gains is None else wanted(one.gains, objective).expected
        return _ORDER.index(one.verdict), -gain

    return tuple(sorted(tried, key=rank))


def _tried(kind: Kind, option: Option, before: Outcome | None, objective: str, asked: Asked, sc: Scenario) -> Tried:
    changed: Scenario | None = None

    def verdict(name: str, *why: Note, after: Outcome | None = None, found: dict[str, Span] | None = None) -> Tried:
        move = noted(kind, option, sc, changed)
        named = kind.name in asked.named or (kind.name == "offload" and sc.rates.beside is not None)
        fields = None if changed is None or option.judged is not None else fields_of(asked.question or sc, sc, changed)
        return Tried(
            move=move, of=kind.of, verdict=name, why=why, gains=found, after=after, asked=named, fields=fields
        )  # fmt: skip

    if asked.decode_alone and kind.needs_peak:
        return verdict("not-possible", Note(key="no-peak", value=(sc.accelerator.id, sc.unrated)))
    try:
        changed = option.made()
        after = option.outcome(changed, asked)
    except RooflightError as error:
        return verdict("not-possible", Note(key="refused", value=(error.what,)))
    if after.max_batch == 0 and not sc.deployment.ignore_capacity:
        return verdict("does-not-fit", Note(key="does-not-fit", value=(changed, memory(changed))))
    if before is None:
        return verdict("helps", Note(key="fits", value=(after.max_batch,)), after=after)
    card = changed.accelerator.id
    if objective == "cost" and card != sc.accelerator.id and None in map(asked.price, (sc, changed)):
        return verdict("not-possible", Note(key="unpriced", value=(sc.accelerator.id, card)))
    found = gains(before, after)
    gain = wanted(found, objective).expected
    named = "helps" if gain > 1 + NOTHING else "hurts" if gain < 1 - NOTHING else "nothing"
    why = [effect(before, after, objective)]
    if kind.name in _BOTH_VIEWS:
        speeds = (_user(before), _user(after), *(one.rate.expected * one.devices for one in (before, after)))
        why.append(Note(key="both-views", value=(*speeds, after.batch)))
    if before.devices != after.devices:  # throughput and cost are by one
        why.append(Note(key="devices", value=(before.devices, after.devices)))
    return verdict(named, *why, after=after, found=found)


def _user(one: Outcome) -> float:
    """Tokens a second of a user: at the rate of the tokens after the first, of one token from end to end."""
    span = one.token_s or one.request_s or (None if one.decode is None else one.decode.time_s)
    return math.nan if span is None else 1 / span.expected


def effect(before: Outcome, after: Outcome, objective: str) -> Note:
    """What happens to the phase that matters, and whether that is what binds it."""
    prompts = before.prefill is not None and after.prefill is not None
    phase = "prefill" if prompts and (objective == "ttft" or _prefill_rules(before, objective)) else "decode"
    one, other = (getattr(result, phase) for result in (before, after))
    moved = tuple(
        (name, was, now) for name, was in one.terms_s.items() if _differ(was, now := other.terms_s.get(name, 0.0))
    )
    times = one.time_s.expected, other.time_s.expected
    here = next((term for term in moved if term[0] == one.bound), None)
    if here is not None:
        return Note(key="binding-moves", value=(phase, *here, other.bound))
    if other.bound != one.bound:
        return Note(key="binding-turns", value=(phase, other.bound, other.terms_s[other.bound]))
    if _differ(*times):
        return Note(key="expected-moves", value=(phase, *times))
    return Note(key="binding-stays", value=(phase, one.bound, one.terms_s[one.bound], one.weights, one.kv, moved))


def _prefill_rules(before: Outcome, objective: str) -> bool:
    """Whether prefill takes most of what the objective counts: of a request's time, or of the machine's."""
    if before.decode is None:
        return True
    first, request = before.run.ttft_s, before.request_s
    if objective == "latency" and first is not None and request is not None:
        return first.expected > 0.5 * request.expected
    return (before.run.prefill_share or 0.0) > 0.5


def _differ(one: float, other: float) -> bool:
    return abs(other - one) > 0.01 * max(abs(one), abs(other))
