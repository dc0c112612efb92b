"""Nemotron: the first, Llama-Nemotron (NAS), Nemotron-H and Nemotron 3 with Mamba-2."""

from __future__ import annotations

from rooflight.catalog.config.decoder import LLAMA, described
from rooflight.catalog.config.feeds import dense, routed
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.states import Mamba2, mamba2
from rooflight.catalog.config.vocabulary import (
    FULL,
    LINEAR,
    Half,
    Heads,
    alone,
    heads_of,
    kinds_of,
    layer,
    pick,
    softmax,
    text,
)
from rooflight.values.model import Layer, Linear

described({"nemotron": LLAMA.but(gated=False, norm_weights=2)})


@reads("nemotron-nas")
def nemotron_nas(cfg: Config) -> Text:
    """Llama-Nemotron (NAS): each layer has its own K/V heads and feed-forward width, or none."""
    blocks = cfg.items("block_configs", of="object", length=cfg.layers)
    if blocks is None:
        raise cfg.bad("block_configs", None, "a list of one object a layer")
    return text(
        cfg,
        [
            _nas_layer(Config(block, origin=cfg.origin, path=f"block_configs[{i}].", parent=cfg), cfg)
            for i, block in enumerate(blocks)
        ],
    )


def _nas_layer(block: Config, cfg: Config) -> Layer:
    attn, ffn = block.section("attention"), block.section("ffn")
    mixer = mlp = None
    if attn is not None and not attn.flag("no_op"):
        mixer = _map(cfg, "attention") if attn.flag("replace_with_linear") else _nas_attention(attn, cfg)
    if ffn is not None and not ffn.flag("no_op"):
        mlp = _map(cfg, "mlp") if ffn.flag("replace_with_linear") else dense(cfg, _nas_width(ffn, cfg.hidden))
    return layer(cfg, mixer, mlp)


def _map(cfg: Config, place: str) -> Half:
    """One matrix in place of a half."""
    return Half(kind="linear map", linears=(Linear(name=f"{place}_linear", inputs=cfg.hidden, outputs=cfg.hidden),))


def _nas_attention(attn: Config, cfg: Config) -> Half:
    heads = cfg.integer("num_attention_heads")
    size = cfg.integer("head_dim", default=cfg.hidden // heads)
    kv_heads = heads // attn.integer("n_heads_in_group")
    return softmax(cfg, Heads(heads=heads, kv_heads=kv_heads, head_dim=size, value_dim=size), bias=False)


def _nas_width(ffn: Config, hidden: int) -> int:
    """intermediate_size, or the multiple of 2/3 hidden sizes rounded up to 256 that ffn_mult stands for."""
    if ffn.has("intermediate_size"):
        width: int = ffn.integer("intermediate_size")
        return width
    exact = int(2 * ffn.number("ffn_mult") * hidden / 3)
    return -(-exact // 256) * 256


_PATTERN = {"M": LINEAR, "E": "moe", "*": FULL, "-": "mlp"}


def _moe(cfg: Config) -> Half:
    """Ungated experts, in a narrower latent space where moe_latent_size is given, beside a shared one at full width."""
    cfg.repeats("n_shared_experts", 1)
    return routed(
        cfg,
        count=cfg.integer("n_routed_experts"),
        chosen=cfg.integer("num_experts_per_tok"),
        width=cfg.integer("moe_intermediate_size"),
        shared=cfg.integer("moe_shared_expert_intermediate_size"),
        shared_bias=cfg.flag("mlp_bias"),
        gated=False,
    )


def _kinds(cfg: Config) -> list[str]:
    """One entry a layer, from the pattern of letters or the list of names; their number is the layer count."""
    names = cfg.items("layers_block_type", "layer_types", of="name")
    if names is not None:
        layers = cfg.counted("layers_block_type", len(names))
        return kinds_of(cfg, (), "layers_block_type", "layer_types", layers=layers)
    pattern = cfg.text("hybrid_override_pattern")
    cfg.counted("hybrid_override_pattern", len(pattern))
    unknown = set(pattern) - set(_PATTERN)
    if unknown:
        letters = "a string of M (mamba2), E (experts), * (attention) and - (feed-forward)"
        raise cfg.bad("hybrid_override_pattern", pattern, letters)
    if len(pattern) != cfg.integer("num_hidden_layers", default=len(pattern), said=False):
        cfg.warn(f"hybrid_override_pattern has {len(pattern)} layers, num_hidden_layers says otherwise: pattern used")
    return [_PATTERN[letter] for letter in pattern]


@reads("nemotron_h")
def nemotron_h(cfg: Config) -> Text:
    """Nemotron-H and Nemotron 3: a layer is one of Mamba-2, attention, experts or a feed-forward."""
    cfg = cfg.renamed({"head_dim": "head_dim attention_head_dim"})
    cfg.aside("time_step_rank")  # of the first Mamba: Mamba-2 has a step a head
    kinds = _kinds(cfg)
    bias = cfg.flag("use_bias")
    sizes = Mamba2(
        heads=cfg.assumed("mamba_num_heads", default=128),
        head_dim=cfg.assumed("mamba_head_dim", default=64),
        groups=cfg.assumed("n_groups", "mamba_n_groups", default=8),
        state=cfg.assumed("ssm_state_size", "mamba_d_state", default=128),
        kernel=cfg.assumed("conv_kernel", "mamba_d_conv", default=4),
        conv_bias=cfg.flag("use_conv_bias", "mamba_conv_bias", default=True),
        in_bias=bias,
        out_bias=bias,
    )
    blocks = {LINEAR: mamba2(cfg.hidden, sizes)}
    if FULL in kinds:
        blocks[FULL] = softmax(cfg, heads_of(cfg, usually_given=True), bias=False)
    if "moe" in kinds:
        blocks["moe"] = _moe(cfg)
    if "mlp" in kinds:
        blocks["mlp"] = dense(cfg, cfg.integer("intermediate_size"), gated=False, bias=cfg.flag("mlp_bias"))
    else:
        cfg.aside("intermediate_size")
    return text(cfg, [alone(cfg, pick(cfg, "layers_block_type", kind, blocks)) for kind in kinds])
