"""A log of requests as lengths: CSV, JSON lines or Parquet, gzip or not; rows that are no request are counted."""

from __future__ import annotations

import gzip
import io
import math
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np

from rooflight.errors import BadConfig, BadInput, Named
from rooflight.ingest.table import Table, name_of, opened
from rooflight.values.field import LARGEST
from rooflight.values.mix import Requests

WANT = "a CSV, JSON-lines or Parquet file with a column of input lengths and one of output lengths, in tokens"
# Columns by what they hold, as traces and benchmarks call them (case, spaces and underscores do not count), the
# surest first: Azure's, Mooncake's, vLLM's and SGLang's benchmarks, OpenAI's usage, BurstGPT's, Vidur's.
NAMES = {
    "input": (
        "isl", "inputlength", "inputlen", "inputtokens", "numinputtokens", "inputtokencount", "contexttokens",
        "prompttokens", "numprompttokens", "promptlength", "promptlen", "numprefilltokens", "prefilltokens",
        "requesttokens",
    ),
    "output": (
        "osl", "outputlength", "outputlen", "outputtokens", "numoutputtokens", "outputtokencount", "generatedtokens",
        "numgeneratedtokens", "completiontokens", "completionlength", "completionlen", "numdecodetokens",
        "decodetokens", "generationtokens", "responsetokens",
    ),
    "cached": (
        "cachedprefix", "cachedprefixtokens", "cachedtokens", "numcachedtokens", "prefixhittokens", "cachereadtokens",
    ),
}  # fmt: skip
_PACKED = b"\x1f\x8b"
_PARQUET = b"PAR1"
_LONGEST_LINE = 1 << 26
# Lines of JSON that are looked at for the names of their fields.
_LOOKED_AT = 64
_REASONS = 3
_DAMAGED = (OSError, EOFError, zlib.error)


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of a log; taken: which columns they come from; notes: what was odd, bad rows among it."""

    source: str
    requests: Requests
    bad_rows: int
    taken: str
    notes: tuple[str, ...]


class Columns(NamedTuple):
    """Names of the columns; cached None: nothing is taken as cached."""

    input: str
    output: str
    cached: str | None


class Rows:
    """Requests as they are read: good ones kept in 24 bytes each, bad ones counted by their reason."""

    def __init__(self) -> None:
        self.isl, self.osl, self.cached = array("d"), array("d"), array("d")
        self.bad = 0
        self.reasons: Counter[str] = Counter()
        self.first: dict[str, str] = {}
        self.shortened = 0

    def add(self, line: int, isl: Any, osl: Any, cached: Any = 0) -> None:
        """A row's cells; a prompt that is cached whole still runs its last token."""
        numbers = []
        cached = 0 if cached is None or cached == "" else cached
        for what, cell, least in (("input", isl, 1), ("output", osl, 0), ("cached", cached, 0)):
            number = whole(cell, least)
            if number is None:
                self.refuse(line, f"{what} length {_told(cell)} is no number of tokens from {least} to 2^40")
                return
            numbers.append(number)
        if numbers[2] > numbers[0]:
            self.refuse(line, f"cached length {_told(cached)} is no part of its input, {_told(isl)} tokens")
            return
        if numbers[2] == numbers[0]:
            self.shortened += 1
        self.isl.append(numbers[0])
        self.osl.append(numbers[1])
        self.cached.append(min(numbers[2], numbers[0] - 1))

    def refuse(self, line: int, reason: str) -> None:
        """Count a row that is no request."""
        self.bad += 1
        kind = re.sub(r" length .* is ", " length that is ", reason)
        self.reasons[kind] += 1
        self.first.setdefault(kind, f"line {line:,}: {reason}")

    def log(self, name: str, columns: Columns, notes: Iterable[str]) -> Log:
        """All that was read. Raises BadConfig where no row is a request."""
        if not self.isl:
            why = next(iter(self.first.values()), "no rows")
            raise BadConfig(f"no row of {name} is a request", where=name, got=why, want=WANT)
        said = list(notes)
        if self.bad:
            total = self.bad + len(self.isl)
            shown = "; ".join(self.first[kind] for kind, _ in self.reasons.most_common(_REASONS))
            said.append(f"{self.bad:,} of {total:,} rows of {name} are left out, such as {shown}")
        if self.shortened:
            said.append(f"{self.shortened:,} prompts are cached whole: the last token of each is run all the same")
        taken = f"lengths of {name}: input from {columns.input}, output from {columns.output}"
        taken += f", cached prefix from {columns.cached}" if columns.cached else ", nothing cached before"
        requests = Requests(isl=np.array(self.isl), osl=np.array(self.osl), cached=np.array(self.cached))
        return Log(source=name, requests=requests, bad_rows=self.bad, taken=taken, notes=tuple(said))


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
        with _unpacked(opened(source, WANT)) as file:
            start = file.peek(len(_PARQUET))
            if start.startswith(_PARQUET):
                from rooflight.ingest.parquet import read_parquet

                return read_parquet(file, name, named)
            if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
                return _read_json(file, name, named)
            return _read_csv(file, source, named)
    except _DAMAGED as error:
        raise BadConfig(f"{name} cannot be read to its end", where=name, got=str(error)[:200], want=WANT) from None


def _unpacked(file: io.BufferedReader) -> io.BufferedReader:
    if file.peek(2)[:2] != _PACKED:
        return file
    return io.BufferedReader(cast(io.RawIOBase, _Gzip(file)))


class _Gzip(gzip.GzipFile):
    """A packed file that closes what it reads from."""

    def __init__(self, file: io.BufferedReader) -> None:
        super().__init__(fileobj=file)
        self._packed = file

    def close(self) -> None:
        super().close()
        self._packed.close()


def whole(cell: Any, least: int) -> int | None:
    """A whole number from `least` to 2^40, however it is written; None for anything else."""
    try:
        number = int(cell) if not isinstance(cell, bool | float) else None
    except (TypeError, ValueError):
        number = None
    if number is None:
        try:
            value = math.nan if isinstance(cell, bool) else float(cell)
        except (TypeError, ValueError):
            return None
        if not (math.isfinite(value) and value.is_integer()):
            return None
        number = int(value)
    return number if least <= number <= LARGEST else None


def _told(cell: Any) -> str:
    text = "nothing" if cell is None or cell == "" else repr(cell)
    return text if len(text) <= 40 else text[:37] + "..."


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


def chosen(have: Sequence[str], named: Columns | None, name: str) -> Columns:
    """The columns of a log with these: as named, else by the usual names. Raises BadConfig."""
    shown = ", ".join(have)
    shown = shown if len(shown) <= 200 else shown[:200] + " ..."
    if named is not None:
        missing = [one for one in named if one is not None and one not in have]
        if missing:
            raise BadConfig(
                f"{name} has no column {missing[0]}",
                where=Named.of("log_columns"),
                got=shown,
                want="names of its columns",
            )
        return named
    found = {kind: _usual(have, names) for kind, names in NAMES.items()}
    missing = [kind for kind in ("input", "output") if found[kind] is None]
    if missing:
        raise BadConfig(
            f"no column of {name} is known to hold {' and '.join(missing)} lengths", where=name, got=shown or "none",
            want="names such as input_length and output_length, ContextTokens and GeneratedTokens, isl and osl",
            try_this=Named("{log_columns} IN,OUT"),
        )  # fmt: skip
    return Columns(str(found["input"]), str(found["output"]), found["cached"])


def _usual(have: Sequence[str], names: Sequence[str]) -> str | None:
    """The column with the surest name; of a nested field the last part is its name."""
    plain = {re.sub(r"[^a-z0-9]", "", one.rpartition(".")[2].lower()): one for one in reversed(have)}
    return next((plain[name] for name in names if name in plain), None)


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
        return rows.log(table.name, columns, table.notes)


def _read_json(file: io.BufferedReader, name: str, named: Columns | None) -> Log:
    lines = _objects(file)
    looked, have = [], dict[str, None]()
    for line, one in lines:
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
    for line, one in (pair for part in (looked, lines) for pair in part):
        if isinstance(one, dict):
            rows.add(line, *(_at(one, path) for path in paths))
        else:
            rows.refuse(line, "the line is no JSON object")
    return rows.log(name, columns, ())


def _objects(file: io.BufferedReader) -> Iterator[tuple[int, Any]]:
    """Lines with what they hold; a line that is not JSON is its own text."""
    number = 0
    while line := file.readline(_LONGEST_LINE):
        number += 1
        line = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
        if line:
            try:
                yield number, msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                yield number, line.decode("utf-8", "replace")


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
                "a request is a pair of lengths", where=f"log, request {place:,}", got=_told(one),
                want="(isl, osl), or (isl, osl, cached prefix)",
            )  # fmt: skip
        rows.add(place, *cells)
        if rows.bad:
            raise BadInput(next(iter(rows.first.values())), where="log", got=_told(one), want="(isl, osl)")
    if not given:
        raise BadInput("the log holds no requests", where="log", got="nothing", want="at least one (isl, osl)")
    return rows.log("the log given", Columns("the first of each", "the second", None), ())
