"""A log of requests as lengths: CSV, JSON lines or Parquet, gzip or not; rows that are no request are counted."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rooflight.errors import BadConfig, BadInput, Named
from rooflight.files import as_file, name_of, opened
from rooflight.ingest.lines import lines
from rooflight.ingest.packed import DAMAGED, unpacked
from rooflight.ingest.parquet import read_parquet
from rooflight.ingest.requests import WANT, Columns, Log, Rows, chosen, told
from rooflight.ingest.table import Table

_PARQUET = b"PAR1"
# Byte-order marks, blanks, and the other halves of UTF-16's characters.
_BEFORE_JSON = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
_LONGEST_LINE = 1 << 26
# Lines of JSON that are looked at for the names of their fields.
_LOOKED_AT = 64


def read_log(source: str | Path | Iterable[Sequence[Any]], columns: Sequence[str] | None = None) -> Log:
    """The log of a path ("-": standard input), or of pairs (isl, osl) or triples with the cached prefix.

    `columns` names the input, the output and perhaps the cached column. Raises BadInput, BadConfig for what is no log,
    MissingExtra for a Parquet file without pyarrow.
    """
    if not isinstance(source, str | Path):
        return _given(source)
    named = _named(columns)
    name = name_of(source)
    try:
        with unpacked(opened(source, WANT)) as file:
            return _read(file, source, name, named)
    except DAMAGED as error:
        raise BadConfig(f"{name} cannot be read to its end", where=name, got=str(error)[:200], want=WANT) from None


def log_in(text: str, name: str) -> Log:
    """The log of a text that somebody sent; name: what a message calls it. Raises BadConfig for what is no log."""
    with as_file(text) as file:
        return _read(file, name, name, None)


def _read(file: io.BufferedReader, source: str | Path, name: str, named: Columns | None) -> Log:
    start = file.peek(len(_PARQUET))
    if start.startswith(_PARQUET):
        return read_parquet(file, name, named)
    if start.lstrip(_BEFORE_JSON)[:1] in (b"{", b"["):
        return _read_json(file, name, named)
    return _read_csv(file, source, named)


def _named(columns: Sequence[str] | None) -> Columns | None:
    if columns is None:
        return None
    names = columns.split(",") if isinstance(columns, str) else list(columns)
    names = [str(name).strip() for name in names]
    if len(names) not in (2, 3) or not all(names) or len(set(names)) < len(names):
        raise BadInput(
            "a log has a column of input lengths, one of output lengths, and perhaps one of cached prefixes",
            where=Named.of("log_columns"), got=",".join(names), want="IN,OUT or IN,OUT,CACHED",
        )  # fmt: skip
    return Columns(names[0], names[1], names[2] if len(names) == 3 else None)


def _read_csv(file: io.BufferedReader, source: str | Path, named: Columns | None) -> Log:
    with Table(source, (), file=file, want=WANT) as table:
        columns = chosen(table.columns, named, table.name)
        places = [table.columns.index(one) for one in columns if one is not None]
        rows = Rows()
        for raw in table.rows():
            if raw.problem is not None:
                rows.refuse(raw.line, raw.problem)
            else:
                rows.add(raw.line, *(raw.cells[place] for place in places))
        return rows.log(table.name, columns, table.notes, table.lost)


def _read_json(file: io.BufferedReader, name: str, named: Columns | None) -> Log:
    notes: list[str] = []
    objects = _objects(file, notes)
    looked, have = [], dict[str, None]()
    for line, one in objects:
        looked.append((line, one))
        if isinstance(one, dict):
            have.update(dict.fromkeys(_paths(one)))
        if len(looked) >= _LOOKED_AT:
            break
    if not have:
        items = "'.[]'" if looked and str(looked[0][1]).lstrip()[:1] == "[" else "."
        raise BadConfig(
            f"{name} is JSON, but no object a line", where=name, got=str(looked[0][1])[:80] if looked else "nothing",
            want="one JSON object a line, with input and output lengths", try_this=f"jq -c {items} {name} > log.jsonl",
        )  # fmt: skip
    columns = chosen(list(have), named, name)
    paths = [one.split(".") for one in columns if one is not None]
    rows = Rows()
    for line, one in (pair for part in (looked, objects) for pair in part):
        if isinstance(one, dict):
            rows.add(line, *(_at(one, path) for path in paths))
        else:
            rows.refuse(line, "the line is no JSON object")
    return rows.log(name, columns, notes)


def _objects(file: io.BufferedReader, notes: list[str]) -> Iterator[tuple[int, Any]]:
    """Lines with what they hold; a line that is not JSON, or too long, is its own text."""
    for number, text, problem in lines(file, notes, longest=_LONGEST_LINE):
        whole = text.strip()
        if whole and problem is None:
            try:
                yield number, msgspec.json.decode(whole)
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                yield number, whole
        elif whole or problem is not None:
            yield number, problem


def _paths(one: dict[str, Any], front: str = "") -> Iterator[str]:
    """Names of an object's fields, those of objects in it joined by a dot."""
    for key, value in one.items():
        if isinstance(value, dict) and not front:
            yield from _paths(value, f"{key}.")
        else:
            yield front + key


def _at(one: Any, path: Sequence[str]) -> Any:
    whole_name = ".".join(path)
    if isinstance(one, dict) and whole_name in one:
        return one[whole_name]
    for key in path:
        one = one.get(key) if isinstance(one, dict) else None
    return one


def _given(source: Iterable[Sequence[Any]]) -> Log:
    """Pairs or triples from Python: a bad one is an error, for whoever made it is at hand."""
    rows = Rows()
    try:
        given = list(source)
    except TypeError:
        raise BadInput(
            "a log is a path, or requests as pairs", where="log", got=type(source).__name__, want="[(isl, osl), ...]"
        ) from None
    for place, one in enumerate(given, start=1):
        try:
            cells = tuple(one)
        except TypeError:
            cells = (one,)
        if isinstance(one, str | bytes) or len(cells) not in (2, 3):
            raise BadInput(
                "a request is a pair of lengths", where=f"log, request {place:,}", got=told(one),
                want="(isl, osl), or (isl, osl, cached prefix)",
            )  # fmt: skip
        rows.add(place, *cells)
        if rows.bad:
            raise BadInput(next(iter(rows.first.values())), where="log", got=told(one), want="(isl, osl)")
    if not given:
        raise BadInput("the log holds no requests", where="log", got="nothing", want="at least one (isl, osl)")
    return rows.log("the log given", Columns("the first of each", "the second", None), ())
