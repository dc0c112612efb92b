"""What stands between the network and the application."""

from __future__ import annotations

import asyncio
import builtins
import io
import os
import re
from pathlib import Path

import pytest

from rooflight.studio.app import make_app
from rooflight.studio.guard import HEADERS, MOST_BODY_BYTES, POLICY, BodyLimit
from rooflight.studio.kept import Kept

from .conftest import Asked

STATIC = Path(__file__).resolve().parents[3] / "src" / "rooflight" / "studio"


@pytest.mark.parametrize("path", ["/", "/api/choices", "/static/main.js", "/nowhere", "/api/chart?kind=no", "/vega.js"])
def test_every_answer_has_the_headers(studio, path):
    answer = studio.get(path)

    assert not {name for name, value in HEADERS.items() if answer.headers.get(name) != value}
    assert "Cache-Control" in answer.headers


def test_the_policy_allows_nothing_unsafe():
    assert "unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none'")


def test_the_page_has_no_inline_script_style_or_foreign_address(studio):
    page = studio.get("/").text

    assert not re.findall(r"<script(?![^>]*src=)", page)
    assert "style=" not in page
    assert not re.findall(r"\son\w+=", page)
    assert not re.findall(r"(?:src|href)=\"(?!/|#)", page)


def test_scripts_set_text_and_never_html():
    for path in STATIC.rglob("*.js"):
        assert not re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", path.read_text()
        )


def test_what_the_page_loads_is_ours_and_small():
    """Plain modules: no build step, no library of ours beside Vega's own bundle."""
    scripts = [path.read_text() for path in STATIC.rglob("*.js")]

    assert sum(map(len, scripts)) < 96_000
    for script in scripts:
        assert all(name.startswith("./") for name in re.findall(r"from \"([^\"]+)\"", script))
        assert "http" not in re.sub(r"http://www\.w3\.org\S+", "", script)
        assert max(map(len, re.findall(r"(?m)^.*$", script))) < 260


def test_vega_is_kept_by_the_browser_until_it_changes(studio):
    first = studio.get("/vega.js")
    again = studio.get("/vega.js", headers={"if-none-match": first.headers["etag"]})

    assert first.status_code == 200
    assert b"vegaEmbed" in first.content
    assert b"http-equiv" not in first.content[:100]
    assert (again.status_code, again.content) == (304, b"")


def test_a_large_body_is_refused_by_its_declared_length(studio):
    answer = studio.request("POST", "/api/picture", content=b" " * (MOST_BODY_BYTES + 1))

    assert answer.status_code == 413
    assert answer.json()["problems"][0]["field"] == "config"


def test_a_large_body_is_refused_while_it_arrives(studio):
    async def pieces():
        for _ in range(MOST_BODY_BYTES // 65_536 + 2):
            yield b" " * 65_536

    assert studio.request("POST", "/api/picture", content=pieces()).status_code == 413


@pytest.mark.parametrize("length", [b"-5", b"x", b"9" * 30])
def test_a_length_that_is_none_is_refused(studio, length):
    assert raw(studio.app, length) == 413


def raw(app, length: bytes, *, comes: bool = True) -> int:
    """The status of a request with that content-length, sent below any client's own checks."""
    started = []

    async def receive():
        if not comes:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message):
        started.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/api/picture", "raw_path": b"/api/picture", "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-length", length), (b"content-type", b"application/json")],
        "scheme": "http", "server": ("127.0.0.1", 1), "client": ("127.0.0.1", 2), "http_version": "1.1",
        "root_path": "",
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    return started[0]["status"]


def test_a_page_of_another_name_gets_nothing(studio):
    """DNS rebinding: a foreign page that resolves its own name to this machine."""
    assert studio.get("/api/choices", headers={"host": "evil.example"}).status_code == 400
    assert studio.get("/api/choices", headers={"host": "localhost:8765"}).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "127.8.8.8", "::1"])
def test_every_loopback_address_answers_to_its_own_names_alone(host):
    asked = Asked(make_app(host))
    own = f"[{host}]:80" if ":" in host else host

    assert asked.get("/api/choices", headers={"host": own}).status_code == 200
    assert asked.get("/api/choices", headers={"host": "localhost:8765"}).status_code == 200
    for foreign in ("evil.example", "127.0.0.1.evil.example", "127.0.0.3", "localhost.evil.example", ""):
        assert asked.get("/api/choices", headers={"host": foreign}).status_code == 400


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://[", "https://localhost"]
)
def test_a_foreign_pages_script_gets_nothing(studio, origin):
    for method, path in (("POST", "/api/analyze"), ("GET", "/api/choices")):
        answer = studio.request(method, path, headers={"origin": origin, "content-type": "text/plain"})

        assert answer.status_code == 403
        assert answer.json()["problems"][0]["where"] == "origin"


def test_the_pages_own_script_is_answered(studio):
    assert studio.post("/api/landmarks", {}, headers={"origin": "http://127.0.0.1:8765"}).status_code == 200


def test_a_body_that_does_not_come_is_refused():
    async def never(scope, receive, send):
        raise AssertionError("the application is not asked")

    assert raw(BodyLimit(never, body_s=0.01), b"10", comes=False) == 408


HOSTILE = ["/etc/passwd", "../../../../etc/passwd", "~/.ssh/id_rsa", "file:///etc/passwd", "C:\\x.json", "a/../b", "\0",
           "config.json", ".", "org/model", "con.toml", "h100-sxm.toml", "2xthis"]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_of_a_request_reaches_the_file_system(studio, name, monkeypatch):
    studio.post("/api/analyze", {})  # what the catalog reads once is read
    touched = []
    for module, call in ((builtins, "open"), (io, "open"), (os, "stat"), (os, "lstat"), (os, "open"), (os, "listdir")):
        real = getattr(module, call)

        def watched(path, *rest, real=real, **more):
            touched.append(str(path))
            return real(path, *rest, **more)

        monkeypatch.setattr(module, call, watched)
    answers = [
        studio.post("/api/analyze", {"model": name}),
        studio.post("/api/analyze", {"on": name}),
        studio.post("/api/analyze", {"on": f"2x{name}"}),
        studio.post("/api/analyze", {"prefill_on": name}),
        studio.post("/api/picture", {"scenarios": [{}, {"on": name}], "focus": 1}),
        studio.post("/api/view/memory", {"page": {"scenarios": [{}, {"model": name}], "focus": 1}}),
        studio.post("/api/export?form=json", {"scenarios": [{"draft_model": name, "draft_tokens": 2}]}),
        studio.post("/api/analyze", {"config": {"model_type": "llama", "_name_or_path": name}}),
        studio.post("/api/analyze", {"weights": name}),
        studio.post("/api/explain", {}, params={"operator": name}),
    ]

    assert {answer.status_code for answer in answers} == {422}
    catalog = str(STATIC.parent / "catalog")
    foreign = [path for path in touched if not path.startswith(catalog)]
    assert not [path for path in foreign if name.strip("./~\\") and name.strip("./~\\") in path]
    assert not [path for path in touched if path in ("/etc/passwd", "config.json", name)]


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd"]
)
def test_static_files_are_those_of_the_folder(studio, path):
    assert studio.get(path).status_code == 404


def test_what_is_kept_is_bounded():
    kept = Kept(3)
    for number in range(100):
        assert kept.get_or_make(str(number), lambda number=number: number + 1) == number + 1
    kept.get("97")
    kept.get_or_make("new", lambda: 5)

    assert len(kept) == 3
    assert kept.get("97") == 98  # asked for last
    assert kept.get("98") is None


WORST = [
    {"isl": 1, "osl": 1 << 22, "batch": 65_536, "ignore_capacity": True},
    {"isl": 1 << 22, "osl": 1 << 22, "context": 1 << 22, "ignore_capacity": True},
    {"model": "meta-llama/Llama-4-Scout-17B-16E-Instruct", "isl": 1, "osl": 1 << 22, "ignore_capacity": True, "tp": 8},
]


@pytest.mark.parametrize("question", WORST)
def test_no_question_takes_long(studio, question):
    """Seconds would let one client stop the others; this is tenths, with room for a slow machine."""
    import time

    started = time.process_time()
    answer = studio.post("/api/analyze", question)

    assert answer.status_code in (200, 422)
    assert time.process_time() - started < 2
