"""What a ceiling is called: of a measured machine it is no physics, but the fastest that was seen there."""

from __future__ import annotations

from rooflight.values.accelerator import Accelerator

FASTEST = "the fastest seen here"
FASTER = "faster than this machine was measured"


def ceiling(card: Accelerator) -> str:
    """As a thing that a value is above or below."""
    return "the ceiling" if card.measured is None else FASTEST


def at_best(card: Accelerator) -> str:
    """Of the least time that a step takes."""
    return "at best" if card.measured is None else f"at {FASTEST}"
