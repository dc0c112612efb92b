"""The routes under /api. A question in, the library's answer out; nothing is stored between requests."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from rooflight import __version__
from rooflight.catalog import accelerators, models
from rooflight.scenario.caches import CACHE_FORMATS
from rooflight.studio import answers, drawings, dropped, problems
from rooflight.studio.answered import BATCHES
from rooflight.studio.answers import Reply
from rooflight.studio.page import Page
from rooflight.studio.presets import PRESETS
from rooflight.studio.question import Name, Question, parts_schema
from rooflight.studio.state import LONGEST, query_of, read_query
from rooflight.studio.view import Asked
from rooflight.studio.views import ViewName
from rooflight.studio.workers import WRITING_S
from rooflight.values.formats import FORMATS

_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": problems.Problems, "description": "The body is no JSON."},
    413: {"model": problems.Problems, "description": "The body is too large."},
    422: {"model": problems.Problems, "description": "The question is malformed: a value, a name, a config."},
    424: {"model": problems.Problems, "description": "A number the answer needs is published nowhere we know."},
    503: {"model": problems.Problems, "description": "Too many questions at once, or one that takes too long."},
}
router = APIRouter(prefix="/api")


class Json(Response):
    """An answer of the library, encoded by msgspec."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)


async def _answered(request: Request, answer: Callable[..., Reply], *args: Any) -> Response:
    """What a function of studio.answers says to the question, computed off the loop. Raises HTTPException (503)."""
    reply: Reply = await request.app.state.run(answer, *args)
    return Response(reply.body, reply.status, media_type=reply.media)


@router.get("/choices", response_class=Json)
def choices() -> Json:
    """What can be asked for: models and accelerators of the catalog, number formats, stops of batches, the version."""
    return Json(_choices())


@functools.cache
def _choices() -> dict[str, Any]:
    cards = accelerators.all_accelerators()
    return {
        "version": __version__,
        "models": list(models.ids()),
        "accelerators": [
            {"id": one.id, "name": one.name, "vendor": one.vendor, "confidence": one.confidence} for one in cards
        ],
        "weights": [{"id": form.id, "words": form.words} for form in FORMATS.values()],
        "kv_cache": list(CACHE_FORMATS),
        "batches": BATCHES,
    }


@router.get("/presets", response_class=Json)
async def presets() -> Json:
    """The questions to start from: name, state as a query string, what to look at."""
    return Json(PRESETS)


@router.get("/page", response_class=Json, responses=_REFUSALS)
async def page_of(request: Request, q: Annotated[str, Query(max_length=LONGEST)] = "") -> Json:  # noqa: ARG001
    """The page that a query string (in `q`, escaped) stands for, and what of it could not be read."""
    page, said = read_query(q)
    return Json({"page": page.model_dump(), "query": query_of(page), "said": said})


@router.post("/analyze", response_class=Json, responses=_REFUSALS)
async def analyze_(request: Request, question: Question) -> Response:
    """`rooflight.analyze` of a scenario: the document rooflight.analysis/1."""
    return await _answered(request, answers.analyze, question)


@router.post("/landmarks", response_class=Json, responses=_REFUSALS)
async def landmarks_(request: Request, question: Question) -> Response:
    """The batches at which decode of a scenario meets the ridge, the knee and the end of memory."""
    return await _answered(request, answers.marks, question)


@router.post("/explain", response_class=Json, responses=_REFUSALS)
async def explain_(
    request: Request,
    question: Question,
    operator: Annotated[Name, Query()],
    phase: Annotated[Literal["prefill", "decode"], Query()] = "decode",
) -> Response:
    """Why an operator of a scenario lands where it does, the arithmetic written out with its numbers."""
    return await _answered(request, answers.explained, question, phase, operator)


_DROPPED = {"requestBody": {"required": True, "content": {"application/json": {"schema": dropped.schema()}}}}


@router.post("/diagnose", response_class=Json, responses=_REFUSALS, openapi_extra=_DROPPED)
async def diagnose_(request: Request) -> Response:
    """What `rooflight.diagnose` says of recorded files, as the page shows it; `diagnosis`: rooflight.diagnosis/1.

    Files that a question takes (a config.json, samples) are told in `elsewhere`, and left alone.
    """
    return await _answered(request, answers.diagnose, await request.body())


_FILE = {"requestBody": {"required": True, "content": {"application/json": {"schema": parts_schema()}}}}


@router.post("/gguf", response_class=Json, responses=_REFUSALS, openapi_extra=_FILE)
async def gguf_(request: Request) -> Response:
    """First bytes of a GGUF file, or of all its parts, as a question takes them: a header without vocabularies."""
    return await _answered(request, answers.header, await request.body())


Width = Annotated[int, Query(ge=280, le=2400, description="px of the place a chart fills")]
Height = Annotated[int, Query(ge=160, le=1200, description="px of the roofline's plot")]


@router.get("/chart", response_class=Json, responses=_REFUSALS)
def chart(width: Width = 800, height: Height = 400, dark: bool = False) -> Json:
    """The roofline's Vega-Lite document without rows; /api/picture gives them by dataset."""
    return Json(drawings.template(drawings.page_look(width, dark, tall=height)))


@router.post("/picture", response_class=Json, responses=_REFUSALS)
async def picture(
    request: Request, page: Page, width: Width = 800, height: Height = 400, dark: bool = False
) -> Response:
    """All that the first screen shows of a page: the answer, a line a scenario, the roofline's rows, command lines.

    Labels are placed for a roofline `width` px wide.
    """
    return await _answered(request, answers.picture, page, width, height, dark)


@router.post("/view/{name}", response_class=Json, responses=_REFUSALS)
async def view(request: Request, name: ViewName, asked: Asked) -> Response:
    """One of the views below the first screen: its sentence, its tables, and its charts as Vega-Lite documents."""
    return await _answered(request, answers.view, name, asked)


@router.post("/export", responses=_REFUSALS)
async def export(
    request: Request, page: Page, form: Literal["svg", "png", "csv", "json", "txt", "html"], dark: bool = False
) -> Response:
    """A file to keep: the roofline with its sentence as SVG or PNG; every scenario as CSV, JSON, commands, or
    a page that needs no server."""
    reply: Reply = await request.app.state.run(answers.export, page, form, dark, deadline_s=WRITING_S)
    return Response(reply.body, reply.status, media_type=reply.media)
