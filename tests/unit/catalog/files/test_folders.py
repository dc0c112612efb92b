"""Directories as people have them: weights outrank a config, and what is not clear is said or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rooflight.catalog import models
from rooflight.errors import BadInput
from rooflight.work import count
from unit.catalog.files.writing import Listed, write_gguf
from unit.catalog.files.writing import safetensors as written

Tensors = dict[str, tuple[str, tuple[int, ...]]]
CONFIG = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 256, "intermediate_size": 512,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
    "torch_dtype": "bfloat16", "tie_word_embeddings": False,
}  # fmt: skip
KEYS: dict[str, object] = {
    "general.architecture": "llama", "llama.block_count": 2, "llama.embedding_length": 256,
    "llama.feed_forward_length": 512, "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2,
    "llama.context_length": 4096, "llama.vocab_size": 100,
}  # fmt: skip
LINEARS = {
    "self_attn.q_proj": (256, 256), "self_attn.k_proj": (128, 256), "self_attn.v_proj": (128, 256),
    "self_attn.o_proj": (256, 256), "mlp.gate_proj": (512, 256), "mlp.up_proj": (512, 256), "mlp.down_proj": (256, 512),
}  # fmt: skip
MATRICES = 2 * sum(rows * columns for rows, columns in LINEARS.values())
OUTSIDE_BYTES = 2 * (2 * 100 * 256 + 256 + 2 * 2 * 256)


def blocks(layers: int = 2) -> Listed:
    """A llama of so many blocks in Q8_0."""
    listed: Listed = [("token_embd.weight", (256, 100), "Q8_0"), ("output.weight", (256, 100), "Q8_0")]
    shapes = {
        "attn_q": (256, 256), "attn_k": (256, 128), "attn_v": (256, 128), "attn_output": (256, 256),
        "ffn_gate": (256, 512), "ffn_up": (256, 512), "ffn_down": (512, 256),
    }  # fmt: skip
    return listed + [
        (f"blk.{layer}.{name}.weight", shape, "Q8_0") for layer in range(layers) for name, shape in shapes.items()
    ]


def checkpoint(kind: str = "BF16") -> Tensors:
    tensors: Tensors = {f"{name}.weight": ("BF16", (100, 256)) for name in ("model.embed_tokens", "lm_head")}
    tensors["model.norm.weight"] = ("BF16", (256,))
    for layer in range(2):
        own = f"model.layers.{layer}."
        tensors |= {f"{own}{name}_layernorm.weight": ("BF16", (256,)) for name in ("input", "post_attention")}
        tensors |= {f"{own}{name}.weight": (kind, shape) for name, shape in LINEARS.items()}
    return tensors


def folder(path: Path, tensors: Tensors | None = None, **more: object) -> Path:
    (path / "config.json").write_text(json.dumps({**CONFIG, **more}))
    if tensors is not None:
        (path / "model.safetensors").write_bytes(written(tensors))
    return path


def refusal(path: Path, what: str) -> BadInput:
    with pytest.raises(BadInput, match=what) as caught:
        models.load(path)
    assert caught.value.where
    assert caught.value.want
    return caught.value


# --- what counts of several files ------------------------------------------------------------------------------------


def test_the_one_gguf_file_outranks_the_config_beside_it(tmp_path):
    write_gguf(tmp_path / "m-Q8_0.gguf", KEYS, blocks())
    (tmp_path / "mmproj-m.gguf").write_bytes(b"GGUF")
    model = models.load(folder(tmp_path))

    assert model.quantization == "q8_0"
    assert model.id == "m-Q8_0"
    assert models.load(tmp_path / "config.json").quantization is None


def test_several_gguf_files_beside_a_config_are_said(tmp_path):
    for name in ("m-Q8_0", "m-Q4_K_M"):
        write_gguf(tmp_path / f"{name}.gguf", KEYS, blocks())
    warnings = "".join(models.load(folder(tmp_path)).warnings)
    assert "2 GGUF models beside the config.json (m-Q4_K_M.gguf, m-Q8_0.gguf)" in warnings

    (tmp_path / "model.safetensors").write_bytes(written(checkpoint()))
    both = models.load(tmp_path)
    assert both.table_bytes == 2 * 100 * 256
    assert "the safetensors files count" in "".join(both.warnings)


def test_a_series_without_an_index_is_whole_or_refused(tmp_path):
    folder(tmp_path)
    for number in (1, 2, 3):
        own = {name: one for place, (name, one) in enumerate(checkpoint().items()) if place % 3 == number - 1}
        (tmp_path / f"model-{number:05d}-of-00003.safetensors").write_bytes(written(own))
    assert count.weight_bytes(models.load(tmp_path)) == 2 * MATRICES + OUTSIDE_BYTES

    (tmp_path / "model-00002-of-00003.safetensors").unlink()
    assert "all 3" in str(refusal(tmp_path, "2 of 3 files of a series").want)
    (tmp_path / "other-00001-of-00001.safetensors").write_bytes(written(checkpoint()))
    refusal(tmp_path, "no model.safetensors.index.json that says what belongs together")


def test_files_that_nothing_joins_are_refused(tmp_path):
    folder(tmp_path)
    (tmp_path / "a.safetensors").write_bytes(written(checkpoint()))
    (tmp_path / "adapter_model.safetensors").write_bytes(written(checkpoint()))
    assert count.weight_bytes(models.load(tmp_path)) == 2 * MATRICES + OUTSIDE_BYTES

    (tmp_path / "b.safetensors").write_bytes(written(checkpoint()))
    assert refusal(tmp_path, "holds 2 safetensors files").got == "a.safetensors, b.safetensors"


def test_a_file_without_tensors_is_refused(tmp_path):
    refusal(folder(tmp_path, {}), r"model\.safetensors holds no tensors")


def test_a_gguf_file_named_as_a_config_is_said_to_be_one(tmp_path):
    refusal(write_gguf(tmp_path / "x.json", KEYS, blocks()), "is a GGUF file under the name of a config")


def test_an_empty_directory_named_as_a_file_is_a_directory(tmp_path):
    (tmp_path / "dir.gguf").mkdir()
    assert refusal(tmp_path / "dir.gguf", "holds no config.json and no GGUF file").got == "an empty directory"
    write_gguf(tmp_path / "dir.gguf" / "m.gguf", KEYS, blocks())
    assert models.load(tmp_path / "dir.gguf").id == "m"


# --- what belongs to the text model ----------------------------------------------------------------------------------


def test_blocks_that_nothing_counts_are_refused(tmp_path):
    """Half of a model is no model with drafting layers."""
    file = write_gguf(tmp_path / "m.gguf", {**KEYS, "llama.block_count": 1}, blocks(2))
    assert refusal(file, "more blocks than its block_count").got == "block_count 1, and tensors of blk.1"

    drafting = {**KEYS, "llama.block_count": 3, "llama.nextn_predict_layers": 1}
    model = models.load(write_gguf(tmp_path / "d.gguf", drafting, blocks(3)))
    assert "multi-token-prediction" in "".join(model.assumptions)


def test_layers_that_the_config_does_not_count_are_said(tmp_path):
    half = models.load(folder(tmp_path, checkpoint(), num_hidden_layers=1))
    assert "holds 1 more layers than the config counts" in "".join(half.warnings)

    drafting = models.load(folder(tmp_path, checkpoint(), num_hidden_layers=1, num_nextn_predict_layers=1))
    assert drafting.warnings == ()


@pytest.mark.parametrize(
    "name",
    ["talker.model.layers.0.self_attn.q_proj", "token2wav.dit.x", "code2wav.layers.1.mlp.up_proj", "v_head.summary",
     "draft_model.layers.0.mlp.up_proj", "medusa_head.0.0.linear"],
)  # fmt: skip
def test_other_networks_in_the_file_are_left_out_by_name(name, tmp_path):
    model = models.load(folder(tmp_path, checkpoint() | {f"{name}.weight": ("BF16", (1000, 256))}))

    assert count.weight_bytes(model) == 2 * MATRICES + OUTSIDE_BYTES
    assert count.tower_bytes(model) == 0
    said = f"512,000 bytes of other networks in the file are not counted: {name.partition('.')[0]}"
    assert said in model.assumptions
    assert model.warnings == ()


@pytest.mark.parametrize("name", ["speech_encoder.layers.0.x", "vpm.encoder.layers.1.x", "apm.layers.0.x",
                                  "resampler.kv_proj", "model.connector.modality_projection.proj"])  # fmt: skip
def test_encoders_are_towers_whatever_they_are_called(name, tmp_path):
    model = models.load(folder(tmp_path, checkpoint() | {f"{name}.weight": ("BF16", (1000, 256))}))

    assert count.streamed_weight_bytes(model) == 2 * MATRICES + OUTSIDE_BYTES - 2 * 100 * 256
    assert count.tower_bytes(model) == 512_000
    assert [tower.name in name for tower in model.towers] == [True]


# --- packings --------------------------------------------------------------------------------------------------------


def packed(parts: dict[str, tuple[str, tuple[int, ...]]]) -> Tensors:
    """The checkpoint with each linear layer as these parts, of (256, 256) whatever it is."""
    tensors = checkpoint()
    modules = [name.removesuffix("weight") for name in tensors if "_proj." in name]
    wide = {name: one for name, one in tensors.items() if "_proj." not in name}
    return wide | {module + part: one for module in modules for part, one in parts.items()}


def test_fp8_numbers_that_no_section_speaks_of_are_fp8(tmp_path):
    model = models.load(folder(tmp_path, checkpoint("F8_E4M3")))

    assert model.quantization == "fp8"
    assert count.weight_bytes(model) == MATRICES + OUTSIDE_BYTES
    assert "FP8 numbers in qkv, o, gate_up and 1 more: read as fp8" in "".join(model.warnings)


@pytest.mark.parametrize(
    "section, parts",
    [
        (
            {"quant_method": "exl2", "bits": 4.0, "head_bits": 16},
            {"q_weight": ("I32", (32, 256)), "q_scale": ("I32", (2, 32)), "q_scale_max": ("F16", (2,)),
             "q_groups": ("I32", (2,)), "q_invperm": ("I32", (256,))},
        ),
        (
            {"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}},
            {"W_q": ("U8", (128, 256)), "scale": ("BF16", (1024,)), "zero": ("BF16", (1024,)), "nbits": ("I64", ())},
        ),
    ],
)  # fmt: skip
def test_the_parts_of_exl2_and_hqq_are_their_modules(section, parts, tmp_path):
    tensors = packed(parts)
    model = models.load(folder(tmp_path, tensors, quantization_config=section))
    raw = (tmp_path / "model.safetensors").read_bytes()
    header = json.loads(raw[8:])

    assert count.weight_bytes(model) == max(one["data_offsets"][1] for one in header.values())
    assert {matrix.format for layer in model.layers for matrix in (*layer.projections, *layer.mlp)} == {
        "exl2-4bpw" if section["quant_method"] == "exl2" else "int4-g64"
    }
    assert model.warnings == ()


def test_stacked_experts_of_mlx_are_read_to_the_byte(tmp_path):
    """switch_mlp holds all experts of a layer; its overrides in the config count too."""
    sizes = {"gate_proj": (128, 256), "up_proj": (128, 256), "down_proj": (256, 128)}
    experts = {
        f"model.layers.{layer}.mlp.switch_mlp.{name}": shape for layer in range(2) for name, shape in sizes.items()
    }
    tensors = {name: one for name, one in checkpoint().items() if ".mlp." not in name}
    tensors |= {f"model.layers.{layer}.mlp.gate.weight": ("BF16", (4, 256)) for layer in range(2)}
    for name, (rows, columns) in experts.items():
        tensors[f"{name}.weight"] = ("I32", (4, rows, columns // 16))
        tensors |= {f"{name}.{part}": ("BF16", (4, rows, columns // 64)) for part in ("scales", "biases")}
    wide = {name.removesuffix(".weight"): False for name, one in tensors.items() if len(one[1]) == 2}
    narrow = {name: {"bits": 2, "group_size": 64} for name in experts}
    model = models.load(
        folder(
            tmp_path, tensors, model_type="qwen3_moe", architectures=["Qwen3MoeForCausalLM"], head_dim=64,
            num_experts=4, num_experts_per_tok=2, moe_intermediate_size=128, norm_topk_prob=True,
            quantization={"bits": 4, "group_size": 64, **wide, **narrow},
        )
    )  # fmt: skip

    routed = model.layers[0].experts
    assert routed is not None
    assert {linear.format for linear in routed.linears} == {"mlx-2bit-g64"}
    assert sum(linear.stored_bytes or 0 for linear in routed.linears) == 3 * 128 * 256 * (2 + 32 / 64) / 8
    assert not any("experts" in warning or "no tensor" in warning for warning in model.warnings)
