"""Values as JSON and CSV. CSV columns are the paths of the JSON, joined by dots: `time_s.ceiling`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from itertools import islice
from typing import Any, TextIO

import msgspec

_ROWS_AT_ONCE = 2000


def encode(value: Any) -> str:
    """Compact JSON; what is no finite number is null."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # half a surrogate pair, from a file name that is not UTF-8
        import json

        return json.dumps(msgspec.to_builtins(value))


def write_json(value: Any, stream: TextIO) -> None:
    """A whole document, indented."""
    stream.write(msgspec.json.format(encode(value), indent=2))
    stream.write("\n")


def flat(value: Mapping[str, Any], front: str = "") -> dict[str, Any]:
    """Nested mappings as one, keys joined by dots; lists joined by spaces."""
    result: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, Mapping):
            result.update(flat(item, f"{front}{key}."))
        elif isinstance(item, list | tuple):
            result[front + key] = " ".join(map(str, item))
        else:
            result[front + key] = item
    return result


class Rows(msgspec.Struct, frozen=True):
    """A table for programs: the names of its columns, and its rows one after the other."""

    header: Sequence[str]
    rows: Iterable[Sequence[Any]]


def rows_of(mappings: Sequence[Mapping[str, Any]]) -> Rows:
    """A table of flat mappings: every key that occurs is a column, in the order of first occurrence."""
    header = list(dict.fromkeys(key for mapping in mappings for key in mapping))
    return Rows(header, [[mapping.get(key) for key in header] for mapping in mappings])


def write_csv(table: Rows, stream: TextIO) -> None:
    """The header and the rows, some thousands at a time; true and false as words, None as nothing."""
    import csv

    rows = iter(table.rows)
    some: list[Sequence[Any]] = [table.header]
    while some:
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows([*map(_cell, row)] for row in some)
        stream.write(text.getvalue())
        some = list(islice(rows, _ROWS_AT_ONCE))


def _cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
