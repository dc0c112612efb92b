"""A monitored deployment from its exporters to the verdict: scraped, kept by a real Prometheus, published again."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from urllib.parse import quote

import pytest

from monitored import PROMETHEUS, ask, deployment, free_port, prometheus, served, vllm, wait_for
from rooflight.show.exported import files

WITHOUT = pytest.mark.skipif(PROMETHEUS is None, reason="no Prometheus is installed (apt-get install prometheus)")


def run(*words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rooflight", *words], capture_output=True, text=True, timeout=timeout, check=False
    )


@pytest.mark.slow
@WITHOUT
def test_from_exporters_through_prometheus_to_the_verdict_and_back(tmp_path):
    port = free_port()
    with deployment() as exporters:
        host = exporters.removeprefix("http://")
        targets = {"dcgm": f"{host}/dcgm", "vllm": f"{host}/metrics", "rooflight": f"127.0.0.1:{port}/metrics"}
        with prometheus(tmp_path, targets, files.rules()) as url:
            wait_for(url, "vllm:generation_tokens_total and (vllm:generation_tokens_total offset 6s)")
            asked = ["--prometheus", url, "--range", "30s", "--step", "1s", "--model", "llama-3.1-8b", "--on", "h100"]
            done = run("diagnose", *asked, "--json")
            with exporter("--port", str(port), "--interval", "1s", *asked):
                wait_for(url, "rooflight_up == 1")
                wait_for(url, 'rooflight_bound{bound="memory"} == 1')
                empty = [query for query in queries() if not answered(url, query)]
                rules = json.loads(ask(url, "/api/v1/rules"))["data"]["groups"]

    found = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert (found["bound"], found["cannot_tell"]) == ("memory", False)
    bounds = {row["subject"]: row["bound"] for row in found["regimes"]}
    assert [bound for subject, bound in bounds.items() if "gpu 0" in subject] == ["memory"]
    assert [bound for subject, bound in bounds.items() if "gpu 1" in subject] == ["idle"]
    rates = [row["values"].get("output_tokens_per_s") for row in found["regimes"] if "vllm" in row["subject"]]
    # the engine makes 400 tokens a second; each scrape is a moment earlier or later than its step
    assert any(rate is not None and 300 < rate < 500 for rate in rates)
    assert empty == []
    assert {rule["name"] for group in rules for rule in group["rules"]} >= {"DecodeFarBelowItsCeiling"}
    assert all(rule["health"] != "err" for group in rules for rule in group["rules"])


@contextlib.contextmanager
def exporter(*words: str):
    process = subprocess.Popen(
        [sys.executable, "-m", "rooflight", "exporter", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode in (0, 130), err.decode()


def queries() -> list[str]:
    board = json.loads(files.dashboard())
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def answered(url: str, query: str) -> bool:
    text = ask(url, f"/api/v1/query?query={quote(query)}")
    return text is not None and bool(json.loads(text)["data"]["result"])


def test_an_address_is_read_twice_and_the_difference_taken():
    began = time.monotonic()
    with served({"/metrics": lambda: (200, vllm(time.monotonic() - began + 1000))}) as url:
        done = run("diagnose", "--scrape", f"{url}/metrics", "--interval", "500ms", "--json")

    (row,) = json.loads(done.stdout)["regimes"]
    assert row["values"]["running"] == 4.0
    assert row["values"]["output_tokens_per_s"] == pytest.approx(400, rel=0.1)


@pytest.mark.parametrize(
    ("status", "text", "got"),
    [(401, "no", "HTTP 401 Unauthorized"), (200, "", "comments alone"), (200, "# TYPE a gauge\na 1\n", "a")],
)
def test_an_address_that_says_nothing_is_an_error_in_words(status, text, got):
    with served({"/metrics": lambda: (status, text)}) as url:
        done = run("diagnose", "--scrape", f"{url}/metrics", "--interval", "10ms", "--json")

    error = json.loads(done.stdout or done.stderr)
    assert done.returncode == 2
    assert error["got"] == got


def test_an_engine_that_restarts_between_readings_gives_no_rates():
    texts = iter([vllm(1000.0), vllm(1.0)])
    with served({"/metrics": lambda: (200, next(texts))}) as url:
        done = run("diagnose", "--scrape", f"{url}/metrics", "--interval", "10ms", "--json")

    found = json.loads(done.stdout)
    assert all("output_tokens_per_s" not in row["values"] for row in found["regimes"])
    assert any("started anew" in note for note in found["notes"])


@pytest.mark.parametrize(
    "words",
    [
        ("--range", "5m"),
        ("--selector", 'a="b"'),
        ("--header", "A: b"),
        ("--watch",),
        ("--prometheus", "http://127.0.0.1:9", "--range", "never"),
        ("--prometheus", "http://127.0.0.1:9", "--range", "90d", "--step", "1s"),
    ],
)
def test_options_that_watch_nothing_are_refused(words):
    done = run("diagnose", *words, "--json")

    assert done.returncode == 2
    assert json.loads(done.stdout or done.stderr)["want"]


def test_the_exporter_says_that_its_source_is_down_and_goes_on():
    port, gone = free_port(), free_port()
    with exporter("--port", str(port), "--interval", "200ms", "--scrape", f"http://127.0.0.1:{gone}/metrics"):
        until = time.monotonic() + 30
        text = None
        while time.monotonic() < until and not (text and "rooflight_up 0.0" in text):
            text = ask(f"http://127.0.0.1:{port}", "/metrics")
            time.sleep(0.1)

    assert text
    assert "rooflight_up 0.0" in text
    assert "rooflight_bound" not in text


def test_a_taken_port_and_a_wrong_question_are_refused_at_once():
    with served({}) as url:
        taken = run("exporter", "--scrape", f"{url}/metrics", "--port", url.rpartition(":")[2])
    wrong = run("exporter", "--scrape", "http://127.0.0.1:9/metrics", "--model", "no-such-model", "--on", "h100")

    assert taken.returncode == 2
    assert "cannot be listened on" in taken.stderr
    assert wrong.returncode == 2
    assert "no-such-model" in wrong.stderr


def test_the_exporter_ends_well_where_it_is_told_to_and_says_once_what_is_wrong():
    port = free_port()
    answers = {"/metrics": lambda: (200, vllm(time.monotonic())) if up else (503, "no")}
    up = False
    with served(answers) as url:
        process = subprocess.Popen(
            [sys.executable, "-m", "rooflight", "exporter", "--scrape", f"{url}/metrics", "--interval", "100ms",
             "--port", str(port)], stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        until(lambda: "rooflight_up 0.0" in (ask(f"http://127.0.0.1:{port}", "/metrics") or ""))
        time.sleep(0.5)
        up = True
        until(lambda: "rooflight_up 1.0" in (ask(f"http://127.0.0.1:{port}", "/metrics") or ""))
        process.terminate()
        _, said = process.communicate(timeout=30)

    assert process.returncode == 0, said
    assert said.count("HTTP 503") == 1
    assert "read again" in said
    assert "Traceback" not in said


def until(done):
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_addresses_with_secrets_are_named_without_them():
    began = time.monotonic()
    with served({"/metrics": lambda: (200, vllm(time.monotonic() - began + 1000))}) as url:
        address = f"{url.replace('//', '//me:sekret@')}/metrics?key=sekret"
        done = run("diagnose", "--scrape", address, "--interval", "100ms", "--json")

    assert json.loads(done.stdout)["sources"][0]["file"] == f"{url}/metrics"
    assert "sekret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "words", [("--dashboard", "--rules"), ("--scrape", "http://127.0.0.1:9/metrics", "--batch", "0")]
)
def test_what_the_exporter_cannot_do_is_refused_at_once(words):
    done = run("exporter", *words, timeout=30)

    assert done.returncode == 2


def test_an_address_given_twice_is_read_once():
    began = time.monotonic()
    with served({"/metrics": lambda: (200, vllm(time.monotonic() - began + 1000))}) as url:
        done = run(
            "diagnose", "--scrape", f"{url}/metrics", "--scrape", f"{url}/metrics", "--interval", "100ms", "--json"
        )

    assert len(json.loads(done.stdout)["regimes"]) == 1


def test_dashboard_and_rules_are_printed():
    assert json.loads(run("exporter", "--dashboard").stdout)["title"]
    assert json.loads(run("exporter", "--rules").stdout)["groups"]
