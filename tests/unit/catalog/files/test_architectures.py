"""The architectures of llama.cpp: metadata and tensor lists come to the plan that the model's own config comes to."""

from __future__ import annotations

from typing import Any

import pytest

from rooflight.catalog import models
from rooflight.catalog.config import model_from_dict
from rooflight.errors import BadInput
from rooflight.values.model import Model
from rooflight.work import count
from unit.catalog.files.converted import config_of, keys_of, tensors_of
from unit.catalog.files.writing import write_gguf

CATALOG = {
    "llama": "meta-llama__meta-llama-3.1-70b meta-llama__llama-3.2-1b mistralai__mixtral-8x7b-v0.1",
    "llama4": "meta-llama__llama-4-scout-17b-16e-instruct meta-llama__llama-4-maverick-17b-128e-instruct",
    "mistral3": "mistralai__ministral-3-3b-2512", "qwen2vl": "qwen__qwen2-vl-7b-instruct",
    "qwen2": "qwen__qwen2.5-7b-instruct", "qwen2moe": "qwen__qwen1.5-moe-a2.7b",
    "qwen3": "qwen__qwen3-8b qwen__qwen3-0.6b", "qwen3moe": "qwen__qwen3-235b-a22b",
    "qwen3vl": "qwen__qwen3-vl-8b-instruct", "qwen3vlmoe": "qwen__qwen3-vl-30b-a3b-instruct",
    "qwen3next": "qwen__qwen3-next-80b-a3b-instruct", "qwen35": "qwen__qwen3.5-27b",
    "qwen35moe": "qwen__qwen3.5-397b-a17b",
    "gemma": "google__gemma-2b", "gemma2": "google__gemma-2-9b",
    "gemma3": "google__gemma-3-27b-it google__gemma-3-1b-it", "gemma4": "google__gemma-4-26b-a4b",
    "phi2": "microsoft__phi-2", "phi3": "microsoft__phi-3-mini-4k-instruct microsoft__phi-4-mini-instruct",
    "phimoe": "microsoft__phi-3.5-moe-instruct", "gpt-oss": "openai__gpt-oss-20b openai__gpt-oss-120b",
    "deepseek": "deepseek-ai__deepseek-moe-16b",
    "deepseek2": (
        "deepseek-ai__deepseek-v3 deepseek-ai__deepseek-v2-lite moonshotai__kimi-k2-instruct zai-org__glm-4.7-flash"
    ),
    "deepseek32": "deepseek-ai__deepseek-v3.2", "glm-dsa": "zai-org__glm-5", "glm4moe": "zai-org__glm-4.5",
    "chatglm": "thudm__glm-4-9b", "granite": "ibm-granite__granite-3.3-8b-instruct",
    "nemotron_h_moe": "nvidia__nvidia-nemotron-3-nano-30b-a3b-bf16 nvidia__nvidia-nemotron-3-super-120b-a12b-fp8",
    "minimax-m2": "minimaxai__minimax-m2.5", "command-r": "cohereforai__c4ai-command-r-v01",
    "olmo2": "allenai__olmo-2-1124-7b", "internlm2": "internlm__internlm2-7b", "minicpm3": "openbmb__minicpm3-4b",
    "minicpm": "openbmb__minicpm-2b-sft-bf16", "stablelm": "stabilityai__stablelm-3b-4e1t",
    "falcon": "tiiuae__falcon-40b", "bloom": "bigscience__bloom", "mpt": "mosaicml__mpt-7b",
    "gpt2": "openai-community__gpt2", "gptneox": "togethercomputer__redpajama-incite-7b-base",
    "dbrx": "databricks__dbrx-instruct", "jamba": "ai21labs__ai21-jamba-1.5-mini", "mamba": "tiiuae__falcon-mamba-7b",
    "orion": "orionstarai__orion-14b", "xverse": "xverse__xverse-7b", "baichuan": "baichuan-inc__baichuan2-7b-chat",
    "step35": "stepfun-ai__step-3.7-flash",
}  # fmt: skip


def sizes(model: Model) -> tuple[float, ...]:
    return (
        count.parameters(model), count.active_parameters(model), count.kv_bytes_per_token(model),
        count.window_kv_bytes_per_token(model), count.state_bytes_per_sequence(model),
    )  # fmt: skip


def read_back(model: Model, config: dict[str, Any], architecture: str, folder: Any, **more: object) -> Model:
    keys = keys_of(model, config, architecture, **more)
    depth, blocks = sum(layer.count for layer in model.layers), keys[f"{architecture}.block_count"]
    return models.load(write_gguf(folder / "m.gguf", keys, tensors_of(model, depth // int(str(blocks)))))


@pytest.mark.parametrize(
    "architecture, stem", [(name, stem) for name, stems in CATALOG.items() for stem in stems.split()]
)
def test_a_converted_model_is_the_model(architecture, stem, tmp_path):
    model = models.load(stem.replace("__", "/"))
    back = read_back(model, config_of(stem), architecture, tmp_path)

    assert sizes(back) == sizes(model)
    assert [layer.kind for layer in back.layers] == [layer.kind for layer in model.layers]
    assert [warning for warning in back.warnings if "is cut" not in warning] == []


# Small models of kinds that the catalog has none of: config.json, and keys the converter sets beside the usual ones.
_BASE = {
    "hidden_size": 256, "num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1024,
    "intermediate_size": 512, "tie_word_embeddings": True, "max_position_embeddings": 4096,
}  # fmt: skip
_MAMBA2 = {
    "mamba_n_heads": 16, "mamba_d_head": 32, "mamba_n_groups": 1, "mamba_d_state": 64, "mamba_d_conv": 4,
    "mamba_expand": 2,
}  # fmt: skip
_SSM = {"ssm__state_size": 64, "ssm__group_count": 1, "ssm__conv_kernel": 4}
SMALL: dict[str, tuple[str, dict[str, Any], dict[str, object]]] = {
    "granitehybrid": (
        "granitemoehybrid",
        {**_MAMBA2, "layer_types": ["mamba", "mamba", "attention"] * 2, "num_local_experts": 8,
         "num_experts_per_tok": 2, "shared_intermediate_size": 384},
        {**_SSM, "expert_shared_feed_forward_length": 384},
    ),
    "granitehybrid dense": (
        "granitemoehybrid",
        {**_MAMBA2, "layer_types": ["mamba", "mamba", "attention"] * 2, "num_local_experts": 0,
         "shared_intermediate_size": 512},
        _SSM,
    ),
    # attention and Mamba-2 side by side in a block are two layers of the plan
    "falcon-h1": ("falcon_h1", {**_MAMBA2, "mamba_d_ssm": 512, "head_dim": 32}, {**_SSM, "block_count": 6}),
    "lfm2": (
        "lfm2",
        {"layer_types": ["conv", "conv", "full_attention"] * 2, "conv_L_cache": 3, "block_auto_adjust_ff_dim": False},
        {"shortconv__l_cache": 3},
    ),
    "lfm2moe": (
        "lfm2_moe",
        {"layer_types": ["conv", "conv", "full_attention"] * 2, "conv_L_cache": 3, "num_experts": 8,
         "num_experts_per_tok": 2, "moe_intermediate_size": 128, "num_dense_layers": 2},
        {"shortconv__l_cache": 3},
    ),
    "mamba2": (
        "mamba2",
        {"num_heads": 16, "head_dim": 32, "n_groups": 1, "state_size": 64, "conv_kernel": 4, "hidden_size": 256},
        _SSM,
    ),
    "kimi-linear": (
        "kimi_linear",
        {"linear_attn_config": {"full_attn_layers": [4], "num_heads": 8, "head_dim": 64, "short_conv_kernel_size": 4},
         "kv_lora_rank": 64, "q_lora_rank": None, "qk_rope_head_dim": 32, "qk_nope_head_dim": 64, "v_head_dim": 64,
         "num_experts": 8, "num_experts_per_token": 2, "moe_intermediate_size": 128, "num_shared_experts": 1,
         "first_k_dense_replace": 1, "num_key_value_heads": 8},
        {"kda__head_dim": 64, "ssm__conv_kernel": 4},
    ),
    "cohere2": (
        "cohere2",
        {"sliding_window": 128, "sliding_window_pattern": 4},
        {},
    ),
    "seed_oss": ("seed_oss", {"head_dim": 64, "attention_bias": True}, {}),
    "hunyuan-moe": (
        "hunyuan_v1_moe",
        {"head_dim": 32, "num_experts": 8, "moe_topk": 2, "moe_intermediate_size": 128, "num_shared_expert": 1},
        {},
    ),
    "ernie4_5-moe": (
        "ernie4_5_moe",
        {"head_dim": 32, "moe_num_experts": 8, "moe_k": 2, "moe_intermediate_size": 128, "moe_num_shared_experts": 2,
         "moe_layer_start_index": 1},
        {},
    ),
    "bailingmoe2": (
        "bailing_moe_v2",
        {"head_dim": 32, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 128,
         "num_shared_experts": 1, "first_k_dense_replace": 1},
        {},
    ),
    "smollm3": ("smollm3", {}, {}), "exaone4": ("exaone4", {"head_dim": 32, "sliding_window": 128}, {}),
    "dots1": (
        "dots1",
        {"head_dim": 32, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 128,
         "n_shared_experts": 2, "first_k_dense_replace": 1},
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_kinds_of_no_catalog_entry_are_read_too(name, tmp_path):
    kind, own, more = SMALL[name]
    config = {**_BASE, **own, "model_type": kind}
    model = model_from_dict(config, id="small", origin="config.json")
    back = read_back(model, config, name.partition(" ")[0], tmp_path, **more)

    assert sizes(back) == sizes(model)
    assert [warning for warning in back.warnings if "is cut" not in warning] == []


def test_a_plan_that_is_not_the_files_is_said(tmp_path):
    """A file whose metadata lies about a width: its bytes count, and the answer names the matrix."""
    model = models.load("qwen/qwen3-8b")
    back = read_back(model, config_of("qwen__qwen3-8b"), "qwen3", tmp_path, feed_forward_length=12000)

    assert any("gate_up of layer 0 (100,663,296, not 98,304,000)" in warning for warning in back.warnings)
    assert count.weight_bytes(back) > count.parameters(back)


@pytest.mark.parametrize("architecture", ["rwkv7", "t5", "bert", "modern-bert", "whatever"])
def test_what_is_no_decoder_is_refused(architecture, tmp_path):
    keys = {"general.architecture": architecture, f"{architecture}.block_count": 2}
    with pytest.raises(BadInput) as caught:
        models.load(write_gguf(tmp_path / "m.gguf", keys, []))
    assert caught.value.want


def test_a_matrix_nobody_reads_is_named(tmp_path):
    model = models.load("qwen/qwen3-8b")
    keys = keys_of(model, config_of("qwen__qwen3-8b"), "qwen3")
    tensors = [*tensors_of(model), ("blk.3.new_mixer.weight", (4096, 4096), "F16")]
    back = models.load(write_gguf(tmp_path / "m.gguf", keys, tensors))

    assert any("no matrix for new_mixer" in warning for warning in back.warnings)
    added = 4096 * 4096 * 2
    without = models.load(write_gguf(tmp_path / "n.gguf", keys, tensors[:-1]))
    assert count.weight_bytes(back) == pytest.approx(count.weight_bytes(without) + added, rel=1e-12)
