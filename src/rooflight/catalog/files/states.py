"""The states of llama.cpp's hybrids, and which layers have one: by the tensors a layer has.

Sources: as in keys.py.
"""

from __future__ import annotations

from typing import Any

from rooflight.catalog.files.keys import FULL, LINEAR, MOST_LAYERS, Keys


def gated_delta(keys: Keys) -> dict[str, Any]:
    """Gated delta nets beside attention: the state says its own heads."""
    heads, inner = keys.number("ssm.time_step_rank") or 0, keys.number("ssm.inner_size") or 0
    return {
        "linear_num_key_heads": keys.number("ssm.group_count"),
        "linear_num_value_heads": heads or None,
        "linear_key_head_dim": keys.number("ssm.state_size"),
        "linear_value_head_dim": inner // heads if heads else None,
        "linear_conv_kernel_dim": keys.number("ssm.conv_kernel"),
        "shared_expert_intermediate_size": keys.number("expert_shared_feed_forward_length"),
        "layer_types": keys.named("ssm_out.weight", LINEAR, FULL),
    }


def mamba2_sizes(keys: Keys) -> dict[str, Any]:
    """Sizes of a Mamba-2 mixer under the keys of its several families."""
    inner, heads = keys.number("ssm.inner_size") or 0, keys.number("ssm.time_step_rank") or 0
    hidden = keys.number("embedding_length") or 0
    size = inner // heads if heads else None
    groups, state, kernel = (keys.number(f"ssm.{key}") for key in ("group_count", "state_size", "conv_kernel"))
    return {
        "mamba_n_heads": heads or None, "mamba_num_heads": heads or None,
        "mamba_d_head": size, "mamba_head_dim": size,
        "mamba_n_groups": groups, "n_groups": groups, "mamba_d_state": state, "ssm_state_size": state,
        "mamba_d_conv": kernel, "conv_kernel": kernel, "mamba_d_ssm": inner or None,
        "mamba_expand": inner // hidden if hidden and inner else None,
    }  # fmt: skip


def granite_hybrid(keys: Keys) -> dict[str, Any]:
    """Granite 4."""
    dense = keys.number("expert_shared_feed_forward_length") or keys.number("feed_forward_length")
    return {
        **mamba2_sizes(keys),
        "layer_types": keys.named("ssm_in.weight", "mamba", "attention"),
        "num_local_experts": keys.number("expert_count") or 0,
        "shared_intermediate_size": dense,
        "intermediate_size": keys.number("expert_feed_forward_length", "feed_forward_length"),
    }


def nemotron_h(keys: Keys) -> dict[str, Any]:
    """Nemotron-H and Nemotron 3: what a layer is, its tensors say."""
    letters = {"M": "ssm_in.weight", "*": "attn_q.weight", "E": "ffn_gate_inp.weight"}
    pattern = "".join(
        next((letter for letter, mark in letters.items() if keys.has(mark, number)), "-")
        for number in range(min(keys.layers, MOST_LAYERS))
    )
    return {
        **mamba2_sizes(keys),
        "hybrid_override_pattern": pattern,
        "n_routed_experts": keys.number("expert_count"),
        "moe_shared_expert_intermediate_size": keys.number("expert_shared_feed_forward_length"),
        "moe_latent_size": keys.number("moe_latent_size") or None,
    }


def mamba(keys: Keys) -> dict[str, Any]:
    """Mamba and Falcon-Mamba."""
    return {
        "intermediate_size": keys.number("ssm.inner_size"),
        "state_size": keys.number("ssm.state_size"),
        "time_step_rank": keys.number("ssm.time_step_rank"),
        "conv_kernel": keys.number("ssm.conv_kernel"),
    }


def mamba2(keys: Keys) -> dict[str, Any]:
    """Mamba-2 alone."""
    sizes = mamba2_sizes(keys)
    return {
        **sizes,
        "num_heads": sizes["mamba_n_heads"],
        "head_dim": sizes["mamba_d_head"],
        "state_size": sizes["ssm_state_size"],
    }


def jamba(keys: Keys) -> dict[str, Any]:
    """Jamba: where attention and experts stand, the tensors say."""
    attending = [number for number in range(min(keys.layers, MOST_LAYERS)) if keys.has("attn_q.weight", number)]
    routed = [number for number in range(min(keys.layers, MOST_LAYERS)) if keys.has("ffn_gate_inp.weight", number)]
    return {
        **_period("attn_layer", attending),
        **_period("expert_layer", routed),
        "mamba_d_state": keys.number("ssm.state_size"),
        "mamba_dt_rank": keys.number("ssm.time_step_rank"),
        "mamba_d_conv": keys.number("ssm.conv_kernel"),
        "mamba_expand": (keys.number("ssm.inner_size") or 0) // max(keys.number("embedding_length") or 1, 1) or None,
    }


def _period(name: str, numbers: list[int]) -> dict[str, Any]:
    """Layers at equal distances as a period and an offset."""
    period = numbers[1] - numbers[0] if len(numbers) > 1 else None
    return {f"{name}_period": period, f"{name}_offset": numbers[0] if numbers else None}


def lfm2(keys: Keys) -> dict[str, Any]:
    """LFM2."""
    return {
        "layer_types": keys.named("shortconv.in_proj.weight", "conv", FULL),
        "conv_L_cache": keys.number("shortconv.l_cache"),
        "block_auto_adjust_ff_dim": False,
        "num_dense_layers": keys.number("leading_dense_block_count"),
    }


def kimi_linear(keys: Keys) -> dict[str, Any]:
    """Kimi-Linear."""
    full = [number + 1 for number in range(min(keys.layers, MOST_LAYERS)) if keys.has("attn_kv_a_mqa.weight", number)]
    size = keys.number("kda.head_dim")
    return {
        "linear_attn_config": {
            "full_attn_layers": full,
            "num_heads": keys.number("attention.head_count"),
            **({"head_dim": size} if size else {}),
            "short_conv_kernel_size": keys.number("ssm.conv_kernel") or 4,
        },
    }
