"""One card in several memory sizes: facts named `memory-variant` beside its label, and the names that ask for one.

`m4-pro-48gb` is the entry behind `m4-pro` with 48 GB. A size is `sold` by the vendor, or `refitted`: soldered on by
others. A plain name takes the label.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rooflight.catalog import totals
from rooflight.units import to_base
from rooflight.values.accelerator import Accelerator, Fact
from rooflight.values.note import Note

FACT = "memory-variant"
SOLD, REFITTED = KINDS = ("sold", "refitted")
_SUFFIX = re.compile(r"(.+?)-?([1-9][0-9]{0,3})-?gi?b", re.IGNORECASE)


def asked(name: str) -> tuple[str, int] | None:
    """What a name says before its size, and the size in GB: m4-pro-48gb -> (m4-pro, 48). None: it has no size."""
    match = _SUFFIX.fullmatch(name)
    return None if match is None else (match[1], int(match[2]))


def sizes(card: Accelerator, kind: str | None = None) -> list[Fact]:
    """The other sizes it comes in, smallest first; of one kind or of all."""
    found = (fact for fact in card.facts if fact.what == FACT and kind in (None, fact.kind))
    return sorted(found, key=lambda fact: float(fact.value))


def gigabytes(card: Accelerator) -> list[int]:
    """All sizes it is known in, its own among them, in GB as labels say it."""
    own = (fact for fact in card.facts if fact.what == "memory-label" and not fact.doubt)
    return sorted({_gb(fact) for fact in (*own, *sizes(card))})


def of(card: Accelerator, size_gb: int, name: str, rules: dict[str, Any]) -> Accelerator | None:
    """The card with so much memory, under a name of its own; the card itself where that is its label.

    None where it does not come in that size. name: what was asked for, for the note.
    """
    fact = next((one for one in sizes(card) if _gb(one) == size_gb), None)
    plain = tuple(note for note in card.assumptions if note.key != "default_size")
    if fact is None:
        return msgspec.structs.replace(card, assumptions=plain) if size_gb in gigabytes(card) else None
    stem, name_stem = re.sub("-[0-9]+gb$", "", card.id), re.sub(" [0-9]+ ?GB$", "", card.name)
    note = Note(key="variant", value=(card.id, size_gb, tuple(gigabytes(card)), fact.kind == REFITTED), why=name)
    own = msgspec.structs.replace(
        card, id=f"{stem}-{size_gb}gb", name=f"{name_stem} {size_gb} GB", origin=f"{card.origin}, with {size_gb} GB",
        assumptions=(note, *plain),
    )  # fmt: skip
    return totals.sized(own, to_base(size_gb, "GB"), rules)


def default_note(accelerator_id: str, facts: tuple[Fact, ...]) -> Note | None:
    """That a plain name takes one of the sizes a card is sold in; None where it is sold in one."""
    label = next((fact for fact in facts if fact.what == "memory-label" and not fact.doubt), None)
    others = tuple(sorted(_gb(fact) for fact in facts if fact.what == FACT and fact.kind == SOLD))
    return Note(key="default_size", value=(_gb(label), others), why=accelerator_id) if label and others else None


def _gb(fact: Fact) -> int:
    """A label's number; of a label in MB or TB its GB."""
    unit = "GiB" if "i" in fact.unit else "GB"
    return round(to_base(float(fact.value), fact.unit) / to_base(1, unit))
