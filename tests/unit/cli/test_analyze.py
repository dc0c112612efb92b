"""`rooflight analyze`: forms of the answer, exit status, errors in one shape."""

from __future__ import annotations

import csv
import io
import json

import pytest

import rooflight


@pytest.fixture
def answer(models):
    return rooflight.analyze(models["8b"], on="h100-sxm")


def test_json_is_the_library_answer(ask, answer):
    result = ask("analyze", "8b", "--on", "h100-sxm", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document == json.loads(json.dumps(answer.to_dict()))
    assert document["schema"] == "rooflight.analysis/1"
    assert document["model"]["streamed_weight_bytes"] == 15_009_849_344


def test_text_starts_with_the_sentence_and_shows_the_numbers(ask, answer):
    result = ask("analyze", "8b", "--on", "h100-sxm")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert text.startswith(answer.answer)
    assert "ridge point: bf16 295" in text
    assert "weights 16.1 GB + KV cache 168 MB" in text  # 16,060,522,496 bytes; 1,280 tokens x 131,072 bytes
    assert f"at most {answer.memory.max_batch:,} such sequences" in text
    for line in answer.assumptions:
        assert " ".join(line.split()) in text
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_ascii(ask):
    assert ask("analyze", "8b", "--on", "h100-sxm", "--ascii").stdout.isascii()
    assert not ask("analyze", "8b", "--on", "h100-sxm").stdout.isascii()


def test_no_roofline(ask):
    assert "ridge point:" not in ask("analyze", "8b", "--on", "h100-sxm", "--no-roofline").stdout


def test_csv_is_one_row_a_phase(ask, answer):
    result = ask("analyze", "8b", "--on", "h100-sxm", "--format", "csv", "--draft-tokens", "3", "--chunk", "512")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["phase"] for row in rows] == ["prefill", "decode", "verify", "mixed"]
    decode = rows[1]
    assert float(decode["time_s.ceiling"]) == answer.phases["decode"].time_s.ceiling
    assert decode["bound"] == "memory"
    assert rows[0]["tokens_per_s_per_user.ceiling"] == ""  # a prompt has no user's rate
    assert float(decode["time_s.expected"]) == answer.phases["decode"].time_s.expected
    assert all(float(row["time_s.roofline"]) <= float(row["time_s.expected"]) for row in rows)
    assert decode["fits"] == "true"


def test_markdown_has_the_tables(ask, answer):
    text = ask("analyze", "8b", "--on", "h100-sxm", "--format", "md").stdout
    assert text.startswith(f"**{answer.answer}**")
    assert "| phase | bound |" in text
    assert "gate\\_up" in text
    assert "```text" in text


def test_does_not_fit_is_answered_in_full_with_status_1(ask):
    result = ask("analyze", "70b", "--on", "h100-sxm")
    text = " ".join(result.stdout.split())
    assert result.exit_code == 1
    assert "does not fit on h100-sxm" in text
    assert "2 x h100-sxm would hold it" in text
    assert "Memory: weights 141 GB" in text  # 70,553,706,496 x 2 bytes
    assert "Assumed:" in text
    assert "roofline" not in text  # no times


def test_does_not_fit_in_json_and_csv(ask):
    document = json.loads(ask("analyze", "70b", "--on", "h100-sxm", "--json").stdout)
    assert document["bound"] == "capacity"
    assert document["phases"] is None
    assert document["memory"]["fits"] is False
    rows = list(csv.DictReader(io.StringIO(ask("analyze", "70b", "--on", "h100-sxm", "--format", "csv").stdout)))
    assert [row["bound"] for row in rows] == ["capacity"]


def test_ignore_capacity_answers(ask):
    result = ask("analyze", "70b", "--on", "h100-sxm", "--ignore-capacity", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["phases"]["decode"]["bound"] == "memory"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (("--batch", "8"), ("--concurrency", "8")),
        (("--isl", "2048"), ("--input-len", "2048")),
        (("--osl", "64"), ("--output-len", "64")),
        (("--weights", "fp8"), ("--quantization", "fp8")),
        (("--kv-cache", "fp8"), ("--kv-cache-dtype", "fp8")),
        (("--tp", "2"), ("--tensor-parallel-size", "2")),
        (("--pp", "2"), ("--pipeline-parallel-size", "2")),
        (("--dp", "2"), ("--data-parallel-size", "2")),
        (("--eager",), ("--enforce-eager",)),
        (("--draft-tokens", "4"), ("--num-speculative-tokens", "4")),
    ],
)
def test_spellings_of_vllm_mean_the_same(ask, answer, ours, theirs):
    one = ask("analyze", "8b", "--on", "h100-sxm", "--json", *ours)
    other = ask("analyze", "8b", "--on", "h100-sxm", "--json", *theirs)
    assert one.exit_code == 0
    assert one.stdout == other.stdout
    assert json.loads(one.stdout) != answer.to_dict()


def test_thousands_may_be_grouped(ask):
    plain = ask("analyze", "8b", "--on", "h100-sxm", "--isl", "4096", "--json").stdout
    assert ask("analyze", "8b", "--on", "h100-sxm", "--isl", "4_096", "--json").stdout == plain
    assert ask("analyze", "8b", "--on", "h100-sxm", "--isl", "4,096", "--json").stdout == plain


@pytest.mark.parametrize("value", ["x", "nan", "inf", "1e99", "0", "-3", "2.5", "8k", "", "9" * 5000])
@pytest.mark.parametrize("option", ["--batch", "--isl", "--tp"])
def test_bad_numbers_have_our_shape(ask, option, value):
    result = ask("analyze", "8b", "--on", "h100-sxm", option, value)
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert f"  at    {option}" in lines
    assert any(line.startswith("  want  ") for line in lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--weights", "fp7"), "no number format 'fp7'"),
        (("--attention", "flsh"), "'flsh' is not one of flash, naive"),
        (("--gpu-memory-utilization", "1.5"), "share between 0 and 1"),
        (("--gpu-memory-utilization", "90%"), "'90%' is not a number"),
        (("--tp", "3"), "tp 3 does not divide the 32 heads"),
        (("--cached-prefix", "2000"), "leaves no prompt token"),
        (("--format", "yaml"), "'yaml' is not one of text, json, csv, md"),
        (("--json", "--format", "csv"), "two forms"),
        (("-o", "x.svg", "--json"), "contradict"),
        (("-o", "x.dat"), "does not say which form"),
        (("-o", "x.json", "--format", "csv"), "contradict"),
        (("-o", "/nowhere/x.json"), "cannot be written"),
        (("--bacth", "3"), "No such option"),
        (("--batch",), "requires an argument"),
        (("surplus",), "unexpected extra argument"),
    ],
)
def test_wrong_use_is_status_2(ask, words, said):
    result = ask("analyze", "8b", "--on", "h100-sxm", *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_near_names_are_suggested(ask):
    assert "try   --batch" in ask("analyze", "8b", "--on", "h100-sxm", "--bacth", "3").stderr
    assert "try   rooflight analyze" in ask("anlyze").stderr
    assert "h100-sxm" in ask("analyze", "8b", "--on", "h100-smx").stderr
    missing = ask("analyze", "8b")
    assert missing.exit_code == 2
    assert "at    --on" in missing.stderr


def test_errors_are_json_on_stderr_when_json_is_asked(ask):
    for form in (("--json",), ("--format", "json"), ("--format=json",)):
        result = ask("analyze", "8b", "--on", "h100-sxm", "--batch", "0", *form)
        assert result.stdout == ""
        error = json.loads(result.stderr)
        assert error["error"] == "BadInput"
        assert error["where"] == "--batch"
        assert error["got"] == "0"
    assert json.loads(ask("analyze", "--bad", "--json").stderr)["try"]


def test_a_missing_fact_is_status_3(ask, tmp_path):
    card = tmp_path / "mine.toml"
    card.write_text(
        'name = "Mine"\n[[fact]]\nwhat = "peak"\ndtype = "bf16"\nvalue = 1\nunit = "TFLOP/s"\nkind = "dense"\n'
    )
    result = ask("analyze", "8b", "--on", str(card), "--json")
    assert result.exit_code == 3
    assert json.loads(result.stderr)["error"] == "MissingFact"


def test_a_users_own_card(ask, tmp_path):
    card = tmp_path / "mine.toml"
    facts = [("peak", 100, "TFLOP/s", 'dtype = "bf16"\nkind = "dense"'), ("memory-bandwidth", 1, "TB/s", ""),
             ("memory-usable", 64, "GiB", "")]  # fmt: skip
    text = 'name = "My Card"\n' + "".join(
        f'[[fact]]\nwhat = "{what}"\nvalue = {value}\nunit = "{unit}"\n{more}\n' for what, value, unit, more in facts
    )
    card.write_text(text)
    document = json.loads(ask("analyze", "8b", "--on", str(card), "--json").stdout)
    assert document["accelerator"]["ridge_flop_per_byte"] == {"bf16": 100.0}  # 100e12 / 1e12


def test_eight_of_a_family_names_the_pick(ask):
    result = ask("analyze", "8b", "--on", "8xh100", "--json")
    document = json.loads(result.stdout)
    assert document["accelerator"]["id"] == "h100-sxm"
    assert document["accelerator"]["count"] == 8
    assert any(line.startswith("h100 read as h100-sxm") for line in document["assumptions"])


def test_output_files_by_ending(ask, tmp_path, answer):
    for ending, start in ((".json", "{"), (".csv", "model,"), (".md", "**"), (".txt", answer.answer[:30])):
        path = tmp_path / f"out{ending}"
        result = ask("analyze", "8b", "--on", "h100-sxm", "-o", str(path))
        assert result.exit_code == 0
        assert path.read_text(encoding="utf-8").startswith(start)
        assert result.stdout.startswith(answer.answer)
        assert f"written to {path}" in result.stdout
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out.csv", "out.json", "out.md", "out.txt"]


@pytest.mark.parametrize(
    "words",
    [("--batch", "1", "--concurrency", "4"), ("--isl", "1", "--isl=1"), ("--weights", "fp8", "--quantization", "awq")],
)
def test_one_option_under_two_names_is_refused(ask, words):
    done = ask("analyze", "8b", "--on", "h100-sxm", *words)
    assert done.exit_code == 2
    assert "is given twice" in done.output
