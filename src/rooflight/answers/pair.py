"""Two scenarios side by side: what each gets, and how many times as good the other is. The one comparison of two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from rooflight.answers.outcome import outcome
from rooflight.catalog.changed import as_built
from rooflight.errors import RooflightError
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import memory
from rooflight.span import Span
from rooflight.values.held import MemoryBlock
from rooflight.values.moves import Dot, Outcome
from rooflight.values.pair import Quantity


class _Part(NamedTuple):
    """A quantity of an outcome, and whether less of it is better."""

    of: Callable[[Outcome], Span | None]
    less: bool = False


def _time(dot: Dot | None) -> Span | None:
    return None if dot is None else dot.time_s


def _all(rate: Span | None, devices: int) -> Span | None:
    return None if rate is None else rate * devices


# Times of the phases are those of one step, as the dots of a roofline are; a rate that names nobody is of all devices.
_PARTS = {
    "decode_tokens_per_s": _Part(lambda one: _all(one.decode_tokens_per_s_per_accelerator, one.devices)),
    "tokens_per_s_per_user": _Part(lambda one: one.run.output_tokens_per_s_per_user),
    "ttft_s": _Part(lambda one: one.run.ttft_s, less=True),
    "request_s": _Part(lambda one: one.request_s, less=True),
    "tokens_per_s": _Part(lambda one: one.tokens_per_s),
    "tokens_per_s_per_accelerator": _Part(lambda one: one.tokens_per_s_per_accelerator),
    "usd_per_million_tokens": _Part(lambda one: one.usd_per_million_tokens, less=True),
    "prefill_step_s": _Part(lambda one: _time(one.prefill), less=True),
    "decode_step_s": _Part(lambda one: _time(one.decode), less=True),
    "decode_tokens_per_s_per_accelerator": _Part(lambda one: one.decode_tokens_per_s_per_accelerator),
}
# Those of the tokens of a run, and what they cost.
_TOKENS = ("tokens_per_s", "usd_per_million_tokens")
# What a move is said to gain, by the quantities that it is a gain of: the first that both have.
_GAINS = {
    "prefill": ("prefill_step_s",),
    "decode": ("decode_step_s",),
    "ttft": ("ttft_s",),
    "request": ("request_s",),
    "throughput": ("tokens_per_s_per_accelerator", "decode_tokens_per_s_per_accelerator"),
    "cost": ("usd_per_million_tokens",),
}


def times_as_good(before: Span, after: Span, *, less: bool) -> Span:
    """How many times as good: of a rate as many times as much, of a time or money as many times as little.

    Check: 2 s to 1 s is 2, 2 a second to 1 a second 0.5.
    """
    return before.over(after) if less else after.over(before)


def gains(before: Outcome, after: Outcome) -> dict[str, Span]:
    """How many times as good each part is that both have; throughput and cost are per accelerator."""
    found = {name: next(_ratios(before, after, parts), None) for name, parts in _GAINS.items()}
    return {name: ratio for name, ratio in found.items() if ratio is not None}


def _ratios(before: Outcome, after: Outcome, names: tuple[str, ...]) -> Iterator[Span]:
    for name in names:
        part = _PARTS[name]
        one, other = part.of(before), part.of(after)
        if one is not None and other is not None:
            yield times_as_good(one, other, less=part.less)


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two in numbers.

    outcome     None where not one sequence fits, or `error` says why there is none
    """

    scenario: Scenario
    held: MemoryBlock | None
    outcome: Outcome | None
    error: RooflightError | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Two scenarios in numbers; words.pair makes the answer of it."""

    before: Side
    after: Side
    quantities: tuple[Quantity, ...]


def pair(before: Scenario, after: Scenario, *, prices: Mapping[str, float] | None = None) -> Found:
    """What each of two scenarios gets, and how many times as good the second is; prices by accelerator id.

    Where prompts cannot be told of one of them, decode alone is compared.
    """
    decode_alone = bool(before.unrated or after.unrated)
    one, other = (_side(sc, prices or {}, decode_alone) for sc in (before, after))
    return Found(before=one, after=other, quantities=tuple(_quantities(one.outcome, other.outcome)))


def _side(sc: Scenario, prices: Mapping[str, float], decode_alone: bool) -> Side:
    try:
        held = memory(sc)
        fits = held.most >= 1 or sc.deployment.ignore_capacity
        card = sc.accelerator
        price = prices.get(card.id, prices.get(as_built(card)[0]))
        found = outcome(sc, price, decode_alone=decode_alone) if fits else None
    except RooflightError as error:  # more requests arrive than are finished; nothing is decoded, and no peak is known
        return Side(scenario=sc, held=None, outcome=None, error=error)
    return Side(scenario=sc, held=held, outcome=found)


def _quantities(before: Outcome | None, after: Outcome | None) -> Iterator[Quantity]:
    """Each that one of the two has; how many times as good where both have it.

    Where one puts nothing out its tokens are those of prompts, and the other's are no measure of them.
    """
    alike = before is None or after is None or (before.decode is None) == (after.decode is None)
    for name, part in _PARTS.items():
        one, other = (None if each is None else part.of(each) for each in (before, after))
        if one is None and other is None:
            continue
        both = one is not None and other is not None and (alike or not name.startswith(_TOKENS))
        ratio = times_as_good(one, other, less=part.less) if both and one and other else None
        yield Quantity(name=name, before=one, after=other, times=ratio, less_is_better=part.less)
