"""A studio on a port of its own, and a page of a real headless Chromium on it."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import pytest

from studio_pages import Page, Server

HERE = Path(__file__).parent
# What draws no window is tried first: a new page is a sixth of the work.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
# No sandbox: continuous integration runs as root. The others keep the browser from calling home.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip


# A step may wait so long on a machine that does much else.
PATIENCE_MS = 60_000


def missing() -> str | None:
    """Why these tests cannot run here; None if they can."""
    if CHROMIUM is None:
        return "needs Chromium: apt-get install chromium"
    for name in ("playwright", "fastapi", "uvicorn", "vl_convert"):
        with contextlib.suppress(ImportError):
            __import__(name)
            continue
        return f"needs {name}: pip install -r requirements-dev.txt"
    return None


def pytest_collection_modifyitems(items):
    reason = missing()
    for item in items:
        if not item.path.is_relative_to(HERE):
            continue
        item.add_marker(pytest.mark.xdist_group("browser"))  # one server and one browser for all of them
        if reason:
            if os.environ.get("CI") == "true":
                item.add_marker(
                    pytest.mark.xfail(reason=f"CI leaves nothing out, but this {reason}", run=False, strict=True)
                )
            else:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def server():
    served = Server()
    served.start()
    yield served
    served.stop()


@pytest.fixture
def own_server():
    """A server of a test's own, to be stopped."""
    served = Server()
    served.start()
    yield served
    served.stop()


@pytest.fixture(scope="module")  # no longer: its event loop would be in the way of other tests' own
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        chromium = tools.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def context(browser):
    made = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    made.set_default_timeout(PATIENCE_MS)
    yield made
    made.close()


@pytest.fixture
def studio_page(server, context):
    page = Page(server, context.new_page())
    yield page
    page.forget("status of 503")  # a machine that is busy elsewhere: the page asks again
    assert page.troubles == []
