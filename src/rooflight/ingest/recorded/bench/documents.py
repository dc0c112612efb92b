"""JSON results as load generators write them: one document, a list of them, one a line, or one after another."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.source import Head, Source
from rooflight.units import ungrouped

# A sweep has hundreds of runs.
MOST_RUNS = 20_000
_WANT = "results of a benchmark as JSON: one document, a list of them, or one a line"
_LARGEST = 1 << 53
_LONGEST_NAME = 200


class Document(msgspec.Struct, frozen=True):
    """One result as it stands in its file; line: where it begins, None in a list."""

    values: Mapping[str, Any]
    line: int | None = None


def keys_of(head: Head) -> frozenset[str]:
    """Keys of the first results in a head; what a program printed in front of them is passed over."""
    if head.json:
        return head.keys
    place = head.text.find("\n{")
    return Head.of(head.text[place + 1 :].encode()).keys if place >= 0 else frozenset()


def documents(source: Source) -> tuple[list[Document], tuple[str, ...]]:
    """The objects of a file, and what was odd about it. Raises BadConfig where there is none."""
    notes: tuple[str, ...] = ()
    try:
        whole = source.document
    except BadConfig:
        found, notes = _one_by_one(source.text)
        if not found:
            raise
    else:
        parts = whole if isinstance(whole, list) else [whole]
        found = [Document(one) for one in parts if isinstance(one, dict)]
        if len(parts) > len(found) > 0:
            notes = (f"{len(parts) - len(found):,} entries of the list are no objects and are left out",)
    if not found:
        raise BadConfig(f"{source.name} holds no results", where=source.name, got="no JSON object", want=_WANT)
    if len(found) > MOST_RUNS:
        notes += (f"only the first {MOST_RUNS:,} of {len(found):,} results are read",)
    return found[:MOST_RUNS], notes


def _one_by_one(text: str) -> tuple[list[Document], tuple[str, ...]]:
    """Objects one after another; what lies between them is skipped by lines."""
    decoder = json.JSONDecoder()
    found: list[Document] = []
    place, line, counted, odd = 0, 1, 0, []
    while place < len(text) and len(found) <= MOST_RUNS:
        if text[place].isspace():
            place += 1
            continue
        line += text.count("\n", counted, place)
        counted = place
        try:
            one, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            one = None
        if isinstance(one, dict):
            found.append(Document(one, line))
        else:
            odd.append(line)
            end = text.find("\n", place)
            place = len(text) if end < 0 else end
    if not odd:
        return found, ()
    lines = f"line {odd[0]:,} is" if len(odd) == 1 else f"{len(odd):,} lines from line {odd[0]:,} on are"
    return found, (f"{lines} no JSON object and left out",)


def number(value: object) -> float | None:
    """A finite number, in quotes or not; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(ungrouped(value.strip()))
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def amount(value: object) -> float | None:
    """A number that is not negative: -1 stands for nothing measured in some tools."""
    found = number(value)
    return found if found is not None and found >= 0 else None


def count(value: object) -> int | None:
    """A whole number of things, one at least; None for anything else."""
    found = number(value)
    return int(found) if found is not None and 1 <= found < _LARGEST and found == int(found) else None


def name(value: object) -> str | None:
    """A short text on one line, as models and devices are named; None for anything else."""
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_NAME:
        return None
    return value.strip() if value.isprintable() else None


def first(values: Mapping[str, Any], keys: tuple[str, ...]) -> object:
    """The value under the first key that has one."""
    return next((values[key] for key in keys if values.get(key) is not None), None)
