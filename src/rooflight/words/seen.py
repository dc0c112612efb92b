"""What a ceiling is called: of a measured machine it is no physics, but the fastest that was seen there."""

from __future__ import annotations

from collections.abc import Iterable

from rooflight.values.accelerator import Accelerator
from rooflight.values.sample import MachineState

# Kinds of accelerators that are processors, and that are a processor with a GPU.
_HOSTS = ("cpu",)
_BOTH = ("apu",)
FASTEST = "the fastest seen here"
FASTER = "faster than this machine was measured"
# What the three times of a step are.
PHYSICS = "the shortest time physics allows, every resource used fully and at once"
IN_TURN = "each operator at its own limit, one after the other"
WELL_RUN = "what a well-run engine gets"


def measured_among(cards: Iterable[Accelerator]) -> tuple[str, ...]:
    """Ids of those that were measured, each once."""
    return tuple(dict.fromkeys(card.id for card in cards if card.measured is not None))


def ceiling(card: Accelerator) -> str:
    """As a thing that a value is above or below."""
    return "the ceiling" if card.measured is None else FASTEST


def at_best(card: Accelerator) -> str:
    """Of the least time that a step takes."""
    return "at best" if card.measured is None else f"at {FASTEST}"


def three_times(*, measured: bool) -> str:
    """How the times of one step differ, as one sentence."""
    least = f"A step's ceiling is {PHYSICS}"
    if measured:
        least = "The fastest step seen here has every resource used fully and at once, at its best measured rate"
    return f"{least}; its roofline time has {IN_TURN}; its expected time is {WELL_RUN}."


def mismatched(device: str, state: MachineState, card: Accelerator) -> str:
    """Said where what ran on a CPU stands beside the figures of a card, or the other way round; else nothing."""
    on_cpu = state.threads is not None
    if on_cpu == (card.kind in _HOSTS) or card.kind in _BOTH:
        return ""
    ran, meant = ("a CPU", "none") if on_cpu else ("no CPU", "one")
    return f" But {device} is {ran} and {card.id} is {meant}: they do not belong together."
