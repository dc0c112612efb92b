"""The server behind the page: gone and back, two tabs at once, one interrupt, and no one else."""

from __future__ import annotations

import signal
import subprocess
import sys

import rooflight
from rooflight.words.headline import headline
from studio_pages import LLAMA, Page, free_port


def test_a_server_that_goes_away_and_returns(own_server, context):
    studio_page = Page(own_server, context.new_page())
    page = studio_page.open("?view=memory")
    before = page.inner_text("#headline")
    own_server.stop()
    page.fill("#batch", "40")
    page.wait_for_selector("#status:not([hidden])")
    assert "does not answer" in page.inner_text("#status")
    assert page.inner_text("#headline") == before
    page.click("[data-preset='1']")  # nothing comes of it, and that is said
    page.wait_for_selector("#toast.shown")
    page.click("#export summary")
    page.click("[data-form='csv']")

    own_server.start()
    page.wait_for_selector("#status", state="hidden", timeout=30_000)
    studio_page.settled()
    assert page.inner_text("#headline") == headline(rooflight.analyze(LLAMA, "h100-sxm", batch=40))
    assert page.inner_text("#view-error") == ""
    assert page.locator("#view-charts svg").count() > 0
    assert page.input_value("#batch") == "40"
    assert [one for one in studio_page.troubles if "ERR_CONNECTION" not in one] == []


def test_a_view_without_a_server_says_so_and_comes_when_it_is_back(own_server, context):
    studio_page = Page(own_server, context.new_page())
    page = studio_page.open("?view=recorded")
    own_server.stop()
    page.click("#tab-memory")
    page.wait_for_selector("#view-error:not(:empty)")
    assert "does not answer" in page.inner_text("#view-error")
    own_server.start()
    page.wait_for_selector("#view-charts svg", timeout=30_000)
    assert page.inner_text("#view-error") == ""
    assert [one for one in studio_page.troubles if "ERR_CONNECTION" not in one] == []


def test_two_tabs_hold_two_states(server, context):
    one, two = (Page(server, context.new_page()) for _ in range(2))
    one.open("?b=2")
    two.open("?b=4&2.c=h200-sxm")
    two.page.fill("#batch", "16")
    one.page.fill("#batch", "8")
    for tab in (one, two):
        tab.settled()

    assert one.page.inner_text("#headline") == headline(rooflight.analyze(LLAMA, "h100-sxm", batch=8))
    assert two.page.inner_text("#headline") == headline(rooflight.analyze(LLAMA, "h100-sxm", batch=16))
    assert (len(one.names()), len(two.names())) == (1, 2)
    assert one.troubles == two.troubles == []


def test_nothing_is_loaded_from_elsewhere_and_no_script_is_let_in(server, browser):
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    answer = page.goto(server.url)
    page.wait_for_selector("html[data-ready]")

    assert all(url.startswith((server.url, "data:", "blob:")) for url in asked), asked
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.letIn = true";
        document.body.append(script);
    }""")
    assert page.evaluate("window.letIn") is None
    context.close()


def test_one_interrupt_ends_the_server_while_a_page_is_open(context):
    """Ctrl-C: no traceback, 130 as a shell has it, and the page says that nobody answers."""
    port = free_port()
    words = [sys.executable, "-m", "rooflight", "studio", "--no-open", "--port", str(port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert f"127.0.0.1:{port}" in process.stdout.readline()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_selector("html[data-ready]")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    page.fill("#batch", "2")
    page.wait_for_selector("#status:not([hidden])")

    assert process.returncode == 130
    assert "Traceback" not in said
