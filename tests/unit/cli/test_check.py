"""`rooflight check`: claims by options, files in every form, bad files in words."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

import rooflight
from rooflight.values.measurement import Report, Tally, Verdict

HEADER = "model,accelerator,metric,value,phase,batch,weights,gpus,tp,reason,mine"
ROW = "meta-llama/Meta-Llama-3-8B,h100-sxm,output_tok_s_per_user,{},decode,1,bf16,1,1,said before,kept"


@pytest.fixture
def rows_file(tmp_path):
    path = tmp_path / "rows.csv"
    values = ("150", "300", "no number", "9000")
    path.write_text("\n".join([HEADER, *(ROW.format(value) for value in values)]) + "\n", encoding="utf-8")
    return str(path)


POSSIBLE = {"ok", "fast", "slow"}  # which of them depends on what is calibrated
CLAIM = ("check", "--model", "8b", "--on", "l4", "--batch", "1", "--weights", "bf16")


def test_a_claim_starts_with_one_plain_sentence(ask, models):
    """15.2 GB a step through 300 GB/s: 19.8 tok/s at most."""
    result = ask(*CLAIM, "--output-tok-s", "30")
    ceiling = rooflight.analyze(models["8b"], on="l4").phases["decode"].tokens_per_s.ceiling
    assert result.exit_code == 1
    said = " ".join(result.stdout.split("\n\n")[0].split())
    assert said.startswith(f"30 tok/s is impossible: the ceiling is {ceiling:.1f} tok/s, because each decode step")
    assert "it would be right for 2 devices" in said


@pytest.mark.parametrize(
    "option, value, phase",
    [
        ("--tpot-ms", "1000", "decode"),
        ("--output-tok-s-per-gpu", "1", "decode"),
        ("--output-tok-s-per-user", "1", "decode"),
        ("--ttft-ms", "10000", "prefill"),
        ("--prefill-tok-s", "10", "prefill"),
    ],
)
def test_a_claims_ceiling_is_that_of_analyze(ask, models, option, value, phase):
    result = ask(*CLAIM, option, value, "--isl", "512", "--json")
    assert result.exit_code == 0
    (row,) = json.loads(result.stdout)["rows"]
    answer = rooflight.analyze(models["8b"], on="l4", isl=512).phases[phase]
    wanted = answer.time_s.ceiling * 1000 if option.endswith("ms") else answer.tokens_per_s.ceiling
    assert row["ceiling"] == pytest.approx(wanted, rel=1e-9)
    assert row["verdict"] in POSSIBLE
    assert "is possible" in row["reason"]


def test_a_whole_request_is_that_of_analyze(ask, models):
    request = rooflight.analyze(models["8b"], on="h100-sxm", batch=4, prefill_batch=4, isl=512, osl=64).request
    words = ("check", "--model", "8b", "--on", "h100-sxm", "--batch", "4", "--isl", "512", "--osl", "64")
    result = ask(*words, "--e2e-latency-ms", "5000", "--total-tok-s", "100", "--json")
    latency, total = json.loads(result.stdout)["rows"]
    assert latency["ceiling"] == pytest.approx(request.time_s.ceiling * 1000)
    assert total["ceiling"] == pytest.approx(4 * (512 + 64) / request.time_s.ceiling)


def test_a_claim_that_int8_would_make_possible_is_not_called_impossible(ask, models):
    claim = ("check", "--model", "8b", "--on", "rtx-4090", "--weights", "q4_0", "--isl", "1024")

    assert "state compute int8" in ask(*claim, "--prefill-tok-s", "16500").output.replace("\n", " ")
    stated = ask(*claim, "--compute", "int8", "--prefill-tok-s", "16500")
    assert "is possible" in stated.output


def test_a_claims_engine_is_that_of_analyze(ask, models):
    words = ("check", "--model", "8b", "--on", "h100-sxm", "--tpot-ms", "6")
    found = json.loads(ask(*words, "--engine", "vllm", "--json").stdout)["rows"][0]
    decode = rooflight.analyze(models["8b"], on="h100-sxm", engine="vllm").phases["decode"].time_s

    assert found["expected"] == pytest.approx(decode.expected * 1000)
    unknown = ask(*words, "--engine", "foo")
    assert unknown.exit_code == 2
    assert "no engine 'foo' is calibrated" in unknown.stderr


def test_a_batch_that_is_not_given_is_not_one(ask):
    """One sequence gets some 20 tok/s of an L4; 30 take two."""
    open_, one = (
        ask(*CLAIM[:5], "--weights", "bf16", *batch, "--output-tok-s", "30") for batch in ((), ("--batch", "1"))
    )
    said = " ".join(open_.stdout.split())
    assert (open_.exit_code, one.exit_code) == (0, 1)
    assert "what a well-run engine gets of about 2 at once" in said
    assert "- batch 1: the default" not in said


def test_values_claimed_together_are_of_one_run(ask):
    """30 tok/s at 100 ms a token are 3 in flight."""
    found = ask(*CLAIM[:5], "--weights", "bf16", "--output-tok-s", "30", "--tpot-ms", "100")
    assert "batch not stated: 3, as 30 tok/s and 100 ms a token make it" in " ".join(found.stdout.split())
    other = ask(*CLAIM, "--output-tok-s", "15", "--tpot-ms", "100")
    assert "make 1.5 in flight, not 1: batch, rate and time cannot all be true" in " ".join(other.stdout.split())
    assert other.exit_code == 0


def test_drafts_may_be_claimed(ask):
    words = (*CLAIM, "--tpot-ms", "40", "--json")
    plain, drafted = (json.loads(ask(*words, *more).stdout)["rows"][0] for more in ((), ("--draft-tokens", "3")))
    assert plain["verdict"] == "impossible"
    assert drafted["ceiling"] < plain["ceiling"] / 2
    assert drafted["verdict"] in POSSIBLE


def test_the_measurements_are_not_overwritten(ask, rows_file):
    before = Path(rows_file).read_bytes()
    result = ask("check", rows_file, "-o", rows_file)
    assert result.exit_code == 2
    assert f"the answer would overwrite {rows_file}, which it is made of" in result.stderr
    assert Path(rows_file).read_bytes() == before


def test_a_claim_about_what_does_not_fit_is_impossible(ask):
    result = ask("check", "--model", "70b", "--on", "h100-sxm", "--output-tok-s", "1")
    assert result.exit_code == 1
    assert "does not fit on h100-sxm" in " ".join(result.stdout.split())
    ignoring = ask("check", "--model", "70b", "--on", "h100-sxm", "--output-tok-s", "1", "--ignore-capacity")
    assert ignoring.exit_code == 0


def test_a_file_as_csv_keeps_its_columns_and_gains_ours(ask, rows_file):
    result = ask("check", rows_file, "--format", "csv")
    assert result.exit_code == 1
    found = list(csv.DictReader(io.StringIO(result.stdout)))
    assert list(found[0]) == [
        *HEADER.replace("reason", "input_reason").split(","),
        "ceiling", "expected", "low", "high", "over_ceiling", "verdict", "reason", "mfu", "mbu",
    ]  # fmt: skip
    assert found[0]["verdict"] in POSSIBLE
    assert [row["verdict"] for row in found[1:]] == ["impossible", "cannot-judge", "impossible"]
    assert all(row["mine"] == "kept" and row["input_reason"] == "said before" for row in found)
    assert float(found[1]["over_ceiling"]) == pytest.approx(300 / float(found[1]["ceiling"]))
    assert found[2]["ceiling"] == ""
    assert found[2]["reason"] == "value is 'no number', not a number"


def test_a_file_as_json_holds_the_same(ask, rows_file):
    document = json.loads(ask("check", rows_file, "--json").stdout)
    table = list(csv.DictReader(io.StringIO(ask("check", rows_file, "--format", "csv").stdout)))
    assert document["schema"] == "rooflight.check/1"
    assert set(document) == set(Report.__struct_fields__)
    assert document["summary"]["impossible"] == 2
    assert document["answer"].startswith("2 of 4 rows are faster than physics allows")
    for row, line in zip(document["rows"], table, strict=True):
        assert row["verdict"] == line["verdict"]
        assert row["reason"] == line["reason"]
        assert row["given"]["value"] == line["value"]
        assert ("" if row["ceiling"] is None else str(row["ceiling"])) == line["ceiling"]


def test_text_gives_the_summary_and_the_rows_that_matter(ask, rows_file):
    said = ask("check", rows_file).stdout
    assert said.startswith("2 of 4 rows are faster than physics allows")
    assert "Faster than physics allows:" in said
    lines = [line for line in said.splitlines() if "meta-llama" in line]
    assert [line.split()[0] for line in lines] == ["5", "3"]  # the furthest above first
    assert "  - 1 x value is 'no number', not a number" in said


def test_text_is_thinned(ask, tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("\n".join([HEADER, *(ROW.format(300 + number) for number in range(50))]), encoding="utf-8")
    said = ask("check", str(path)).stdout
    assert "Faster than physics allows (the 20 furthest of 50):" in said
    assert said.count("meta-llama") == 20


def test_a_file_where_all_is_possible_exits_0(ask, tmp_path):
    path = tmp_path / "fine.csv"
    path.write_text(f"{HEADER}\n{ROW.format(100)}\n", encoding="utf-8")
    result = ask("check", str(path))
    assert result.exit_code == 0
    assert result.stdout.startswith("The row is possible, and slower than expected.\n")


def test_output_files_are_named_below_the_sentence(ask, rows_file, tmp_path):
    out = tmp_path / "judged.csv"
    result = ask("check", rows_file, "-o", str(out))
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0].startswith("2 of 4 rows are faster")
    assert len(list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))) == 4


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "is empty"),
        (HEADER.encode() + b"\n", "holds a header and no rows"),
        (b"a,b\n1,2\n", "lacks the columns accelerator, metric, model, value"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is not text"),
    ],
)
def test_bad_files_end_in_words(ask, tmp_path, content, words):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    for form in ("text", "csv", "json"):
        result = ask("check", str(path), "--format", form)
        assert result.exit_code == 2
        assert words in result.stderr


def test_no_output_file_is_left_where_the_input_is_bad(ask, tmp_path):
    path, out = tmp_path / "bad.csv", tmp_path / "out.csv"
    path.write_text(HEADER + "\n", encoding="utf-8")
    assert ask("check", str(path), "-o", str(out)).exit_code == 2
    assert not out.exists()


@pytest.mark.parametrize(
    "words, said",
    [
        (("check",), "there is nothing to check"),
        (("check", "--model", "8b", "--on", "l4"), "there is nothing to check"),
        (("check", "--on", "l4", "--tpot-ms", "3"), "there is nothing to check"),
        (("check", "--model", "8b", "--tpot-ms", "3"), "no accelerator was named"),
        ((*CLAIM, "--tpot-ms", "0"), "nothing takes no time"),
        ((*CLAIM, "--tpot-ms", "-3"), "'-3' is no amount"),
        ((*CLAIM, "--tpot-ms", "1e-320"), "no measurement is such a value"),
        ((*CLAIM, "--tpot-ms", "3", "--configs", "x"), "--configs names the models of a file"),
        (("check", "none.csv"), "there is no file none.csv"),
        (("check", "none.csv", "--batch", "3", "--tpot-ms", "1"), "a file's rows describe themselves"),
        (("check", ".", "--configs", "none"), "none is no folder of configs"),
        (("check", "."), "is a directory"),
    ],
)
def test_wrong_use_exits_2(ask, words, said):
    result = ask(*words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_a_missing_fact_exits_3(ask):
    """A prompt needs a compute peak, a token does not."""
    of = ("check", "--model", "8b", "--on", "cerebras-wse3", "--batch", "1")
    assert ask(*of, "--ttft-ms", "300").exit_code == 3
    assert ask(*of, "--tpot-ms", "3").exit_code == 0
    assert ask(*of, "--ttft-ms", "300", "--tpot-ms", "3").exit_code == 0


def test_every_field_of_the_document_is_explained():
    page = Path(__file__).parents[3] / "docs" / "json.md"
    section = page.read_text(encoding="utf-8").partition("<!-- keys: check -->")[2].partition("<!--")[0]
    explained = set(re.findall(r"`([^`\n]+)`", section))
    fields = {name for kind in (Report, Tally, Verdict) for name in kind.__struct_encode_fields__}
    assert not fields - explained


def test_a_dash_is_standard_input(process, rows_file):
    piped = process("check", "-", "--format", "csv", input=Path(rows_file).read_bytes())
    named = process("check", rows_file, "--format", "csv")

    assert piped.stdout == named.stdout
    assert piped.returncode == named.returncode == 1


def test_a_claim_of_what_fits_by_the_label_is_judged(ask):
    """688 GB on 8 x 102.6e9 bytes, whatever a share would leave."""
    claimed = json.loads(ask(
        "check", "--model", "deepseek-ai/DeepSeek-V3.2", "--on", "8xh20", "--tp", "8", "--engine", "vllm",
        "--batch", "1", "--isl", "2048", "--osl", "1024", "--output-tok-s", "30", "--json",
    ).stdout)  # fmt: skip

    assert claimed["rows"][0]["verdict"] in ("ok", "slow")


def test_a_cap_is_no_demand(ask):
    """512 at most is a scheduler's limit: about a hundred run, the rest wait."""
    claimed = json.loads(ask(
        "check", "--model", "mistral-7b", "--on", "l4", "--weights", "fp8", "--engine", "vllm", "--max-num-seqs", "512",
        "--isl", "1024", "--osl", "256", "--output-tok-s", "900", "--json",
    ).stdout)  # fmt: skip

    assert claimed["rows"][0]["verdict"] in ("ok", "slow", "fast")


@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_lines_that_are_not_read_show_in_the_exit_status(ask, tmp_path, form):
    path = tmp_path / "rows.csv"
    good = ROW.format("150")
    path.write_text("\n".join([HEADER, good, good.replace("150", '"150'), good]) + "\n", encoding="utf-8")
    result = ask("check", str(path), "--format", form)
    warning = "lines 3 to 4 are not read: a quote in line 3 is not closed"
    assert result.exit_code == 2
    assert warning in " ".join((result.stderr if form == "csv" else result.stdout).split())
    if form == "json":
        document = json.loads(result.stdout)
        assert (document["summary"]["rows"], document["summary"]["cannot_judge"]) == (3, 2)
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        assert [row["verdict"] for row in rows[1:]] == ["cannot-judge"] * 2
        assert [row["mine"] for row in rows] == ["kept"] * 3


def test_something_impossible_counts_for_more_than_lines_that_are_not_read(ask, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([HEADER, ROW.format("9000"), '"']) + "\n", encoding="utf-8")
    assert ask("check", str(path)).exit_code == 1
