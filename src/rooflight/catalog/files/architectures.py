"""The architectures of llama.cpp: which model_type each is, and what it says in keys of its own.

Sources: as in keys.py.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import msgspec

from rooflight.catalog.files.keys import FULL, SLIDING, Keys, common, windows
from rooflight.catalog.files.states import (
    gated_delta,
    granite_hybrid,
    jamba,
    kimi_linear,
    lfm2,
    mamba,
    mamba2,
    mamba2_sizes,
    nemotron_h,
)
from rooflight.catalog.files.tensors import Header
from rooflight.errors import BadConfig, UnknownName

More = Callable[[Keys], dict[str, Any]]


class Reading(msgspec.Struct, frozen=True):
    """The model_type an architecture of llama.cpp is, and further keys of its own."""

    type: str
    more: More | None = None


def config_of(header: Header) -> dict[str, Any]:
    """The config.json that a GGUF file's metadata comes to. Raises BadConfig, UnknownName."""
    kind = header.keys.get("general.type", "model")
    keys = Keys(header)
    if kind in ("adapter", "imatrix", "mmproj") or keys.architecture == "clip":
        what = "a vision or audio encoder" if keys.architecture == "clip" else f"an {kind}"
        raise BadConfig(
            f"{header.origin} holds {what}, no language model", where=header.origin, got=f"general.type {kind}",
            want="the GGUF file of the model itself",
        )  # fmt: skip
    if keys.architecture in _BOTH_WAYS:
        raise BadConfig(
            f"{header.origin} holds an encoder, or what stands beside one, of which GGUF files are not read",
            where=header.origin, got=keys.architecture, want="the config.json of the same model",
        )  # fmt: skip
    reading = READINGS.get(keys.architecture)
    if reading is None:
        raise _unknown(keys)
    config = {**common(keys), "model_type": reading.type}
    if reading.more is not None:
        config.update(reading.more(keys))
    return {key: value for key, value in config.items() if value is not None}


def _unknown(keys: Keys) -> UnknownName:
    near = difflib.get_close_matches(keys.architecture, READINGS, n=4, cutoff=0.6)
    return UnknownName(
        f"the GGUF architecture {keys.architecture!r} is not known to rooflight",
        where=f"{keys.header.origin}: general.architecture",
        got=keys.architecture,
        want="an architecture of llama.cpp that is a decoder: " + ", ".join(READINGS),
        try_this="near: " + ", ".join(near) if near else "the config.json of the same model",
    )


def _expert_names(name: str) -> More:
    """The count of experts under another key."""
    return lambda keys: {name: keys.number("expert_count") or None}


def _wide_experts(keys: Keys) -> dict[str, Any]:
    """Experts whose width is called intermediate_size."""
    width = keys.number("expert_feed_forward_length", "feed_forward_length")
    return {"num_local_experts": keys.number("expert_count") or None, "intermediate_size": width}


def _phi_moe(keys: Keys) -> dict[str, Any]:
    return {**_wide_experts(keys), "lm_head_bias": "output.bias" in keys.shapes}


def _dbrx(keys: Keys) -> dict[str, Any]:
    experts, chosen = keys.number("expert_count"), keys.number("expert_used_count")
    width = keys.number("expert_feed_forward_length", "feed_forward_length")
    return {
        "attn_config": {"kv_n_heads": keys.number("attention.head_count_kv")},
        "ffn_config": {"ffn_hidden_size": width, "moe_num_experts": experts, "moe_top_k": chosen},
    }


def _llama4(keys: Keys) -> dict[str, Any]:
    return {
        "num_local_experts": keys.number("expert_count"),
        "interleave_moe_layer_step": keys.number("interleave_moe_layer_step"),
        "intermediate_size": keys.number("expert_feed_forward_length"),
        "intermediate_size_mlp": keys.number("feed_forward_length"),
        "attention_chunk_size": 8192,
        "sliding_window": None,
    }


def _qwen2_moe(keys: Keys) -> dict[str, Any]:
    return {"shared_expert_intermediate_size": keys.number("expert_shared_feed_forward_length"), "qkv_bias": True}


def _gemma4(keys: Keys) -> dict[str, Any]:
    local = windows(keys).get("layer_types") or []
    kv = keys.each("attention.head_count_kv") or []
    by_kind = dict(zip(local, kv, strict=False))
    widths = keys.each("feed_forward_length") or []
    side = keys.shapes.get("per_layer_token_embd.weight")
    equal = any(kind == FULL and not keys.has("attn_v.weight", number) for number, kind in enumerate(local))
    return {
        "num_key_value_heads": by_kind.get(SLIDING),
        "num_global_key_value_heads": by_kind.get(FULL),
        "attention_k_eq_v": equal and not keys.number("attention.shared_kv_layers"),
        "head_dim": keys.number("attention.key_length_swa", "attention.key_length"),
        "global_head_dim": keys.number("attention.key_length"),
        "num_kv_shared_layers": keys.number("attention.shared_kv_layers") or 0,
        "hidden_size_per_layer_input": keys.number("embedding_length_per_layer_input") or 0,
        "vocab_size_per_layer_input": side[1] if side is not None and len(side) > 1 else None,
        "intermediate_size": min(widths) if widths else keys.number("feed_forward_length"),
        "use_double_wide_mlp": len(set(widths)) > 1,
        "enable_moe_block": keys.has("ffn_gate_inp.weight"),
        "top_k_experts": keys.number("expert_used_count"),
    }


def _gemma3n(keys: Keys) -> dict[str, Any]:
    side = keys.shapes.get("per_layer_token_embd.weight")
    return {
        "hidden_size_per_layer_input": keys.number("embedding_length_per_layer_input"),
        "vocab_size_per_layer_input": side[1] if side is not None and len(side) > 1 else None,
        "altup_num_inputs": keys.number("altup.num_inputs"),
        "num_kv_shared_layers": keys.number("attention.shared_kv_layers"),
        "intermediate_size": keys.each("feed_forward_length") or keys.number("feed_forward_length"),
    }


def _sparse(keys: Keys) -> dict[str, Any]:
    return {
        "n_routed_experts": keys.number("expert_count"),
        "index_n_heads": keys.number("attention.indexer.head_count"),
        "index_head_dim": keys.number("attention.indexer.key_length"),
        "index_topk": keys.number("attention.indexer.top_k"),
    }


def _glm4_moe(keys: Keys) -> dict[str, Any]:
    return {"n_routed_experts": keys.number("expert_count"), "use_qk_norm": keys.has("attn_q_norm.weight")}


def _chatglm(keys: Keys) -> dict[str, Any]:
    return {
        "multi_query_attention": True,
        "multi_query_group_num": keys.number("attention.head_count_kv"),
        "ffn_hidden_size": keys.number("feed_forward_length"),
        "add_qkv_bias": keys.has("attn_qkv.bias") or keys.has("attn_q.bias"),
    }


def _mimo2(keys: Keys) -> dict[str, Any]:
    kinds = windows(keys).get("layer_types") or []
    kv = dict(zip(kinds, keys.each("attention.head_count_kv") or [], strict=False))
    heads = dict(zip(kinds, keys.each("attention.head_count") or [], strict=False))
    return {
        "num_key_value_heads": kv.get(FULL, keys.number("attention.head_count_kv")),
        "swa_num_key_value_heads": kv.get(SLIDING),
        "num_attention_heads": heads.get(FULL, keys.number("attention.head_count")),
        "swa_num_attention_heads": heads.get(SLIDING),
        "v_head_dim": keys.number("attention.value_length"),
        "add_swa_attention_sink_bias": keys.has("attn_sinks.weight"),
        "mlp_layer_types": keys.named("ffn_gate_inp.weight", "sparse", "dense"),
    }


def _step35(keys: Keys) -> dict[str, Any]:
    kinds = windows(keys).get("layer_types") or []
    heads = dict(zip(kinds, keys.each("attention.head_count") or [], strict=False))
    return {
        "num_attention_heads": heads.get(FULL, keys.number("attention.head_count")),
        "num_sliding_attention_heads": heads.get(SLIDING),
        "share_expert_dim": keys.number("expert_shared_feed_forward_length"),
        "mlp_layer_types": keys.named("ffn_gate_inp.weight", "sparse", "dense"),
    }


def _deci(keys: Keys) -> dict[str, Any]:
    heads, kv = keys.each("attention.head_count"), keys.each("attention.head_count_kv")
    widths = keys.each("feed_forward_length")
    if heads is None or kv is None or widths is None:
        return {}
    blocks = []
    for number, (queries, groups, width) in enumerate(zip(heads, kv, widths, strict=True)):
        linear = keys.has("attn_output.weight", number)
        attention = (
            {"n_heads_in_group": max(queries // groups, 1)}
            if groups
            else {"replace_with_linear": True}
            if linear
            else {"no_op": True}
        )
        blocks.append({"attention": attention, "ffn": {"intermediate_size": width} if width else {"no_op": True}})
    return {"block_configs": blocks}


def _stablelm(keys: Keys) -> dict[str, Any]:
    return {
        "use_qkv_bias": keys.has("attn_q.bias"),
        "use_parallel_residual": not keys.has("ffn_norm.weight"),
        "qk_layernorm": keys.has("attn_q_norm.weight"),
        "head_dim": None,
    }


def _falcon(keys: Keys) -> dict[str, Any]:
    return {
        "new_decoder_architecture": True,
        "num_kv_heads": keys.number("attention.head_count_kv"),
        "num_ln_in_parallel_attn": 2 if keys.has("attn_norm_2.weight") else 1,
    }


def _mpt(keys: Keys) -> dict[str, Any]:
    hidden, width = keys.number("embedding_length") or 1, keys.number("feed_forward_length") or 0
    attn = {"kv_n_heads": keys.number("attention.head_count_kv") or keys.number("attention.head_count")}
    return {
        "n_heads": keys.number("attention.head_count"), "attn_config": attn, "expansion_ratio": width // hidden or 4
    }  # fmt: skip


def _ernie_moe(keys: Keys) -> dict[str, Any]:
    return {
        "moe_num_experts": keys.number("expert_count"),
        "moe_k": keys.number("expert_used_count"),
        "moe_num_shared_experts": keys.number("expert_shared_count"),
        "moe_layer_start_index": keys.number("leading_dense_block_count"),
        "moe_layer_interval": keys.number("interleave_moe_layer_step"),
    }


def _hunyuan_moe(keys: Keys) -> dict[str, Any]:
    width, shared = (keys.number(f"expert_{which}feed_forward_length") for which in ("", "shared_"))
    return {
        "moe_topk": keys.number("expert_used_count"),
        "num_shared_expert": shared // width if shared and width else 1,
    }


def _qk_norm(keys: Keys) -> dict[str, Any]:
    return {"use_qk_norm": keys.has("attn_q_norm.weight"), "use_qkv_bias": keys.has("attn_qkv.bias")}


def _use_bias(keys: Keys) -> dict[str, Any]:
    return {"use_bias": keys.has("attn_output.bias"), "head_dim": keys.number("attention.key_length")}


def _llama(keys: Keys) -> dict[str, Any]:
    return {"model_type": "mixtral", **_wide_experts(keys)} if keys.number("expert_count") else {}


def _dots(keys: Keys) -> dict[str, Any]:
    return {"n_routed_experts": keys.number("expert_count"), "sliding_window": None}


# of which the config.json is read, and no GGUF file
_BOTH_WAYS = ("bert", "modern-bert", "neo-bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "t5", "t5encoder")
_PLAIN = (
    "qwen2 qwen3 gemma gemma2 deepseek glm4 granite nemotron internlm2 exaone4 ernie4_5 smollm3 arcee apertus mistral4"
    " baichuan xverse orion olmo olmo2 gpt2 bloom phi3 cohere2 jais2 minicpm3 rwkv6"
    " rwkv7"
)
# llama.cpp's name of an architecture -> how it is read
READINGS: dict[str, Reading] = {
    **{name: Reading(name) for name in _PLAIN.split()},
    "llama": Reading("llama", _llama), "llama4": Reading("llama4_text", _llama4),
    "deci": Reading("nemotron-nas", _deci),
    "mistral3": Reading("ministral3"), "qwen": Reading("qwen2"),
    "qwen2vl": Reading("qwen2"), "qwen3vl": Reading("qwen3"), "qwen2moe": Reading("qwen2_moe", _qwen2_moe),
    "qwen3moe": Reading("qwen3_moe"), "qwen3vlmoe": Reading("qwen3_moe"),
    "qwen3next": Reading("qwen3_next", gated_delta),
    "qwen35": Reading("qwen3_5_text", gated_delta), "qwen35moe": Reading("qwen3_5_moe_text", gated_delta),
    "gemma3": Reading("gemma3_text"), "gemma3n": Reading("gemma3n_text", _gemma3n),
    "gemma4": Reading("gemma4_text", _gemma4),
    "dbrx": Reading("dbrx", _dbrx),
    "phi2": Reading("phi"), "phimoe": Reading("phimoe", _phi_moe),
    "gpt-oss": Reading("gpt_oss", _wide_experts), "gptoss": Reading("gpt_oss", _wide_experts),
    "deepseek2": Reading("deepseek_v3", _expert_names("n_routed_experts")),
    "deepseek32": Reading("deepseek_v32", _sparse), "glm-dsa": Reading("glm_moe_dsa", _sparse),
    "glm4moe": Reading("glm4_moe", _glm4_moe), "chatglm": Reading("chatglm", _chatglm),
    "granitemoe": Reading("granitemoe", _wide_experts), "granitehybrid": Reading("granitemoehybrid", granite_hybrid),
    "nemotron_h": Reading("nemotron_h", nemotron_h), "nemotron_h_moe": Reading("nemotron_h", nemotron_h),
    "mamba": Reading("mamba", mamba), "mamba2": Reading("mamba2", mamba2), "jamba": Reading("jamba", jamba),
    "falcon": Reading("falcon", _falcon), "falcon-h1": Reading("falcon_h1", mamba2_sizes),
    "lfm2": Reading("lfm2", lfm2), "lfm2moe": Reading("lfm2_moe", lfm2),
    "kimi-linear": Reading("kimi_linear", kimi_linear), "minimax-m2": Reading("minimax_m2", _wide_experts),
    "mimo2": Reading("mimo_v2", _mimo2), "step35": Reading("step3p5_text", _step35),
    "command-r": Reading("cohere"), "starcoder2": Reading("starcoder2", _use_bias), "mpt": Reading("mpt", _mpt),
    "gptneox": Reading("gpt_neox"), "stablelm": Reading("stablelm", _stablelm),
    "olmoe": Reading("olmoe", _wide_experts), "exaone": Reading("exaone"), "exaone-moe": Reading("exaone_moe"),
    "minicpm": Reading("minicpm"), "ernie4_5-moe": Reading("ernie4_5_moe", _ernie_moe),
    "hunyuan-dense": Reading("hunyuan_v1_dense"), "hunyuan-moe": Reading("hunyuan_v1_moe", _hunyuan_moe),
    "seed_oss": Reading("seed_oss"), "dots1": Reading("dots1", _dots),
    "bailingmoe": Reading("bailing_moe", _qk_norm), "bailingmoe2": Reading("bailing_moe_v2", _qk_norm),
    "afmoe": Reading("afmoe"),
}  # fmt: skip
