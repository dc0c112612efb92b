"""Values as JSON and CSV. CSV columns are the paths of the JSON, joined by dots: `time_s.ceiling`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from itertools import islice
from typing import Any, TextIO

import msgspec

from rooflight.values.cells import harmless

_ROWS_AT_ONCE = 2000


def encode(value: Any) -> str:
    """Compact JSON; what is no finite number is null."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # half a surrogate pair, from a file name that is not UTF-8
        return _odd(value)


def write_json(value: Any, stream: TextIO) -> None:
    """A whole document, indented."""
    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:  # as above
        text = _odd(value, indent=2)
    stream.write(text)
    stream.write("\n")


def _odd(value: Any, indent: int | None = None) -> str:
    """JSON of a value with texts that are not Unicode; null in place of what is no finite number."""
    import json

    plain = json.loads(json.dumps(msgspec.to_builtins(value)), parse_constant=lambda _: None)
    return json.dumps(plain, indent=indent)


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
    """A table for programs: the names of its columns, and its rows one after the other.

    texts   pieces of CSV that were written of further rows already
    """

    header: Sequence[str]
    rows: Iterable[Sequence[Any]] = ()
    texts: Iterable[str] = ()

    def records(self) -> list[dict[str, Any]]:
        """Each row with its columns by name."""
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]


def rows_of(mappings: Sequence[Mapping[str, Any]]) -> Rows:
    """A table of flat mappings: every key that occurs is a column, in the order of first occurrence."""
    header = list(dict.fromkeys(key for mapping in mappings for key in mapping))
    return Rows(header, [[mapping.get(key) for key in header] for mapping in mappings])


def write_csv(table: Rows, stream: TextIO) -> None:
    """The header and the rows, some thousands at a time; true and false as words, None as nothing, no formulas."""
    rows = iter(table.rows)
    some: list[Sequence[Any]] = [table.header]
    while some:
        stream.write(csv_text(some))
        some = list(islice(rows, _ROWS_AT_ONCE))
    for text in table.texts:
        stream.write(text)


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as lines of CSV."""
    import csv

    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([*map(_cell, row)] for row in rows)
    return text.getvalue()


def json_texts(rows: Iterable[Any]) -> Iterator[str]:
    """Rows as JSON, some thousands at a time: one a line, without what stands around them."""
    left = iter(rows)
    while some := list(islice(left, _ROWS_AT_ONCE)):
        yield ",\n".join(map(encode, some))


def write_list(stream: TextIO, texts: Iterable[str]) -> None:
    """The elements of a list from such texts, with its brackets."""
    between = "[\n"
    for text in texts:
        stream.write(between + text)
        between = ",\n"
    stream.write("\n]" if between[0] == "," else "[\n]")


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return harmless(value)
    return str(value).lower() if isinstance(value, bool) else value
