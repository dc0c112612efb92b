"""A CSV file of measurements as rows of cells: streamed, in whatever encoding it is, bad rows said and passed over."""

from __future__ import annotations

import contextlib
import csv
import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

import msgspec

from rooflight.errors import BadConfig, BadInput

# A line that long is no row of a table.
_LONGEST_LINE = 1 << 20
_START = 1 << 10  # bytes looked at to tell what a file is
_WANT = "a CSV file whose first line names the columns: model, accelerator, metric, value and others"
_BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_DELIMITERS = (",", ";", "\t")


class RawRow(msgspec.Struct, frozen=True):
    """A row as it stands in the file; `problem` says why its cells cannot be trusted."""

    line: int
    cells: tuple[str, ...]
    problem: str | None = None


class Table:
    """A file's columns, then its rows once; open until the `with` block ends. `notes` grows while rows are read."""

    def __init__(
        self, path: str | Path, needed: Iterable[str], *, file: io.BufferedReader | None = None, want: str = _WANT
    ) -> None:
        """Open the file ("-": standard input), read its header. Raises BadInput or BadConfig where it is no table.

        file: what to read where the path's own bytes are packed; want: what a good file would be, for messages.
        """
        self.name = name_of(path)
        self.notes: list[str] = []
        self._binary = False
        self._want = want
        self._file = opened(path) if file is None else file
        try:
            self._lines = self._decoded(self._file)
            self.columns = self._header(set(needed))
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def rows(self) -> Iterator[RawRow]:
        """The rows in order, blank lines left out. Raises BadConfig where there is none."""
        width, some = len(self.columns), False
        for line, last, cells, problem in self._records():
            if problem is None and not any(cell.strip() for cell in cells):
                continue
            some = True
            row = _row(line, cells, width, problem)
            if row.problem is not None and last > line:
                row = msgspec.structs.replace(
                    row, problem=f"{row.problem}: a quote in it runs to line {last:,}, whose rows it swallows"
                )
            yield row
        if not some:
            raise BadConfig(
                f"{self.name} holds a header and no rows", where=self.name, got="one line",
                want="rows below the header",
            )  # fmt: skip

    def _records(self) -> Iterator[tuple[int, int, list[str], str | None]]:
        """First and last line of each record, its cells, and why they cannot be read."""
        reader = csv.reader(self._lines, delimiter=self._delimiter)
        while True:
            first = reader.line_num + self._header_lines + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield first, first, [], f"the row cannot be read as CSV: {error}"
                continue
            yield first, reader.line_num + self._header_lines, cells, None

    def _header(self, needed: set[str]) -> tuple[str, ...]:
        skipped, first = 0, next(self._lines, None)
        while first is not None and not first.strip():
            skipped, first = skipped + 1, next(self._lines, None)
        if first is None:
            raise BadConfig(f"{self.name} is empty", where=self.name, got="no lines", want=self._want)
        if any(ord(one) < ord(" ") and one not in "\t\r\n" for one in first):
            raise self._no_text()
        counts = {mark: first.count(mark) for mark in _DELIMITERS}
        self._delimiter = max(_DELIMITERS, key=lambda mark: (counts[mark], mark == ","))
        if self._delimiter != ",":
            named = {";": "semicolons", "\t": "tabs"}[self._delimiter]
            self.notes.append(f"columns are separated by {named}")
        reader = csv.reader(_chained(first, self._lines), delimiter=self._delimiter)
        try:
            columns = tuple(cell.strip() for cell in next(reader))
        except csv.Error as error:
            raise BadConfig(
                f"{self.name} has no readable header", where=self.name, got=str(error), want=self._want
            ) from None
        self._header_lines = skipped + reader.line_num
        self._check(columns, needed)
        return columns

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
            near = sorted({name.lower().replace(" ", "_") for name in columns} & set(missing))
            raise BadConfig(
                f"{self.name} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}",
                where=f"{self.name}, line 1",
                got=shown,
                want=self._want,
                try_this=f"{', '.join(near)} spelled as here" if near else None,
            )

    def _no_text(self) -> BadConfig:
        return BadConfig(f"{self.name} is not text", where=self.name, got="control characters", want=self._want)

    def _decoded(self, file: io.BufferedReader) -> Iterator[str]:
        """Lines as text: UTF-8, and a line that is not as Windows-1252 (said once, with the line's number)."""
        start = file.peek(_START)[:_START]
        if start[:2] in _BOMS:
            yield from self._as_utf16(file)
            return
        self._binary = b"\0" in start
        number, odd = 0, 0
        while line := file.readline(_LONGEST_LINE):
            number += 1
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError:
                odd += 1
                if odd == 1:
                    self.notes.append(f"line {number:,} is not UTF-8: read as Windows-1252, as are others like it")
                yield _windows(line)

    def _as_utf16(self, file: io.BufferedReader) -> Iterator[str]:
        self.notes.append("read as UTF-16, as its byte-order mark says")
        text = io.TextIOWrapper(file, encoding="utf-16", errors="replace", newline="")
        try:
            yield from text
        finally:  # the file is closed by who opened it, not by whoever clears up the wrapper
            with contextlib.suppress(ValueError):
                text.detach()


def _chained(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _windows(line: bytes) -> str:
    try:
        return line.decode("cp1252")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _row(line: int, cells: list[str], width: int, problem: str | None) -> RawRow:
    """Cells padded or cut to the header's width; empty ones at the end do not count."""
    found = len(cells)
    while found > width and not cells[found - 1].strip():
        found -= 1
    if problem is None and found != width:
        problem = f"the row has {found} cells where the header has {width}"
    elif problem is None and any("\0" in cell for cell in cells):
        problem = "the row holds NUL bytes"
    if problem is not None:
        cells = [cell.replace("\0", "") for cell in cells]
    return RawRow(line, tuple((cells + [""] * width)[:width]), problem)


def name_of(path: str | Path) -> str:
    """What a message calls a file."""
    return "standard input" if str(path) == "-" else str(path)


def opened(path: str | Path, want: str = _WANT) -> io.BufferedReader:
    """The file's bytes ("-": standard input). Raises BadInput where it cannot be opened."""
    where = str(path)
    if where == "-":
        if sys.stdin is None:
            raise BadInput("standard input is closed", where=where, got="nothing", want=want)
        return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False))
    try:
        if Path(path).is_dir():
            raise BadInput(f"{where} is a directory", where=where, got="a directory", want=want)
        return Path(path).open("rb")
    except FileNotFoundError:
        raise BadInput(f"there is no file {where}", where=where, got="nothing", want=want) from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{where} cannot be read", where=where, got=str(error)[:200], want=want) from None
