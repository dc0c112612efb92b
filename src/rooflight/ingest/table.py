"""A CSV file as rows of cells: streamed, in whatever encoding it is; what is no row is said, not lost."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Self

import msgspec

from rooflight.errors import BadConfig
from rooflight.files import name_of, opened
from rooflight.ingest.lines import Line, lines
from rooflight.values.cells import plain

# A line that long is no row of a table.
_LONGEST_LINE = 1 << 20
_LONGEST_SHOWN = 10_000  # characters of a line that is no row, given back as cells
_START = 1 << 10  # bytes looked at to tell what a file is
WANT = "a CSV file whose first line names the columns: model, accelerator, metric, value and others"
_DELIMITERS = (",", ";", "\t")
_CUT = "unexpected end of data"  # the csv module's words for a quote that the file ends in
_STRETCHES = 5  # of lines that are no rows, said one by one


class RawRow(msgspec.Struct, frozen=True):
    """A row as it stands in the file; `problem` says why its cells cannot be trusted."""

    line: int
    cells: tuple[str, ...]
    problem: str | None = None


class Table:
    """A file's columns, then its rows once; open until the `with` block ends.

    notes   what was odd; grows while rows are read
    lost    lines whose cells cannot be told apart; each is a row with a problem
    """

    def __init__(
        self, path: str | Path, needed: Iterable[str], *, known: Iterable[str] = (),
        file: io.BufferedReader | None = None, want: str = WANT,
    ) -> None:  # fmt: skip
        """Open the file ("-": standard input), read its header. Raises BadInput or BadConfig where it is no table.

        known: names that a column has also where it is spelled with capitals or spaces; file: what to read where the
        path's own bytes are packed; want: what a good file would be, for messages.
        """
        self.name = name_of(path)
        self.notes: list[str] = []
        self.lost = 0
        self._stretches = 0
        self._want = want
        self._file = opened(path, want) if file is None else file
        try:
            self._binary = b"\0" in self._file.peek(_START)[:_START]
            self.columns = self._header(set(needed), {*needed, *known} if known else set())
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    @property
    def decimal_commas(self) -> bool:
        """Whether a comma in a number may well be a decimal one: nothing else separates columns by semicolons."""
        return self._delimiter == ";"

    def rows(self) -> Iterator[RawRow]:
        """The rows in order, blank lines left out. Raises BadConfig where there is none."""
        width, some = len(self.columns), False
        for taken, cells, problem in self._records():
            if cells is None:
                some = True
                yield from self._no_rows(taken, problem, width)
            elif any(cell.strip() for cell in cells):
                some = True
                row = _row(taken, cells, width)
                if row.problem is None or len(taken) == 1:
                    yield row
                else:
                    swallows = f"a quote in it runs to line {taken[-1].number:,}, whose rows it swallows"
                    yield from self._no_rows(taken, f"{row.problem}: {swallows}", width)
        if not some:
            raise BadConfig(
                f"{self.name} holds a header and no rows", where=self.name, got="one line",
                want="rows below the header",
            )  # fmt: skip
        if self._stretches > _STRETCHES:
            more = self._stretches - _STRETCHES
            self.notes.append(f"nor are lines in {more:,} more places: {self.lost:,} lines in all")

    def _records(self) -> Iterator[tuple[list[Line], list[str] | None, str]]:
        """The lines of each record, and its cells; None where they cannot be told apart, and why."""
        feed = self._feed
        reader = csv.reader(feed, delimiter=self._delimiter, strict=True)
        while True:
            feed.taken = []
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield feed.taken, *self._leniently(feed.taken, str(error))
                continue
            yield feed.taken, cells, ""

    def _leniently(self, taken: list[Line], error: str) -> tuple[list[str] | None, str]:
        """One line with text behind a closing quote is a row all the same; else why there is none."""
        first = taken[0].number
        if taken[-1].problem is not None:
            return None, taken[-1].problem
        if len(taken) == 1:
            reader = csv.reader([taken[0].text, ""], delimiter=self._delimiter)
            try:
                cells = next(reader)
            except csv.Error:
                return None, f"the row cannot be read as CSV: {error}"
            if reader.line_num == 1:
                return cells, ""
            return None, f"a quote in line {first:,} is not closed"
        if error == _CUT:
            return None, f"a quote in line {first:,} is not closed"
        return None, f"a quote in line {first:,} runs to line {taken[-1].number:,}: {error}"

    def _no_rows(self, taken: list[Line], problem: str, width: int) -> Iterator[RawRow]:
        """Every line of a record that is none, as a row that says so."""
        first, last = taken[0].number, taken[-1].number
        self._stretches += 1
        if self._stretches <= _STRETCHES:
            where = f"line {first:,} is" if first == last else f"lines {first:,} to {last:,} are"
            self.notes.append(f"{where} not read: {problem}")
        for line in taken:
            text = line.text.strip()
            if text or line.problem:
                self.lost += 1
                cells = [] if len(text) > _LONGEST_SHOWN else text.replace('"', "").split(self._delimiter)
                yield RawRow(line.number, _fitted(cells, width), problem)

    def _header(self, needed: set[str], known: set[str]) -> tuple[str, ...]:
        left = lines(self._file, self.notes, longest=_LONGEST_LINE)
        first = next((line for line in left if line.text.strip()), None)
        if first is None:
            raise BadConfig(f"{self.name} is empty", where=self.name, got="no lines", want=self._want)
        if any(ord(one) < ord(" ") and one not in "\t\r\n" for one in first.text):
            raise self._no_text()
        counts = {mark: first.text.count(mark) for mark in _DELIMITERS}
        self._delimiter = max(_DELIMITERS, key=lambda mark: (counts[mark], mark == ","))
        if self._delimiter != ",":
            named = {";": "semicolons", "\t": "tabs"}[self._delimiter]
            self.notes.append(f"columns are separated by {named}")
        self._feed = _Feed(chain([first], left))
        try:
            cells = next(csv.reader(self._feed, delimiter=self._delimiter, strict=True))
        except csv.Error as error:
            raise BadConfig(
                f"{self.name} has no readable header", where=f"{self.name}, line {first.number:,}", got=str(error),
                want=self._want,
            ) from None  # fmt: skip
        columns = self._spelled(tuple(plain(cell).strip() for cell in cells), known)
        self._check(columns, needed)
        return columns

    def _spelled(self, columns: tuple[str, ...], known: set[str]) -> tuple[str, ...]:
        """The columns by the names that are known, also where they are spelled otherwise: METRIC, Input Len."""
        names = {name: _folded(name) for name in columns if name not in known}
        read = {name: other for name, other in names.items() if other in known and other not in columns}
        if read:
            self.notes.append(f"columns are read as {', '.join(f'{name!r}: {other}' for name, other in read.items())}")
        return tuple(read.get(name, name) for name in columns)

    def _check(self, columns: tuple[str, ...], needed: set[str]) -> None:
        shown = ", ".join(columns)
        shown = shown if len(shown) <= 200 else shown[:200] + " ..."
        twice = sorted({name for name in columns if name and columns.count(name) > 1})
        if twice:
            raise BadConfig(
                f"{self.name} names the column {twice[0]!r} twice", where=f"{self.name}, line 1", got=shown,
                want="each column once",
            )  # fmt: skip
        missing = sorted(needed - set(columns))
        if missing and self._binary:
            raise self._no_text()
        if missing:
            near = sorted({_folded(name) for name in columns} & set(missing))
            raise BadConfig(
                f"{self.name} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}",
                where=f"{self.name}, line 1",
                got=shown,
                want=self._want,
                try_this=f"{', '.join(near)} spelled as here" if near else None,
            )

    def _no_text(self) -> BadConfig:
        return BadConfig(f"{self.name} is not text", where=self.name, got="control characters", want=self._want)


def _folded(name: str) -> str:
    return name.lower().replace(" ", "_")


class _Feed:
    """Lines as the csv module takes them, remembered by the record they belong to."""

    def __init__(self, left: Iterator[Line]) -> None:
        self._left = left
        self.taken: list[Line] = []

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        line = next(self._left)
        self.taken.append(line)
        if line.problem is not None:
            raise csv.Error(line.problem)
        return line.text


def _row(taken: list[Line], cells: list[str], width: int) -> RawRow:
    """A record as a row; empty cells at the end do not count."""
    text = taken[0].text if len(taken) == 1 else "".join(line.text for line in taken)
    if "'" in text:
        cells = [plain(cell) for cell in cells]
    found = len(cells)
    while found > width and not cells[found - 1].strip():
        found -= 1
    nul = "\0" in text
    problem = "the row holds NUL bytes" if nul else None
    if found != width:
        problem = f"the row has {found} cells where the header has {width}"
    as_read = len(cells) == width and not nul  # most are, and a table may have millions
    return RawRow(taken[0].number, tuple(cells) if as_read else _fitted(cells, width), problem)


def _fitted(cells: list[str], width: int) -> tuple[str, ...]:
    """Cells padded or cut to the header's width, without NUL bytes."""
    return tuple([cell.replace("\0", "") for cell in cells[:width]] + [""] * (width - len(cells)))
