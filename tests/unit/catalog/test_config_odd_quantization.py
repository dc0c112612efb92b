"""Quantisation sections that are broken, contradict the model, or say more than a format for all."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rooflight.catalog.config import model_from_dict
from rooflight.errors import BadConfig, UnknownName
from rooflight.values.model import Model

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
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 128}
MOE = {**DENSE, **EXPERTS, "model_type": "qwen2_moe", "shared_expert_intermediate_size": 128}
FP8 = {"num_bits": 8, "type": "float", "strategy": "tensor"}


def read(config: dict[str, Any], quantization: dict[str, Any]) -> Model:
    return model_from_dict({**config, "quantization_config": quantization}, id="test", origin="config.json")


def formats(model: Model) -> dict[str, str]:
    """Of the first layer's matrices."""
    layer = model.layers[0]
    return {linear.name: linear.format for linear in (*layer.projections, *layer.mlp)}


def compressed(weights: dict[str, Any], **more: Any) -> dict[str, Any]:
    group = {"weights": weights, "targets": ["Linear"]}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, "ignore": ["lm_head"], **more}


def warned(quantization: dict[str, Any], config: dict[str, Any] = DENSE) -> str:
    return " / ".join(read(config, quantization).warnings)


@pytest.mark.parametrize(
    "quantization",
    [
        {"quant_method": "bitsandbytes"},
        {"quant_method": "bitsandbytes", "load_in_4bit": False, "load_in_8bit": False},
        {"quant_method": "quark", "exclude": []},
        {"quant_method": "mxfp4"},
        {"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": None, "targets": ["Linear"]}}},
        {"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": FP8, "targets": ["re:nothing"]}}},
        {"quant_method": "fp8", "modules_to_not_convert": ["model.layers.*"]},
    ],
)
def test_a_section_that_changes_nothing_is_said(quantization):
    assert "changes no matrix" in warned(quantization)
    assert set(formats(read(DENSE, quantization)).values()) == {"bf16"}


def test_a_target_that_means_nothing_beside_one_that_does():
    groups = {
        "a": {"weights": FP8, "targets": ["Linear"]},
        "b": {"weights": {"num_bits": 4}, "targets": ["re:.*no_such_module.*", "MoEGate"]},
    }
    said = warned({"quant_method": "compressed-tensors", "config_groups": groups})

    assert "modules this model does not have: MoEGate, re:.*no_such_module.*" in said


@pytest.mark.parametrize("pattern", ["re:(((", "re:(?<=a)b", "re:" + "a" * 400])
def test_an_expression_that_cannot_be_read_is_said_and_passed_over(pattern):
    said = warned({"quant_method": "fp8", "ignore": [pattern, "re:.*self_attn.*"]})

    assert "quantization_config.ignore: the expression" in said
    assert formats(read(DENSE, {"quant_method": "fp8", "ignore": [pattern, "re:.*self_attn.*"]}))["qkv"] == "bf16"


def test_an_expression_that_would_backtrack_for_ever():
    model = read({**DENSE, "num_hidden_layers": 60}, compressed(FP8, ignore=["re:^([a-z0-9_.]+)+!$"]))

    assert formats(model)["qkv"] == "fp8-weight-only"


@pytest.mark.parametrize(
    "quantization, key",
    [
        ({"quant_method": "compressed-tensors", "config_groups": {"g": None}}, "config_groups.g"),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": 4}}}, "config_groups.g.weights"),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": FP8, "targets": 1}}}, "targets"),
        (compressed({"num_bits": 4, "type": "int", "group_size": 0}), "weights.group_size"),
        (compressed({"num_bits": 4, "type": "int", "group_size": math.nan}), "weights.group_size"),
        (compressed({"num_bits": 4, "type": "int", "group_size": -16}), "weights.group_size"),
        (compressed({"num_bits": 4, "type": "int", "strategy": "zigzag"}), "weights.strategy"),
        (compressed({"type": "int"}), "weights.num_bits"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": -16}, "group_size"),
        ({"quant_method": "modelopt", "quantized_layers": ["x"]}, "quantized_layers"),
        ({"quant_method": "fp8", "ignored_layers": 5}, "ignored_layers"),
        ({"quant_method": "fp8", "modules_to_not_convert": "everything"}, "modules_to_not_convert"),
        ({"quant_method": "fp8", "ignore": ["re:a"] * 1001}, "ignore"),
        ({"quant_method": "fp8", "weight_block_size": [0, 128]}, "weight_block_size"),
        ({"quant_method": "fp8", "weight_block_size": [math.nan, 128]}, "weight_block_size"),
        ({"quant_method": "fp8", "weight_block_size": [128]}, "weight_block_size"),
        ({"quant_method": "gptq"}, "bits"),
        ({"quant_method": "awq", "group_size": 128}, "bits"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 0}, "group_size"),
        ({"quant_method": "gptq", "bits": 4, "dynamic": {"+:a": 3}}, "dynamic.+:a"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "q4"}, "bnb_4bit_quant_type"),
        ({"quant_method": "hqq"}, "nbits"),
    ],
)
def test_a_malformed_section_is_refused_by_key(quantization, key):
    with pytest.raises(BadConfig) as caught:
        read(DENSE, quantization)

    assert str(caught.value.where).endswith(f".{key}")


def test_missing_bits_are_called_missing():
    with pytest.raises(BadConfig, match="bits or w_bit or weight_bits is missing"):
        read(DENSE, {"quant_method": "gptq", "group_size": 128})


def test_bits_in_quotes_are_read_with_a_warning():
    quantization = compressed({"num_bits": "4", "type": "int", "group_size": 128})

    assert formats(read(DENSE, quantization))["qkv"] == "ct-int4-g128"
    assert "the string '4'" in warned(quantization)


def test_gptqmodel_says_which_modules_differ():
    dynamic = {
        "-:.*self_attn.*": {},
        r"+:model\.layers\.1\.mlp\.down_proj": {"bits": 8, "group_size": 32},
        r"model\.layers\.2\.mlp\.(up|gate)_proj": {"bits": 8},
    }
    model = read(DENSE, {"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": dynamic})

    assert formats(model)["qkv"] == "bf16"
    assert model.quantization == "gptq-int4-g128 + gptq-int8-g32 + gptq-int8-g128"


def test_autoround_says_which_modules_differ():
    extra = {
        "model.layers.0.self_attn.q_proj": {"bits": 16, "data_type": "float"},
        r".*\.1\.mlp.*": {"bits": 8},
    }
    model = read(DENSE, {"quant_method": "auto-round", "bits": 4, "group_size": 128, "extra_config": extra})
    layers = [layer for layer in model.layers for _ in range(layer.count)]

    assert [layer.projections[0].format for layer in layers] == ["bf16", "gptq-int4-g128", "gptq-int4-g128"]
    assert [layer.mlp[0].format for layer in layers] == ["gptq-int4-g128", "gptq-int8-g128", "gptq-int4-g128"]


@pytest.mark.parametrize(
    "quantization",
    [
        {"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}},
        {"quant_method": "hqq", "bits": 4, "group_size": 64, "skip_modules": ["lm_head"]},
    ],
)
def test_hqq(quantization):
    assert read(DENSE, quantization).quantization == "int4-g64"
    with pytest.raises(UnknownName):
        read(DENSE, {"quant_method": "hqq", "bits": 7})


def test_fp4_of_bitsandbytes_is_named_as_what_it_is_read_as():
    model = read(DENSE, {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "fp4"})

    assert model.quantization == "nf4"
    assert any("FP4 is read as NF4" in note for note in model.assumptions)


@pytest.mark.parametrize(
    "quantization",
    [
        {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 32},
        compressed({"num_bits": 4, "type": "float", "group_size": 64}),
        {"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP3"},
    ],
)
def test_values_read_as_the_usual_ones_are_said(quantization):
    assert warned(quantization)


@pytest.mark.parametrize(
    "name, said",
    [
        ("org/Model-8B-NVFP4", True),
        ("org/Model-8B-FP8", True),
        ("org/model-awq", True),
        ("org/Model-GPTQ-Int4", True),
        ("org/Model-w4a16", True),
        ("org/Model-8B", False),
        ("org/Awquila-8B", False),
    ],
)
def test_a_name_that_promises_a_quantisation_nobody_wrote_down(name, said):
    plain = model_from_dict(DENSE, id=name, origin="config.json")
    section = {**DENSE, "quantization_config": {"quant_method": "fp8"}}

    assert any("hf_quant_config.json" in warning for warning in plain.warnings) == said
    assert model_from_dict(section, id=name, origin="config.json").warnings == ()


def test_experts_of_a_sparse_model_take_mxfp4_without_a_word():
    assert read(MOE, {"quant_method": "mxfp4"}).warnings == ()


def test_exl2_has_bits_of_its_own_for_the_head():
    config = {
        "model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 1,
        "intermediate_size": 512, "vocab_size": 128, "torch_dtype": "float16", "tie_word_embeddings": False,
        "quantization_config": {"quant_method": "exl2", "bits": 4.0, "head_bits": 6},
    }  # fmt: skip
    model = model_from_dict(config, id="test", origin="config.json")

    assert model.head.format == "exl2-6bpw"
    assert model.quantization == "exl2-4bpw + exl2-6bpw"


@pytest.mark.parametrize("kinds", [[{}, "full"], [["full"], "shared"], [None, "full"], [1, 2], ["full"]])
def test_indexers_that_are_no_words_are_refused(kinds):
    config = {
        "model_type": "glm_moe_dsa", "hidden_size": 96, "num_attention_heads": 6, "num_key_value_heads": 6,
        "intermediate_size": 136, "vocab_size": 263, "num_hidden_layers": 2, "moe_intermediate_size": 40,
        "n_routed_experts": 8, "num_experts_per_tok": 3, "kv_lora_rank": 24, "q_lora_rank": 32,
        "qk_nope_head_dim": 12, "qk_rope_head_dim": 8, "v_head_dim": 20, "indexer_types": kinds,
    }  # fmt: skip
    with pytest.raises(BadConfig, match="indexer_types"):
        model_from_dict(config, id="test", origin="config.json")
