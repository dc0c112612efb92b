"""Published GGUF files: their tensor lists, the counts and sizes their loaders printed, and what is read of them."""

from __future__ import annotations

from collections import Counter

import pytest

import rooflight
from rooflight.catalog import models
from rooflight.catalog.files.gguf import TYPES
from rooflight.units import to_base
from rooflight.work import count
from unit.catalog.files import listings
from unit.catalog.files.writing import TYPE_IDS, Listed, write_gguf

# (metadata, tensors, the model in the catalog, counts by type and GiB as llama.cpp's log has them, where)
PUBLISHED = {
    # mozilla-ai/llamafile#516
    "llama-3.1-8b Q4_K_M": (
        listings.LLAMA_KEYS, listings.llama_8b(), "llama-3.1-8b", {"F32": 66, "Q4_K": 193, "Q6_K": 33}, 4.58,
    ),
    # a public llama-server log of unsloth's file, read 2026-11
    "qwen3-30b-a3b Q4_K_M": (
        listings.QWEN3_30B_KEYS, listings.qwen3_30b(), "qwen3-30b-a3b", {"F32": 241, "Q4_K": 289, "Q6_K": 49}, 17.28,
    ),
    # ggml-org/llama.cpp#15253
    "gpt-oss-120b MXFP4": (
        listings.GPT_OSS_KEYS, listings.gpt_oss_120b(), "gpt-oss-120b", {"F32": 433, "Q8_0": 146, "MXFP4": 108}, 59.02,
    ),
    # ollama/ollama#8911: 376 GiB; 1,025 tensors, 361 of them F32: ikawrakow/ik_llama.cpp#287
    "deepseek-r1 Q4_K_M": (
        listings.DEEPSEEK_KEYS, listings.deepseek_r1(), "deepseek-r1", {"F32": 361, "Q4_K": 606, "Q6_K": 58}, 376.65,
    ),
    # lmstudio-ai/lmstudio-bug-tracker#1266
    "qwen3-next-80b-a3b Q4_K_M": (
        listings.QWEN3_NEXT_KEYS, listings.qwen3_next(), "qwen3-next-80b-a3b-instruct",
        {"F32": 313, "F16": 48, "Q4_K": 391, "Q6_K": 55}, 45.08,
    ),
}  # fmt: skip
# The same models as later conversions cut their tensors.
RECUT = {
    "deepseek-r1 absorbed": (listings.DEEPSEEK_NEW_KEYS, listings.deepseek_r1(absorbed=True), "deepseek-r1"),
    "qwen3-next parted": (listings.QWEN3_NEXT_KEYS, listings.qwen3_next(parted=True), "qwen3-next-80b-a3b-instruct"),
}


def size_of(tensors: Listed) -> int:
    total = 0
    for _, shape, kind in tensors:
        _, block, block_bytes = TYPES[TYPE_IDS[kind]]
        elements = 1
        for side in shape:
            elements *= side
        total += elements // block * block_bytes
    return total


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_file_is_read_to_the_byte(name, tmp_path):
    keys, tensors, same, counts, gib = PUBLISHED[name]
    # the list is the one the log is of
    assert Counter(kind for _, _, kind in tensors) == counts
    assert round(size_of(tensors) / to_base(1, "GiB"), 2) == gib

    model = models.load(write_gguf(tmp_path / "model.gguf", keys, tensors))
    shipped = models.load(same)
    assert count.weight_bytes(model) == size_of(tensors)
    # and its shape is that of the model's own config
    assert count.parameters(model) == count.parameters(shipped)
    assert count.active_parameters(model) == count.active_parameters(shipped)
    assert count.kv_bytes_per_token(model) == count.kv_bytes_per_token(shipped)
    assert count.window_kv_bytes_per_token(model) == count.window_kv_bytes_per_token(shipped)
    assert count.state_bytes_per_sequence(model) == count.state_bytes_per_sequence(shipped)
    assert [warning for warning in model.warnings if "is cut" not in warning] == []


@pytest.mark.parametrize("name", RECUT)
def test_another_cut_of_the_same_matrices_is_read_alike(name, tmp_path):
    keys, tensors, same = RECUT[name]
    model = models.load(write_gguf(tmp_path / "model.gguf", keys, tensors))

    assert count.weight_bytes(model) == size_of(tensors)
    assert count.parameters(model) == count.parameters(models.load(same))
    assert [warning for warning in model.warnings if "is cut" not in warning] == []


def test_a_step_streams_all_but_the_input_table(tmp_path):
    model = models.load(write_gguf(tmp_path / "m.gguf", listings.LLAMA_KEYS, listings.llama_8b()))

    table = 128256 * 4096 // 256 * 144  # token_embd in Q4_K
    assert count.streamed_weight_bytes(model) == size_of(listings.llama_8b()) - table


def test_each_part_has_its_bytes(tmp_path):
    [layer] = models.load(write_gguf(tmp_path / "m.gguf", listings.LLAMA_KEYS, listings.llama_8b())).layers
    held = {linear.name: linear.stored_bytes for linear in (*layer.projections, *layer.mlp)}

    weights = 4096 * 4096
    # attn_v and ffn_down: Q6_K (210 bytes a block of 256) in half of the layers, Q4_K (144) in the others
    assert held["qkv"] == (weights + weights // 4) // 256 * 144 + weights // 4 // 256 * (144 + 210) / 2
    assert held["down"] == 4096 * 14336 // 256 * (144 + 210) / 2
    assert held["o"] == weights // 256 * 144
    assert layer.vector_bytes == 2 * 4096 * 4


def test_experts_are_held_with_their_biases(tmp_path):
    model = models.load(write_gguf(tmp_path / "m.gguf", listings.GPT_OSS_KEYS, listings.gpt_oss_120b()))
    for layer in model.layers:
        down = next(linear for linear in layer.experts.linears if linear.name == "down")
        assert down.stored_bytes == 2880 * 2880 // 32 * 17 + 2880 * 4
        assert down.format == "mxfp4"


def test_an_output_that_is_not_there_is_the_table(tmp_path):
    tensors = [one for one in listings.llama_8b() if one[0] != "output.weight"]
    model = models.load(write_gguf(tmp_path / "m.gguf", listings.LLAMA_KEYS, tensors))

    assert model.tied
    assert count.weight_bytes(model) == size_of(tensors) == count.streamed_weight_bytes(model)


def test_the_mix_a_file_is_called_by_changes_nothing(tmp_path):
    file = str(write_gguf(tmp_path / "m.gguf", listings.LLAMA_KEYS, listings.llama_8b()))
    plain = rooflight.analyze(file, on="rtx-4090")

    assert rooflight.analyze(file, on="rtx-4090", weights="q4_k_m").model == plain.model
    wide = rooflight.analyze(file, on="rtx-4090", weights="q8_0")
    assert wide.model.weight_bytes > plain.model.weight_bytes


def test_layers_of_many_mixes_stay_one_row(tmp_path):
    kinds = ["Q4_K", "Q5_K", "Q6_K", "Q3_K", "IQ4_XS"]
    tensors = [
        (name, shape, kinds[sum(map(ord, name)) % 5] if kind == "Q4_K" else kind)
        for name, shape, kind in listings.llama_8b()
    ]
    model = models.load(write_gguf(tmp_path / "m.gguf", listings.LLAMA_KEYS, tensors))

    assert len(model.layers) == 1
    assert count.weight_bytes(model) == pytest.approx(size_of(tensors), rel=1e-12)


def test_parts_of_a_split_file_are_one_model(tmp_path):
    whole, keys = listings.llama_8b(), listings.LLAMA_KEYS
    cut = {"split.count": 2, "split.tensors.count": len(whole)}
    second = {"general.architecture": "llama", **cut, "split.no": 1}
    write_gguf(tmp_path / "m-00001-of-00002.gguf", {**keys, **cut, "split.no": 0}, whole[:100])
    write_gguf(tmp_path / "m-00002-of-00002.gguf", second, whole[100:])

    for asked in (tmp_path / "m-00001-of-00002.gguf", tmp_path / "m-00002-of-00002.gguf", tmp_path):
        model = models.load(asked)
        assert (model.id, count.weight_bytes(model)) == ("m", size_of(whole))


def test_experts_one_by_one_are_one_matrix(tmp_path):
    """Mixtral as it was converted until April 2024."""
    keys = {
        "general.architecture": "llama", "llama.block_count": 2, "llama.embedding_length": 256,
        "llama.feed_forward_length": 512, "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2,
        "llama.expert_count": 8, "llama.expert_used_count": 2, "llama.context_length": 4096,
    }  # fmt: skip
    tensors: Listed = [("token_embd.weight", (256, 1000), "Q4_K"), ("output_norm.weight", (256,), "F32")]
    for number in range(2):
        own = f"blk.{number}."
        tensors += [(f"{own}attn_{part}.weight", (256, 128 if part in "kv" else 256), "Q4_K") for part in "qkv"]
        tensors += [(f"{own}attn_output.weight", (256, 256), "Q4_K"), (f"{own}ffn_gate_inp.weight", (256, 8), "F32")]
        tensors += [(f"{own}{part}_norm.weight", (256,), "F32") for part in ("attn", "ffn")]
        for expert in range(8):
            tensors += [
                (f"{own}ffn_gate.{expert}.weight", (256, 512), "Q4_K"),
                (f"{own}ffn_up.{expert}.weight", (256, 512), "Q4_K"),
                (f"{own}ffn_down.{expert}.weight", (512, 256), "Q6_K"),
            ]  # fmt: skip
    model = models.load(write_gguf(tmp_path / "m.gguf", keys, tensors))

    assert model.type == "mixtral"
    assert count.weight_bytes(model) == size_of(tensors)
    assert model.layers[0].experts.linears[1].stored_bytes == 512 * 256 // 256 * 210
