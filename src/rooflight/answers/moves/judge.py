"""Moves evaluated and ranked: what each would do to the asked objective, and why."""

from __future__ import annotations

import msgspec

from rooflight.answers.moves import kernels, machines, models, serving, settings  # noqa: F401 - they register their moves
from rooflight.answers.moves.option import KINDS, Asked, Kind, Option
from rooflight.answers.moves.outcome import outcome
from rooflight.errors import RooflightError
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import memory
from rooflight.span import Span
from rooflight.units import scaled
from rooflight.values.moves import GAIN_OF, Dot, Move, Outcome
from rooflight.words.analysis import does_not_fit

# Gains within this of 1 are nothing: less than what any fit is off by.
NOTHING = 0.02
_ORDER = ("helps", "nothing", "hurts", "does-not-fit", "not-possible")


def gains(before: Outcome, after: Outcome) -> dict[str, Span]:
    """How many times as good each part is; throughput and cost are per accelerator."""
    found = {
        "prefill": before.prefill.time_s.over(after.prefill.time_s),
        "decode": before.decode.time_s.over(after.decode.time_s),
        "request": before.request_s.over(after.request_s),
        "throughput": after.tokens_per_s_per_accelerator.over(before.tokens_per_s_per_accelerator),
    }
    if before.usd_per_million_tokens is not None and after.usd_per_million_tokens is not None:
        found["cost"] = before.usd_per_million_tokens.over(after.usd_per_million_tokens)
    return found


def wanted(found: dict[str, Span], objective: str) -> Span:
    """The gain an objective looks at."""
    return found.get(GAIN_OF[objective]) or found["throughput"]


def judged(sc: Scenario, before: Outcome | None, objective: str, asked: Asked) -> list[Move]:
    """Every move, the best first."""
    moves = [_move(kind, option, before, objective, asked, sc) for kind in KINDS for option in kind.options(sc, asked)]

    def rank(one: Move) -> tuple[int, float]:
        gain = 0.0 if one.gains is None else wanted(one.gains, objective).expected
        return _ORDER.index(one.verdict), -gain

    return sorted(moves, key=rank)


def _move(kind: Kind, option: Option, before: Outcome | None, objective: str, asked: Asked, sc: Scenario) -> Move:
    def verdict(name: str, why: str, after: Outcome | None = None, found: dict[str, Span] | None = None) -> Move:
        return Move(
            kind=kind.name, of=kind.of, title=option.title, verdict=name, because=why, cost=option.cost, gains=found,
            after=after, assumed=option.assumed,
        )  # fmt: skip

    try:
        after = _outcome(option, asked)
    except RooflightError as error:
        after, option = None, msgspec.structs.replace(option, refused=error.what)
    if after is None or option.after is None:
        return verdict("not-possible", option.refused)
    if not after.fits and not sc.deployment.ignore_capacity:
        why = does_not_fit(option.after, memory(option.after))
        return verdict("does-not-fit", why)
    if before is None:
        why = f"it {option.acts}: then it fits, up to batch {after.max_batch:,}"
        return verdict("helps", why, after)
    priced = before.usd_per_million_tokens is None or after.usd_per_million_tokens is not None
    other = option.after.accelerator.id != sc.accelerator.id
    if objective == "cost" and other and (not priced or before.usd_per_million_tokens is None):
        card = option.after.accelerator.id
        why = f"no price was given for both cards: --price {sc.accelerator.id}=USD --price {card}=USD"
        return verdict("not-possible", why)
    found = gains(before, after)
    gain = wanted(found, objective).expected
    named = "helps" if gain > 1 + NOTHING else "hurts" if gain < 1 - NOTHING else "nothing"
    return verdict(named, because(option, before, after, objective) + _more(before, after), after, found)


def _outcome(option: Option, asked: Asked) -> Outcome | None:
    sc = option.after
    if sc is None:
        return None
    return option.judged(sc, asked) if option.judged is not None else outcome(sc, asked.price(sc))


def because(option: Option, before: Outcome, after: Outcome, objective: str) -> str:
    """What the move does to the phase that matters, and whether that is what binds it."""
    phase = "prefill" if objective == "ttft" or _prefill_rules(before, objective) else "decode"
    one, other = (getattr(result, phase) for result in (before, after))
    said, bound = f"it {option.acts}", one.bound
    if _differ(one.terms_s[bound], other.terms_s[bound]):
        turned = f"; then it is {other.bound}-bound" if other.bound != bound else ""
        return f"{said}: {bound}, which binds {phase}, {_from_to(one.terms_s[bound], other.terms_s[bound])}{turned}"
    if other.bound != bound:
        return f"{said}: {other.bound} binds {phase} then, {scaled(other.terms_s[other.bound], 's')}"
    if _differ(one.time_s.expected, other.time_s.expected):
        return f"{said}: {phase} {_from_to(one.time_s.expected, other.time_s.expected)} as expected"
    moved = [name for name in one.terms_s if _differ(one.terms_s[name], other.terms_s[name])]
    changes = "".join(f"; {name} {_from_to(one.terms_s[name], other.terms_s[name])}" for name in moved)
    return f"{said}{changes}; {phase} waits for {bound} ({_binds(one)}), which stays"


def _more(before: Outcome, after: Outcome) -> str:
    """Another number of accelerators, since throughput and cost are by one."""
    if before.devices == after.devices:
        return ""
    return f", on {after.devices} accelerators in place of {before.devices}"


def _prefill_rules(before: Outcome, objective: str) -> bool:
    """Whether prefill takes most of what the objective counts."""
    if objective == "latency":
        return before.prefill.time_s.expected > 0.5 * before.request_s.expected
    served = before.batch / before.tokens_per_s.expected  # seconds a token of each sequence, prefills in turn
    return before.decode.time_s.expected < 0.5 * served


def _binds(one: Dot) -> str:
    share = f", {one.weights:.0%} of it weights, {one.kv:.0%} KV cache" if one.bound == "memory" else ""
    return f"{scaled(one.terms_s[one.bound], 's')}{share}"


def _differ(one: float, other: float) -> bool:
    return abs(other - one) > 0.01 * max(abs(one), abs(other))


def _from_to(one: float, other: float) -> str:
    return f"{scaled(one, 's')} to {scaled(other, 's')}"
