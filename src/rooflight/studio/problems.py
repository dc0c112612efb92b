"""What is wrong with a request, in one shape: the library's own errors, and values out of bounds; by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from rooflight.errors import Named, RooflightError, printable
from rooflight.studio.question import MACHINE_FILE, PASTED, SAMPLES_FILE, Question

# What messages call the texts that a question may hold -> its field.
_SENT = {PASTED: "config", MACHINE_FILE: "machine", SAMPLES_FILE: "samples"}


class Problems(BaseModel):
    """The body of every refusal: what is wrong, where, got, want, try; and the field of the page it belongs to."""

    problems: list[dict[str, str | None]]


def of_error(error: RooflightError, field: str | None = None) -> dict[str, str | None]:
    """A problem from an error of the library; `field` where the caller knows better than the error's own place."""
    if error.where is not None:
        field = next((name for text, name in _SENT.items() if error.where.startswith(text)), field)
    if field is None and isinstance(error.where, Named):
        field = next((name for name in error.where.fields if name in Question.model_fields), None)
    return {**error.to_dict(), "field": field}


def of_validation(errors: Sequence[Any]) -> list[dict[str, str | None]]:
    """Problems from values that are out of bounds or of another kind; what was sent is shown shortened."""
    return [_of_value(one) for one in errors[:8]]


def _of_value(one: Any) -> dict[str, str | None]:
    place = [str(part) for part in one["loc"] if part not in ("body", "query")]
    field = _field(place)
    seen = one.get("input")
    shown = None if isinstance(seen, dict | list) else printable(str(seen)[:60])[:60]
    return {
        "error": "BadInput",
        "what": f"{field.replace('_', ' ') if field else 'the request'}: {one['msg']}",
        "where": ".".join(place)[:80] or "body",
        "got": shown,
        "want": None,
        "try": None,
        "field": field,
    }


def _field(place: Sequence[str]) -> str | None:
    """The field of the page or of one of its scenarios: scenarios.1.batch is the batch."""
    inner = place[1:] if place[:1] == ["page"] else place
    inner = inner[2:] if inner[:1] == ["scenarios"] and len(inner) > 2 else inner
    return inner[0] if inner else None
