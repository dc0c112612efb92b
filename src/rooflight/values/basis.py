"""What expected times rest on: whether the card, its family, or neither was measured."""

from __future__ import annotations

import msgspec

from rooflight.values.shown import Part

# From the nearest to what was asked to the furthest.
MACHINE, CARD, FAMILY, INHERITED = "measured_machine", "measured_card", "measured_family", "inherited"
BASES = (MACHINE, CARD, FAMILY, INHERITED)


class ExpectedBasis(Part, msgspec.Struct, frozen=True, kw_only=True):
    """Where the measurements come from that expected times were fitted to; of several cards the least known one.

    basis       measured_machine: kernels timed on this very machine; measured_card: runs on the card;
                measured_family: kernels, or runs on other cards or by another backend, of
                its family; inherited: another family's
    accelerator the card, and its family, as its fits are named: cards of one with other memory are apart
    engine      whose runs; None: the mean of the serving engines
    era         of these runs, "2025" for versions of that year and later; other_versions: whether the engine was
                measured on the family in those of the other era alone
    cards       on which these runs were; of_family: those of the accelerator's family
    inherits    the family whose kernel fits stand in, and why those; None where there are fits of its own
    """

    brief = ("basis", "family", "inherits")

    basis: str
    accelerator: str
    family: str
    engine: str | None
    era: str
    cards: tuple[str, ...]
    of_family: tuple[str, ...]
    other_versions: bool = False
    inherits: str | None = None
    why: str | None = None
