"""What a text that came to the check view holds: a claim in words, a JSON claim, or rows of measurements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from rooflight.errors import BadInput
from rooflight.ingest.requests import NAMES
from rooflight.ingest.rows import GivenRow, given_rows, table_in, table_rows
from rooflight.studio.views.claims import WANT, Claim, claim_in, claim_of

# A row takes up to a few hundredths of a second, and a request has seconds.
MOST_ROWS = 300
ROWS = "your table"
_COLUMNS = ("metric", "value")


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """Rows as they were given; notes: what was odd of them, and that only some are taken."""

    rows: list[GivenRow]
    notes: tuple[str, ...] = ()


def written(text: str, beside: Mapping[str, str]) -> Claim | Rows:
    """What the text holds; beside: cells of rows that leave theirs blank. Raises BadInput, BadConfig for neither."""
    whole = text.strip("\ufeff \t\r\n")
    first = whole.partition("\n")[0]
    if whole[:1] in ("{", "["):
        return _of_json(whole, beside)
    if is_rows(first):
        with table_in(whole, ROWS, _COLUMNS) as table:
            return _some(table_rows(table, beside), table.notes)
    if is_log(first):
        raise BadInput(
            "those are requests, and no measurements", got=first[:80], want="that file in the view Compare, whose mix "
            "of requests it is",
        )  # fmt: skip
    return claim_in(whole)


def is_rows(header: str) -> bool:
    """Whether a table's first line names what rows of measurements have."""
    return set(_COLUMNS) <= _names(header)


def is_log(header: str) -> bool:
    """Whether a table's first line names lengths of requests."""
    plain = {"".join(one for one in name if one.isalnum()) for name in _names(header)}
    return len(plain) > 1 and all(not plain.isdisjoint(NAMES[kind]) for kind in ("input", "output"))


def _names(header: str) -> set[str]:
    for mark in (";", "\t"):
        header = header.replace(mark, ",")
    return {name.strip("\ufeff\"' \r\n").lower() for name in header.split(",")}


def _of_json(text: str, beside: Mapping[str, str]) -> Claim | Rows:
    found = _decoded(text)
    if isinstance(found, dict) and isinstance(found.get("rows"), list):
        found = found["rows"]
    if isinstance(found, dict) and "metric" not in found:
        return claim_of(found)
    rows: list[Any] = [found] if isinstance(found, dict) else found
    return _some(given_rows(rows, beside), [])


def _decoded(text: str) -> Any:
    """JSON, or lines of it. Raises BadInput for neither."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        pass
    try:
        return [msgspec.json.decode(line) for line in text.splitlines() if line.strip()]
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise BadInput("that is not JSON", got=str(error)[:120], want=f"rows, or {WANT}") from None


def _some(rows: Iterator[GivenRow], notes: list[str]) -> Rows:
    found = list(islice(rows, MOST_ROWS))
    if not any(one.given for one in found):
        raise BadInput("there are no rows in it", got="an empty list", want=f"rows, or {WANT}")
    more = next(rows, None) is not None
    said = f"the first {MOST_ROWS:,} rows are judged here; `rooflight check FILE` judges all"
    return Rows(rows=found, notes=(*notes, *([said] if more else [])))
