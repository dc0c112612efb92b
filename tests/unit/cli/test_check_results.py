"""`rooflight check FILE` of what a benchmark wrote: told by its content, judged with what options say."""

from __future__ import annotations

import csv
import gzip
import io
import json

import pytest

RUN = {
    "model_id": "org/unknown", "max_concurrency": 4, "duration": 100.0, "completed": 100, "total_input_tokens": 51_200,
    "total_output_tokens": 6400, "request_throughput": 1.0, "output_throughput": 64.0, "mean_ttft_ms": 300.0,
    "mean_tpot_ms": 58.73, "mean_e2el_ms": 4000.0,
}  # fmt: skip
METRICS = ["ttft_ms", "tpot_ms", "e2e_latency_ms", "output_tok_s"]


@pytest.fixture
def result(tmp_path):
    path = tmp_path / "rows.csv"  # whatever it is called
    path.write_text(json.dumps(RUN))
    return str(path)


def test_the_answer_says_each_value(ask, result):
    found = ask("check", result, "--model", "8b", "--on", "l4", "--weights", "bf16")
    assert found.exit_code == 0, found.output
    said = " ".join(found.stdout.split("\n\n")[0].split())
    assert said.startswith("300 ms to the first token is possible")
    assert "64 tok/s is possible" in said
    assert "measured ceiling expected" in " ".join(found.stdout.split())


def test_json_is_the_report_of_a_table(ask, result):
    found = ask("check", result, "--model", "8b", "--on", "l4", "--json")
    document = json.loads(found.stdout)
    assert document["schema"] == "rooflight.check/1"
    assert [row["metric"] for row in document["rows"]] == METRICS
    assert [row["line"] for row in document["rows"]] == [1, 2, 3, 4]
    assert document["rows"][0]["given"]["batch"] == "4"
    assert document["summary"]["rows"] == 4


def test_csv_of_it_is_a_table_that_check_reads(ask, result, tmp_path):
    first = ask("check", result, "--model", "llama-3.1-8b", "--on", "l4", "--format", "csv").stdout
    again = tmp_path / "again.csv"
    again.write_text(first)
    second = ask("check", str(again), "--format", "csv").stdout
    one, other = (list(csv.DictReader(io.StringIO(text))) for text in (first, second))
    for name in ("metric", "ceiling", "expected", "low", "high", "verdict"):
        assert [row[name] for row in one] == [row[name] for row in other], name


def test_several_runs_are_told_apart(ask, tmp_path):
    path = tmp_path / "all.jsonl"
    path.write_text("\n".join(json.dumps(RUN | {"max_concurrency": one}) for one in (4, 8)))
    found = ask("check", str(path), "--model", "8b", "--on", "l4")
    text = " ".join(found.stdout.split())
    assert "run metric measured" in text
    # 1 request/s of 4 s each are 4 in flight, not 8
    assert "run 2 (concurrency 8)" in text
    assert "batch, rate and time cannot all be true" in text


def test_packed_and_piped(ask, result, tmp_path):
    packed = tmp_path / "x"
    packed.write_bytes(gzip.compress(json.dumps(RUN).encode()))
    plain = ask("check", result, "--model", "8b", "--on", "l4", "--json").stdout
    assert ask("check", str(packed), "--model", "8b", "--on", "l4", "--json").stdout == plain


@pytest.mark.parametrize(
    "words, said",
    [
        ((), "names no model that the catalog knows"),
        (("--model", "8b"), "names no accelerator that the catalog knows"),
        (("--model", "8b", "--on", "l4", "--tpot-ms", "3"), "a file, or a claim by options, not both"),
        (("--model", "8b", "--on", "l4", "--context", "3"), "says itself what was timed"),
        (("--model", "8b", "--on", "2xl4", "--tp", "3"), "3"),
    ],
)
def test_what_is_missing_is_said(ask, result, words, said):
    found = ask("check", result, *words)
    assert said in found.output
    assert found.exit_code == (0 if "--tp" in words else 2)


def test_what_is_no_result_is_said(ask, tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"a": 1}')
    found = ask("check", str(path))
    assert (found.exit_code, "lacks the columns" in found.stderr) == (2, True)


def test_beyond_physics_is_exit_status_1(ask, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(RUN | {"mean_tpot_ms": 5.0, "max_concurrency": 1}))
    found = ask("check", str(path), "--model", "8b", "--on", "l4", "--weights", "bf16")
    assert found.exit_code == 1
    assert "impossible" in found.stdout
