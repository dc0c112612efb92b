"""Accelerators with some figures changed: what changes with them, and the name they answer under."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rooflight.catalog.accelerators import shipped
from rooflight.errors import BadInput, Named
from rooflight.values.accelerator import Accelerator

# What is said of a device, not what it can do.
_SAID = ("id", "name", "confidence", "facts", "notes", "origin", "assumptions")
# Figures that a name spells out; of more it says how many.
_MOST_TOLD = 3


def changed(
    card: Accelerator,
    *,
    id: str | None = None,
    peak_flop_per_s: Mapping[str, float] | None = None,
    memory_bytes_per_s: float | None = None,
    memory_bytes: float | None = None,
) -> Accelerator:
    """The card with other figures, and what hangs on them; under `id`, else under a name that says what is changed.

    A format's fastest rate stays as far above its peak as it was. Of a bandwidth or a size there is then one figure:
    what was in doubt, or kept from programs, was the old one's. Raises BadInput for what is no rate or size.
    """
    fields: dict[str, Any] = {}
    if peak_flop_per_s is not None:
        old, fast = card.peak_flop_per_s, card.fast_flop_per_s
        new = {form: _positive("peak_flop_per_s", peak) for form, peak in peak_flop_per_s.items()}
        kept = {form: peak * fast[form] / old[form] for form, peak in new.items() if form in fast and form in old}
        fields |= {"peak_flop_per_s": {**old, **new}, "fast_flop_per_s": {**fast, **new, **kept}}
    if memory_bytes_per_s is not None:
        fields["memory_bytes_per_s"] = _positive("memory_bytes_per_s", memory_bytes_per_s)
        fields["fast_memory_bytes_per_s"] = None
    if memory_bytes is not None:
        fields |= {"memory_bytes": _positive("memory_bytes", memory_bytes), "program_bytes": None, "label_bytes": None}
    other = msgspec.structs.replace(card, **fields)
    return msgspec.structs.replace(other, id=_told(card.id, card, other) if id is None else id)


def under_own_name(card: Accelerator) -> Accelerator:
    """The card itself, or under a name that says what is changed where it bears an entry's id and not its figures.

    Raises BadInput where a rate that nothing exceeds is below the rate itself.
    """
    for form, peak in card.peak_flop_per_s.items():
        _check_fastest(card, f"fast_flop_per_s of {form}", card.fast_flop_per_s.get(form), peak)
    _check_fastest(card, "fast_memory_bytes_per_s", card.fast_memory_bytes_per_s, card.memory_bytes_per_s)
    entry = shipped(card.id)
    if entry is None or all(getattr(card, name) == getattr(entry, name) for name in _figures()):
        return card
    return msgspec.structs.replace(card, id=_told(card.id, entry, card))


def _figures() -> Iterator[str]:
    return (name for name in Accelerator.__struct_fields__ if name not in _SAID)


def _check_fastest(card: Accelerator, what: str, fastest: float | None, rate: float | None) -> None:
    if fastest is not None and rate is not None and fastest < rate:
        raise BadInput(
            f"{what} is what nothing exceeds, and it is below the rate itself", where=Named.of("on"),
            got=f"{fastest:g}, below {rate:g}, of {card.id}", want="both changed together",
            try_this="rooflight.changed(card, ...), which keeps them together",
        )  # fmt: skip


def _told(name: str, before: Accelerator, after: Accelerator) -> str:
    """The name, and the figures that differ: h100-sxm (memory_bytes_per_s=6.7e+12)."""
    old, new = (dict(_flat(one)) for one in (before, after))
    differ = [path for path in dict.fromkeys([*old, *new]) if old.get(path) != new.get(path)]
    # What follows from a figure need not be told beside it.
    telling = [path for path in differ if not path.startswith(("fast_", "program_", "label_"))] or differ
    if not telling:
        return name
    said = [f"{path}={_short(new.get(path))}" for path in telling[:_MOST_TOLD]]
    more = len(telling) - _MOST_TOLD
    return f"{name} ({', '.join(said)}{f' and {more} more' if more > 0 else ''})"


def _flat(card: Accelerator) -> Iterator[tuple[str, Any]]:
    """Every figure by its path: peak_flop_per_s.bf16."""
    for name in _figures():
        value = msgspec.to_builtins(getattr(card, name))
        if isinstance(value, dict):
            yield from ((f"{name}.{key}", one) for key, one in value.items())
        else:
            yield name, value


def _short(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _positive(name: str, value: Any) -> float:
    """A rate or size as a float. Raises BadInput."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not plain or not math.isfinite(value) or value <= 0:
        raise BadInput(f"{name} is no such amount", where=name, got=value, want="a finite number above 0")
    return float(value)
