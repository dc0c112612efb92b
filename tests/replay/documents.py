"""Documents as lines that read well in a diff: `path = value`, a line for each innermost group of values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

# Longer strings are texts and stand on a line of their own.
_WORD = 40
# Far below what is printed, above what another processor's rounding makes of the same formula.
TOLERANCE = 1e-12


def lines(value: Any, path: str = "") -> Iterator[str]:
    """A document's lines in its own order; floats with all their digits.

    Numbers and words of a mapping, or of a list, stand on one line as JSON; everything longer on lines of its own.
    """
    if isinstance(value, Mapping):
        short = {key: item for key, item in value.items() if _is_short(item)}
        if short or not value:
            yield _line(path, short)
        for key, item in value.items():
            if key not in short:
                yield from lines(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list | tuple) and not all(_is_short(item) for item in value):
        for place, item in enumerate(value):
            yield from lines(item, f"{path}[{place}]")
    else:
        yield _line(path, value)


def leaves(written: list[str]) -> dict[str, Any]:
    """The values of lines by their paths."""
    found: dict[str, Any] = {}
    for line in written:
        path, _, text = line.partition(" = ")
        value = json.loads(text)
        if isinstance(value, dict) and value:
            found |= {f"{path}.{key}".removeprefix("document."): item for key, item in value.items()}
        elif isinstance(value, list) and value:
            found |= {f"{path}[{place}]": item for place, item in enumerate(value)}
        else:
            found[path] = value
    return found


def differences(was: list[str], now: list[str]) -> list[str]:
    """`path: was ..., now ...` for each value that differs; strings exactly, numbers to TOLERANCE."""
    if was == now:
        return []
    before, after = leaves(was), leaves(now)
    return [
        f"{path}: was {_told(before, path)}, now {_told(after, path)}"
        for path in dict.fromkeys([*before, *after])
        if path not in before or path not in after or not _same(before[path], after[path])
    ]


def _is_short(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= _WORD)


def _line(path: str, value: Any) -> str:
    return f"{path or 'document'} = {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}"


def _same(was: Any, now: Any) -> bool:
    if type(was) is not type(now):  # 5 and 5.0 are printed differently
        return False
    if isinstance(was, int | float):
        return was == now or math.isclose(was, now, rel_tol=TOLERANCE) or (math.isnan(was) and math.isnan(now))
    return bool(was == now)


def _told(values: Mapping[str, Any], path: str) -> str:
    return json.dumps(values[path], ensure_ascii=False) if path in values else "not there"
