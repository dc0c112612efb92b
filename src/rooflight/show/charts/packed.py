"""Rows of many points packed for a page: a column a field, equal points once, strings shared, six digits a number.

explore.js reads it back; so does the test beside. The form, where a dataset is that of many points:

    {"at": [0, 0, 1, ...], "rows": [2, 3, ...], "fields": {"x": COLUMN, ...}}

`at` is each point's number among the ones that differ (left out: each its own), `rows` how many rows each of those has
(a number: all the same). A COLUMN holds a value for every row of those, one after the other: [values] of numbers and
nulls, {"of": [numbers of strings]}, or {"all": value} where all are alike.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

from rooflight.show.charts.place import Rows

# More than a picture shows and than is told in words, which are packed as they are.
_DIGITS = 6
# A raw deflate stream, as the browser's DecompressionStream("deflate-raw") reads it.
_RAW = -15


class Strings:
    """Texts that occur again and again, each once; the page finds them by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The text's."""
        return self._numbers.setdefault(text, len(self._numbers))

    def listed(self) -> list[str]:
        """All, in the order of their numbers."""
        return list(self._numbers)


def packed(points: Sequence[Rows], strings: Strings, leave_out: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The rows of a dataset at each point. Fields named in `leave_out` are those that nothing on the page reads."""
    kept: dict[str, int] = {}
    differing: list[Rows] = []
    at = []
    for rows in points:
        shown = [{name: _short(value) for name, value in row.items() if name not in leave_out} for row in rows]
        key = json.dumps(shown)
        if key not in kept:
            kept[key] = len(differing)
            differing.append(shown)
        at.append(kept[key])
    flat = [row for rows in differing for row in rows]
    counts = [len(rows) for rows in differing]
    found: dict[str, Any] = {} if at == list(range(len(points))) else {"at": at}
    found["rows"] = counts[0] if len(set(counts)) == 1 else counts
    names = dict.fromkeys(name for row in flat for name in row)
    found["fields"] = {name: _column([row.get(name) for row in flat], strings) for name in names}
    return found


def _short(value: Any) -> Any:
    """A number with the digits that count; another value as it is."""
    if not isinstance(value, float):
        return value
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 10**_DIGITS else rounded


def _column(values: list[Any], strings: Strings) -> Any:
    if all(value == values[0] and type(value) is type(values[0]) for value in values):
        return {"all": values[0]}
    if any(isinstance(value, str) for value in values):
        return {"of": [None if value is None else strings.number(str(value)) for value in values]}
    return values


def deflated(text: str) -> str:
    """Text as base64 of a raw deflate stream: letters that need no escaping inside a page."""
    press = zlib.compressobj(9, zlib.DEFLATED, _RAW)
    return base64.b64encode(press.compress(text.encode()) + press.flush()).decode()


def compact(value: Any) -> str:
    """JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
