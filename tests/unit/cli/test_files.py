"""Weight files as the command line meets them."""

from __future__ import annotations

import json

import pytest

from unit.catalog.files import listings
from unit.catalog.files.writing import write_gguf

# token_embd, output, rope_freqs and the layers of Llama-3.1-8B-Q4_K_M: 4.58 GiB in the loader's log
BYTES = 4_912_898_304


@pytest.fixture
def file(tmp_path):
    return str(write_gguf(tmp_path / "Llama-3.1-8B-Q4_K_M.gguf", listings.LLAMA_KEYS, listings.llama_8b()))


def test_models_prints_a_file(ask, file):
    document = json.loads(ask("models", file, "--json").stdout)

    assert document["schema"] == "rooflight.model/1"
    assert document["model"]["id"] == "Llama-3.1-8B-Q4_K_M"
    assert document["model"]["weight_bytes"] == BYTES
    assert document["quantization"] == "q4_k + q6_k"
    parts = document["model"]["part_bytes"]
    assert sum(parts.values()) == BYTES
    assert parts["embedding"] == 128256 * 4096 // 256 * 144
    assert parts["head"] == 128256 * 4096 // 256 * 210
    assert parts["norms and others"] == (65 * 4096 + 64) * 4  # two a layer, the last one, and rope_freqs
    assert [layer["count"] for layer in document["layers"]] == [32]
    assert f"{BYTES:,} bytes" in " ".join(ask("models", file).stdout.split())


@pytest.mark.parametrize("command", [("analyze",), ("sweep", "--batch", "1,2"), ("compare",), ("moves",)])
def test_every_command_takes_a_file(ask, file, command):
    name, *options = command
    run = ask(name, file, "--on", "rtx-4090", *options, "--json")

    assert run.exit_code == 0
    assert "Llama-3.1-8B-Q4_K_M" in run.stdout


def test_a_file_is_answered_as_its_bytes_are(ask, file):
    document = json.loads(ask("analyze", file, "--on", "rtx-4090", "--json").stdout)

    assert document["model"]["weight_bytes"] == document["memory"]["weights_bytes"] == BYTES
    table = 128256 * 4096 // 256 * 144  # only looked up
    assert document["phases"]["decode"]["bytes"]["weights"] == pytest.approx(BYTES - table, rel=1e-12)


def test_a_stated_size_is_an_option(ask, file):
    document = json.loads(ask("analyze", file, "--on", "rtx-4090", "--weight-bytes", "6GB", "--json").stdout)
    assert document["model"]["weight_bytes"] == 6_000_000_000
    assert document["deployment"]["weight_bytes"] == 6_000_000_000

    refused = ask("analyze", file, "--on", "rtx-4090", "--weight-bytes", "6MB")
    assert refused.exit_code == 2
    assert "--weight-bytes" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("raw", [b"GGUF", b"GGUF" + bytes(20), b"", b"noise"])
def test_what_is_no_model_is_an_error_in_words(ask, tmp_path, raw):
    (tmp_path / "m.gguf").write_bytes(raw)
    run = ask("models", str(tmp_path / "m.gguf"))

    assert run.exit_code == 2
    assert "m.gguf" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("size", ["--weight-bytes=6GB", "--weight-bytes=5000000000"])
def test_every_door_answers_a_file_of_a_stated_size_alike(ask, file, size):
    asked = (file, "--on", "rtx-4090", size, "--json")
    one = json.loads(ask("analyze", *asked).stdout)["phases"]["decode"]
    row = json.loads(ask("sweep", *asked, "--batch", "1,2").stdout)["rows"][0]
    before = json.loads(ask("moves", *asked).stdout)["before"]

    assert row["time_s"] == one["time_s"]
    assert row["bytes"] == one["bytes"]
    assert before["decode"]["time_s"] == one["time_s"]
