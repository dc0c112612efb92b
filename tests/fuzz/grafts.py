"""Keys that configs carry beside a model's shape, as their makers write them: quantisation above all."""

from __future__ import annotations

from typing import Any

_NAMES = ["lm_head", "model.layers.0.mlp.gate", "model.layers.1.self_attn.q_proj", "re:.*gate$", "*.mlp.experts.*"]
_INT4 = {"num_bits": 4, "type": "int", "group_size": 128, "strategy": "group", "symmetric": True}
_FP8 = {"num_bits": 8, "type": "float", "strategy": "tensor", "dynamic": False}

QUANTIZATION: tuple[dict[str, Any], ...] = (
    {"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": _NAMES, "fmt": "e4m3"},
    {"quant_method": "fp8", "activation_scheme": "static", "ignored_layers": _NAMES},
    {"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm", "modules_to_not_convert": _NAMES},
    {
        "quant_method": "gptq",
        "bits": 4,
        "group_size": 128,
        "desc_act": False,
        "dynamic": {"-:.*attn.*": {}, "+:.*mlp": {"bits": 8}},
    },
    {
        "quant_method": "bitsandbytes",
        "load_in_4bit": True,
        "bnb_4bit_quant_type": "nf4",
        "llm_int8_skip_modules": _NAMES,
    },
    {"quant_method": "mxfp4", "modules_to_not_convert": _NAMES},
    {
        "quant_method": "modelopt",
        "quant_algo": "NVFP4",
        "exclude_modules": _NAMES,
        "kv_cache_scheme": _FP8,
        "group_size": 16,
    },
    {
        "quant_method": "modelopt",
        "quant_algo": "MIXED_PRECISION",
        "quantized_layers": {_NAMES[1]: {"quant_algo": "FP8"}},
    },
    {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "ignore": _NAMES,
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": _INT4, "input_activations": None}},
    },
    {
        "quant_method": "compressed-tensors",
        "format": "float-quantized",
        "ignore": _NAMES,
        "kv_cache_scheme": _FP8,
        "config_groups": {
            "group_0": {"targets": ["re:.*mlp.*"], "weights": _FP8, "input_activations": _FP8},
            "group_1": {"targets": ["Linear"], "weights": _INT4},
        },
    },
    {
        "quant_method": "quark",
        "exclude": _NAMES,
        "layer_quant_config": {"*k_proj": {"weight": {"dtype": "fp8_e4m3"}}},
        "global_quant_config": {"weight": {"dtype": "fp4", "qscheme": "per_group", "group_size": 32}},
    },
)
OTHERS: tuple[dict[str, Any], ...] = (
    {
        "quantization": {
            "bits": 4,
            "group_size": 64,
            "model.layers.0.mlp": {"bits": 8, "group_size": 64},
            "mode": "affine",
        }
    },
    {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 128},
    {"sliding_window": 512, "sliding_window_pattern": 6, "use_sliding_window": True, "max_window_layers": 2},
    {"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}},
    {"num_nextn_predict_layers": 1, "first_k_dense_replace": 1, "moe_layer_freq": [0, 1, 1]},
    {
        "vision_config": {
            "model_type": "siglip_vision_model",
            "hidden_size": 64,
            "intermediate_size": 128,
            "patch_size": 14,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": 224,
        }
    },
    {
        "head_dim": 128,
        "attention_bias": True,
        "tie_word_embeddings": True,
        "use_cache": True,
        "auto_map": {"AutoModel": "x.y"},
    },
    {"mlp_only_layers": [0, 1], "decoder_sparse_step": 2, "num_experts": 8, "num_experts_per_tok": 2},
)
