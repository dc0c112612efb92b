"""Numbers as other tools write them, and the spread of a time from its parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rooflight.units import ungrouped
from rooflight.values.recorded import Spread


def number(value: Any) -> float | None:
    """A finite number, of text too ("1,300.5"); None for anything else, N/A and NaN among them."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(ungrouped(value.strip()) if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def amount(value: Any) -> float | None:
    """The same, of what cannot be below nothing."""
    found = number(value)
    return found if found is not None and found >= 0 else None


def whole(value: Any) -> int | None:
    """A count; None for what is none."""
    found = amount(value)
    return round(found) if found is not None and found == round(found) else None


def text(value: Any) -> str | None:
    """A name of one short line; None for none."""
    if not isinstance(value, str):
        return None
    found = value.strip()
    return found if 0 < len(found) <= 200 and found.isprintable() else None


def spread(parts: Mapping[str, Any], unit_s: float) -> Spread | None:
    """A time's spread: parts by the names of Spread's fields, one of them being `unit_s` seconds; None of no part."""
    found = {name: value * unit_s for name, one in parts.items() if (value := amount(one)) is not None}
    return Spread(**found) if found else None
