"""Reading a config file as people meet it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rooflight.catalog.config import json_file, read_model
from rooflight.errors import BadConfig, BadInput

LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "intermediate_size": 96,
    "vocab_size": 100,
    "torch_dtype": "bfloat16",
}


def write(folder: Path, text: str | bytes, name: str = "config.json") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(path: Path) -> BadInput:
    with pytest.raises(BadInput) as caught:
        read_model(path)
    assert caught.value.exit_status == 2
    return caught.value


def test_file_and_directory_are_the_same(tmp_path):
    """A directory means the config.json in it; the model takes the directory's name."""
    folder = tmp_path / "my-llama"
    folder.mkdir()
    file = write(folder, json.dumps(LLAMA))

    assert read_model(folder) == read_model(file)
    assert read_model(folder).id == "my-llama"


@pytest.mark.parametrize(
    "path, name",
    [
        ("meta-llama__Llama-3.json", "meta-llama/Llama-3"),
        ("models--Qwen--Qwen3-8B/snapshots/abc/config.json", "Qwen/Qwen3-8B"),
    ],
)
def test_names_are_read_off_the_path(tmp_path, path, name):
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(LLAMA))

    assert read_model(file).id == name


@pytest.mark.parametrize("name, side", [("config.json", "hf_quant_config.json"), ("m.json", "m_hf_quant_config.json")])
def test_the_quantisation_sidecar_beside_it(tmp_path, name, side):
    file = write(tmp_path, json.dumps(LLAMA), name)
    write(tmp_path, json.dumps({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}), side)
    model = read_model(file)

    assert model.quantization == "fp8"
    assert model.kv_format == "fp8"


@pytest.mark.parametrize(
    "text, says",
    [
        (b"", "is empty"),
        (b"  \n ", "is empty"),
        (b"[1, 2]", "holds a list"),
        (b"null", "holds null"),
        (b'"x"', "holds a string"),
        (b"3", "holds a number"),
        (b"\x00\x01\x89PNG\xff", "is not text"),
        (b"GGUF\x03\x00\x00\x00", "is a GGUF file"),
        (b'{"a": 1', "ends at line 1 column"),
        (b'{\n  "a": "b', "ends in the middle"),
        (b'{\n  // a comment\n  "a": 1}', "has a comment at line 2 column 3"),
        (b'{\n  # a comment\n  "a": 1}', "has a comment at line 2"),
        (b"{'a': 1}", "is not JSON"),
        (b'{"a": 1,}', "is not JSON"),
        (b"<!DOCTYPE html><html></html>", "is a web page"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "cannot be read"),
    ],
)
def test_what_is_no_json_object_is_refused_with_the_cause(tmp_path, text, says):
    assert says in refusal(write(tmp_path, text)).what


@pytest.mark.parametrize(
    "data, says",
    [
        ({"peft_type": "LORA", "base_model_name_or_path": "a/b", "r": 8}, "PEFT adapter (r=8) for a/b"),
        ({"tokenizer_class": "LlamaTokenizer"}, "a tokenizer config"),
        ({"do_sample": True, "temperature": 0.6}, "a generation config"),
        ({"weight_map": {}, "metadata": {}}, "an index of weight files"),
        ({"quantization": {"quant_algo": "FP8"}}, "a quantisation sidecar"),
        ({"image_processor_type": "X"}, "an image processor config"),
    ],
)
def test_other_files_of_a_repository_are_refused_by_name(tmp_path, data, says):
    assert says in refusal(write(tmp_path, json.dumps(data))).what


@pytest.mark.parametrize("name", ["model.gguf", "model.safetensors", "pytorch_model.bin"])
def test_weights_are_refused(tmp_path, name):
    assert "weight file" in refusal(write(tmp_path, b"x", name)).what


def test_missing_files_and_folders(tmp_path):
    assert "there is no file" in refusal(tmp_path / "no.json").what
    error = refusal(tmp_path)
    assert "holds no config.json" in error.what
    assert error.got == "an empty directory"


def test_an_unreadable_file(tmp_path, monkeypatch):
    file = write(tmp_path, json.dumps(LLAMA))

    def denied(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    assert refusal(file).got == "Permission denied"


def test_a_huge_file_is_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(json_file, "LARGEST_BYTES", 100)

    assert "too many for a config" in refusal(write(tmp_path, json.dumps(LLAMA))).what


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null"])
def test_devices_are_refused(name):
    assert "is a device, not a file" in refusal(Path(name)).what


def test_a_pipe_that_nobody_writes_to_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is a named pipe, not a file" in refusal(tmp_path / "pipe").what


@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_stands_where_a_file_should(tmp_path, side, kind):
    """A folder or pipe of the name of the config, or of its sidecar."""
    if side:
        write(tmp_path, json.dumps(LLAMA))
    odd = tmp_path / ("hf_quant_config.json" if side else "config.json")
    odd.mkdir() if kind == "folder" else os.mkfifo(odd)

    assert str(odd) in refusal(tmp_path).what


def test_a_link_in_a_circle(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "leads in a circle" in refusal(tmp_path / "loop").what


def test_a_control_character_in_a_string_is_called_that(tmp_path):
    error = refusal(write(tmp_path, '{"a": "b\x1bc", "d": 1}'))

    assert "raw control character ('\\x1b') in a string at line 1 column 9" in error.what
    assert str(error).replace("\n", "").isprintable()


def test_duplicate_keys_in_sections_are_warned_of_once(tmp_path):
    text = json.dumps(LLAMA)[:-1] + ', "rope_scaling": {"factor": 1, "factor": 2, "factor": 3}}'
    model = read_model(write(tmp_path, text))

    assert [warning for warning in model.warnings if "'factor'" in warning and "twice" in warning]
    assert len(model.warnings) == 1


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_where_it_matters(tmp_path, value):
    """Accepted by the parser, refused by the key that needs it."""
    text = json.dumps(LLAMA).replace('"hidden_size": 64', f'"hidden_size": {value}')
    error = refusal(write(tmp_path, text))

    assert isinstance(error, BadConfig)
    assert "hidden_size is not a whole number" in error.what


def test_utf16_is_read_too(tmp_path):
    assert read_model(write(tmp_path, json.dumps(LLAMA).encode("utf-16"))).hidden == 64
