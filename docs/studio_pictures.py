"""Pictures of the studio for these pages, taken in a headless Chromium: python docs/studio_pictures.py [name ...]"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
MIX = "m=meta-llama/Meta-Llama-3.1-70B&c=4xh100-sxm&b=32&isl=2048&osl=512&2.c=2xh200-sxm&3.c=8xl40s&tpot_slo_ms=40&f=0"


class Shot(NamedTuple):
    """query: the page; part: the element that is taken, the window where there is none."""

    query: str
    width: int
    height: int
    scheme: str = "light"
    part: str = ""


SHOTS = {
    "studio-light": Shot(MIX, 1280, 1130),
    "studio-fp8": Shot("b=16&n=bf16&2.w=fp8&2.n=fp8&f=1&ai=60", 1280, 1130),
    "studio-moe-dark": Shot(
        "m=deepseek-ai/DeepSeek-V3&c=8xh200-sxm&b=64&2.c=8xb200&3.c=16xh100-sxm&f=1", 1280, 1130, "dark"
    ),
    "studio-does-not-fit": Shot("m=meta-llama/Meta-Llama-3.1-70B&2.c=2xh100-sxm&2.n=two&f=0", 390, 844),
    "studio-throughput": Shot("c=h100-sxm&b=64&ctx=2048&view=throughput", 1100, 900, part="#views"),
    "studio-moves": Shot("c=h100-sxm&b=16&view=moves", 1100, 900, part="#view-charts"),
    "studio-compare": Shot(f"{MIX}&view=compare", 1100, 900, part="#view-charts"),
    "studio-dark": Shot("b=32&view=time&op=qkv", 1100, 900, "dark", part="#operators-panel"),
}


@contextlib.contextmanager
def served() -> Iterator[str]:
    """A studio on a port of its own; gives its address."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    words = [sys.executable, "-m", "rooflight", "studio", "--no-open", "--port", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
                break
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def take(page: Page, name: str, shot: Shot) -> None:
    """One picture, once the page and its view are still."""
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    if shot.part:
        page.locator("#views").scroll_into_view_if_needed()
        page.wait_for_selector("#view-charts svg", timeout=60_000)
    page.wait_for_timeout(1500)
    path = IMAGES / f"{name}.png"
    if shot.part:
        page.locator(shot.part).screenshot(path=path)
    else:
        page.screenshot(path=path)


def main(names: list[str]) -> None:
    """All pictures, or those that are named."""
    with served() as address, sync_playwright() as tools:
        chromium = tools.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name in names or SHOTS:
            shot = SHOTS[name]
            size = {"width": shot.width, "height": shot.height}
            context = chromium.new_context(viewport=size, color_scheme=shot.scheme)
            page = context.new_page()
            page.goto(f"{address}?{shot.query}")
            take(page, name, shot)
            context.close()
        chromium.close()


if __name__ == "__main__":
    main(sys.argv[1:])
