"""A studio on a port of its own, and a page of a real headless Chromium on it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# No sandbox: continuous integration runs as root. The others keep the browser from calling home.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip


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


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """A `rooflight studio` process that can be stopped and started again on its port."""

    def __init__(self) -> None:
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        words = ["studio", "--no-open", "--port", str(self.port)]
        self.process = subprocess.Popen([sys.executable, "-m", "rooflight", *words], stdout=subprocess.DEVNULL)
        for _ in range(200):
            with contextlib.suppress(OSError), urllib.request.urlopen(self.url, timeout=5):
                return
            time.sleep(0.1)
        raise RuntimeError("the studio did not start")

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=20)
            self.process = None


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


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        chromium = tools.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


# No answer is on its way, no view waits for its turn, and the address is written.
SETTLED = """() => {
    const page = document.documentElement.dataset;
    const view = document.getElementById("view-panel").dataset;
    return page.busy === "false" && page.address === "written" && (view.busy ?? "false") === "false";
}"""


class Page:
    """A page of the studio, and what tests do with it."""

    def __init__(self, server: Server, page) -> None:
        self.server, self.page = server, page
        self.troubles: list[str] = []
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("console", lambda message: message.type == "error" and self.troubles.append(message.text))

    def open(self, query: str = ""):
        self.page.goto(self.server.url + query)
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def settled(self):
        """Waits until no question is under way, the open view has followed and the address is written."""
        self.page.wait_for_function(SETTLED)

    def refused(self):
        """Forgets what the browser itself reports of refusals."""
        self.troubles[:] = [one for one in self.troubles if "status of 422" not in one]

    def rows(self, name: str) -> list[dict]:
        """What the roofline draws, read from its Vega view."""
        script = """async (name) => (await import("/static/charts.js")).viewOf("roofline").data(name)
            .map((row) => JSON.parse(JSON.stringify(row)))"""
        return self.page.evaluate(script, name)

    def dot(self, phase: str, place: int = 0) -> dict:
        """A phase's dot of one of the scenarios that are drawn."""
        return next(row for row in self.rows("phases") if (row["name"], row["analysis"]) == (phase, place))

    def set(self, field: str, value: object) -> None:
        self.page.fill(f"#{field}", str(value))
        self.page.locator(f"#{field}").blur()
        self.settled()

    def press(self, selector: str) -> None:
        self.page.click(selector)
        self.settled()

    def text(self, selector: str) -> str:
        """Of what may be folded, too."""
        return self.page.text_content(selector)

    def names(self) -> list[str]:
        """What the scenarios are called, each with its letter."""
        return [" ".join(one.split()) for one in self.page.locator("#scenarios .pick").all_inner_texts()]

    def figures(self) -> list[dict[str, str]]:
        """The table of the runs: by line, what each head says, its interval left out."""
        return self.page.evaluate(FIGURES)


FIGURES = """() => {
    const told = (cell) => [...cell.childNodes].filter((one) => one.nodeName !== "SMALL").map((one) => one.textContent)
        .join("").trim();
    const head = (cell) => cell.dataset.label ?? (cell.matches("th") ? "scenario" : "missing");
    return [...document.querySelectorAll("#figures tbody tr")].map((row) => (
        { kind: row.className, ...Object.fromEntries([...row.children].map((cell) => [head(cell), told(cell)])) }));
}"""


@pytest.fixture
def context(browser):
    made = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    yield made
    made.close()


@pytest.fixture
def studio_page(server, context):
    page = Page(server, context.new_page())
    yield page
    assert page.troubles == []
