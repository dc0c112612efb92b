"""`rooflight calibrate` from the prompt, and --calibration of the commands that take a deployment."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from pathlib import Path

import pytest

HEAD = "model,accelerator,metric,value,phase,batch,input_len,output_len,weights,engine,engine_version"
ROW = "llama-3.1-8b,h100-sxm,{metric},{value},e2e_server,{batch},1024,256,bf16,vllm,0.11.0"
VALUES = {1: (9.1, 61), 8: (10.4, 118), 32: (14.2, 221)}
ASKED = ("llama-3.1-8b", "--on", "h100-sxm", "--engine", "vllm")


@pytest.fixture(scope="session")
def rows(tmp_path_factory) -> str:
    """Three runs of one deployment, and a line that cannot be."""
    lines = [HEAD]
    for batch, (token, first) in VALUES.items():
        lines.append(ROW.format(metric="tpot_ms", value=token, batch=batch))
        lines.append(ROW.format(metric="ttft_ms", value=first, batch=batch))
    lines.append(ROW.format(metric="tpot_ms", value=0.4, batch=8))
    path = tmp_path_factory.mktemp("own") / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def mine(ask, rows, tmp_path) -> str:
    path = str(tmp_path / "mine.toml")
    assert ask("calibrate", rows, "-o", path).exit_code == 0
    return path


def words(result) -> str:
    return " ".join(result.stdout.split())


def test_it_says_what_is_shifted_and_whether_it_helps(ask, rows):
    result = ask("calibrate", rows)

    assert result.exit_code == 0
    assert words(result).startswith("vllm on h100-sxm, 6 rows of 3 runs: steps")
    assert "leaving one out they are" in words(result)
    assert "line 8, llama-3.1-8b on h100-sxm tpot_ms 0.4: impossible" in words(result)
    assert "1 row is left out, with its reason." in words(result)


def test_the_page_shows_the_rows_of_its_example():
    docs = Path(__file__).parents[3] / "docs"

    assert f"```text\n{(docs / 'examples' / 'own-rows.csv').read_text()}```" in (docs / "calibrate.md").read_text()


def test_the_file_and_the_json_are_one_document(ask, rows, mine):
    document = json.loads(ask("calibrate", rows, "--json").stdout)
    table = tomllib.loads(Path(mine).read_text())

    assert document["schema"] == table["schema"] == "rooflight.calibration/1"
    assert table["entries"] == [
        json.loads(json.dumps(one), object_hook=lambda found: {k: v for k, v in found.items() if v is not None})
        for one in document["entries"]
    ]
    assert [one["line"] for one in document["left_out"]] == [8]


def test_csv_has_a_row_a_model_and_quantity(ask, rows):
    found = list(csv.DictReader(io.StringIO(ask("calibrate", rows, "--format", "csv").stdout)))

    assert [row["of"] for row in found] == ["step", "prefill", "first", "request"] * 2
    assert float(found[0]["factor"]) > 1


def test_analyze_shows_both(ask, mine):
    plain = json.loads(ask("analyze", *ASKED, "--json").stdout)
    own = json.loads(ask("analyze", *ASKED, "--calibration", mine, "--json").stdout)

    assert own["calibration"]["used"] is True
    assert own["calibration"]["phases"]["decode"] == plain["phases"]["decode"]["time_s"]
    assert own["calibration"]["runs"]["alone"]["ttft_s"] == plain["runs"]["alone"]["ttft_s"]
    for basis in ("ceiling", "roofline"):
        assert own["phases"]["decode"]["time_s"][basis] == plain["phases"]["decode"]["time_s"][basis]
    assert "That is by your own calibration" in own["answer"]


def test_every_command_that_takes_a_deployment_takes_it(ask, mine, rows):
    """Their assumptions say so: the fit is one, so what they reckon with is."""
    said = "are by your own calibration of"
    assert said in words(ask("sweep", *ASKED, "--calibration", mine, "--batch", "1,8"))
    assert said in words(ask("compare", *ASKED, "--calibration", mine))
    assert said in words(ask("moves", *ASKED, "--calibration", mine))
    claim = ask("check", "--model", "llama-3.1-8b", "--on", "h100-sxm", "--engine", "vllm", "--batch", "8",
                "--tpot-ms", "10", "--calibration", mine)  # fmt: skip
    assert said in words(claim)
    judged = list(csv.DictReader(io.StringIO(ask("check", rows, "--calibration", mine, "--format", "csv").stdout)))
    assert float(judged[0]["expected"]) > float(judged[0]["expected_uncalibrated"])
    told = json.loads(ask("check", rows, "--calibration", mine, "--json").stdout)["notes"]
    assert told[0].startswith("expected values of vllm on h100-sxm are by your own calibration of")


def test_without_it_no_column_is_added(ask, rows):
    assert "uncalibrated" not in ask("check", rows, "--format", "csv").stdout


def test_another_engine_is_not_shifted_and_the_answer_says_so(ask, mine):
    result = ask("analyze", "llama-3.1-8b", "--on", "h100-sxm", "--calibration", mine)

    assert "your own calibration is not used: it is of vllm (2025) on h100-sxm" in words(result)
    assert "--engine vllm is what it is of" in words(result)


def test_rows_that_disagree_are_exit_1(ask, tmp_path):
    """Nothing is shifted: the answer is no."""
    seen = ((1, 14), (2, 5.2), (4, 15), (8, 5.3))
    lines = [HEAD, *(ROW.format(metric="tpot_ms", value=value, batch=batch) for batch, value in seen)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    result = ask("calibrate", str(path))

    assert result.exit_code == 1
    assert "no factor on steps helps" in words(result)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is empty"),
        ("schema = ", "is no TOML"),
        ("\x00\xff", "is no TOML"),
        ('schema = "rooflight.calibration/2"', "is no calibration that this version reads"),
        ('date = "2026-11-29"', "is no calibration that this version reads"),
        ('schema = "rooflight.calibration/1"\ndate = "d"\nrooflight = "1"\nentries = []', "calibrates nothing"),
        ('schema = "rooflight.calibration/1"', "holds a value that no calibration has"),
        ("a = " + "[" * 3000 + "]" * 3000, "no"),
    ],
)
def test_what_is_no_calibration_is_refused_in_words(ask, tmp_path, text, what):
    path = tmp_path / "odd.toml"
    path.write_text(text, encoding="latin-1")
    result = ask("analyze", *ASKED, "--calibration", str(path))

    assert result.exit_code == 2
    assert what in result.stderr
    assert "Traceback" not in result.stderr
    assert "want" in result.stderr


def test_a_factor_out_of_range_is_refused_with_its_place(ask, mine):
    file = Path(mine)
    file.write_text(file.read_text().replace("factor = 1.0\n", "factor = 99.0\n", 1))
    result = ask("analyze", *ASKED, "--calibration", mine)

    assert result.exit_code == 2
    assert "entries[0].others.prefill.factor" in result.stderr


def test_factors_on_other_fits_are_refused(ask, mine):
    """A version with other fits: the factors would say nothing there."""
    file = Path(mine)
    fit = tomllib.loads(file.read_text())["entries"][0]["fit"]
    file.write_text(file.read_text().replace(fit, "0" * 16))
    result = ask("analyze", *ASKED, "--calibration", mine)

    assert result.exit_code == 2
    assert "relative to other fits than this version has" in result.stderr
    assert "rooflight calibrate FILE.csv -o mine.toml" in result.stderr


def test_no_file_no_rows_and_a_file_that_would_be_overwritten(ask, tmp_path, rows):
    assert ask("analyze", *ASKED, "--calibration", str(tmp_path / "none.toml")).exit_code == 2
    assert ask("calibrate", str(tmp_path / "none.csv")).exit_code == 2
    empty = tmp_path / "empty.csv"
    empty.write_text(HEAD + "\n")
    assert ask("calibrate", str(empty)).exit_code == 2
    assert ask("calibrate", rows, "-o", rows).exit_code == 2


def test_rows_describe_themselves(ask, rows):
    assert ask("calibrate", rows, "--on", "a100").exit_code == 2
