"""Accelerators with some figures changed: what changes with them, and the name they answer under."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rooflight.catalog.accelerators import shipped
from rooflight.catalog.figures import DTYPES
from rooflight.catalog.unlike import changed_each
from rooflight.errors import BadInput, Named
from rooflight.values.accelerator import Accelerator
from rooflight.values.field import amount, one_of
from rooflight.values.note import Note

# What is said of a device, not what it can do.
_SAID = ("id", "name", "confidence", "facts", "notes", "origin", "assumptions")
# An id and behind it what is changed, as _told writes it.
_CHANGED = re.compile(r"(\S+) \(\w[\w.]*=.*\)")
# Figures that a name spells out; of more it says how many.
_MOST_TOLD = 3
# What is tried of a rate: more is another kind of machine.
_LEAST_TIMES, _MOST_TIMES = 0.1, 10


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
    what was in doubt, or kept from programs, was the old one's. Raises BadInput for what is no rate or size,
    UnknownName for a format that no peak is in.
    """
    if id is not None and not (isinstance(id, str) and id.strip()):
        raise BadInput("an accelerator's id is a text", where="id", got=id, want='such as "my-card"')
    fields: dict[str, Any] = {}
    if peak_flop_per_s is not None:
        if not isinstance(peak_flop_per_s, Mapping):
            raise BadInput(
                "peaks go by their formats", where="peak_flop_per_s", got=peak_flop_per_s, want='such as {"bf16": 2e15}'
            )
        old, fast = card.peak_flop_per_s, card.fast_flop_per_s
        new = {
            one_of(form, DTYPES, "peak_flop_per_s"): amount("peak_flop_per_s", peak)
            for form, peak in peak_flop_per_s.items()
        }
        ahead = {form: max(1.0, fast[form] / old[form]) for form in new if form in fast and form in old}
        kept = {form: new[form] * times for form, times in ahead.items()}
        fields |= {"peak_flop_per_s": {**old, **new}, "fast_flop_per_s": {**fast, **new, **kept}}
    if memory_bytes_per_s is not None:
        fields["memory_bytes_per_s"] = amount("memory_bytes_per_s", memory_bytes_per_s)
        fields["fast_memory_bytes_per_s"] = None
    if memory_bytes is not None:
        fields |= {"memory_bytes": amount("memory_bytes", memory_bytes), "program_bytes": None, "label_bytes": None}
    other = msgspec.structs.replace(card, **fields)
    if id is not None:
        return msgspec.structs.replace(other, id=id)
    name, before = _entry(card) or (card.id, card)
    return msgspec.structs.replace(other, id=_told(name, before, other))


def what_if(card: Accelerator, *, bandwidth_times: float = 1.0, peak_times: float = 1.0) -> Accelerator:
    """The card with so many times its memory bandwidth and its peaks; the answer says so among its assumptions.

    Of unlike cards each is changed so. Raises BadInput for what is no such number.
    """
    for name, times in (("bandwidth_times", bandwidth_times), ("peak_times", peak_times)):
        if isinstance(times, bool) or not isinstance(times, int | float) or not _LEAST_TIMES <= times <= _MOST_TIMES:
            raise BadInput(
                "a rate that is tried is a few times the card's own", where=Named.of(name), got=times,
                want=f"a number from {_LEAST_TIMES} to {_MOST_TIMES}",
            )  # fmt: skip
    if bandwidth_times == peak_times == 1:
        return card
    return changed_each(card, lambda one: _times(one, bandwidth_times, peak_times))


def _times(card: Accelerator, bandwidth_times: float, peak_times: float) -> Accelerator:
    bandwidth, fast = card.memory_bytes_per_s, card.fast_memory_bytes_per_s
    name, was, were = as_built(card)
    said = Note(key="what_if", value=(was * bandwidth_times, were * peak_times), why=name)
    return msgspec.structs.replace(
        card,
        id=f"{name} (what if)",
        memory_bytes_per_s=None if bandwidth is None else bandwidth * bandwidth_times,
        fast_memory_bytes_per_s=None if fast is None else fast * bandwidth_times,
        peak_flop_per_s={form: peak * peak_times for form, peak in card.peak_flop_per_s.items()},
        fast_flop_per_s={form: peak * peak_times for form, peak in card.fast_flop_per_s.items()},
        assumptions=(said, *(note for note in card.assumptions if note.key != "what_if")),
    )


def as_built(card: Accelerator) -> tuple[str, float, float]:
    """The id of a card that what_if() changed, and its times; any other card is once itself."""
    told = (note for one in (card, *card.joined) for note in one.assumptions if note.key == "what_if")
    first = next(told, None)
    if first is None:
        return card.id, 1.0, 1.0
    bandwidth, peak = first.value
    return card.id.replace(" (what if)", ""), float(bandwidth), float(peak)


def alike(one: Accelerator, other: Accelerator) -> bool:
    """Whether two cards can do the same, whatever they are called."""
    return all(getattr(one, name) == getattr(other, name) for name in _figures() if name != "joined")


def under_own_name(card: Accelerator) -> Accelerator:
    """The card itself, or under a name that says what is changed where it bears an entry's id and not its figures.

    Raises BadInput where a rate that nothing exceeds is below the rate itself.
    """
    for form, peak in card.peak_flop_per_s.items():
        _check_fastest(card, f"fast_flop_per_s of {form}", card.fast_flop_per_s.get(form), peak)
    _check_fastest(card, "fast_memory_bytes_per_s", card.fast_memory_bytes_per_s, card.memory_bytes_per_s)
    found = _entry(card)
    if found is None or all(getattr(card, name) == getattr(found[1], name) for name in _figures()):
        return card
    return msgspec.structs.replace(card, id=_told(*found, card))


def _entry(card: Accelerator) -> tuple[str, Accelerator] | None:
    """The id it bears, without the changes that stand behind it, and the catalog's entry of that id; None for none."""
    name = match[1] if (match := _CHANGED.fullmatch(card.id)) else card.id
    entry = shipped(name)
    return None if entry is None else (name, entry)


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
