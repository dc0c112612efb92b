"""A real Prometheus asked for what it keeps, and everything that may be wrong with one."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
import time
from http import HTTPStatus

import pytest

from monitored import PROMETHEUS, deployment, prometheus, served, wait_for
from rooflight.errors import BadInput
from rooflight.ingest.live.http import fetch
from rooflight.ingest.live.prometheus import history


def asked(url, names=("vllm:.*", "DCGM_FI_.*"), **more):
    options = {"end_s": time.time(), "range_s": 60.0, "step_s": 1.0} | more
    return history(url, names, **options)


@pytest.mark.slow
@pytest.mark.skipif(PROMETHEUS is None, reason="no Prometheus is installed (apt-get install prometheus)")
def test_a_real_prometheus_gives_scrapes_at_equal_steps(tmp_path):
    with deployment() as exporters:
        host = exporters.removeprefix("http://")
        targets = {"dcgm": f"{host}/dcgm", "vllm": f"{host}/metrics"}
        with prometheus(tmp_path, targets) as url:
            wait_for(url, "vllm:generation_tokens_total and (vllm:generation_tokens_total offset 4s)")
            found = asked(url)
            only = asked(url, selector='{gpu="0"}')

    names = {series.name for one in found for series in one.series}
    assert {"vllm:generation_tokens_total", "DCGM_FI_PROF_DRAM_ACTIVE"} <= names
    times = [one.time_s for one in found]
    assert times == sorted(times)
    assert len(times) >= 4
    tokens = [s.value for one in found for s in one.series if s.name == "vllm:generation_tokens_total"]
    assert tokens == sorted(tokens)
    assert {s.labels["gpu"] for one in only for s in one.series} == {"0"}


def test_nobody_listening_is_said():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    with pytest.raises(BadInput, match="cannot be read") as caught:
        asked(f"http://127.0.0.1:{port}")

    assert caught.value.got == "nobody listens there"


def test_a_server_that_takes_its_time_is_given_up():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        with pytest.raises(BadInput) as caught:
            asked(f"http://127.0.0.1:{one.getsockname()[1]}", timeout_s=0.2)

    assert caught.value.got == "nothing whole within 0.2 s"


def test_a_server_that_sends_a_drop_at_a_time_is_given_up_too():
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()

    def drip():
        talking, _ = listening.accept()
        with talking:
            talking.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            for _ in range(100):
                try:
                    talking.sendall(b" ")
                except OSError:
                    return
                time.sleep(0.02)

    thread = threading.Thread(target=drip)
    thread.start()
    with listening, pytest.raises(BadInput) as caught:
        asked(f"http://127.0.0.1:{listening.getsockname()[1]}", timeout_s=0.3)
    thread.join()

    assert caught.value.got == "nothing whole within 0.3 s"


@pytest.mark.parametrize(
    ("status", "text", "got"),
    [
        (401, "who are you", "HTTP 401 Unauthorized"),
        (200, "<html>hello</html>", None),
        (200, '{"status": "success", "data": {"result": [{"metric": 3}]}}', None),
        (200, '{"status": "error", "error": "query too long"}', "query too long"),
        (503, "later", "HTTP 503 Service Unavailable"),
    ],
)
def test_what_is_no_answer_of_prometheus_is_refused(status, text, got):
    with served({"/api/v1/query_range": lambda: (status, text)}) as url, pytest.raises(BadInput) as caught:
        asked(url)

    assert got is None or caught.value.got == got


def test_an_empty_prometheus_has_no_scrapes():
    empty = '{"status": "success", "data": {"resultType": "matrix", "result": []}}'
    with served({"/api/v1/query_range": lambda: (200, empty)}) as url:
        assert asked(url) == ()


def test_gaps_of_a_series_stay_gaps():
    """At 2 s the second series has no value; NaN is one that says nothing, and is kept for whoever reads it."""
    rows = '{"metric": {"__name__": "a"}, "values": [[1, "5"], [2, "6"]]}, '
    rows += '{"metric": {"__name__": "b", "gpu": "0"}, "values": [[1, "0.5"]]}'
    text = f'{{"status": "success", "data": {{"resultType": "matrix", "result": [{rows}]}}}}'
    with served({"/api/v1/query_range": lambda: (200, text)}) as url:
        one, two = asked(url)

    assert [(series.name, series.value) for series in one.series] == [("a", 5.0), ("b", 0.5)]
    assert [(series.name, series.value) for series in two.series] == [("a", 6.0)]
    assert (one.time_s, two.time_s) == (1.0, 2.0)


@pytest.mark.parametrize("selector", ['gpu="0"} or up{', "gpu", 'gpu="0" or vector(1)', "{"])
def test_a_selector_is_matchers_and_nothing_else(selector):
    with pytest.raises(BadInput, match="no selector"):
        asked("http://127.0.0.1:9", selector=selector)


@pytest.mark.parametrize(
    "url", ["localhost:9090", "file:///etc/passwd", "ftp://a", "http://", "http://a b", "http://a:0"]
)
def test_an_address_is_one_of_a_server(url):
    with pytest.raises(BadInput):
        fetch(url)


def test_a_redirect_is_not_followed():
    with served({"/metrics": lambda: (302, "")}) as url, pytest.raises(BadInput, match="another address"):
        fetch(f"{url}/metrics")


def test_a_range_of_too_many_steps_is_refused_before_anything_is_asked():
    with pytest.raises(BadInput, match="too many steps"):
        asked("http://127.0.0.1:9", range_s=1e6, step_s=1.0)


def test_a_packed_bomb_is_cut_off(monkeypatch):
    from rooflight.ingest.live import http

    monkeypatch.setattr(http, "MOST_BYTES", 1000)
    with pytest.raises(BadInput, match="too much"):
        http._unpacked(gzip.compress(bytes(100_000)), "gzip", "there")


def served_raw(*parts: bytes, pause_s: float = 0.02):
    """A server that answers one request with these bytes, a pause after each."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()

    def answer():
        talking, _ = listening.accept()
        with talking, contextlib.suppress(OSError):
            talking.recv(1 << 16)
            for part in parts:
                talking.sendall(part)
                time.sleep(pause_s)
        listening.close()

    threading.Thread(target=answer, daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize(
    "parts",
    [
        [bytes([one]) for one in b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 1000],
        [b"HTTP/1.1 100 Continue\r\n\r\n"] * 1000,
        [b"HTTP/1.1 200 OK\r\n\r\n", *[b"#"] * 1000],
    ],
)
def test_a_drop_at_a_time_is_given_up_wherever_it_drips(parts):
    with pytest.raises(BadInput) as caught:
        fetch(served_raw(*parts) + "/metrics", timeout_s=0.3)

    assert caught.value.got == "nothing whole within 0.3 s"


SECRET = "sekret"


@pytest.mark.parametrize("url", ["http://me:sekret@127.0.0.1:9/x", "http://127.0.0.1:9/x?key=sekret",
                                 "http://me:sek/sekret@127.0.0.1:9/x", "me:sekret@127.0.0.1", "ftp://me:sekret@a/b",
                                 "http://me:sekret@127.0.0.1:port/x"])  # fmt: skip
def test_what_an_address_holds_of_secrets_is_in_no_error(url):
    for ask in (fetch, asked):
        with pytest.raises(BadInput) as caught:
            ask(url)
        assert SECRET not in f"{caught.value!r} {caught.value} {caught.value.where} {caught.value.got}"


def test_nor_what_the_server_sends_on_to():
    said = b"HTTP/1.1 302 Found\r\nLocation: http://me:sekret@a/b?key=sekret\r\nContent-Length: 0\r\n\r\n"
    with pytest.raises(BadInput) as caught:
        fetch(served_raw(said))

    assert caught.value.try_this == "http://a/b"


def test_a_header_that_cannot_be_sent_is_an_error_that_does_not_show_it():
    for value in ("sek\nret", "sekr\u00fct", 5):
        with pytest.raises(BadInput, match="no header") as caught:
            fetch("http://127.0.0.1:9/", {"Authorization": value})
        assert "sek" not in str(caught.value)


def test_a_packed_answer_that_ends_too_early_is_no_answer():
    body = gzip.compress(b"a 1\n" * 1000)[:-12]
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
    with pytest.raises(BadInput) as caught:
        fetch(served_raw(head.encode() + body))

    assert caught.value.got == "an answer that ends too early"


def test_why_prometheus_refuses_is_said():
    with (
        served({"/api/v1/query_range": lambda: (422, '{"status": "error", "error": "too many samples"}')}) as url,
        pytest.raises(BadInput) as caught,
    ):
        asked(url)

    # RFC 9110 renamed "Unprocessable Entity", and Python 3.13 with it
    assert caught.value.got == f"HTTP 422 {HTTPStatus(422).phrase}: too many samples"


def test_native_histograms_are_read_as_written_out_ones():
    sample = {"count": "10", "sum": "2.5", "buckets": [[0, "0.1", "0.2", "4"], [0, "0.2", "0.4", "6"]]}
    row = {"metric": {"__name__": "vllm:time_to_first_token_seconds", "engine": "0"}, "histograms": [[1.0, sample]]}
    answer = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [row]}})
    with served({"/api/v1/query_range": lambda: (200, answer)}) as url:
        (one,) = asked(url)

    name = "vllm:time_to_first_token_seconds"
    values = {(series.name.removeprefix(name), series.labels.get("le")): series.value for series in one.series}
    assert values == {("_count", None): 10.0, ("_sum", None): 2.5, ("_bucket", "0.2"): 4.0, ("_bucket", "0.4"): 10.0,
                      ("_bucket", "+Inf"): 10.0}  # fmt: skip
