"""What a ceiling is called: of a measured machine it is no physics, but the fastest that was seen there."""

from __future__ import annotations

from collections.abc import Iterable

from rooflight.values.accelerator import Accelerator

FASTEST = "the fastest seen here"
FASTER = "faster than this machine was measured"


def measured_among(cards: Iterable[Accelerator]) -> tuple[str, ...]:
    """Ids of those that were measured, each once."""
    return tuple(dict.fromkeys(card.id for card in cards if card.measured is not None))


def ceiling(card: Accelerator) -> str:
    """As a thing that a value is above or below."""
    return "the ceiling" if card.measured is None else FASTEST


def at_best(card: Accelerator) -> str:
    """Of the least time that a step takes."""
    return "at best" if card.measured is None else f"at {FASTEST}"
