"""What a question is answered with, as bytes: the work of a request, done off the loop that serves.

Each function here takes plain values and gives a Reply, so that it may run in another process.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from pydantic import ValidationError

from rooflight.catalog.files import gguf
from rooflight.catalog.files.source import of_bytes
from rooflight.errors import BadConfig, BadInput, MissingFact, Named, RooflightError, printable
from rooflight.serve.landmarks import landmarks
from rooflight.show.explain import explain
from rooflight.studio import drawings, dropped, problems
from rooflight.studio import picture as pictures
from rooflight.studio.export import exported
from rooflight.studio.page import Page
from rooflight.studio.question import Gguf, Parts, Question, model_of, scenario_of, sent_bytes
from rooflight.studio.view import Asked
from rooflight.studio.views import VIEWS
from rooflight.words.analysis import analyzed

_JSON = "application/json"
_MEDIA = {"svg": "image/svg+xml", "png": "image/png", "csv": "text/csv; charset=utf-8",
          "json": _JSON, "txt": "text/plain; charset=utf-8",
          "html": "text/html; charset=utf-8"}  # fmt: skip


class Reply(msgspec.Struct, frozen=True):
    """The status, the content and the media type of a response."""

    body: bytes
    status: int = 200
    media: str = _JSON


def refusal(error: RooflightError) -> Reply:
    """What is wrong, in the shape of every refusal."""
    return _refused(error, problems.of_error(error))


def _refused(error: RooflightError, problem: dict[str, str | None]) -> Reply:
    status = 424 if isinstance(error, MissingFact) else 422
    return Reply(msgspec.json.encode({"problems": [problem]}), status)


def _answering(answer: Callable[..., Any]) -> Callable[..., Reply]:
    """The function with its value as JSON, and its errors as refusals."""

    @functools.wraps(answer)
    def answered(*args: Any) -> Reply:
        try:
            value = answer(*args)
        except RooflightError as error:
            return refusal(error)
        return value if isinstance(value, Reply) else Reply(msgspec.json.encode(value))

    return answered


@_answering
def analyze(question: Question) -> Any:
    """The document rooflight.analysis/1 of a scenario."""
    return analyzed(scenario_of(question))


@_answering
def marks(question: Question) -> Any:
    """The landmarks of a scenario."""
    return landmarks(scenario_of(question))


@_answering
def explained(question: Question, phase: str, operator: str) -> Any:
    """An operator's arithmetic."""
    return explain(scenario_of(question), phase, operator)


@_answering
def picture(page: Page, width: int, height: int, dark: bool) -> Any:
    """Everything the first screen needs."""
    return pictures.picture(page, drawings.page_look(width, dark, tall=height))


@_answering
def view(name: str, asked: Asked) -> Any:
    """One of the views below it."""
    return VIEWS[name](asked)


@_answering
def diagnose(body: bytes) -> Any:
    """What recorded files say; the body of the request as it came, read here and not by the process that serves."""
    try:
        asked = dropped.Dropped.model_validate_json(body)
    except ValidationError as error:
        return invalid(error.errors(include_url=False))
    try:
        return dropped.shown(asked)
    except dropped.Refused as refused:
        return _refused(refused.error, {**problems.of_error(refused.error), "field": "files"})


@_answering
def header(body: bytes) -> Any:
    """The header of a GGUF file, or of all parts of a split one, short: what a question takes."""
    try:
        file = Parts.model_validate_json(body)
    except ValidationError as error:
        return invalid(error.errors(include_url=False))
    sources = [of_bytes(sent_bytes(one), printable(one.name)) for one in (file, *file.others)]
    try:
        short = gguf.shortened(*sources)
    except BadConfig as error:
        error.where = Named.of("gguf")
        raise
    name = printable(file.name)
    found = Gguf(name=name[:200] or "a file", data=base64.b64encode(short).decode())
    model_of(Question(gguf=found))
    return found.model_dump()


def invalid(errors: Sequence[Any]) -> Reply:
    """The refusal of a body that is no JSON (400), or holds values out of bounds or of another kind (422)."""
    if any(one["type"] == "json_invalid" for one in errors):
        problem = problems.of_error(BadInput("the body is no JSON", where="body", want="a question as a JSON object"))
        return Reply(msgspec.json.encode({"problems": [problem]}), 400)
    return Reply(msgspec.json.encode({"problems": problems.of_validation(errors)}), 422)


@_answering
def export(page: Page, form: str, dark: bool) -> Any:
    """A file to keep."""
    return Reply(exported(page, form, dark), media=_MEDIA[form])


def ready() -> None:
    """Answer the questions that a page opens with, so that the next finds all that it needs in memory."""
    picture(Page(), 800, 400, False)
    view(next(iter(VIEWS)), Asked())
