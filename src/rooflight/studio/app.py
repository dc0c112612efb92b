"""The FastAPI application: the page, its files, the API, and what guards them."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.templating import Jinja2Templates
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.staticfiles import StaticFiles

from rooflight import __version__
from rooflight.errors import BadInput, RooflightError
from rooflight.show.charts.export import version as version_of
from rooflight.show.charts.page import vega
from rooflight.show.charts.themed import style
from rooflight.studio import api, drawings, problems
from rooflight.studio.address import is_loopback, own_names
from rooflight.studio.answers import Reply, invalid, refusal
from rooflight.studio.guard import BodyLimit, OwnOrigin, SecurityHeaders
from rooflight.studio.question import bounds
from rooflight.studio.workers import Run, Workers, in_thread
from rooflight.values.question import FIELDS

_HERE = Path(__file__).parent
_ABOUT = """What `rooflight studio` shows, for programs. Every value is the library's own: `POST /api/analyze` answers
what `rooflight.analyze(...).to_dict()` does. Amounts are in base units (bytes, FLOP, seconds, tokens)."""


def make_app(host: str = "127.0.0.1", run: Run = in_thread) -> FastAPI:
    """The application, ready to be served.

    run     where answers are computed: in a thread, or by the processes of studio.workers

    On a loopback address it answers to this machine's own names alone, so that no foreign page can reach it under a
    name of its own; elsewhere to any name.
    """
    app = FastAPI(title="rooflight studio", version=__version__, description=_ABOUT, docs_url=None, redoc_url=None,
                  openapi_url="/api/openapi.json", lifespan=_started)  # fmt: skip
    app.state.run = run
    app.add_middleware(BodyLimit)
    app.add_middleware(OwnOrigin)
    if is_loopback(host):
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(own_names(host)))
    app.add_middleware(SecurityHeaders)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(RooflightError, _refused)
    app.add_exception_handler(HTTPException, _not_served)
    app.include_router(api.router)
    app.get("/", include_in_schema=False)(_page)
    app.get("/vega.js", include_in_schema=False)(_vega)
    app.get("/hues.css", include_in_schema=False)(_hues)
    app.mount("/static", StaticFiles(directory=_HERE / "static"), name="static")
    return app


@contextlib.asynccontextmanager
async def _started(app: FastAPI) -> AsyncIterator[None]:
    """The processes that answer start while the page is served already."""
    async with anyio.create_task_group() as group:
        if isinstance(app.state.run, Workers):
            group.start_soon(app.state.run.start)
        yield
        group.cancel_scope.cancel()


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # the handler is registered for this kind
    return _response(invalid(error.errors()))


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RooflightError)  # as above
    return _response(refusal(error))


def _response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, media_type=reply.media)


async def _not_served(_: Request, error: Exception) -> JSONResponse:
    """No such route or method, or a body that cannot be read at all."""
    assert isinstance(error, HTTPException)  # as above
    problem = problems.of_error(BadInput(str(error.detail), where="request"))
    return JSONResponse({"problems": [problem]}, status_code=error.status_code, headers=error.headers)


_templates = Jinja2Templates(directory=_HERE / "templates")


async def _page(request: Request) -> Response:
    """The page itself; its state is read from the address by its own script."""
    from rooflight.studio.groups import GROUPS
    from rooflight.studio.presets import PRESETS
    from rooflight.studio.views import TITLES

    shown = {"version": __version__, "presets": PRESETS, "fields": FIELDS, "bounds": bounds, "groups": GROUPS,
             "views": TITLES}  # fmt: skip
    page = _templates.TemplateResponse(request, "index.html", shown)
    page.headers["Cache-Control"] = "no-cache"
    return page


async def _hues() -> Response:
    """The colours of the charts as variables, for the page's own style sheets."""
    return Response(style(), media_type="text/css", headers={"Cache-Control": "no-cache"})


@functools.cache
def vega_bundle() -> tuple[bytes, str]:
    """Vega, Vega-Lite and vega-embed as one script, and its tag for caches. They come with vl-convert."""
    document = drawings.template(drawings.page_look(800, False))
    script = vega(version_of(document)).encode()
    return script, f'"{hashlib.sha256(script).hexdigest()[:20]}"'


async def _vega(request: Request) -> Response:
    script, tag = vega_bundle()
    headers: dict[str, Any] = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(script, media_type="text/javascript", headers=headers)
