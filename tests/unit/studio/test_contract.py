"""The OpenAPI document, and requests made from it at random: none ends in a 5xx."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings

from rooflight.studio.app import make_app

pytestmark = pytest.mark.slow  # asks the server some hundred questions

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis")

schema = schemathesis.openapi.from_asgi("/api/openapi.json", make_app("0.0.0.0"))


# Generated requests alone: the enumerated ones grow with the square of a question's fields, and draw for minutes.
@schema.parametrize()
@settings(
    max_examples=60,
    phases=[Phase.generate],
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
def test_no_request_breaks_the_server(case):
    from schemathesis.checks import not_a_server_error

    answer = case.call()

    case.validate_response(answer, checks=[not_a_server_error])


def test_every_route_is_described_and_documented():
    from pathlib import Path

    page = (Path(__file__).resolve().parents[3] / "docs" / "studio.md").read_text(encoding="utf-8")
    for path, methods in schema.raw_schema["paths"].items():
        for method, about in methods.items():
            assert about["description"]
            assert f"`{method.upper()} {path}`" in page
