"""A move: a function from a scenario to changed scenarios, registered by @move; words.moves says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from rooflight.answers.outcome import outcome
from rooflight.catalog.changed import as_built
from rooflight.errors import BadInput, Named
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve.offload import brought_back, placing
from rooflight.values.accelerator import Accelerator
from rooflight.values.moves import Outcome
from rooflight.values.note import Note

# How an error speaks of what was asked.
_SPOKEN = {"speculative_tokens": "speculate", "hit_rate": "hit-rate"}
# More drafted tokens than that are a typing error.
_MOST_DRAFTED = 64


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What moves may take for granted.

    draft_tokens    speculative decoding: tokens drafted a step
    draft           what drafts them, and the format of its weights; None: nothing that is named
    hit_rate        share of a prompt's tokens that prefix caching finds
    named           kinds of moves that the question itself names
    cards           accelerators to consider, beside the next ones up
    usd_per_hour    prices by accelerator id
    decode_alone    the accelerator has no compute peak: decode steps alone are compared
    question        the scenario as it was asked, before its layout was made definite
    """

    draft_tokens: int = 4
    draft: tuple[str, str | None] | None = None
    hit_rate: float = 0.5
    named: tuple[str, ...] = ()
    cards: tuple[Accelerator, ...] = ()
    usd_per_hour: Mapping[str, float] = {}
    decode_alone: bool = False
    question: Scenario | None = None

    def __post_init__(self) -> None:
        _within("speculative_tokens", self.draft_tokens, 1, _MOST_DRAFTED, "a whole number of tokens")
        _within("hit_rate", self.hit_rate, 0, 1, "a share")

    def price(self, sc: Scenario) -> float | None:
        """Dollars an hour of the scenario's accelerator, at whatever rates; None where none was given."""
        card = sc.accelerator
        return self.usd_per_hour.get(card.id, self.usd_per_hour.get(as_built(card)[0]))


def _within(name: str, value: float, least: float, most: float, what: str) -> None:
    if not least <= value <= most:
        raise BadInput(
            f"{_SPOKEN[name]} is out of range", where=Named.of(name), got=value, want=f"{what} from {least} to {most}"
        )


Judge = Callable[[Scenario, Asked], Outcome]


class Option(msgspec.Struct, frozen=True):
    """One way to make a move.

    numbers     what tells it from others of its kind: what words.moves says of it, in that order
    made        the scenario changed; raises where it cannot be (a layout the model cannot be cut by, a rate that
                nobody published)
    judged      where a changed scenario is not the whole of it: its outcome from the scenario's
    stays       where the move puts as much on the devices as they hold then: the same with what lies on the host left
                there
    """

    numbers: tuple[Any, ...]
    made: Callable[[], Scenario]
    judged: Judge | None = None
    stays: Callable[[], Scenario] | None = None

    def outcome(self, sc: Scenario, asked: Asked) -> Outcome:
        """What the changed scenario gets. Raises as the evaluation does."""
        if self.judged is not None:
            return self.judged(sc, asked)
        return outcome(sc, asked.price(sc), decode_alone=asked.decode_alone)


def option(sc: Scenario, *numbers: Any, judged: Judge | None = None, **changes: Any) -> Option:
    """The option that changes a scenario so (see scenario.change)."""
    return Option(numbers, partial(changed, sc, **changes), judged)


def refitted(sc: Scenario, *numbers: Any, **changes: Any) -> Option:
    """As option(), with as much of the model on the devices as they hold then, where a part lies on the host."""
    return Option(numbers, partial(brought_back, sc, **changes), stays=partial(changed, sc, **changes))


Maker = Callable[[Scenario, Asked], Iterator[Option]]


class Kind(msgspec.Struct, frozen=True):
    """A family of moves; one of a family at a time.

    alone       no setting that others could be combined with
    needs_peak  it puts more arithmetic into a step, or less into a prompt: what that takes hangs on the compute peak
    """

    name: str
    of: str
    options: Maker
    alone: bool = False
    needs_peak: bool = False


KINDS: list[Kind] = []


def noted(kind: Kind, option: Option, sc: Scenario, after: Scenario | None = None) -> Note:
    """A move as words.moves says it: the numbers of its option, behind them what lies on the host then, if that is not
    what lay there (serve.offload.Placing)."""
    moved = None if after is None or kind.name == "offload" else placing(sc, after)
    return Note(key=kind.name, value=option.numbers if moved is None else (*option.numbers, moved))


def move(name: str, of: str = "settings", *, alone: bool = False, needs_peak: bool = False) -> Callable[[Maker], Maker]:
    """Register a function as a family of moves; `of` as in values.moves.Move, `alone` and `needs_peak` as in Kind."""

    def register(maker: Maker) -> Maker:
        KINDS.append(Kind(name, of, maker, alone, needs_peak))
        return maker

    return register
