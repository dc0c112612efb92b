"""Tables that profilers print among other lines, their numbers and their units, and what many runs lie between."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from rooflight.units import to_base
from rooflight.values.sample import Timing

_NOTHING = frozenset({"", "n/a", "[n/a]", "na", "nan", "inf", "-inf", "(null)", "none", "-", "!data"})
_SPACES = str.maketrans("", "", " \u00a0\u2009\u202f'_")
_POINT = re.compile(r"[+-]?\d{1,3}(,\d{3})+\.\d+|[+-]?\d*\.\d{1,2}|[+-]?\d*\.\d{4,}|[+-]?0\.\d+|[+-]?\d+(,\d{3}){2,}")
_COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+|[+-]?\d*,\d{1,2}|[+-]?\d*,\d{4,}|[+-]?0,\d+|[+-]?\d+(\.\d{3}){2,}")
# Nsight Compute's units and those of others: the base each counts in, and how many of it one is.
_NS = to_base(1, "us") / 1000
_UNITS = {
    "byte": ("B", 1.0), "bytes": ("B", 1.0), "b": ("B", 1.0),
    "second": ("s", 1.0), "s": ("s", 1.0), "sec": ("s", 1.0),
    "nsecond": ("s", _NS), "ns": ("s", _NS), "nsec": ("s", _NS),
    "usecond": ("s", to_base(1, "us")), "us": ("s", to_base(1, "us")), "usec": ("s", to_base(1, "us")),
    "msecond": ("s", to_base(1, "ms")), "ms": ("s", to_base(1, "ms")), "msec": ("s", to_base(1, "ms")),
    "hz": ("Hz", 1.0), "cycle": ("cycle", 1.0), "%": ("%", 0.01), "": ("", 1.0),
}  # fmt: skip
_PREFIXES = {"k": "k", "m": "M", "g": "G", "t": "T", "p": "P"}


class Sheet(msgspec.Struct, frozen=True):
    """One table of a file: its columns and its rows, each with the number of its line."""

    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]

    def place(self, *names: str) -> int | None:
        """Where the first of these columns stands, however it is written; None where none does."""
        known = [_plain(name) for name in self.columns]
        return next((known.index(_plain(name)) for name in names if _plain(name) in known), None)


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()


class Sheets(msgspec.Struct, frozen=True):
    """The tables of a text. before: lines in front of the first one; lost: lines within them that are no rows."""

    sheets: tuple[Sheet, ...]
    before: tuple[str, ...]
    lost: int


def sheets(text: str, heads: Callable[[tuple[str, ...]], bool]) -> Sheets:
    """The tables of a text, each from a line whose cells `heads` knows for a header; joined files have several.

    A line with another number of cells than its header has is none of its rows (what a program printed meanwhile).
    """
    found: list[Sheet] = []
    before: list[str] = []
    rows: list[tuple[int, tuple[str, ...]]] = []
    columns: tuple[str, ...] | None = None
    lost = 0
    for line, cells in _records(text):
        if not any(cells):
            continue
        if heads(cells):
            if columns is not None:
                found.append(Sheet(columns, tuple(rows)))
            columns, rows = tuple(cell.strip() for cell in cells), []
        elif columns is None:
            before.append(",".join(cells)[:400])
        elif len(cells) == len(columns):
            rows.append((line, cells))
        else:
            lost += 1
    if columns is not None:
        found.append(Sheet(columns, tuple(rows)))
    return Sheets(tuple(found), tuple(before), lost)


def _records(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Records with the number of their first line; one whose quotes do not close is read as its line alone.

    A profiler's records are of one line each: so a stray quote in what a program printed swallows no table.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        delimiter = ";" if line.count('";"') > line.count('","') else ","
        try:
            cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
        except csv.Error:
            continue
        yield number, tuple(cells)


def decimal_commas(cells: Iterable[str]) -> bool:
    """Whether commas in these numbers are decimal ones: some can be nothing else, and no point is decimal."""
    commas = False
    for cell in cells:
        text = cell.strip()
        if _POINT.fullmatch(text):
            return False
        commas = commas or _COMMA.fullmatch(text) is not None
    return commas


def number(cell: str, commas: bool = False) -> float | None:
    """A printed number, however its thousands are kept apart; None of a blank and of what is none.

    Nsight Compute prints instances of a metric behind it: number("1,234 (600; 634)") == 1234.
    """
    text = cell.strip().partition(" (")[0].removesuffix("%")
    if text.lower() in _NOTHING:
        return None
    text = text.translate(_SPACES)
    text = text.replace(".", "").replace(",", ".") if commas else text.replace(",", "")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def unit(text: str) -> tuple[str, float] | None:
    """What a unit counts in and how many of it one is: unit("Gbyte/second") == ("B/s", 1e9); None of one not known."""
    above, slash, below = text.strip().partition("/")
    top = _one(above)
    if top is None or not slash:
        return top
    bottom = _one(below)
    if bottom is None or not bottom[1]:
        return None
    factor = top[1] / bottom[1]
    return ("Hz", factor) if (top[0], bottom[0]) == ("cycle", "s") else (f"{top[0]}/{bottom[0]}", factor)


def _one(text: str) -> tuple[str, float] | None:
    name = text.strip().lower()
    if name in _UNITS:
        return _UNITS[name]
    prefix, rest = _PREFIXES.get(name[:1]), name[1:]
    if prefix is not None and rest in ("byte", "bytes", "b", "hz"):
        return _UNITS[rest][0], to_base(1, f"{prefix}B")
    return name, 1.0


def timing(seconds: Sequence[float]) -> Timing:
    """Their median and what eight of ten lie between, as the nearest of them."""
    found = sorted(seconds)
    last = len(found) - 1
    low, median, high = (found[round(share * last)] for share in (0.1, 0.5, 0.9))
    if len(found) % 2 == 0:
        median = (found[last // 2] + found[last // 2 + 1]) / 2
    return Timing(median=median, low=min(low, median), high=max(high, median), n=len(found))
