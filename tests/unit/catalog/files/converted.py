"""Models of the catalog as llama.cpp's converter writes them: its keys, and a tensor for each matrix."""

from __future__ import annotations

import tomllib
from typing import Any

from rooflight.catalog import models
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.reading import text_section
from rooflight.catalog.files.names import gguf_names
from rooflight.values.model import Attention, LatentAttention, Layer, Linear, Model, Recurrent
from rooflight.values.parts import numbers_of
from unit.catalog.files.writing import Listed

# config.json -> GGUF, as convert_hf_to_gguf.py sets them
_KEYS = {
    "hidden_size": "embedding_length", "intermediate_size": "feed_forward_length",
    "max_position_embeddings": "context_length", "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv", "sliding_window": "attention.sliding_window",
    "num_experts_per_tok": "expert_used_count", "moe_intermediate_size": "expert_feed_forward_length",
    "num_experts": "expert_count", "num_local_experts": "expert_count", "n_routed_experts": "expert_count",
    "n_shared_experts": "expert_shared_count", "first_k_dense_replace": "leading_dense_block_count",
    "kv_lora_rank": "attention.kv_lora_rank", "q_lora_rank": "attention.q_lora_rank",
    "shared_expert_intermediate_size": "expert_shared_feed_forward_length",
    "index_n_heads": "attention.indexer.head_count", "index_head_dim": "attention.indexer.key_length",
    "index_topk": "attention.indexer.top_k", "interleave_moe_layer_step": "interleave_moe_layer_step",
    "ssm_state_size": "ssm.state_size", "linear_key_head_dim": "ssm.state_size", "n_groups": "ssm.group_count",
    "linear_num_key_heads": "ssm.group_count", "linear_num_value_heads": "ssm.time_step_rank",
    "mamba_num_heads": "ssm.time_step_rank", "conv_kernel": "ssm.conv_kernel",
    "linear_conv_kernel_dim": "ssm.conv_kernel", "vocab_size": "vocab_size",
    "moe_shared_expert_intermediate_size": "expert_shared_feed_forward_length", "moe_latent_size": "moe_latent_size",
}  # fmt: skip


def config_of(stem: str) -> dict[str, Any]:
    document = tomllib.loads((models._FOLDER / f"{stem}.toml").read_text())
    expanded: dict[str, Any] = models.expanded(document["config"])
    return dict(text_section(Config(expanded, origin=stem)).data)


def keys_of(model: Model, config: dict[str, Any], architecture: str, **more: object) -> dict[str, object]:
    """The metadata of a model as its converter sets it."""
    found: dict[str, object] = {to: config[key] for key, to in _KEYS.items() if type(config.get(key)) is int}
    found["block_count"] = sum(layer.count for layer in model.layers)
    found["embedding_length"] = model.hidden
    found["context_length"] = model.max_context or 4096
    for layer in model.layers:
        mixer = layer.mixer
        if isinstance(mixer, LatentAttention):
            found |= {
                "attention.head_count": mixer.heads, "attention.head_count_kv": 1,
                "attention.key_length": mixer.latent_dim + mixer.rope_dim, "attention.value_length": mixer.latent_dim,
                "attention.key_length_mla": mixer.nope_dim + mixer.rope_dim, "rope.dimension_count": mixer.rope_dim,
                "attention.value_length_mla": mixer.value_dim, "attention.kv_lora_rank": mixer.latent_dim,
            }  # fmt: skip
        elif isinstance(mixer, Attention):
            found |= {
                "attention.head_count": mixer.heads, "attention.head_count_kv": mixer.kv_heads,
                "attention.key_length": mixer.head_dim, "attention.value_length": mixer.value_dim,
            }  # fmt: skip
            if mixer.reach.window:
                found["attention.sliding_window"] = mixer.reach.window
        elif isinstance(mixer, Recurrent) and mixer.kind in ("mamba2", "gated-delta"):
            found |= {"ssm.inner_size": mixer.heads * mixer.value_dim, "ssm.time_step_rank": mixer.heads}
        dense = [linear for linear in layer.mlp if linear.name == "down"]
        if dense:
            found["feed_forward_length"] = dense[0].inputs
        if layer.experts is not None:
            found |= {"expert_count": layer.experts.count, "expert_used_count": layer.experts.chosen}
            found["expert_feed_forward_length"] = layer.experts.linears[-1].inputs
        shared = [linear for linear in layer.mlp if linear.name == "shared_down"]
        if shared and layer.experts is not None:
            found["expert_shared_count"] = max(shared[0].inputs // layer.experts.linears[-1].inputs, 1)
    stack = {
        number: layer for layer, numbers in zip(model.layers, numbers_of(model), strict=True) for number in numbers
    }
    routed = [number for number, layer in stack.items() if layer.experts is not None]
    if routed and architecture not in ("llama4", "jamba"):
        found["leading_dense_block_count"] = min(routed)
    if architecture in ("gemma4", "step35"):
        found |= _by_layer([stack[number] for number in sorted(stack)])
    found |= {key.replace("__", "."): value for key, value in more.items()}
    return {"general.architecture": architecture, **{f"{architecture}.{key}": value for key, value in found.items()}}


def _by_layer(stack: list[Layer]) -> dict[str, object]:
    """What differs between window layers and the others, one entry a layer."""
    mixers = [layer.mixer for layer in stack if isinstance(layer.mixer, Attention)]
    far, near = ([one for one in mixers if bool(one.reach.window) == local] for local in (False, True))
    return {
        "attention.sliding_window_pattern": [bool(one.reach.window) for one in mixers],
        "attention.head_count": [one.heads for one in mixers],
        "attention.head_count_kv": [one.kv_heads for one in mixers],
        "attention.key_length": far[0].head_dim, "attention.value_length": far[0].value_dim,
        "attention.key_length_swa": near[0].head_dim, "attention.value_length_swa": near[0].value_dim,
    }  # fmt: skip


def _pieces(linear: Linear, layer: Layer, names: list[str]) -> Listed:
    """A matrix as the tensors that make it, in Q8_0."""
    mixer = layer.mixer
    if linear.name == "qkv" and isinstance(mixer, Attention) and linear.kv_outputs:
        keys = mixer.kv_heads * mixer.head_dim
        rows = {"attn_q": linear.outputs - linear.kv_outputs, "attn_k": keys, "attn_v": linear.kv_outputs - keys}
        return [(name, (linear.inputs, size), "F16") for name, size in rows.items() if size]
    if linear.name.endswith("gate_up"):
        return [(name, (linear.inputs, linear.outputs // 2), "F16") for name in names[:2]]
    return [(names[0], (linear.inputs, linear.outputs), "F16")]


def _names(layer: Layer, linear: Linear, role: str) -> list[str]:
    names = list(gguf_names(layer, linear, role))
    kind = layer.mixer.kind if isinstance(layer.mixer, Recurrent) else ""
    if linear.name == "in_proj":
        return {"short-conv": ["shortconv.in_proj"], "kda": ["attn_q"]}.get(kind, names)
    if linear.name == "out_proj":
        return {"short-conv": ["shortconv.out_proj"], "kda": ["attn_output"]}.get(kind, names)
    return names


def tensors_of(model: Model, each: int = 1) -> Listed:
    """A tensor for each matrix (or its pieces) of each layer, and the norms that say how it is built.

    each    layers of the plan that are one block of the file
    """
    listed: Listed = [("token_embd.weight", (model.hidden, model.vocab), "F16")]
    if not model.tied:
        listed.append(("output.weight", (model.hidden, model.vocab), "F16"))
    if model.head is not None and model.head.bias:
        listed.append(("output.bias", (model.vocab,), "F32"))
    listed.append(("output_norm.weight", (max(model.vector_parameters, 1),), "F32"))
    for layer, numbers in zip(model.layers, numbers_of(model), strict=True):
        for number in (place // each for place in numbers):
            roles = [(one, "mixer") for one in layer.projections] + [(one, "mlp") for one in layer.mlp]
            experts = layer.experts
            if experts is not None:
                roles.append((experts.router, "router"))
                for linear in experts.linears:
                    for name, shape, kind in _pieces(linear, layer, _names(layer, linear, "experts")):
                        listed.append((f"blk.{number}.{name}.weight", (*shape, experts.count), kind))
            for linear, role in roles:
                for name, shape, kind in _pieces(linear, layer, _names(layer, linear, role)):
                    listed.append((f"blk.{number}.{name}.weight", shape, kind))
                    if linear.bias:
                        listed.append((f"blk.{number}.{name}.bias", (shape[1],), "F32"))
            own = ["attn_norm", *(["ffn_norm", "attn_norm_2"] if layer.norms > 1 else [])]
            own += ["attn_q_norm"] if layer.inner_norms and isinstance(layer.mixer, Attention) else []
            listed += [(f"blk.{number}.{name}.weight", (model.hidden,), "F32") for name in own]
    return list({name: (name, shape, kind) for name, shape, kind in listed}.values())
