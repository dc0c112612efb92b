"""A studio's process, a page of it in a browser, and what tests of the page share. Whole files of a user's own too."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import rooflight
from rooflight.show import numbers
from rooflight.show.figures import HEADS

LLAMA = "meta-llama/Meta-Llama-3.1-8B"
CONFIG = {
    "model_type": "llama", "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 4,
    "intermediate_size": 5632, "vocab_size": 32000, "num_hidden_layers": 12, "max_position_embeddings": 8192,
}  # fmt: skip
KERNEL = {
    "schema": "rooflight.sample/1", "kind": "kernel", "name": "gemm", "operator": "qkv", "compute": "bf16",
    "flop": 2.0e9, "bytes": 1.0e8, "time_s": {"median": 1e-4, "low": 0.9e-4, "high": 1.2e-4, "n": 9},
}  # fmt: skip
MACHINE = Path(__file__).parent / "measured_h100.toml"
DCGM = Path(__file__).parents[1] / "docs" / "examples" / "dcgm.prom"

TTFT, TPOT, AT_BEST, A_USER, A_CARD, COMPUTE, BANDWIDTH, BOUND, FITS, USD = HEADS


def tpot(model: str, on: str, **fields) -> str:
    """What the table says of the time of a token, from the library's own number."""
    analysis = rooflight.analyze(model, on, **fields)
    return numbers.seconds(analysis.runs[analysis.run].tpot_s.expected)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


# The command line with a longer deadline of answers, which tests of their own try: a machine that does much else takes
# longer for all that a page asks first.
_PATIENT = """
import sys
from rooflight.cli import main
from rooflight.studio.workers import Workers
Workers.__init__.__kwdefaults__.update(deadline_s=60.0, wait_s=60.0)
sys.exit(main())
"""


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
        self.process = subprocess.Popen([sys.executable, "-c", _PATIENT, *words], stdout=subprocess.DEVNULL)
        for _ in range(1200):
            with contextlib.suppress(OSError), urllib.request.urlopen(self.url, timeout=5):
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        self.stop()
        raise RuntimeError("the studio did not start")

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=20)
            self.process = None


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

    @contextlib.contextmanager
    def redrawn(self) -> Iterator[None]:
        """What is done here has an answer of its own, which is waited for: a file is read before it is asked about."""
        before = self.page.evaluate("document.documentElement.dataset.drawn")
        yield
        # No `async` function here: its promise would count as true.
        self.page.wait_for_function("(before) => document.documentElement.dataset.drawn !== before", arg=before)
        self.settled()

    def forget(self, words: str) -> None:
        """Of what the browser reported, lines with these words."""
        self.troubles[:] = [one for one in self.troubles if words not in one]

    def refused(self) -> None:
        """What the browser itself reports of refusals was meant."""
        self.forget("status of 422")

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

    def tpots(self) -> list[str]:
        """The time of a token by scenario."""
        return [line[TPOT] for line in self.figures() if line["kind"] != "gain"]


FIGURES = """() => {
    const told = (cell) => [...cell.childNodes].filter((one) => one.nodeName !== "SMALL").map((one) => one.textContent)
        .join("").trim();
    const head = (cell) => cell.dataset.label ?? (cell.matches("th") ? "scenario" : "missing");
    return [...document.querySelectorAll("#figures tbody tr")].map((row) => (
        { kind: row.className, ...Object.fromEntries([...row.children].map((cell) => [head(cell), told(cell)])) }));
}"""


_DROP = """(files) => {
    const data = new DataTransfer();
    for (const [name, text] of files) data.items.add(new File([text], name));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def drop(page, *files: tuple[str, str]) -> None:
    """Files by name and text, dropped on the page."""
    page.evaluate(_DROP, [list(one) for one in files])


def diagnosed(page) -> None:
    """Waits until recorded files are told."""
    page.wait_for_function("() => document.querySelector('#diagnosis').dataset.busy === 'false'")
