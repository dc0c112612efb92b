"""The FastAPI application: the page, its files, the API, and what guards them."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.templating import Jinja2Templates
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.staticfiles import StaticFiles

from rooflight import __version__
from rooflight.errors import BadInput, MissingFact, RooflightError
from rooflight.show.charts.export import version as version_of
from rooflight.show.charts.page import vega
from rooflight.studio import api, drawings, problems
from rooflight.studio.guard import BodyLimit, SecurityHeaders
from rooflight.studio.question import bounds
from rooflight.values.question import FIELDS

_HERE = Path(__file__).parent
_ABOUT = """What `rooflight studio` shows, for programs. Every value is the library's own: `POST /api/analyze` answers
what `rooflight.analyze(...).to_dict()` does. Amounts are in base units (bytes, FLOP, seconds, tokens)."""


_LOCAL = ("127.0.0.1", "localhost", "[::1]")


def make_app(host: str = "127.0.0.1") -> FastAPI:
    """The application, ready to be served.

    On a loopback address it answers to this machine's own names alone, so that no foreign page can reach it under a
    name of its own; elsewhere to any name.
    """
    app = FastAPI(title="rooflight studio", version=__version__, description=_ABOUT, docs_url=None, redoc_url=None,
                  openapi_url="/api/openapi.json")  # fmt: skip
    app.add_middleware(BodyLimit)
    if host in ("127.0.0.1", "::1"):
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(_LOCAL))
    app.add_middleware(SecurityHeaders)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(RooflightError, _refused)
    app.add_exception_handler(HTTPException, _not_served)
    app.include_router(api.router)
    app.get("/", include_in_schema=False)(_page)
    app.get("/vega.js", include_in_schema=False)(_vega)
    app.mount("/static", StaticFiles(directory=_HERE / "static"), name="static")
    return app


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # the handler is registered for this kind
    if any(one["type"] == "json_invalid" for one in error.errors()):
        problem = problems.of_error(BadInput("the body is no JSON", where="body", want="a question as a JSON object"))
        return JSONResponse({"problems": [problem]}, status_code=400)
    return JSONResponse({"problems": problems.of_validation(error.errors())}, status_code=422)


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RooflightError)  # as above
    status = 424 if isinstance(error, MissingFact) else 422
    return JSONResponse({"problems": [problems.of_error(error)]}, status_code=status)


async def _not_served(_: Request, error: Exception) -> JSONResponse:
    """No such route or method, or a body that cannot be read at all."""
    assert isinstance(error, HTTPException)  # as above
    problem = problems.of_error(BadInput(str(error.detail), where="request"))
    return JSONResponse({"problems": [problem]}, status_code=error.status_code, headers=error.headers)


_templates = Jinja2Templates(directory=_HERE / "templates")


async def _page(request: Request) -> Response:
    """The page itself; its state is read from the address by its own script."""
    from rooflight.studio.presets import PRESETS

    shown = {"version": __version__, "presets": PRESETS, "fields": FIELDS, "bounds": bounds}
    page = _templates.TemplateResponse(request, "index.html", shown)
    page.headers["Cache-Control"] = "no-cache"
    return page


@functools.cache
def vega_bundle() -> tuple[bytes, str]:
    """Vega, Vega-Lite and vega-embed as one script, and its tag for caches. They come with vl-convert."""
    document = drawings.template("roofline", False, drawings.page_look(800, False))
    script = vega(version_of(document)).encode()
    return script, f'"{hashlib.sha256(script).hexdigest()[:20]}"'


async def _vega(request: Request) -> Response:
    script, tag = vega_bundle()
    headers: dict[str, Any] = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(script, media_type="text/javascript", headers=headers)
