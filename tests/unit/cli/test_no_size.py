"""A card whose memory size is in no source: every command answers, and says that what fits is not known."""

from __future__ import annotations

import json

import pytest

CARD = """
id = "no-size"
name = "No Size"
family = "Hopper"

[[fact]]
what = "peak"
dtype = "bf16"
kind = "dense"
value = 800
unit = "TFLOP/s"

[[fact]]
what = "memory-bandwidth"
value = 4
unit = "TB/s"

[[fact]]
what = "pcie"
kind = "one-way"
value = 32
unit = "GB/s"
"""
MODEL = "llama-3.1-8b"


@pytest.fixture
def card(tmp_path):
    path = tmp_path / "no-size.toml"
    path.write_text(CARD, encoding="utf-8")
    return str(path)


def test_analyze_answers_with_nothing_known_of_what_fits(ask, card):
    result = ask("analyze", MODEL, "--on", card, "--batch", "4", "--engine", "vllm", "--json")
    found = json.loads(result.stdout)

    assert result.exit_code == 0
    unknown = ("fits", "max_batch", "usable_bytes", "kv_pool_bytes", "kv_tokens", "kv_pool")
    assert [found["memory"][name] for name in unknown] == [None] * len(unknown)
    assert found["bound"] is None
    assert found["phases"]["decode"]["bound"] == "memory"
    assert any("memory size of no-size" in line for line in found["warnings"])


def test_a_stated_size_takes_its_place(ask, card):
    found = json.loads(ask("analyze", MODEL, "--on", card, "--memory", "64GiB", "--json").stdout)

    assert found["memory"]["fits"] is True
    assert found["accelerator"]["memory_bytes"] == 64 * 2**30
    assert not any("memory size of no-size" in line for line in found["warnings"])


@pytest.mark.parametrize("schedule", [(), ("--schedule", "served")])
def test_rows_of_a_sweep_have_no_limit(ask, card, schedule):
    lines = ask("sweep", MODEL, "--on", card, "--batch", "1,4", *schedule, "--json").stdout.splitlines()
    rows = [json.loads(line.rstrip(",")) for line in lines[1:-1]]

    assert [(row["fits"], row["max_batch"]) for row in rows] == [(None, None)] * 2


def test_compare_and_moves_answer(ask, card):
    compared = json.loads(ask("compare", MODEL, "--on", f"{card},h100-sxm", "--batch", "4", "--json").stdout)
    assert [one["fits"] for one in compared["compared"]] == [None, True]
    assert compared["compared"][0]["request"] is not None

    moves = json.loads(ask("moves", MODEL, "--on", card, "--json").stdout)
    assert (moves["before"]["fits"], moves["before"]["max_batch"], moves["memory"]) == (None, None, "")


def test_the_text_says_so(ask, card):
    text = ask("analyze", MODEL, "--on", card).stdout.replace("\n", " ")

    assert "no source has the size of no-size" in text
    assert "such sequences fit" not in text


def test_the_largest_batch_that_fits_needs_the_size(ask, card):
    result = ask("compare", MODEL, "--on", card, "--batch", "max")

    assert result.exit_code == 3
    assert "no memory size" in result.stderr + result.stdout
