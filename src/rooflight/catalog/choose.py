"""Which entries of the catalog are asked for. Python and the command line list the same."""

from __future__ import annotations

from collections.abc import Iterable

from rooflight.catalog.accelerators import all_accelerators
from rooflight.catalog.models import all_models
from rooflight.errors import BadInput, Named
from rooflight.values.accelerator import Accelerator
from rooflight.values.field import amount, one_of
from rooflight.values.model import Model


def models(named: str = "", *, type: str | None = None) -> list[Model]:
    """The models whose id has `named` in it, in any case, sorted by id. Raises UnknownName for a type of none."""
    found = sorted(all_models(), key=lambda model: model.id.lower())
    if type is not None:
        type = one_of(type, _words(model.type for model in found), Named.of("type"))
    return [one for one in found if _is_in(named, one.id) and (type is None or one.type.lower() == type)]


def accelerators(
    named: str = "",
    *,
    vendor: str | None = None,
    family: str | None = None,
    kind: str | None = None,
    format_peak: str | None = None,
    min_memory_bytes: float | None = None,
    min_memory_bytes_per_s: float | None = None,
) -> list[Accelerator]:
    """The accelerators whose id or name has `named` in it, in any case, sorted by id.

    format_peak     a number format that it has a dense peak in

    Raises UnknownName for a vendor, family, kind or format that no entry has.
    """
    cards = list(all_accelerators())
    if vendor is not None:
        vendor = one_of(vendor, _words(card.vendor for card in cards), Named.of("vendor"))
    if family is not None:
        family = one_of(family, _words(card.family for card in cards), Named.of("family"))
    if kind is not None:
        kind = one_of(kind, _words(card.kind for card in cards), Named.of("kind"))
    if format_peak is not None:
        peaks = _words(form for card in cards for form in card.peak_flop_per_s)
        format_peak = one_of(format_peak, peaks, Named.of("format_peak"))
    least_bytes = _least("min_memory_bytes", min_memory_bytes)
    least_bytes_per_s = _least("min_memory_bytes_per_s", min_memory_bytes_per_s)
    return [
        card
        for card in cards
        if (_is_in(named, card.id) or _is_in(named, card.name))
        and (vendor is None or card.vendor.lower() == vendor)
        and (family is None or card.family.lower() == family)
        and (kind is None or card.kind.lower() == kind)
        and (format_peak is None or format_peak in card.peak_flop_per_s)
        and _at_least(card.memory_bytes, least_bytes)
        and _at_least(card.memory_bytes_per_s, least_bytes_per_s)
    ]


def _least(name: str, value: float | None) -> float | None:
    return None if value is None else amount(name, value, zero=True)


def _is_in(named: str, name: str) -> bool:
    if not isinstance(named, str):
        raise BadInput("a part of a name is a text", where="named", got=named, want='such as "h100"')
    return named.strip().lower() in name.lower()


def _words(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({value.lower() for value in values if value}))


def _at_least(value: float | None, least: float | None) -> bool:
    return least is None or (value is not None and value >= least)
