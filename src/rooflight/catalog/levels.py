"""Caches of an accelerator: the facts `cache-bandwidth` and `cache-size`, each with the `level` that it is of."""

from __future__ import annotations

from collections.abc import Sequence

from rooflight.catalog.refusal import refuse
from rooflight.units import to_base
from rooflight.values.accelerator import Fact, Level

RATE, SIZE = "cache-bandwidth", "cache-size"
QUANTITIES: dict[str, tuple[str, ...]] = {RATE: ("B/s",), SIZE: ("B",)}
KINDS = {RATE: ("measured", "datasheet", "derived"), SIZE: ("whole", "per-unit")}
# A cache's size is printed in MB and means MiB, as in catalog.card.
BINARY = {"kB": "KiB", "MB": "MiB", "GB": "GiB"}
_LONGEST = 40  # letters of a name


def check(what: str, level: object, where: str) -> None:
    """Refuses a cache without a name, and a name of one beside another fact."""
    if what not in QUANTITIES:
        if level is not None:
            refuse(f"{what} has no level", where, level, f"level beside {' or '.join(QUANTITIES)} alone")
        return
    if not isinstance(level, str) or not level.strip() or not level.isprintable() or len(level) > _LONGEST:
        refuse("the fact does not say of which cache it is", where, level, 'level = "L2"')


def caches(facts: Sequence[Fact], devices: int, compute_units: float | None) -> tuple[Level, ...]:
    """The caches of one device whose rate is known, the fastest first, with their sizes where these are known.

    devices     that share the printed figures of a package
    compute_units   of one device: each has a cache of the size that is printed per unit
    """
    sizes = {fact.level: fact for fact in facts if fact.what == SIZE}
    found = []
    for fact in facts:
        if fact.what != RATE:
            continue
        size = sizes.get(fact.level)
        found.append(
            Level(
                name=fact.level or "",
                place="cache",
                bytes_per_s=_base(fact, fact.unit) / devices,
                bytes=None if size is None else _whole(size, devices, compute_units),
                shared=size is None or size.kind == "whole",
                kind=fact.kind or "",
            )
        )
    return tuple(sorted(found, key=lambda level: -level.bytes_per_s))


def _whole(size: Fact, devices: int, compute_units: float | None) -> float | None:
    """Bytes on one device. Check: 192 kB in each of 108 units is 108 x 192 KiB = 21,233,664 bytes."""
    each = _base(size, BINARY.get(size.unit, size.unit))
    if size.kind == "per-unit":
        return None if compute_units is None else each * compute_units
    return each / devices


def _base(fact: Fact, unit: str) -> float:
    return float(f"{to_base(float(fact.value), unit):.15g}")  # as catalog.card rounds
