"""`rooflight accelerators` and `rooflight models`."""

from __future__ import annotations

import csv
import io
import json

import pytest

import rooflight
from rooflight.catalog import accelerators


def test_every_accelerator_is_listed(ask):
    document = json.loads(ask("accelerators", "--json").stdout)
    assert document["schema"] == "rooflight.accelerators/1"
    assert [one["id"] for one in document["accelerators"]] == list(accelerators.ids())
    shown = [line.split()[0] for line in ask("accelerators").stdout.splitlines() if line.startswith("  ")]
    for one in document["accelerators"]:
        assert one["uncertain"] == (one["confidence"] == "C")
        assert one["id"] + "?" * one["uncertain"] in shown


def test_filters(ask):
    found = json.loads(ask("accelerators", "--vendor", "AMD", "--memory-min", "100", "--kind", "gpu", "--json").stdout)
    ids = {one["id"] for one in found["accelerators"]}
    assert "mi300x" in ids  # 192 GB
    assert "mi100" not in ids  # 32 GB
    assert all(one["vendor"] == "AMD" and one["memory_bytes"] >= 100e9 for one in found["accelerators"])
    narrow = json.loads(ask("accelerators", "--format-peak", "fp4", "--json").stdout)["accelerators"]
    assert narrow
    assert all("fp4" in one["peak_flop_per_s"] for one in narrow)
    assert json.loads(ask("accelerators", "--memory-min", "1000000", "--json").stdout)["accelerators"] == []
    assert ask("accelerators", "--memory-min", "1000000", "--format", "csv").stdout == "\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--vendor", "nvidea"), "try   nvidia"),
        (("--memory-min", "much"), "'much' is no amount"),
        (("h100-sxm", "--vendor", "nvidia"), "not both"),
        (("8xh100",), "one accelerator has no count"),
        (("h100-smx",), "h100-sxm"),
    ],
)
def test_wrong_use(ask, words, said):
    result = ask("accelerators", *words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_one_accelerator_shows_its_facts_and_apart_what_is_assumed(ask):
    card = rooflight.accelerator("h100-sxm")
    document = json.loads(ask("accelerators", "h100-sxm", "--json").stdout)
    assert document["schema"] == "rooflight.accelerator/1"
    assert len(document["facts"]) == len(card.facts)
    assert all(fact["source"] and fact["confidence"] for fact in document["facts"])
    assert document["assumed"]["family"] == "Hopper"
    assert round(document["accelerator"]["ridge_flop_per_byte"]["bf16"]) == 295  # 989.4e12 / 3.35e12
    assert round(document["accelerator"]["ridge_flop_per_byte"]["fp8"]) == 591
    text = ask("accelerators", "h100-sxm").stdout
    assert "989.4 TFLOP/s" in text  # as printed
    assert "295 FLOP/byte" in text
    assert "Assumed, not published" in text
    rows = list(csv.DictReader(io.StringIO(ask("accelerators", "h100-sxm", "--format", "csv").stdout)))
    assert len(rows) == len(card.facts)


def test_one_model_has_the_blocks_of_analyze(ask, models):
    document = json.loads(ask("models", "8b", "--json").stdout)
    assert document["schema"] == "rooflight.model/1"
    block = rooflight.analyze(models["8b"], on="h100-sxm").to_dict()["model"]
    assert {name: document["model"][name] for name in block} == json.loads(json.dumps(block))
    assert document["model"]["parameters"] == 8_030_261_248
    assert sum(document["model"]["parts"].values()) == 8_030_261_248
    (layer,) = document["layers"]
    assert layer["count"] == 32
    assert layer["attention"]["kind"] == "gqa"
    assert (layer["attention"]["heads"], layer["attention"]["kv_heads"], layer["attention"]["head_dim"]) == (32, 8, 128)
    assert layer["experts"] is None
    assert layer["window"] is None
    assert layer["kv_bytes_per_token"] * 32 == document["model"]["kv_bytes_per_token"] == 131_072


def test_one_model_in_words(ask):
    text = ask("models", "8b").stdout
    assert "8.03 B parameters, 16.1 GB of weights (bf16)" in " ".join(text.split())
    assert "8,030,261,248" in text
    assert "gqa 32/8 heads of 128" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_list_of_models(ask):
    document = json.loads(ask("models", "--json").stdout)
    assert document["schema"] == "rooflight.models/1"
    found = {one["id"]: one for one in document["models"]}
    assert len(found) == len(document["models"]) >= 80
    text = ask("models").stdout
    assert all(f"  {name} " in text for name in found)  # ids are whole, to be copied
    rows = list(csv.DictReader(io.StringIO(ask("models", "--format", "csv").stdout)))
    assert [row["id"] for row in rows] == list(found)


def test_a_directory_is_a_model(ask, tmp_path, models):
    from pathlib import Path

    (tmp_path / "config.json").write_text(Path(models["8b"]).read_text())
    assert json.loads(ask("models", str(tmp_path), "--json").stdout)["model"]["parameters"] == 8_030_261_248
