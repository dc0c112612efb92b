"""A move: a function from a scenario to changed scenarios. Adding one is one small function with @move."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from rooflight.errors import BadInput, Named, RooflightError
from rooflight.scenario.definite import Scenario
from rooflight.values.accelerator import Accelerator
from rooflight.values.moves import Outcome

# How an error speaks of what was asked.
_SPOKEN = {
    "speculative_tokens": "speculate", "acceptance": "acceptance", "draft_share": "draft-share", "hit_rate": "hit-rate",
}  # fmt: skip
# More drafted tokens than that are a typing error.
_MOST_DRAFTED = 64


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What moves may take for granted.

    draft_tokens, acceptance    speculative decoding: tokens drafted a step, and the chance that one is accepted
    draft_share                 a draft model's time for a token, as a share of the target's decode step at batch 1
    hit_rate                    share of a prompt's tokens that prefix caching finds
    cards                       accelerators to consider, beside the next ones up
    usd_per_hour                prices by accelerator id
    """

    draft_tokens: int = 4
    acceptance: float = 0.7
    draft_share: float = 0.05
    hit_rate: float = 0.5
    cards: tuple[Accelerator, ...] = ()
    usd_per_hour: Mapping[str, float] = {}

    def __post_init__(self) -> None:
        _within("speculative_tokens", self.draft_tokens, 1, _MOST_DRAFTED, "a whole number of tokens")
        _within("acceptance", self.acceptance, 0, 1, "a share")
        _within("draft_share", self.draft_share, 0, 1, "a share of a decode step")
        _within("hit_rate", self.hit_rate, 0, 1, "a share")

    def price(self, sc: Scenario) -> float | None:
        """Dollars an hour of the scenario's accelerator, None where none was given."""
        return self.usd_per_hour.get(sc.accelerator.id)


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One way to make a move.

    after       the scenario changed; None where it cannot be, and `refused` says why
    acts        what it does to the work or the machine, in a clause: "halves the bytes of the weights"
    cost        what it takes in memory, quality, accelerators or money
    judged      where a changed scenario is not the whole of it: its outcome from the scenario's
    """

    title: str
    acts: str
    cost: str
    after: Scenario | None = None
    refused: str = ""
    judged: Callable[[Scenario, Asked], Outcome] | None = None
    assumed: tuple[str, ...] = ()


def _within(name: str, value: float, least: float, most: float, what: str) -> None:
    if not least <= value <= most:
        raise BadInput(
            f"{_SPOKEN[name]} is out of range", where=Named.of(name), got=value, want=f"{what} from {least} to {most}"
        )


Maker = Callable[[Scenario, Asked], Iterator[Option]]


class Kind(msgspec.Struct, frozen=True):
    """A family of moves; one of a family at a time. alone: no setting that others could be combined with."""

    name: str
    of: str
    options: Maker
    alone: bool = False


KINDS: list[Kind] = []


def move(name: str, of: str = "settings", *, alone: bool = False) -> Callable[[Maker], Maker]:
    """Register a function as a family of moves; `of` as in values.moves.Move, `alone` as in Kind."""

    def register(maker: Maker) -> Maker:
        KINDS.append(Kind(name, of, maker, alone))
        return maker

    return register


def option(title: str, acts: str, cost: str, make: Callable[[], Scenario], **more: Any) -> Option:
    """An option whose scenario may be refused (a layout the model cannot be cut by, a rate nobody published)."""
    try:
        return Option(title=title, acts=acts, cost=cost, after=make(), **more)
    except RooflightError as error:
        return Option(title=title, acts=acts, cost=cost, refused=error.what)
