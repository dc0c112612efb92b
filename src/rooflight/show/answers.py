"""The page, rows and document of every kind of answer, for whoever holds one: `records`, `document`, a notebook."""

from __future__ import annotations

from importlib import import_module
from io import StringIO
from types import ModuleType
from typing import Any

import msgspec

from rooflight.errors import UnknownName
from rooflight.show import html, markdown
from rooflight.show.data import Rows

# The module of this room that shows a kind of value, by its `blocks` and `rows`. Kinds go by their names, so that none
# is imported to be asked about.
_SHOWN_BY = {
    "Analysis": "analysis",
    "Sweep": "swept",
    "Comparison": "compare",
    "Moves": "moves",
    "Report": "check",
    "EndpointReport": "endpoint",
    "Catalog": "catalog",
    "Accelerator": "accelerators",
    "Model": "models",
    "Kernels": "kernels",
    "Samples": "samples",
    "Machine": "measure",
    "WholeModel": "whole",
    "Diagnosis": "diagnosis",
    "Explained": "explained",
    "OwnCalibration": "calibrated",
}


def records(value: Any) -> list[dict[str, Any]]:
    """The rows of an answer's CSV, each with its columns by name: what DataFrame(...) of pandas or polars takes.

    The same as value.records(). Raises UnknownName for what has no rows.
    """
    found: Rows = _shower(value).rows(value)
    return found.records()


def document(value: Any) -> dict[str, Any]:
    """The JSON document of an answer as Python values, as the command line prints it. The same as value.to_dict().

    Raises UnknownName for what is no answer.
    """
    shower = _shower(value)
    found: dict[str, Any] = shower.document(value) if hasattr(shower, "document") else msgspec.to_builtins(value)
    return found


def page(value: Any) -> str:
    """The page of an answer as Markdown. Raises UnknownName for what has none."""
    written = StringIO()
    markdown.write(_shower(value).blocks(value), written)
    return written.getvalue()


def hypertext(value: Any, picture: str = "") -> str:
    """The page of an answer as HTML for a notebook: the sentence, the picture, then its tables, which are folded away
    where there is a picture. Raises UnknownName for what has none."""
    first, *others = _shower(value).blocks(value)
    said = html.written([first])
    rest = html.written(others)
    if not picture or not rest:
        return f"<div>{said}{picture}{rest}</div>"
    return f"<div>{said}{picture}<details><summary>The numbers</summary>{rest}</details></div>"


def _shower(value: Any) -> ModuleType:
    for kind in type(value).__mro__:
        if kind.__name__ in _SHOWN_BY:
            return import_module(f"rooflight.show.{_SHOWN_BY[kind.__name__]}")
    raise UnknownName("this is no answer", where="value", got=type(value).__name__, want=", ".join(_SHOWN_BY))
