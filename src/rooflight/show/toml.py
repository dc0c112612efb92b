"""Plain values as TOML: texts, numbers, flags, lists, tables. What is None is left out: TOML has no word for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
# A list longer than this goes over several lines.
_WIDE = 100


def text(value: Mapping[str, Any]) -> str:
    """A document: values first, then tables; lists of tables as [[tables]]."""
    return "\n".join(_table(value, "")).strip("\n") + "\n"


def _table(value: Mapping[str, Any], path: str) -> Iterator[str]:
    inner = {}
    for key, item in value.items():
        if _is_table(item) or _is_tables(item):
            inner[key] = item
        elif item is not None:
            yield f"{_key(key)} = {_value(item)}"
    for key, item in inner.items():
        place = f"{path}.{_key(key)}" if path else _key(key)
        if _is_table(item):
            yield f"\n[{place}]"
            yield from _table(item, place)
        else:
            for one in item:
                yield f"\n[[{place}]]"
                yield from _table(one, place)


def _is_table(item: Any) -> bool:
    return isinstance(item, Mapping)


def _is_tables(item: Any) -> bool:
    return isinstance(item, list | tuple) and bool(item) and all(isinstance(one, Mapping) for one in item)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _value(item: Any) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, list | tuple):
        inside = ", ".join(map(_value, item))
        return f"[{inside}]" if len(inside) <= _WIDE else "[\n" + "".join(f"    {one},\n" for one in _lines(item)) + "]"
    return _string(item) if isinstance(item, str) else repr(item)


def _lines(items: list[Any] | tuple[Any, ...]) -> Iterator[str]:
    """A long list's items, as many a line as fit."""
    line = ""
    for one in map(_value, items):
        if line and len(line) + len(one) > _WIDE:
            yield line
            line = ""
        line = f"{line}, {one}" if line else one
    yield line


def _string(text: str) -> str:
    """As JSON writes it, and with DEL escaped, which JSON leaves alone."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
