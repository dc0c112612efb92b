"""Questions as text, and what each front door of the tool answers to one, as a document.

A question is a name and fields, `llama-3.1-8b on=4xh100-sxm batch=32 weights=fp8`; what reads as JSON (numbers, lists,
true, null) is that, everything else a string. It is also the question's heading in the dump.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec

import rooflight
from rooflight.errors import RooflightError

ROOT = Path(__file__).resolve().parents[2]
Document = dict[str, Any]


def parsed(question: str) -> tuple[str, dict[str, Any]]:
    """The name in front and the fields behind it."""
    name, *words = question.split(" ")
    fields = {}
    for word in words:
        key, _, text = word.partition("=")
        fields[key] = _read(text)
    return name, fields


def answer(door: str, question: str) -> Document:
    """What the door says; where it refuses, the error's own words. Files are named from the root of the repository."""
    try:
        with contextlib.chdir(ROOT):
            return DOORS[door](question)
    except RooflightError as error:
        return {"error": type(error).__name__, "text": str(error)}


def _analyze(question: str) -> Document:
    """The analysis; its operators only where the question says `operators=true`."""
    name, fields = parsed(question)
    shown = fields.pop("operators", False)
    document = rooflight.analyze(name, **fields).to_dict()
    for phase in (document["phases"] or {}).values():
        if phase and not shown:
            del phase["operators"]
    return document


def _grid(question: str) -> Document:
    """The main figures of each phase, without what many steps make together (which takes most of the time)."""
    from rooflight.library.questions import make_scenario
    from rooflight.serve.analyze import analyze

    name, fields = parsed(question)
    found = analyze(make_scenario(name, ignore_capacity=True, **fields))
    document: Document = {"fits": found.memory.fits, "max_batch": found.memory.max_batch}
    for phase, one in (found.phases or {}).items():
        document[phase] = {
            "bound": one.bound,
            "flop": one.flop,
            "bytes": one.bytes.total,
            "link_bytes": one.link_bytes,
            "launches": one.launches,
            **{f"{key}_s": value for key, value in msgspec.to_builtins(one.time_s).items()},
        }
    return document


def _sweep(question: str) -> Document:
    """What stands above the rows, every column, and the first rows as they are printed."""
    from rooflight.show import sweep as show

    name, fields = parsed(question)
    axes = {key: fields.pop(key) for key, value in list(fields.items()) if isinstance(value, list) and key != "on"}
    swept = rooflight.sweep(name, axes=axes, **fields)
    rows = list(show.rows(swept, ignore_capacity=fields.get("ignore_capacity", False)))
    return {
        **msgspec.to_builtins(show.summary(swept, name)),
        "columns": {key: values.tolist() for key, values in swept.columns().items()},
        "rows": msgspec.to_builtins(rows[:: max(1, len(rows) // 2)]),
    }


def _moves(question: str) -> Document:
    name, fields = parsed(question)
    return rooflight.moves(name, **fields).to_dict()


def _compare(question: str) -> Document:
    """The comparison; its curves at every eighth ratio."""
    name, fields = parsed(question)
    document = rooflight.compare(name, **fields).to_dict()
    if document["curves"]:
        document["curves"] = _thinned(document["curves"])
    return document


def _thinned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _thinned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        kept = value if any(isinstance(item, dict) for item in value) else value[::8]
        return [_thinned(item) for item in kept]
    return value


def _check(question: str) -> Document:
    """A file's verdicts, or those on claims: fields that are metrics are claimed, the others are the deployment."""
    from rooflight.library.questions import make_scenario
    from rooflight.values.measurement import METRICS
    from rooflight.words.verdicts import claimed

    name, fields = parsed(question)
    if name.endswith(".csv"):
        report = rooflight.check(name).to_dict()
    else:
        values = {key: fields.pop(key) for key in list(fields) if key in METRICS}
        report = claimed(make_scenario(name, **fields), values).to_dict()
    for row in report["rows"]:
        del row["given"]
    return report


def _pages(question: str) -> Document:
    from rooflight.show import accelerators, models

    kind, fields = parsed(question)
    page = models.page(rooflight.model(fields["id"])) if kind == "model" else None
    return msgspec.to_builtins(page or accelerators.page(rooflight.accelerator(fields["id"])))


def _printed(question: str) -> Document:
    """What the command line prints at a fixed width, line by line; of CSV the cells, numbers as numbers."""
    from click.testing import CliRunner

    from rooflight.cli.app import app

    with mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}):
        result = CliRunner().invoke(app, question.split(" "))
    printed = result.stdout.splitlines()
    table = question.endswith("--format csv")
    return {"status": result.exit_code, "printed": [_cells(line) for line in printed] if table else printed}


def _cells(line: str) -> list[Any]:
    return [_read(cell) for cell in next(csv.reader([line]))]


def _read(text: str) -> Any:
    """What reads as JSON as that, everything else as the string it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


DOORS: dict[str, Callable[[str], Document]] = {
    "grid": _grid,
    "analyze": _analyze,
    "sweep": _sweep,
    "moves": _moves,
    "compare": _compare,
    "check": _check,
    "pages": _pages,
    "printed": _printed,
}
