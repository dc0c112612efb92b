"""Routed experts in a latent space, and gates of attention outputs: counts by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rooflight.catalog.config import model_from_dict
from rooflight.values.model import Model
from rooflight.work import count, step
from rooflight.work.layout import Layout
from rooflight.work.numbers import Numbers

HERE = Path(__file__).parent
CASES = {
    name: case["config"] for name, case in json.loads((HERE / "architectures.json").read_text("utf-8")).items() if name
}
CASES |= {
    name: case["config"] for name, case in json.loads((HERE / "unusual.json").read_text("utf-8"))["models"].items()
}
# a Kimi of four layers, all sizes its own: three of delta attention, one of latent attention, the first one dense
SMALL: dict[str, Any] = {
    "model_type": "kimi_linear", "hidden_size": 1024, "num_hidden_layers": 4, "intermediate_size": 4096,
    "vocab_size": 32000, "num_attention_heads": 8, "num_key_value_heads": 8, "kv_lora_rank": 128, "q_lora_rank": 256,
    "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 64, "moe_intermediate_size": 512, "num_experts": 64,
    "num_experts_per_token": 4, "num_shared_experts": 1, "first_k_dense_replace": 1, "moe_layer_freq": 1,
    "tie_word_embeddings": False, "dtype": "bfloat16",
    "linear_attn_config": {"full_attn_layers": [4], "kda_layers": [1, 2, 3], "num_heads": 8, "head_dim": 64,
                           "short_conv_kernel_size": 4},
}  # fmt: skip


# The published text configs, as public code that reads them quotes them (Kimi K3: revision f831ab6; Kimi-Linear-48B).
_KIMI = {
    "model_type": "kimi_linear", "first_k_dense_replace": 1, "moe_layer_freq": 1, "kv_lora_rank": 512,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 163840,
    "tie_word_embeddings": False, "dtype": "bfloat16",
}  # fmt: skip
_MXFP4 = {
    "quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized",
    "ignore": [
        "re:.*self_attn.*", "re:.*shared_experts.*", r"re:.*mlp\.(gate|up|gate_up|down)_proj.*", "re:.*lm_head.*",
    ],
    "config_groups": {
        "group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "group_size": 32, "type": "float"}},
    },
}  # fmt: skip
K3: dict[str, Any] = {
    "model_type": "kimi_k3",
    "architectures": ["KimiK3ForConditionalGeneration"],
    "text_config": {
        **_KIMI, "hidden_size": 7168, "num_hidden_layers": 93, "num_attention_heads": 96, "num_key_value_heads": 96,
        "q_lora_rank": 1536, "intermediate_size": 33792, "num_experts": 896, "num_experts_per_token": 16,
        "num_shared_experts": 2, "moe_intermediate_size": 3072, "routed_expert_hidden_size": 3584,
        "latent_moe_use_norm": True, "mla_use_output_gate": True, "attn_res_block_size": 12, "num_expert_group": 1,
        "quantization_config": _MXFP4,
        "linear_attn_config": {
            "num_heads": 96, "head_dim": 128, "short_conv_kernel_size": 4, "use_full_rank_gate": True,
            "gate_lower_bound": -5.0, "full_attn_layers": [*range(4, 93, 4), 93],
            "kda_layers": [i for i in range(1, 93) if i % 4],
        },
    },
    "vision_config": {"vt_hidden_size": 1024},
}  # fmt: skip
KIMI_LINEAR: dict[str, Any] = {
    **_KIMI, "hidden_size": 2304, "num_hidden_layers": 27, "num_attention_heads": 32, "num_key_value_heads": 32,
    "q_lora_rank": None, "intermediate_size": 9216, "num_experts": 256, "num_experts_per_token": 8,
    "num_shared_experts": 1, "moe_intermediate_size": 1024,
    "linear_attn_config": {
        "num_heads": 32, "head_dim": 128, "short_conv_kernel_size": 4, "full_attn_layers": [*range(4, 27, 4), 27],
        "kda_layers": [i for i in range(1, 27) if i % 4],
    },
}  # fmt: skip


def read(config: dict[str, Any], **changes: Any) -> Model:
    return model_from_dict({**config, **changes}, id="test", origin="config.json")


def small(**changes: Any) -> int:
    return count.parameters(read(SMALL, **changes))


def test_routed_experts_work_in_the_latent_space():
    """Three layers of 64 experts of three matrices: 512 wide between latents of 512, not 1024; and two matrices beside.

    Router and shared expert stay at the full width; the norm is one vector of the latent.
    """
    saved = 3 * 64 * 3 * 512 * (1024 - 512)
    around = 3 * 2 * 1024 * 512

    assert small() - small(routed_expert_hidden_size=512) == saved - around
    assert (
        small(routed_expert_hidden_size=512, latent_moe_use_norm=True) - small(routed_expert_hidden_size=512) == 3 * 512
    )


def test_the_whole_of_a_small_model_by_hand():
    """Embedding and head; three delta layers, a latent one; a dense feed-forward and three of experts; norms."""
    full_gate = {**SMALL["linear_attn_config"], "use_full_rank_gate": True}
    delta = (
        3 * 1024 * 512  # queries, keys, values
        + (1024 * 64 + 64 * 512)  # decay, through a rank of head_dim
        + 1024 * 512  # the gate, straight
        + 1024 * 8  # beta
        + 512 * 1024  # out
        + (3 * 512 * 4 + 512 + 8 + 64)  # taps, time step bias, decay rate, norm
    )
    mla = (
        1024 * 256 + 256 * 8 * 96  # queries through their rank
        + 1024 * (128 + 32) + 128 * 8 * (64 + 64)  # latent and its expansion
        + 8 * 64 * 1024  # out
        + 1024 * 8 * 64  # the output gate, one an element
        + 256 + 128  # norms of the ranks
    )  # fmt: skip
    experts = (
        1024 * 64  # router
        + 64 * 3 * 512 * 512  # routed, in the latent space
        + 2 * 1024 * 512 + 512  # into it and out of it, and its norm
        + 3 * 1024 * 512  # shared, at the full width
    )  # fmt: skip
    whole = 2 * 32000 * 1024 + 3 * delta + mla + 3 * 1024 * 4096 + 3 * experts + (4 * 2 + 1) * 1024
    model = read(
        SMALL, routed_expert_hidden_size=512, latent_moe_use_norm=True, mla_use_output_gate=True,
        linear_attn_config=full_gate,
    )  # fmt: skip

    assert count.parameters(model) == whole
    assert model.warnings == ()
    active = whole - 3 * 60 * 3 * 512 * 512
    assert count.active_parameters(model) == active


def test_reads_of_earlier_blocks_have_a_vector_and_a_norm_each():
    """One in front of either half of a layer, and one in front of the last norm."""
    assert small(attn_res_block_size=2) - small() == (4 * 2 + 1) * 2 * 1024


def test_a_full_rank_gate_is_one_matrix_instead_of_two():
    full_gate = {**SMALL["linear_attn_config"], "use_full_rank_gate": True}

    assert small(linear_attn_config=full_gate) - small() == 3 * (1024 * 512 - (1024 * 64 + 64 * 512))


def test_kimi_k3_has_the_published_size():
    """2.78 T parameters, of which a token meets 104.2 B beside the input table."""
    model = model_from_dict(K3, id="moonshotai/Kimi-K3", origin="config.json")
    active = count.active_parameters(model) - model.embedding_parameters

    assert count.parameters(model) == pytest.approx(2.78e12, rel=0.002)
    assert active == pytest.approx(104.2e9, rel=0.001)
    assert not any("not read" in warning for warning in model.warnings)


def test_kimi_k3_has_the_published_bytes():
    """The index's total_size, 1,560,860,324,864 bytes: the text model's, and what a vision tower of 0.46 B takes.

    Experts in MXFP4, all else in bf16 (the config's own ignore list). Tower: MoonViT of 27 layers of 1024, 0.40 B, and
    a projector of 4096 x 4096 and 4096 x 7168, 0.05 B.
    """
    model = model_from_dict(K3, id="moonshotai/Kimi-K3", origin="config.json")
    left = 1_560_860_324_864 - count.weight_bytes(model)
    tower = 27 * (1024 * 3 * 1536 + 1536 * 1024 + 2 * 1024 * 4096) + 4096 * 4096 + 4096 * 7168

    assert model.quantization == "mxfp4"
    assert left / 2 == pytest.approx(tower, rel=0.04)
    assert left / 1_560_860_324_864 < 1e-3


def test_kimi_linear_has_the_published_bytes():
    """98,245,528,576: bf16, but fp32 decay rates (one a head) and time step biases (one a channel) of 20 layers, and
    the routing correction biases of 26 layers, which are no parameters here."""
    model = model_from_dict(KIMI_LINEAR, id="moonshotai/Kimi-Linear-48B-A3B", origin="config.json")
    beyond = 20 * 2 * (32 + 32 * 128) + 26 * 256 * 2

    assert count.weight_bytes(model) + beyond == 98_245_528_576


# Experts of each family: how many layers have them, how many there are, and the matrices of one (2 or 3).
FAMILIES = [
    "deepseek_v3/silent",
    "qwen3_moe/silent",
    "mixtral/silent",
    "glm4_moe/silent",
    "nemotron_h",
    "minimax_m2/silent",
]


@pytest.mark.parametrize("key", ["moe_latent_size", "routed_expert_hidden_size"])
@pytest.mark.parametrize("name", [name for name in FAMILIES if name in CASES])
def test_a_latent_space_in_any_family(name, key):
    """Each expert's matrices meet the latent in place of the hidden size; two matrices a layer lead in and out."""
    config = {k: v for k, v in CASES[name].items() if k != "moe_latent_size"}
    plain, narrow = read(config), read(config, **{key: 8})
    bias = config.get("mlp_bias", False)
    for wide, thin in zip(plain.layers, narrow.layers, strict=True):
        assert (wide.experts is None) == (thin.experts is None)
        if wide.experts is None or thin.experts is None:
            continue
        before, after = (sum(m.inputs * m.outputs for m in one.experts.linears) for one in (wide, thin))
        assert after * plain.hidden == before * 8
        assert thin.experts.router == wide.experts.router
        added = count.layer_parameters(thin) - count.expert_parameters(thin)
        added -= count.layer_parameters(wide) - count.expert_parameters(wide)
        assert added == 2 * plain.hidden * 8 + (plain.hidden + 8 if bias else 0)
    assert narrow.warnings == plain.warnings


LLAMA = CASES.get("llama/silent") or CASES["llama"]


@pytest.mark.parametrize("key", ["attn_output_gate", "attention_output_gate", "elementwise_attn_output_gate"])
@pytest.mark.parametrize(
    "name", ["llama/silent", "qwen3/silent", "glm4_moe/silent", "mixtral/silent", "minimax_m2/silent"]
)
def test_an_output_gate_is_as_wide_as_the_heads_together(name, key):
    config = CASES[name]
    plain, gated = read(config), read(config, **{key: True})
    wide = sum(layer.count * plain.hidden * layer.mixer.heads * layer.mixer.value_dim for layer in plain.layers)

    assert count.parameters(gated) - count.parameters(plain) == wide
    assert read(config, **{key: False}) == plain


def test_a_gate_a_head_is_as_wide_as_there_are_heads():
    config = CASES["qwen3/silent"]
    plain, gated = read(config), read(config, headwise_attn_output_gate=True)
    heads = sum(layer.count * layer.mixer.heads for layer in plain.layers)

    assert count.parameters(gated) - count.parameters(plain) == plain.hidden * heads


@pytest.mark.parametrize("key", ["moe_router_dtype", "router_dtype"])
@pytest.mark.parametrize("name", [name for name in FAMILIES if name in CASES])
def test_a_router_in_fp32_is_held_so_and_multiplied_beside_the_others(name, key):
    """Four bytes a weight in place of two, no more parameters, and no fp32 product in a step of a bf16 model."""
    config = {**CASES[name], "dtype": "bfloat16"}
    plain, wide = read(config), read(config, **{key: "float32"})
    routers = sum(
        layer.count * layer.experts.router.inputs * layer.experts.router.outputs
        for layer in plain.layers
        if layer.experts is not None and layer.experts.router.format == "bf16"
    )

    assert count.parameters(wide) == count.parameters(plain)
    assert count.weight_bytes(wide) - count.weight_bytes(plain) == 2 * routers
    ops = step.operators(wide, step.decode(sequences=4, context=8), Layout(tp=1, pp=1, ep=1, dp=1), Numbers())
    assert "fp32" not in {op.compute for op in ops}


@pytest.mark.parametrize("name", ["minimax_m2/silent", "minimax_m3_vl_text"])
def test_minimax_keeps_its_routers_in_fp32(name):
    """vLLM's comment and a tensor listing of MiniMax-M3: gate.weight F32 [128, 6144]; M2's code makes the same."""
    model = read({**CASES[name], "dtype": "bfloat16"})

    assert {layer.experts.router.format for layer in model.layers if layer.experts} == {"fp32"}
