"""Names as files of other people's tools write them."""

from __future__ import annotations

import pytest

from rooflight.catalog import accelerators, spelled
from rooflight.errors import RooflightError, UnknownName


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Meta-Llama-3.1-8B-Instruct-Q4_K_M", "meta-llama/Meta-Llama-3.1-8B"),
        ("/models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "meta-llama/Meta-Llama-3.1-8B"),
        ("C:\\models\\Meta-Llama-3.1-8B-Instruct-Q4_K_M-00001-of-00002.gguf", "meta-llama/Meta-Llama-3.1-8B"),
        ("Qwen3.5-122B-A10B-UD-Q4_K_XL", "Qwen/Qwen3.5-122B-A10B"),
        ("llama-3.1-8b/", "meta-llama/Meta-Llama-3.1-8B"),
    ],
)
def test_a_models_name_is_read_without_folders_and_number_format(name, wanted):
    assert spelled.model(name).id == wanted


@pytest.mark.parametrize("name", ["", "/", "Q4_K_M", "org/unknown", "../../etc/passwd", "x" * 100_000, "\x00", "-fp8"])
def test_other_names_are_unknown_and_open_nothing(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Q4_K_M").write_text("{}")
    with pytest.raises(UnknownName):
        spelled.model(name)


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("Qwen2.5-7B-Instruct-AWQ", True), ("a/Meta-Llama-3.1-8B-Q4_K_M.gguf", True), ("Qwen3-8B", False),
        ("gpt-oss-120b", False),
    ],
)  # fmt: skip
def test_a_name_may_end_in_the_format_of_its_weights(name, stated):
    assert spelled.names_format(name) is stated


def test_what_stands_in_brackets_behind_a_devices_name_is_not_of_it():
    one = accelerators.catalogued("rtx-4090")
    for name in ("NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090 (NVIDIA 550.54)", "rtx-4090 (0000:01:00.0)"):
        assert spelled.accelerator(name) == (one, 1)
    assert spelled.accelerator("2x NVIDIA GeForce RTX 4090 (CUDA)") == (one, 2)


@pytest.mark.parametrize("name", ["", "(CUDA)", "card (CUDA)", "x" * 100_000, "(" * 5000, "a ( b"])
def test_other_devices_are_unknown(name):
    with pytest.raises(RooflightError):
        spelled.accelerator(name)
