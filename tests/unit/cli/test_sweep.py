"""`rooflight sweep`: rows equal to analyze, forms that stream, text that is thinned."""

from __future__ import annotations

import csv
import io
import json

import pytest

import rooflight


def document(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_rows_equal_analyze(ask, models):
    found = document(ask("sweep", "8b", "--on", "h100-sxm", "--batch", "1:64:x4", "--context", "1000,2000", "--json"))
    assert found["schema"] == "rooflight.sweep/1"
    assert found["axes"] == ["batch", "context"]
    assert found["points"] == len(found["rows"]) == 4 * 2
    assert [(row["batch"], row["context"]) for row in found["rows"][:3]] == [(1, 1000), (1, 2000), (4, 1000)]
    row = found["rows"][5]
    single = rooflight.analyze(models["8b"], on="h100-sxm", batch=row["batch"], context=row["context"])
    decode = single.phases["decode"]
    assert row["time_s"]["ceiling"] == pytest.approx(decode.time_s.ceiling, rel=1e-12)
    assert row["time_s"]["roofline"] == pytest.approx(decode.time_s.roofline, rel=1e-12)
    assert row["tokens_per_s_per_user"]["ceiling"] == pytest.approx(decode.tokens_per_s_per_user.ceiling, rel=1e-12)
    assert row["bytes"]["total"] == pytest.approx(decode.bytes.total, rel=1e-12)
    assert row["flop"] == pytest.approx(decode.flop, rel=1e-12)
    assert row["bound"] == decode.bound
    assert row["max_batch"] == single.memory.max_batch
    for name in ("expected", "low", "high"):
        assert row["time_s"][name] == pytest.approx(getattr(decode.time_s, name), rel=1e-12)
        assert row["tokens_per_s"][name] == pytest.approx(getattr(decode.tokens_per_s, name), rel=1e-12)


def test_csv_and_json_hold_the_same(ask):
    words = ("sweep", "8b", "--on", "h100-sxm,h200-sxm", "--isl", "512:2048:512")
    rows = document(ask(*words, "--json"))["rows"]
    table = list(csv.DictReader(io.StringIO(ask(*words, "--format", "csv").stdout)))
    assert len(rows) == len(table) == 2 * 4
    for row, line in zip(rows, table, strict=True):
        assert line["accelerator"] == row["accelerator"]
        assert line["phase"] == row["phase"] == "prefill"  # isl without batch or context
        assert float(line["time_s.ceiling"]) == row["time_s"]["ceiling"]
        assert float(line["bytes.weights"]) == row["bytes"]["weights"]
        assert line["tokens_per_s_per_user.ceiling"] == ""
        assert line["context"] == ""


def test_formats_and_degrees_are_axes(ask):
    found = document(ask("sweep", "8b", "--on", "h100-sxm", "--tp", "1,2", "--weights", "bf16,fp8", "--json"))
    assert {(row["tp"], row["devices"], row["weights"]) for row in found["rows"]} == {
        (1, 1, "bf16"), (1, 1, "fp8"), (2, 2, "bf16"), (2, 2, "fp8"),
    }  # fmt: skip
    assert len(found["landmarks"]) == 4


def test_a_row_that_does_not_fit_keeps_its_place(ask):
    found = document(ask("sweep", "70b", "--on", "2xh100-sxm", "--weights", "bf16,fp8", "--json"))
    wide, narrow = found["rows"]
    assert wide["fits"] is (wide["bound"] != "capacity")
    assert narrow["fits"] is True
    result = ask("sweep", "70b", "--on", "h100-sxm", "--batch", "1,2", "--json")
    assert result.exit_code == 1
    row = json.loads(result.stdout)["rows"][0]
    assert row["bound"] == "capacity"
    assert row["time_s"] == dict.fromkeys(("ceiling", "roofline", "expected", "low", "high"))
    assert row["ceilings_s"]["memory"] is None
    assert row["flop"] > 0
    ignored = document(ask("sweep", "70b", "--on", "h100-sxm", "--batch", "1,2", "--json", "--ignore-capacity"))
    assert ignored["rows"][0]["time_s"]["ceiling"] > 0
    assert ignored["rows"][0]["fits"] is False


def test_the_sentence_says_the_landmarks(ask, models):
    mark = rooflight.sweep(models["8b"], "h100-sxm", {"batch": [1, 2]}).landmarks()[0]
    text = " ".join(ask("sweep", "8b", "--on", "h100-sxm", "--batch", "1,2").stdout.split())
    assert f"the KV cache holds at most {mark.kv_limit:,} sequences" in text
    assert f"is at batch {mark.knee_batch:,}" in text


def test_text_is_thinned_and_says_so(ask):
    text = ask("sweep", "8b", "--on", "h100-sxm", "--batch", "1:1000").stdout
    rows = [line for line in text.splitlines() if line[:7].strip().isdigit()]
    assert len(rows) <= 40
    assert f"{1000 - len(rows):,} of 1,000 rows left out" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_single_point_is_a_sweep_too(ask):
    found = document(ask("sweep", "8b", "--on", "h100-sxm", "--json"))
    assert len(found["rows"]) == 1
    assert found["axes"] == []


def test_many_rows_stream(ask):
    """More than one block and more than one batch of JSON rows; every line of a row is JSON by itself."""
    found = document(ask("sweep", "8b", "--on", "h100-sxm", "--batch", "1:200", "--context", "1:100", "--json"))
    assert len(found["rows"]) == 20_000
    assert [found["rows"][-1][name] for name in ("batch", "context")] == [200, 100]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--batch", "0:4"), "batch must be a whole number of at least 1"),
        (("--batch", "4:1"), "4 is above 1"),
        (("--batch", "1:4:y"), "not a whole number"),
        (("--batch", "1:100000", "--context", "1:1000"), "100,000,000 points are too many"),
        (("--tp", "1,3"), "tp 3 does not divide"),
        (("--weights", "bf16,fp7"), "no number format 'fp7'"),
        (("--phase", "verify"), "not one of decode, prefill"),
        (("--draft-tokens", "3"), "No such option"),
    ],
)
def test_wrong_use(ask, words, said):
    result = ask("sweep", "8b", "--on", "h100-sxm", *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_markdown(ask):
    assert "| batch | bound |" in ask("sweep", "8b", "--on", "h100-sxm", "--batch", "1,2", "--format", "md").stdout


RUNS = ("sweep", "8b", "--on", "h100-sxm", "--schedule", "served", "--batch", "1,16", "--isl", "512,2048")


def test_a_schedule_gives_runs(ask, models):
    """Every row is analyze's run of that load."""
    found = document(ask(*RUNS, "--json"))
    assert (found["schedule"], found["goals"], found["points"]) == ("served", [], 4)
    row = found["rows"][3]
    alone = rooflight.analyze(models["8b"], on="h100-sxm", batch=16, isl=2048).to_dict()["runs"]["served"]
    assert (row["batch"], row["isl"], row["schedule"]) == (16, 2048, "served")
    for name in (
        "ttft_s",
        "tpot_s",
        "request_s",
        "requests_per_s",
        "output_tokens_per_s",
        "output_tokens_per_s_per_user",
    ):
        for basis, value in alone[name].items():
            assert row[name][basis] == pytest.approx(value, rel=1e-6), (name, basis)
    for name in ("running", "decoding", "waiting", "prefill_share"):
        assert row[name] == pytest.approx(alone[name], rel=1e-6, abs=1e-9)


def test_runs_in_csv_are_those_in_json(ask):
    rows = document(ask(*RUNS, "--osl", "1", "--json"))["rows"]
    table = list(csv.DictReader(io.StringIO(ask(*RUNS, "--osl", "1", "--format", "csv").stdout)))
    assert len(rows) == len(table) == 4
    for row, line in zip(rows, table, strict=True):
        assert float(line["ttft_s.high"]) == row["ttft_s"]["high"]
        assert line["tpot_s.expected"] == ""
        assert row["tpot_s"]["expected"] is None


def test_runs_in_text(ask):
    text = ask(*RUNS).stdout
    assert "Run served on h100-sxm" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_goals_are_in_every_form(ask):
    words = ("sweep", "8b", "--on", "h100-sxm,h200-sxm", "--ttft-slo-ms", "300", "--tpot-slo-ms", "20")
    found = document(ask(*words, "--json"))
    assert [goal["accelerator"] for goal in found["goals"]] == ["h100-sxm", "h200-sxm"]
    goal = found["goals"][0]
    assert (goal["ttft_slo_s"], goal["tpot_slo_s"]) == (0.3, 0.02)
    assert goal["expected"]["batch"] > goal["slow"]["batch"] >= 1
    assert found["schedule"] is None
    assert "time_s" in found["rows"][0]
    text = ask(*words).stdout
    said = " ".join(text.split("\n\n")[0].split())
    assert said.startswith("llama-8b on h100-sxm keeps TTFT within 300 ms and TPOT within 20 ms with at most ")
    assert f"{goal['expected']['batch']:,}" in said
    assert "Goals: " in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_goals_that_no_deployment_keeps(ask):
    result = ask("sweep", "8b", "--on", "h100-sxm,h200-sxm", "--ttft-slo-ms", "1")
    assert result.exit_code == 1
    assert "does not keep TTFT within 1 ms" in " ".join(result.stdout.split())
    assert "one request alone takes" in result.stdout
    one = ask("sweep", "70b", "--on", "h100-sxm,4xh100-sxm", "--ttft-slo-ms", "1000", "--json")
    assert one.exit_code == 0
    assert [goal["missed"] for goal in json.loads(one.stdout)["goals"]] == [["capacity"], []]


def test_runs_of_what_does_not_fit(ask):
    result = ask("sweep", "70b", "--on", "h100-sxm", "--schedule", "served", "--json")
    assert result.exit_code == 1
    row = json.loads(result.stdout)["rows"][0]
    assert row["ttft_s"]["expected"] is row["waiting"] is None
    assert ask("sweep", "70b", "--on", "h100-sxm", "--schedule", "served", "--ignore-capacity").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--ttft-slo-ms", "0"), "--ttft-slo-ms"),
        (("--tpot-slo-ms", "fast"), "--tpot-slo-ms"),
        (("--schedule", "served", "--phase", "decode"), "a run is no phase"),
        (("--schedule", "some"), "not one of"),
        (("--schedule", "served", "--request-rate", "3"), "numbers of requests in flight"),
    ],
)
def test_wrong_goals_and_runs(ask, words, said):
    result = ask("sweep", "8b", "--on", "h100-sxm", *words)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize("form", ["text", "json", "csv", "md"])
def test_nothing_is_out_when_it_is_refused(ask, tmp_path, form):
    """An engine is looked for where the first point is made, which was after the head of the document."""
    words = ("sweep", "8b", "--on", "h100-sxm", "--batch", "1,2", "--engine", "nosuch", "--format", form)
    file = tmp_path / "rows.json"
    file.write_text("old")

    assert (ask(*words).exit_code, ask(*words).stdout) == (2, "")
    if form == "json":
        assert ask(*words, "-o", str(file)).exit_code == 2
        assert file.read_text() == "old"
