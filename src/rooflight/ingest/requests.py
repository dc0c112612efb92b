"""Requests of a log as they are read: which columns hold their lengths, and rows that are none counted."""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from rooflight.errors import BadConfig, Named
from rooflight.units import ungrouped
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
_REASONS = 3


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of a log.

    bad_rows    rows that are no requests, lost_lines among them: whose cells cannot be told apart
    taken       which columns they come from
    notes       what was odd, bad rows among it
    """

    source: str
    requests: Requests
    bad_rows: int
    lost_lines: int
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
        self.grouped: str | None = None

    def add(self, line: int, isl: Any, osl: Any, cached: Any = 0) -> None:
        """A row's cells; a prompt that is cached whole still runs its last token."""
        numbers = []
        cached = 0 if cached is None or cached == "" else cached
        for what, cell, least in (("input", isl, 1), ("output", osl, 0), ("cached", cached, 0)):
            text = self._without_commas(line, what, cell) if isinstance(cell, str) and "," in cell else cell
            number = whole(text, least)
            if number is None:
                self.refuse(line, f"{what} length {told(cell)} is no number of tokens from {least} to 2^40")
                return
            numbers.append(number)
        if numbers[2] > numbers[0]:
            self.refuse(line, f"cached length {told(cached)} is no part of its input, {told(isl)} tokens")
            return
        if numbers[2] == numbers[0]:
            self.shortened += 1
        self.isl.append(numbers[0])
        self.osl.append(numbers[1])
        self.cached.append(min(numbers[2], numbers[0] - 1))

    def _without_commas(self, line: int, what: str, cell: str) -> str:
        """A length without the commas between its thousands; the first is noted."""
        text = ungrouped(cell.strip())
        if text != cell.strip() and self.grouped is None:
            self.grouped = f"{what} length {cell} of line {line:,} is read as {text}, others likewise"
        return text

    def refuse(self, line: int, reason: str) -> None:
        """Count a row that is no request."""
        self.bad += 1
        kind = re.sub(r" length .* is ", " length that is ", reason)
        self.reasons[kind] += 1
        self.first.setdefault(kind, f"line {line:,}: {reason}")

    def log(self, name: str, columns: Columns, notes: Iterable[str], lost_lines: int = 0) -> Log:
        """All that was read. Raises BadConfig where no row is a request."""
        if not self.isl:
            why = next(iter(self.first.values()), "no rows")
            raise BadConfig(f"no row of {name} is a request", where=name, got=why, want=WANT)
        said = [*notes, *([] if self.grouped is None else [self.grouped])]
        if self.bad:
            total = self.bad + len(self.isl)
            shown = "; ".join(self.first[kind] for kind, _ in self.reasons.most_common(_REASONS))
            said.append(f"{self.bad:,} of {total:,} rows of {name} are left out, such as {shown}")
        if self.shortened:
            said.append(f"{self.shortened:,} prompts are cached whole: the last token of each is run all the same")
        taken = f"lengths of {name}: input from {columns.input}, output from {columns.output}"
        taken += f", cached prefix from {columns.cached}" if columns.cached else ", nothing cached before"
        requests = Requests(isl=np.array(self.isl), osl=np.array(self.osl), cached=np.array(self.cached))
        return Log(
            source=name, requests=requests, bad_rows=self.bad, lost_lines=lost_lines, taken=taken, notes=tuple(said)
        )


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


def told(cell: Any) -> str:
    """A cell as a message shows it."""
    text = "nothing" if cell is None or cell == "" else repr(cell)
    return text if len(text) <= 40 else text[:37] + "..."


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
