"""`rooflight explain`: forms of the answer and exit status."""

from __future__ import annotations

import csv
import io
import json

import pytest

import rooflight


def test_json_is_the_library_answer(ask):
    result = ask("explain", "--model", "8b", "--on", "h100-sxm", "--tpot-ms", "8", "--batch", "4", "--json")

    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["schema"] == "rooflight.explain/1"
    assert set(document) >= {"answer", "given", "derived", "term", "notes"}
    assert {one["name"] for one in document["given"]} == {"tpot_s", "decoding"}
    mbu = next(one for one in document["derived"] if one["name"] == "mbu")
    assert 0 < mbu["value"] < 1
    assert mbu["unit"] == "share"
    assert mbu["formula"]


def test_the_document_is_the_value_itself(ask):
    found = rooflight.explain(isl=900, osl=100, output_tok_s=300)
    result = ask("explain", "--isl", "900", "--osl", "100", "--output-tok-s", "300", "--json")

    assert json.loads(result.stdout) == json.loads(json.dumps(found.to_dict()))


def test_text_starts_with_the_sentence_and_shows_the_formulas(ask):
    result = ask("explain", "--isl", "900", "--osl", "100", "--output-tok-s", "300")

    text = " ".join(result.stdout.split())
    assert "3,000 tok/s in and out" in text
    assert "= 3 requests/s x" in text
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_csv_is_a_value_a_row(ask):
    result = ask("explain", "--on", "h100-sxm", "--dram-active", "0.55", "--format", "csv")

    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(result.stdout))}
    assert rows["dram_active"]["given"] == "true"
    assert float(rows["dram_bytes_per_s"]["value"]) == pytest.approx(1.8425e12)


def test_a_term_is_a_page_of_its_own(ask):
    result = ask("explain", "vllm:gpu_cache_usage_perc", "--format", "md")

    assert result.exit_code == 0
    assert "KV cache usage" in result.stdout
    assert json.loads(ask("explain", "mbu", "--json").stdout)["term"]["name"] == "mbu"


def test_without_anything_all_terms_are_listed(ask):
    result = ask("explain")

    assert result.exit_code == 0
    assert "tensor-active" in result.stdout


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--batch", "32", "--output-tok-s", "640", "--tpot-ms", "22.2"), 1),
        (("--model", "8b", "--on", "h100-sxm", "--batch", "1", "--output-tok-s", "300"), 1),
        (("no-such-term-at-all",), 2), (("--gpu-util", "95"), 2), (("--model", "8b"), 2),
        (("--on", "p100a", "--tensor-active", "0.5"), 3), (("--request-rate", "3", "--concurrency", "24"), 0),
    ],
)  # fmt: skip
def test_exit_status(ask, words, status):
    assert ask("explain", *words).exit_code == status


def test_an_error_names_the_option(ask):
    result = ask("explain", "--gpu-util", "95")

    assert "--gpu-util 0.95" in result.stderr


def test_help_shows_the_examples(ask):
    result = ask("explain", "--help")

    assert "--dram-active" in result.stdout
    assert "rooflight explain" in result.stdout
