"""Headers from strangers: whatever they claim, they are read or refused in words, soon, and within bounds."""

from __future__ import annotations

import json
import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rooflight.catalog import models
from rooflight.catalog.files import gguf, safetensors
from rooflight.catalog.files.source import MOST_HEADER_BYTES, Source
from rooflight.errors import BadInput, RooflightError
from rooflight.values.model import Model
from unit.catalog.files import listings
from unit.catalog.files.writing import Listed, entry, text, write_gguf
from unit.catalog.files.writing import gguf as written
from unit.catalog.files.writing import safetensors as written_safetensors

KEYS: dict[str, object] = {
    "general.architecture": "llama", "llama.block_count": 1, "llama.embedding_length": 256,
    "llama.feed_forward_length": 512, "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2,
    "llama.context_length": 4096, "tokenizer.ggml.tokens": ["a", "b"], "tokenizer.ggml.scores": [0.5, 0.25],
}  # fmt: skip
TENSORS: Listed = [
    ("token_embd.weight", (256, 100), "Q4_K"), ("output_norm.weight", (256,), "F32"),
    ("blk.0.attn_norm.weight", (256,), "F32"), ("blk.0.ffn_norm.weight", (256,), "F32"),
    ("blk.0.attn_q.weight", (256, 256), "Q4_K"), ("blk.0.attn_k.weight", (256, 128), "Q4_K"),
    ("blk.0.attn_v.weight", (256, 128), "Q6_K"), ("blk.0.attn_output.weight", (256, 256), "Q4_K"),
    ("blk.0.ffn_gate.weight", (256, 512), "Q4_K"), ("blk.0.ffn_up.weight", (256, 512), "Q4_K"),
    ("blk.0.ffn_down.weight", (512, 256), "Q6_K"),
]  # fmt: skip
GOOD = written(KEYS, TENSORS)


def loaded(folder: Path, raw: bytes, name: str = "m.gguf") -> Model:
    (folder / name).write_bytes(raw)
    return models.load(folder / name)


def refusal(folder: Path, raw: bytes, name: str = "m.gguf") -> RooflightError:
    with pytest.raises(BadInput) as caught:
        loaded(folder, raw, name)
    assert caught.value.what
    assert caught.value.where
    assert caught.value.want
    return caught.value


def head(version: int = 3, tensors: int = 0, keys: int = 0, magic: bytes = b"GGUF") -> bytes:
    return magic + struct.pack("<IQQ", version, tensors, keys)


def tensor(name: str, shape: tuple[int, ...], kind: int = 0, dimensions: int | None = None) -> bytes:
    count = len(shape) if dimensions is None else dimensions
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", count, *shape, kind, 0)


def test_the_good_one_is_good(tmp_path):
    assert loaded(tmp_path, GOOD).hidden == 256


@pytest.mark.parametrize(
    "raw, what",
    [
        (b"", "ends in the middle of its header"),
        (b"GG", "ends in the middle of its header"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is no GGUF file"),
        (head(magic=b"GGML"), "is no GGUF file"),
        (head(version=1), "version 1"),
        (head(version=99), "version 99"),
        (struct.pack(">4sIQQ", b"GGUF", 3, 1, 1), "big-endian"),
        (head(tensors=1 << 63), "tensors"),
        (head(keys=1 << 40), "metadata entries"),
        (head(tensors=1_000_000), "1,000,000 tensors"),
        (head(keys=1) + struct.pack("<Q", 1 << 62), "name of a metadata entry"),
        (head(keys=1) + text("a") + struct.pack("<I", 13), "unknown type 13"),
        (head(keys=1) + text("a") + struct.pack("<IQ", 8, 1 << 50), "ends in the middle of its header"),
        (head(keys=1) + text("a") + struct.pack("<IIQ", 9, 4, 1 << 60), "ends in the middle of its header"),
        (head(keys=1) + text("a") + struct.pack("<IIQ", 9, 8, 1 << 60), "strings"),
        (head(keys=1) + text("a") + struct.pack("<IIQ", 9, 8, 2) + struct.pack("<Q", (1 << 64) - 1), "ends in"),
        (head(keys=1) + text("a") + struct.pack("<IIQ", 9, 9, 1) * 50, "array of arrays"),
        (head(keys=1) + text("a") + struct.pack("<IIQ", 9, 77, 1), "unknown type 77"),
        (head(keys=2) + 2 * (text("a") + entry(1)), "occurs twice"),
        (head(tensors=1) + tensor("a", (256,), dimensions=0), "0 dimensions"),
        (head(tensors=1) + tensor("a", (256,), dimensions=1 << 31), "dimensions"),
        (head(tensors=1) + tensor("a", (1 << 63, 1 << 63)), "elements"),
        (head(tensors=1) + tensor("a", ((1 << 64) - 1,)), "elements"),
        (head(tensors=1) + tensor("a", (0, 5)), "0 elements"),
        (head(tensors=1) + tensor("a", (256,), kind=5), "unknown type 5"),
        (head(tensors=1) + tensor("a", (100, 2), kind=12), "whole number of blocks"),
        (head(tensors=2) + 2 * tensor("a", (256,)), "two tensors are called a"),
        (head(), "general.architecture is missing"),
        (written({"general.architecture": "llma"}, TENSORS), "is not known"),
        (written({"general.architecture": "clip"}, TENSORS), "encoder"),
        (written({"general.architecture": "llama", "general.type": "adapter"}, TENSORS), "adapter"),
        (
            written({"general.architecture": "bert", "bert.block_count": 1, "bert.embedding_length": 8}, TENSORS),
            "an encoder",
        ),
        (written({"general.architecture": "llama"}, TENSORS), "embedding_length is missing"),
        (written({"general.architecture": "llama", "llama.embedding_length": 256}, TENSORS), "block_count is missing"),
        (written({**KEYS, "llama.block_count": "many"}, TENSORS), "no whole number"),
        (written({**KEYS, "llama.block_count": 1 << 31}, TENSORS), "number of layers"),
        (written({**KEYS, "llama.block_count": 900}, TENSORS), "are not those of the model"),
        (written({**KEYS, "llama.attention.head_count": 0}, TENSORS), "num_attention_heads"),
        (written({**KEYS, "split.count": 3}, TENSORS), "is one of 3 parts, which are one model together"),
    ],
)
def test_what_cannot_be_is_refused_in_words(raw, what, tmp_path):
    error = refusal(tmp_path, raw)
    assert what in str(error)


def test_every_cut_is_read_or_refused(tmp_path):
    for end in range(0, len(GOOD), 7):
        refusal(tmp_path, GOOD[:end])


def test_a_whole_header_of_a_cut_file_is_read_and_said(tmp_path):
    [warning] = loaded(tmp_path, GOOD).warnings
    assert "is cut" in warning
    whole = GOOD + bytes(sum(one.bytes for one in gguf.header(source_of(GOOD)).tensors))
    assert loaded(tmp_path, whole).warnings == ()


def source_of(raw: bytes) -> Source:
    return Source(lambda start, count: raw[start : start + count], size=len(raw), origin="somewhere.gguf")


def attempt(raw: bytes, name: str, folder: Path) -> None:
    try:
        loaded(folder, raw, name)
    except RooflightError as error:
        assert error.what


few = settings(max_examples=60, deadline=1000, suppress_health_check=[HealthCheck.function_scoped_fixture])


@few
@given(places=st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), min_size=1, max_size=8))
@example(places=[(8, 255), (15, 255)])
def test_bytes_changed_anywhere_make_no_traceback(places, tmp_path):
    raw = bytearray(GOOD)
    for at, value in places:
        raw[at] = value
    attempt(bytes(raw), "m.gguf", tmp_path)


@few
@given(tail=st.binary(max_size=300), start=st.sampled_from([head(3, 2, 3), head(2, 1, 0), b"GGUF", b""]))
def test_noise_makes_no_traceback(tail, start, tmp_path):
    attempt(start + tail, "m.gguf", tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "hidden_size": 8}))
    attempt(start + tail, "model.safetensors", tmp_path)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


@few
@given(value=values)
def test_any_json_for_a_header_makes_no_traceback(value, tmp_path):
    raw = json.dumps(value).encode()
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "hidden_size": 8}))
    attempt(struct.pack("<Q", len(raw)) + raw, "model.safetensors", tmp_path)
    (tmp_path / safetensors.INDEX).write_bytes(raw)
    attempt(b"", "other.safetensors", tmp_path)
    (tmp_path / safetensors.INDEX).unlink()


@pytest.mark.parametrize(
    "raw, what",
    [
        (b"", "ends in the middle of its header"),
        (struct.pack("<Q", 1 << 63), "is cut in its header"),
        (struct.pack("<Q", 10) + b"{}", "is cut in its header"),
        (struct.pack("<Q", 2) + b"[]", "is not what safetensors has"),
        (struct.pack("<Q", 200_000) + b"[" * 200_000, "is not what safetensors has"),
        (struct.pack("<Q", 200_006) + b'{"a":' + b"[" * 200_000 + b"}", "is not what safetensors has"),
        (written_safetensors({"a": ("BF16", (2, 2))}).replace(b"BF16", b"BF61"), "unknown type"),
        (written_safetensors({"a": ("BF16", (22, 2))})[:-1], "is cut"),
        (written_safetensors({"a": ("BF16", (22, 2))}).replace(b"[22, 2]", b"[-2, 2]"), "impossible size"),
        (written_safetensors({"a": ("BF16", (22, 2))}).replace(b"[22, 2]", b"[44, 2]"), "extent"),
    ],
)
def test_safetensors_that_cannot_be_are_refused(raw, what, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "hidden_size": 8}))
    assert what in str(refusal(tmp_path, raw, "model.safetensors"))


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/b.safetensors", "x.bin", ".hidden.safetensors"])
def test_an_index_leads_nowhere_else(name, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / safetensors.INDEX).write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(BadInput, match="none of its own"):
        models.load(tmp_path)


@pytest.mark.parametrize("count", [1_000_000, 95_000])
def test_a_million_tensors_are_refused_or_read_in_a_bounded_room(count, tmp_path):
    """What a header claims is not believed: no more is held than some copies of what is there."""
    body = b"".join(tensor(f"blk.0.t{number}", (32,)) for number in range(min(count, 95_000)))
    file = tmp_path / "m.gguf"
    file.write_bytes(head(tensors=count, keys=1) + text("general.architecture") + entry("nothing") + body)
    tracemalloc.start()
    with pytest.raises(BadInput):
        models.load(file)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 12 * file.stat().st_size


def test_a_vocabulary_is_passed_over_in_a_few_megabytes(tmp_path):
    file = write_gguf(tmp_path / "m.gguf", listings.LLAMA_KEYS, listings.llama_8b())
    size = file.stat().st_size
    models.load(file)
    tracemalloc.start()
    models.load(file)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4 * size  # what is read is doubled at most, and held once


def test_no_more_is_asked_for_than_a_header_may_have():
    asked = []

    def fetch(start: int, count: int) -> bytes:
        asked.append(start + count)
        return bytes(count)

    endless = Source(fetch, size=None, origin="far away")
    endless.data += head(keys=1) + text("a") + struct.pack("<IQ", 8, 1 << 40)
    with pytest.raises(BadInput, match="does not end within"):
        gguf.header(endless)
    assert max(asked, default=0) <= MOST_HEADER_BYTES


def test_parts_that_are_not_there_are_named(tmp_path):
    write_gguf(tmp_path / "m-00001-of-00003.gguf", KEYS, TENSORS)
    with pytest.raises(BadInput, match="2 of the 3 parts"):
        models.load(tmp_path / "m-00001-of-00003.gguf")


def test_two_models_in_a_directory_are_told_apart(tmp_path):
    for name in ("a.gguf", "b.gguf", "mmproj-a.gguf"):
        write_gguf(tmp_path / name, KEYS, TENSORS)
    with pytest.raises(BadInput, match="2 GGUF models") as caught:
        models.load(tmp_path)
    assert caught.value.got == "a.gguf, b.gguf"
