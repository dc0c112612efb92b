"""Prices as callers give them: dollars an hour of one accelerator, by any of its names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rooflight.catalog.accelerators import load as named_card
from rooflight.catalog.changed import as_built
from rooflight.errors import BadInput, Named, RooflightError
from rooflight.values.accelerator import Accelerator

# Dollars an hour of one accelerator; anything else is a slip.
LEAST_USD = 0.00001
MOST_USD = 1_000_000


def prices_of(prices: Mapping[str, Any], asked: Iterable[Accelerator]) -> dict[str, float]:
    """Dollars an hour of one accelerator by its id; `asked` may be none of the catalog's.

    Raises BadInput for what is no price, or two for one card.
    """
    cards = list(asked)
    known = {card.id for card in cards}
    found: dict[str, float] = {}
    for name, price in prices.items():
        card_id = name if name in known else _card_id(name)
        value = _dollars(price)
        if value is None:
            raise BadInput(
                f"{price!r} is no price",
                where=Named("{prices}", prices={name: price}),
                got=price,
                want="dollars an hour, such as 2.50",
            )
        if not LEAST_USD <= value <= MOST_USD:
            raise BadInput(
                f"{price!r} is no price: no accelerator has such a price",
                where=Named("{prices}", prices={name: price}),
                got=price,
                want=f"{LEAST_USD:g} to {MOST_USD:g} dollars an hour",
            )
        # at other rates it costs what it costs
        built = [card.id for card in cards if as_built(card)[0] == card_id != card.id]
        for one in built if built and card_id not in known else [card_id, *built]:
            if found.setdefault(one, value) != value:
                raise BadInput(
                    f"{one} has two prices", where=Named.of("prices"), got=f"{found[one]} and {value}", want="one"
                )
    return found


def _card_id(name: str) -> str:
    try:
        card, count = named_card(name)
    except RooflightError as error:
        raise BadInput(
            error.what, where=Named.of("prices"), got=name, want=error.want, try_this=error.try_this
        ) from None
    if count != 1 or name.strip().lower().startswith("1x"):
        raise BadInput(
            "a price is that of one accelerator", where=Named.of("prices"), got=name, want=card.id,
            try_this=Named("{prices}", prices={card.id: "USD_PER_HOUR"}),
        )  # fmt: skip
    return card.id


def _dollars(price: Any) -> float | None:
    """The number, None where it is none."""
    try:
        return None if isinstance(price, bool) else float(price)
    except (TypeError, ValueError, OverflowError):
        return None
