"""`rooflight measure endpoint` from the outside: its forms, its files, its exit statuses."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import rooflight
from rooflight.cli.app import app
from rooflight.cli.failures import run
from rooflight.ingest.samples import read_samples
from streaming import Answer, Server, serving, steady

pytest.importorskip("aiohttp", reason="the extra `endpoint` is not installed")
# Real time, so nothing here asserts on how long anything takes.
LOAD = ("--isl", "20", "--osl", "4", "--num-prompts", "6", "--concurrency", "2")
PREDICTED = ("--model", "llama-3.1-8b", "--on", "h100-sxm")


@pytest.fixture(scope="module")
def server():
    with serving(Server(steady(0.002, 0.001), models=[("toy", "vllm")])) as one:
        yield one


def measured(url: str, *words: str):
    return CliRunner().invoke(app, ["measure", "endpoint", url, *LOAD, *words])


def ran(capsys, url: str, *words: str) -> tuple[int, str, str]:
    """Exit status, and what is on both outputs, as the program ends."""
    status = run(app.run_plain, ["measure", "endpoint", url, *LOAD, *words])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_text_starts_with_the_sentence_and_has_the_percentiles(server):
    out = measured(server.url).output

    assert (
        out.replace("\n", " ").index(f"{server.url.removeprefix('http://')} answered 6 of 6 requests, 2 in flight: ")
        >= 0
    )
    for word in ("TTFT", "TPOT", "ITL", "end to end", "p50", "p90", "p95", "p99", "requests/s", "output tok/s"):
        assert word in out
    assert "Expected of" not in out
    assert "2 requests that count in no figure, 1 of them to warm up" in out.replace("\n", " ")


def test_goals_add_goodput(server):
    assert "goodput" not in measured(server.url).output
    said = measured(server.url, "--ttft-slo-ms", "100000", "--tpot-slo-ms", "100000").output
    assert "TTFT within 100 s and TPOT within 100 s: 6 of 6" in " ".join(said.split())


def test_what_nobody_saw_is_not_available():
    """All tokens in one chunk: neither TPOT nor ITL, and no goodput of it."""
    with serving(Server(lambda *_: Answer(tokens=4))) as one:
        out = measured(one.url, "--tpot-slo-ms", "1").output
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}

    assert lines["TPOT"] == ["TPOT", *["n/a"] * 5, "0"]
    assert lines["ITL"] == ["ITL", *["n/a"] * 5, "0"]
    assert "goodput cannot be told" in " ".join(out.split())
    assert "goodput, requests/s" not in out


def test_json_is_the_document(server):
    done = json.loads(CliRunner().invoke(app, ["measure", "endpoint", server.url, *LOAD, "--json"]).stdout)

    assert done["schema"] == "rooflight.measure-endpoint/1"
    assert done["served_model"] == "toy"
    assert done["engine"] == "vllm"
    assert done["figures"]["answered"] == done["figures"]["requests"] == 6
    assert done["figures"]["isl"] == 20
    assert done["figures"]["osl"] == 4
    assert [one["stage"] for one in done["requests"]] == ["calibration", "warm-up", *["load"] * 6]
    assert done["run"] is None
    assert done["beside"] == []


def test_a_prediction_stands_beside(server):
    done = json.loads(CliRunner().invoke(app, ["measure", "endpoint", server.url, *LOAD, *PREDICTED, "--json"]).stdout)
    figures = {one["figure"]: one for one in done["beside"]}

    assert list(figures) == ["ttft_s", "tpot_s", "request_s", "output_tokens_per_s", "total_tokens_per_s"]
    for name, one in figures.items():
        if name != "total_tokens_per_s":
            assert one["expected"] == pytest.approx(done["run"][name]["expected"])
            assert one["ceiling"] == pytest.approx(done["run"][name]["ceiling"])
    assert done["run"]["schedule"] == "served"
    assert done["run"]["engine"] == "vllm"
    assert done["model"] == "meta-llama/Meta-Llama-3.1-8B"
    assert done["gpus"] == 1


def test_a_ceiling_is_called_what_it_is(server):
    """Of a measured machine the fastest seen there, as in every other table."""
    machine = str(Path(__file__).parents[2] / "measured.toml")
    for on, head in (("h100-sxm", "ceiling"), (machine, "seen here")):
        said = measured(server.url, "--model", "llama-3.2-1b", "--on", on).output
        line = next(line for line in said.splitlines() if "roofline" in line and "expected" in line)
        assert head in line, said


def test_the_run_is_that_of_analyze(server):
    """At the lengths that were seen, to the last digit."""
    done = rooflight.measure_endpoint(
        server.url, model="llama-3.1-8b", on="h100-sxm", isl=20, osl=4, num_prompts=6, batch=2
    )
    same = rooflight.analyze("llama-3.1-8b", "h100-sxm", batch=2, isl=20, osl=4, engine="vllm", schedule="served")

    assert done.run == same.runs["served"]


def test_a_notebooks_loop_does_not_matter(server):
    async def cell():
        return rooflight.measure_endpoint(server.url, isl=20, osl=4, num_prompts=2)

    assert asyncio.run(cell()).figures.answered == 2


def test_the_csv_is_what_check_reads(server, tmp_path):
    file = tmp_path / "run.csv"
    measured(server.url, *PREDICTED, "--tp", "1", "-o", str(file))
    with file.open() as read:
        rows = list(csv.DictReader(read))
    report = rooflight.check(file)

    assert [row["metric"] for row in rows] == ["ttft_ms", "tpot_ms", "e2e_latency_ms", "output_tok_s", "total_tok_s"]
    assert {(row["phase"], row["batch"], row["input_len"], row["output_len"], row["prompts"]) for row in rows} == {
        ("e2e_server", "2", "20", "4", "6")
    }
    assert {row["engine"] for row in rows} == {"vllm"}
    assert report.summary.rows == 5
    assert all(row.ceiling is not None for row in report.rows)


@pytest.mark.parametrize(("count", "gpus"), [("", "1"), ("2x", "2")])
@pytest.mark.parametrize("by", ["path", "this"])
def test_check_finds_a_measured_machine_as_it_was_named(server, tmp_path, monkeypatch, by, count, gpus):
    monkeypatch.setenv("ROOFLIGHT_DATA_HOME", str(tmp_path))
    kept = tmp_path / "rooflight" / "this.toml"
    kept.parent.mkdir()
    kept.write_bytes((Path(__file__).parents[2] / "measured.toml").read_bytes())
    name = "this" if by == "this" else str(kept)
    file = tmp_path / "run.csv"
    words = ("--model", "SmolLM2-135M", "--on", count + name, "--dp", gpus)
    done = measured(server.url, *words, "-o", str(file))
    with file.open() as read:
        rows = list(csv.DictReader(read))

    assert done.exit_code in (0, 1), done.output
    assert {(row["accelerator"], row["gpus"]) for row in rows} == {(name, gpus)}
    assert all(row.ceiling is not None for row in rooflight.check(file).rows)


def test_check_judges_the_file_as_it_was_judged_here(server, tmp_path):
    file = tmp_path / "run.csv"
    done = rooflight.measure_endpoint(
        server.url, model="llama-3.1-8b", on="h100-sxm", isl=20, osl=4, num_prompts=60, batch=2, warmup=0
    )
    with file.open("w") as written:
        writer = csv.DictWriter(written, done.records()[0].keys())
        writer.writeheader()
        writer.writerows(done.records())
    again = {row.metric: row for row in rooflight.check(file).rows}

    for one, metric in zip(done.beside, again, strict=True):
        factor = 1e-3 if metric.endswith("_ms") else 1
        assert again[metric].ceiling * factor == pytest.approx(one.ceiling)
        assert again[metric].expected * factor == pytest.approx(one.expected)


def test_measurements_alone_make_a_table_too(server, tmp_path):
    file = tmp_path / "run.csv"
    measured(server.url, "-o", str(file))
    report = rooflight.check(file)

    assert report.summary.cannot_judge == 5
    assert "accelerator is blank" in report.rows[0].reason


def test_samples_are_added_to_a_file(server, tmp_path):
    file = tmp_path / "runs.jsonl"
    for _ in range(2):
        assert measured(server.url, "-o", str(file)).exit_code == 0
    found = read_samples(file).samples

    assert len(found) == 2 * 8
    assert {one.kind for one in found} == {"request"}
    assert {one.outcome for one in found} == {"ok"}


def test_some_faults_are_said_and_counted(capsys):
    good = steady(0.002, 0.001)
    bad = Answer(status=503, kind="text/plain", body="busy")
    with serving(Server(lambda number, asks: bad if number in (3, 4) else good(number, asks))) as one:
        status, out, _ = ran(capsys, one.url)

    assert status == 0
    assert "answered 4 of 6 requests (2 x HTTP 503), 2 in flight" in " ".join(out.split())
    assert "2 x load: HTTP 503: busy" in " ".join(out.split())


def test_no_answer_at_all_is_status_1_and_everything_is_kept(capsys, tmp_path):
    file = tmp_path / "runs.jsonl"
    with serving(Server(lambda *_: Answer(status=500, kind="text/plain", body="no"))) as one:
        status, out, err = ran(capsys, one.url, "-o", str(file))

    assert status == 1
    assert "answered nothing of 6 requests: 8 x HTTP 500" in " ".join(out.split())
    for part in ("none of 6 requests was answered", "\n  at ", "\n  got   HTTP 500: no", "\n  want ", "\n  try "):
        assert part in err
    assert [one.outcome for one in read_samples(file).samples] == ["http"] * 8


def test_nobody_there_is_status_1(capsys):
    with serving(Server(steady(0, 0))) as one:
        url = one.url
    status, _, err = ran(capsys, url)

    assert status == 1
    assert "got   Connection refused" in err
    assert "is the server running" in err


def test_no_key_is_hinted_at(capsys):
    with serving(Server(lambda *_: Answer(status=401, kind="application/json", body='{"error": "key?"}'))) as one:
        status, _, err = ran(capsys, one.url)

    assert status == 1
    assert "--api-key-env NAME" in err


def test_a_key_is_sent_and_never_shown(capsys, monkeypatch):
    monkeypatch.setenv("TOY_KEY", "tell-nobody")
    with serving(Server(steady(0.002, 0.001))) as one:
        status, out, err = ran(capsys, one.url, "--api-key-env", "TOY_KEY", "--header", "X-A: hidden", "--json")

    assert status == 0
    assert one.headers[-1]["authorization"] == "Bearer tell-nobody"
    assert one.headers[-1]["x-a"] == "hidden"
    assert "tell-nobody" not in out + err
    assert "hidden" not in out + err


def test_what_is_faster_than_physics_is_status_1(server, capsys):
    """405 G parameters in bf16 on eight H100 take 30 ms a token; this server a few."""
    status, out, _ = ran(capsys, server.url, "--model", "llama-3.1-405b", "--on", "8xh100-sxm", "--ignore-capacity")

    assert status == 1
    assert "faster than that machine can be with that model" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "llama-3.1-8b"), "--on"),
        (("--on", "h100"), "--model"),
        (("--tp", "2"), "nothing is predicted without a model"),
        (("--weights", "fp8"), "--model and --on"),
        (("--model", "no-such", "--on", "h100"), "no-such"),
        (("--model", "llama-3.1-8b", "--on", "no-such"), "no-such"),
        (("--request-rate", "3"), "one or the other"),
        (("--burst",), "got   --burst, --concurrency"),
        (("--burstiness", "2"), "--request-rate"),
        (("--timeout", "0"), "timeout_s"),
        (("--duration", "0"), "duration_s"),
        (("--warmup", "-1"), "warmup"),
        (("--ttft-slo-ms", "0"), "ttft_slo_ms"),
        (("--api", "responses"), "completions"),
        (("--header", "nonsense"), "no header"),
        (("--header", "X Y: z"), "no header"),
        (("--api-key-env", "NO_SUCH_VARIABLE"), "no key in that variable"),
        (("-o", "run.svg"), ".svg"),
    ],
)
def test_wrong_use_is_status_2_and_nothing_is_sent(capsys, words, said):
    with serving(Server(steady(0, 0))) as one:
        status, _, err = ran(capsys, one.url, *words)

    assert status == 2
    assert said in err
    assert one.asked == []


def test_a_prompt_longer_than_any_context_is_refused():
    with pytest.raises(rooflight.errors.BadInput, match="10,000,000"):
        rooflight.measure_endpoint("http://127.0.0.1:9", isl=10**9)


def test_a_rate_that_takes_for_ever_is_status_2(capsys):
    """5 gaps of 1e9 s."""
    with serving(Server(steady(0, 0))) as one:
        words = ["measure", "endpoint", one.url, "--num-prompts", "6", "--request-rate", "1e-9"]
        status = run(app.run_plain, words)
    err = capsys.readouterr().err

    assert status == 2
    assert f"{5 * 10**9:,} s until the last" in err
    assert "--duration" in err
    assert one.asked == []


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://a:b@h/", "http://a..b/"])
def test_a_wrong_url_is_status_2(capsys, url):
    assert ran(capsys, url)[0] == 2


def test_without_the_extra_it_is_named(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    status, _, err = ran(capsys, "http://127.0.0.1:9")

    assert status == 2
    assert "pip install 'rooflight[endpoint]'" in err


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done(tmp_path):
    """An interrupt while the 20th request hangs: 130, and 18 of the load are there with the one that was cut off."""
    quick = steady(0.001, 0.001)
    file = tmp_path / "runs.jsonl"
    with serving(Server(lambda number, asks: Answer(fault="silent") if number == 20 else quick(number, asks))) as one:
        words = ["measure", "endpoint", one.url, "--isl", "5", "--osl", "3", "--num-prompts", "100", "-o", str(file)]
        env = {**os.environ, "PYTHONPATH": str(Path(rooflight.__file__).parents[1])}
        job = subprocess.Popen(
            [sys.executable, "-m", "rooflight", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
        )
        try:
            while len(one.asked) < 21 and job.poll() is None:
                time.sleep(0.01)
            job.send_signal(signal.SIGINT)
            out, err = job.communicate(timeout=60)
        finally:
            job.kill()
    outcomes = [sample.outcome for sample in read_samples(file).samples]

    assert job.returncode == 130, err
    assert b"Traceback" not in err
    assert "answered 18 of 19 requests (1 x cut off by the interrupt)" in " ".join(out.decode().split())
    assert outcomes == [*["ok"] * 20, "unfinished"]
