"""Runs a case in this process and says what is wrong with how it ended."""

from __future__ import annotations

import csv
import io
import json
import math
import warnings
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from fuzz.cases import Case
from rooflight.cli.app import app

ROUNDING = 1 + 1e-9
_TIMES = {"ceiling", "roofline", "expected", "low", "high"}
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


class Ended(NamedTuple):
    """A case's exit status, and its faults: kinds with what is to be seen of each."""

    status: int
    faults: tuple[tuple[str, str], ...]


def ended(case: Case, folder: Path) -> Ended:
    """Run the case; its files are written into `folder`."""
    for name, raw in case.files.items():
        (folder / name).write_bytes(raw)
    words = [_placed(word, case.files, folder) for word in case.words]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning would stand among the user's output
        result = CliRunner().invoke(app, words, input=case.stdin)
    return Ended(result.exit_code, tuple(_faults(case, result)))


def _placed(word: str, files: Mapping[str, bytes], folder: Path) -> str:
    """A word with the file's path in place of its name, behind a count too."""
    for name in files:
        if word == name or (word.endswith(name) and word[: -len(name)] in ("2x", "8x")):
            return word[: -len(name)] + str(folder / name)
    return word


def _faults(case: Case, result: Any) -> Iterator[tuple[str, str]]:
    said = result.stderr
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        yield "exception", repr(result.exception)[:200]
        return
    if "Traceback" in said + result.stdout:
        yield "traceback", said[-300:]
    if result.exit_code not in (0, 1, 2, 3):
        yield f"status {result.exit_code}", said[:300]
        return
    refused = result.exit_code != 0 and not result.stdout  # 1: requests arrive faster than they are finished
    if result.exit_code in (2, 3) and result.stdout and "check" not in case.words and "compare" not in case.words:
        yield "output before an error", result.stdout[:100]
    if "--json" in case.words:
        try:
            document = json.loads(said if refused else result.stdout, parse_constant=_no_constant)
        except ValueError as error:
            yield "no JSON", f"{error}: {(said if refused else result.stdout)[:200]!r}"
            return
        if refused != ("error" in document):
            yield "no error document", str(document)[:200]
        if not refused:
            yield from broken_laws(document)
            yield from _vanished(case, document)
    elif "csv" in case.words and not refused:
        yield from _formulas(result.stdout)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _vanished(case: Case, document: Any) -> Iterator[tuple[str, str]]:
    """Rows that are in the file and not in the answer."""
    if case.lines is None:
        return
    found = len(document["rows"]) if "rows" in document else None
    if "mix" in document:
        found = document["mix"]["requests"] + document["mix"]["bad_rows"]
    if found is not None and found != case.lines:
        yield "rows vanished", f"{case.lines} lines, {found} rows"


def _formulas(text: str) -> Iterator[tuple[str, str]]:
    for row in csv.reader(io.StringIO(text, newline="")):
        for cell in row:
            if cell.startswith(_FORMULAS) and not _is_number(cell):
                yield "formula", cell[:80]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def broken_laws(document: Any) -> Iterator[tuple[str, str]]:
    """Spans out of order, and amounts that are negative or no numbers, anywhere in an answer."""
    for path, node in _nodes(document, ""):
        if isinstance(node, float) and not math.isfinite(node):
            yield "not finite", path
        if isinstance(node, dict) and node.keys() >= _TIMES:
            yield from _disorder(path, node)


def _disorder(path: str, span: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """ceiling <= roofline <= expected and ceiling <= low <= expected <= high for a time; a rate falls."""
    name = path.rpartition("/")[2]
    falls = "per_s" in name or "per_joule" in name
    if not (falls or name.endswith("_s")):  # a share, a gain: of what changes with it
        return
    for order in (("ceiling", "roofline", "expected"), ("ceiling", "low", "expected", "high")):
        if falls and "low" in order:
            order = ("low", "expected", "high", "ceiling")
        values = [span[name] for name in order if span[name] is not None]
        if any(value < 0 for value in values):
            yield "negative", f"{path}: {span}"
        if falls and "low" not in order:
            values = values[::-1]
        if any(one > other * ROUNDING for one, other in pairwise(values)):
            yield "out of order", f"{path}: {span}"


def _nodes(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, node
    if isinstance(node, dict):
        for key, inner in node.items():
            yield from _nodes(inner, f"{path}/{key}")
    elif isinstance(node, list):
        for number, inner in enumerate(node):
            yield from _nodes(inner, f"{path}[{number}]")
