"""The OpenAPI document, and requests made from it: none ends in a 5xx."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings

from rooflight.studio.app import make_app

# Asks the server some thousand questions, alike to coverage.
pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis")

schema = schemathesis.openapi.from_asgi("/api/openapi.json", make_app("0.0.0.0"))
QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
# Enumerated requests grow with the square of a question's fields; a route that draws would take minutes for them.
DRAWS = ["/api/picture", "/api/export", "/api/chart", "/api/diagnose"]


def unbroken(case):
    from schemathesis.checks import not_a_server_error

    case.validate_response(case.call(), checks=[not_a_server_error])


@schema.exclude(path=DRAWS).parametrize()
@settings(QUIET, max_examples=25)
def test_no_request_breaks_the_server(case):
    unbroken(case)


@schema.include(path=DRAWS).parametrize()
@settings(QUIET, max_examples=60, phases=[Phase.generate])
def test_no_request_breaks_what_draws(case):
    unbroken(case)


def test_every_route_is_described_and_documented():
    from pathlib import Path

    page = (Path(__file__).resolve().parents[3] / "docs" / "studio.md").read_text(encoding="utf-8")
    for path, methods in schema.raw_schema["paths"].items():
        for method, about in methods.items():
            assert about["description"]
            assert f"`{method.upper()} {path}`" in page
