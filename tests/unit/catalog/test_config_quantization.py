"""Which format lands on which matrix."""

from __future__ import annotations

from typing import Any

import pytest

from rooflight.catalog.config import model_from_dict
from rooflight.errors import BadConfig, UnknownName
from rooflight.values.formats import format_named
from rooflight.values.model import Linear, Model

DENSE = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 3,
    "intermediate_size": 512,
    "vocab_size": 100,
    "torch_dtype": "bfloat16",
}
MOE = {
    **DENSE,
    "model_type": "qwen2_moe",
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 128,
    "shared_expert_intermediate_size": 128,
}


def read(config: dict[str, Any], quantization: dict[str, Any] | None, sidecar: dict[str, Any] | None = None) -> Model:
    data = config if quantization is None else {**config, "quantization_config": quantization}
    return model_from_dict(data, id="test", origin="config.json", sidecar=sidecar)


def matrices(model: Model) -> list[Linear]:
    found = [model.head] if model.head else []
    for layer in model.layers:
        found += [*layer.projections, *layer.mlp]
        if layer.experts:
            found += [layer.experts.router, *layer.experts.linears]
    return found


def formats(model: Model) -> dict[str, str]:
    return {linear.name: linear.format for linear in matrices(model)}


def compressed(weights: dict[str, Any], activations: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    group = {"weights": weights, "input_activations": activations, "targets": ["Linear"]}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, "ignore": ["lm_head"], **more}


@pytest.mark.parametrize(
    "quantization, form",
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8-block128"),
        ({"quant_method": "fbgemm_fp8"}, "fp8-channel"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "gptq-int4-g128"),
        ({"quant_method": "gptq", "bits": 3, "group_size": -1}, "gptq-int3"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, "awq-int4-g64"),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 128}, "awq-int4-g128"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "bnb-int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4"),
        ({"load_in_4bit": True, "bnb_4bit_use_double_quant": True}, "nf4-double"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "W4A16_AWQ", "group_size": 64}, "awq-int4-g64"),
        ({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}, "w4a8-fp8"),
        ({"quant_method": "modelopt", "quant_algo": "W4A8_MXFP4_FP8"}, "mxfp4-w4a8"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True}, "gptq-int4-g128-sym"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True, "desc_act": True}, "gptq-int4-g128"),
        ({"quant_method": "torchao", "quant_type": {"default": {"_type": "Int8WeightOnlyConfig"}}}, "int8"),
        ({"quant_method": "torchao", "quant_type": "int4_weight_only"}, "int4"),
        ({"quant_method": "exl2", "bits": 4.0}, "exl2-4bpw"),
        (
            {
                "quant_method": "quark",
                "global_quant_config": {"weight": {"dtype": "fp4"}, "input_tensors": {"dtype": "fp4"}},
            },
            "mxfp4-w4a4",
        ),
        (
            {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp8_e4m3"}, "input_tensors": {}}},
            "fp8",
        ),
        (compressed({"num_bits": 8, "type": "float", "strategy": "channel"}, {"num_bits": 8}), "fp8-channel"),
        (compressed({"num_bits": 8, "type": "float", "strategy": "tensor"}, {"num_bits": 8}), "fp8"),
        (compressed({"num_bits": 8, "type": "float", "strategy": "channel"}), "fp8-weight-only"),
        (compressed({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}), "ct-int4-g128"),
        (compressed({"num_bits": 4, "type": "int", "group_size": 32, "symmetric": False}), "awq-int4-g32"),
        (compressed({"num_bits": 8, "type": "int", "strategy": "channel"}, {"num_bits": 8}), "w8a8-int8"),
        (compressed({"num_bits": 4, "type": "float", "group_size": 16}, {"num_bits": 4}), "nvfp4"),
        (compressed({"num_bits": 4, "type": "float", "group_size": 16}), "nvfp4-weight-only"),
        (compressed({"num_bits": 4, "type": "float", "group_size": 32}), "mxfp4"),
        (compressed({"num_bits": 4, "type": "float", "group_size": 32}, {"num_bits": 8}), "mxfp4-w4a8"),
        (compressed({"num_bits": 4, "type": "int", "group_size": 128}, {"num_bits": 8, "type": "float"}), "w4a8-fp8"),
    ],
)
def test_methods(quantization, form):
    """The layers' matrices take the format, the head stays wide, and the format is one we know."""
    model = read(DENSE, quantization)
    head = "exl2-4bpw" if form.startswith("exl2") else "bf16"

    assert formats(model) == {"lm_head": head, "qkv": form, "o": form, "gate_up": form, "down": form}
    assert model.quantization == form
    format_named(form)


def test_plain_models_take_their_dtype():
    assert set(formats(read({**DENSE, "torch_dtype": "float16"}, None)).values()) == {"fp16"}
    assert set(formats(read({**DENSE, "torch_dtype": None, "dtype": "float32"}, None)).values()) == {"fp32"}


def test_router_shared_gate_and_head_stay_wide():
    got = formats(read(MOE, {"quant_method": "fp8"}))

    assert {name for name, form in got.items() if form == "bf16"} == {"router", "shared_gate", "lm_head"}


@pytest.mark.parametrize(
    "pattern",
    [
        "self_attn",
        "model.layers.*.self_attn",
        "re:.*self_attn.*",
        "*.self_attn*",
        "re:.*(q|k|v|o)_proj",
    ],
)
def test_exclusion_by_word_glob_and_expression(pattern):
    got = formats(read(DENSE, {"quant_method": "fp8", "modules_to_not_convert": [pattern]}))

    assert got["qkv"] == got["o"] == "bf16"
    assert got["gate_up"] == got["down"] == "fp8"


@pytest.mark.parametrize("prefix", ["model.", "model.language_model.", "language_model.model.", "backbone.", ""])
def test_exclusion_of_one_layer_splits_the_group(prefix):
    """Layer 1 of three stays wide: the three equal layers become two kinds."""
    model = read(DENSE, {"quant_method": "modelopt", "quant_algo": "FP8", "ignore": [f"{prefix}layers.1*"]})

    assert [(layer.count, layer.projections[0].format) for layer in model.layers] == [(2, "fp8"), (1, "bf16")]


def test_layer_1_is_not_layer_11():
    many = {**DENSE, "num_hidden_layers": 12}
    model = read(
        many, {"quant_method": "fp8", "ignored_layers": ["model.layers.1.mlp.down_proj", "model.layers.1.mlp.up_proj"]}
    )

    assert [(layer.count, layer.mlp[1].format) for layer in model.layers] == [(11, "fp8"), (1, "bf16")]


@pytest.mark.parametrize("pattern", ["mtp*", "mtp.layers.0*", "model.visual*", "vision_tower*", "re:^visual.*"])
def test_patterns_of_other_parts_are_of_no_concern(pattern):
    assert set(formats(read(DENSE, {"quant_method": "fp8", "ignore": [pattern]})).values()) == {"fp8", "bf16"}
    assert formats(read(DENSE, {"quant_method": "fp8", "ignore": [pattern]}))["qkv"] == "fp8"


def test_mxfp4_is_for_experts_only():
    got = formats(read({**MOE, "model_type": "gpt_oss", "num_local_experts": 4}, {"quant_method": "mxfp4"}))

    assert got == {
        "lm_head": "bf16", "qkv": "bf16", "o": "bf16", "router": "bf16", "gate_up": "mxfp4", "down": "mxfp4",
    }  # fmt: skip


def test_mixed_precision_names_every_module():
    listed = {
        "model.layers.0.self_attn.q_proj": {"quant_algo": "FP8"},
        "model.layers.1.self_attn.q_proj": {"quant_algo": "FP8"},
        "model.layers.2.self_attn.q_proj": {"quant_algo": "FP8"},
        "lm_head": {"quant_algo": "W4A16_NVFP4", "group_size": 16},
    }
    model = read(DENSE, {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": listed})

    assert formats(model)["qkv"] == "fp8"
    assert formats(model)["down"] == "bf16"
    assert model.head.format == "nvfp4-weight-only"
    assert model.quantization == "fp8 + nvfp4-weight-only"


def test_groups_with_targets_of_their_own():
    groups = {
        "attention": {
            "weights": {"num_bits": 8, "type": "float"},
            "input_activations": {},
            "targets": ["re:.*self_attn.*"],
        },
        "rest": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}, "targets": ["Linear"]},
    }
    got = formats(read(DENSE, {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["lm_head"]}))

    assert got["qkv"] == "fp8"
    assert got["down"] == "nvfp4-weight-only"


def test_compressed_tensors_quantises_the_head_it_does_not_ignore():
    weights = {"num_bits": 8, "type": "float", "strategy": "channel"}
    model = read(DENSE, compressed(weights, {"num_bits": 8}, ignore=[]))
    tied = read({**DENSE, "tie_word_embeddings": True}, compressed(weights, {"num_bits": 8}, ignore=[]))

    assert model.head.format == "fp8-channel"
    assert tied.head.format == "bf16", "a tied head is the embedding, which stays wide"


@pytest.mark.parametrize(
    "quantization, form",
    [
        ({"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"quant_algo": "NVFP4", "kv_cache_quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_algo": "FP8", "kv_cache_quant_algo": None}, None),
        ({"quant_algo": "FP8", "kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8"),
        ({"quant_method": "fp8"}, None),
    ],
)
def test_cache_format(quantization, form):
    assert read(DENSE, quantization).kv_format == form


def test_the_sidecar_speaks_where_the_config_is_silent():
    side = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}
    alone, beside = read(DENSE, None, side), read(DENSE, {"quant_method": "fp8"}, side)

    assert (alone.quantization, alone.kv_format) == ("nvfp4", "fp8")
    assert (beside.quantization, beside.kv_format) == ("fp8", "fp8"), "the config's own word counts for the weights"


def test_unknown_methods_are_refused_by_name():
    with pytest.raises(UnknownName, match="somethingnew") as caught:
        read(DENSE, {"quant_method": "somethingnew"})
    assert "quantization_config.quant_method" in (caught.value.where or "")

    with pytest.raises(UnknownName):
        read(DENSE, {"quant_method": "modelopt", "quant_algo": "FP3"})
    with pytest.raises(UnknownName):
        read(DENSE, compressed({"num_bits": 5, "type": "int"}))
    with pytest.raises(BadConfig):
        read(DENSE, {"quant_method": "compressed-tensors", "config_groups": []})
    with pytest.raises(BadConfig):
        read({**DENSE, "quantization_config": "fp8"}, None)


def test_another_block_size_is_read_with_a_warning():
    model = read(DENSE, {"quant_method": "fp8", "weight_block_size": [64, 64]})

    assert any("weight_block_size" in warning for warning in model.warnings)
