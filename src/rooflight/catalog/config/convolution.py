"""Hybrids with short convolutions or a gated linear recurrence: LFM2, LFM3 and RecurrentGemma."""

from __future__ import annotations

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.hybrid_parts import (
    CONV,
    FULL,
    LINEAR,
    SLIDING,
    Half,
    assumed,
    dense,
    full_attention,
    joined,
    layer_kinds,
    moe,
    pick,
    scaled,
    text_of,
)
from rooflight.catalog.config.parts import attention, heads_of, qkv_o
from rooflight.catalog.config.registry import Text, reads
from rooflight.values.model import Linear, Reach, Recurrent


def _short_conv(cfg: Config, hidden: int, taps: int = 3) -> Half:
    """LFM2's mixer: two gates and a value from one matrix, a few taps a channel, an output matrix."""
    kernel = assumed(cfg, "conv_L_cache", default=taps)
    bias = cfg.flag("conv_bias")
    return Half(
        kind="short convolution",
        mixer=Recurrent(
            kind="short-conv", conv_channels=hidden, conv_kernel=kernel, conv_state_elements=hidden * kernel
        ),
        linears=(
            Linear(name="in_proj", inputs=hidden, outputs=3 * hidden, bias=3 * hidden if bias else 0),
            Linear(name="out_proj", inputs=hidden, outputs=hidden, bias=hidden if bias else 0, split="row"),
        ),
        vectors=hidden * (kernel + bias),
    )


def _lfm2_width(cfg: Config) -> int:
    """The feed-forward width: two thirds of what the config says, rounded up, unless it says not to."""
    width = cfg.integer("block_ff_dim", "intermediate_size")
    if not cfg.flag("block_auto_adjust_ff_dim", default=True):
        return width
    width = 2 * width // 3
    step = cfg.integer("block_multiple_of", default=256)
    return step * -(-scaled(cfg, "block_ffn_dim_multiplier", width, 1.0) // step)


@reads("lfm2", "lfm2_moe")
def lfm2(cfg: Config) -> Text:
    """LFM2: short convolutions with some attention layers; the MoE kind has experts after the first layers."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    shape = heads_of(cfg, hidden, kv_default=8)
    attending = Half(kind="attention", mixer=attention(shape), linears=qkv_o(hidden, shape), vectors=2 * shape.head_dim)
    mixers = {CONV: _short_conv(cfg, hidden), FULL: attending}
    chosen = cfg.layer_numbers("full_attn_idxs", count)
    pattern = [FULL if chosen is None or i in chosen else CONV for i in range(count)]
    kinds = layer_kinds(cfg, "layer_types", layers=count, default=pattern)
    experts = cfg.integer("num_experts", default=0, at_least=0)
    if experts:
        plain = dense(hidden, cfg.integer("intermediate_size"))
        routed = moe(
            hidden,
            count=experts,
            chosen=cfg.integer("num_experts_per_tok", default=4),
            width=cfg.integer("moe_intermediate_size"),
        )
        first = cfg.integer("num_dense_layers", default=2, at_least=0)
    else:
        plain = routed = dense(hidden, _lfm2_width(cfg))
        first = count
    layers = [
        joined(pick(cfg, "layer_types", kind, mixers), plain if i < first else routed, norm_elements=2 * hidden)
        for i, kind in enumerate(kinds)
    ]
    tied = cfg.flag("tie_embedding", "tie_word_embeddings", default=True)
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=tied)


@reads("lfm3")
def lfm3(cfg: Config) -> Text:
    """LFM3: short convolutions, local and global attention with a gate a head, norms before and after both halves."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    shape = heads_of(cfg, hidden, head_dim=128, kv_default=4)
    gate = Linear(name="output_gate", inputs=hidden, outputs=shape.heads)
    gates = (gate,) if cfg.flag("use_attention_gate", default=True) else ()

    def attending(kind: str, reach: Reach) -> Half:
        half = full_attention(cfg, hidden, shape, kind=kind, reach=reach)
        return msgspec.structs.replace(half, linears=(*half.linears, *gates), vectors=2 * shape.head_dim)

    mixers = {
        CONV: _short_conv(cfg, hidden, taps=7),
        FULL: attending("full attention", Reach()),
        SLIDING: attending("sliding attention", Reach(window=assumed(cfg, "sliding_window", default=256))),
    }
    pattern = [FULL if i % 4 == 2 else SLIDING if i % 4 == 0 and i else CONV for i in range(count)]
    mlp = dense(hidden, cfg.integer("intermediate_size"))
    norms = 4 if cfg.flag("use_sandwich_norm", default=True) else 2
    layers = [
        joined(pick(cfg, "layer_types", kind, mixers), mlp, norm_elements=norms * hidden, norms=norms)
        for kind in layer_kinds(cfg, "layer_types", layers=count, default=pattern)
    ]
    tied = cfg.flag("tie_word_embeddings", default=True)
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=tied)


def _rg_lru(cfg: Config, hidden: int, blocks: int) -> Half:
    """Griffin's recurrent block: two branches, a convolution, gates block-diagonal by head, one state a channel."""
    width = cfg.integer("lru_width", default=hidden)
    kernel = assumed(cfg, "conv1d_width", default=4)
    return Half(
        kind="recurrent",
        mixer=Recurrent(
            kind="rg-lru",
            heads=width,
            key_dim=1,
            value_dim=1,
            conv_channels=width,
            conv_kernel=kernel,
            conv_state_elements=width * (kernel - 1),
        ),
        linears=(
            Linear(name="in_proj", inputs=hidden, outputs=2 * width, bias=2 * width),
            Linear(name="input_gate", inputs=width, outputs=width, groups=blocks, bias=width),
            Linear(name="recurrent_gate", inputs=width, outputs=width, groups=blocks, bias=width),
            Linear(name="out_proj", inputs=width, outputs=hidden, bias=hidden, split="row"),
        ),
        vectors=width * (kernel + 1) + width,
    )


@reads("recurrent_gemma")
def recurrent_gemma(cfg: Config) -> Text:
    """RecurrentGemma: two recurrent blocks to one of local attention; intermediate_size counts gate and up together."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    shape = heads_of(cfg, hidden)
    reach = Reach(window=assumed(cfg, "attention_window_size", "sliding_window", default=2048))
    local = full_attention(cfg, hidden, shape, kind="sliding attention", reach=reach)
    qkv, out = qkv_o(hidden, shape, qkv_bias=cfg.flag("attention_bias"), o_bias=True)
    mixers = {
        LINEAR: _rg_lru(cfg, hidden, shape.heads),
        FULL: Half(kind=local.kind, mixer=local.mixer, linears=(qkv, out)),
    }
    pattern = cfg.items("block_types") or ["recurrent", "recurrent", "attention"]
    kinds = [pattern[i % len(pattern)] for i in range(count)]
    kinds = [LINEAR if kind == "recurrent" else FULL if kind == "attention" else kind for kind in kinds]
    mlp = dense(hidden, cfg.integer("intermediate_size") // 2, bias=True)
    layers = [joined(pick(cfg, "block_types", kind, mixers), mlp, norm_elements=2 * hidden) for kind in kinds]
    tied = cfg.flag("tie_word_embeddings", default=True)
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=tied)
