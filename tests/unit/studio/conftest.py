"""The application asked in this process, without a socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra `studio`")
httpx = pytest.importorskip("httpx", reason="needs httpx")


class Asked:
    """The studio's API: each call is one request."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def request(self, method: str, path: str, **options: Any) -> Any:
        async def once() -> Any:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
                return await client.request(method, path, **options)

        return asyncio.run(once())

    def get(self, path: str, **options: Any) -> Any:
        return self.request("GET", path, **options)

    def post(self, path: str, body: Any, **options: Any) -> Any:
        return self.request("POST", path, json=body, **options)


@pytest.fixture(scope="session")
def studio():
    from rooflight.studio.app import make_app

    return Asked(make_app())
