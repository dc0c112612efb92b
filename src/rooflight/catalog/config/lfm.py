"""LFM2 and LFM3: short convolutions beside attention."""

from __future__ import annotations

from rooflight.catalog.config.feeds import dense, mlps, routed
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.vocabulary import (
    CONV,
    FULL,
    SLIDING,
    Half,
    gated,
    heads_of,
    kinds_of,
    softmax,
    stack,
    text,
)
from rooflight.values.model import Linear, Reach, Recurrent


def _short_conv(cfg: Config, taps: int = 3) -> Half:
    """LFM2's mixer: two gates and a value from one matrix, a few taps a channel, an output matrix."""
    hidden = cfg.hidden
    kernel = cfg.assumed("conv_L_cache", default=taps)
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
    return step * -(-cfg.scaled("block_ffn_dim_multiplier", width, 1.0) // step)


@reads("lfm2", "lfm2_moe")
def lfm2(cfg: Config) -> Text:
    """LFM2: short convolutions with some attention layers; the MoE kind has experts after the first layers."""
    shape = heads_of(cfg, kv_default=8)
    mixers = {CONV: _short_conv(cfg), FULL: softmax(cfg, shape, bias=False, vectors=shape.qk_norms)}
    attending = cfg.layer_numbers("full_attn_idxs", cfg.layers)
    kinds = kinds_of(cfg, [FULL if attending is None or i in attending else CONV for i in range(cfg.layers)])
    experts = cfg.integer("num_experts", default=0, at_least=0)
    feeds = mlps(
        cfg,
        range(cfg.integer("num_dense_layers", default=2, at_least=0) if experts else cfg.layers),
        dense=lambda: dense(cfg, cfg.integer("intermediate_size") if experts else _lfm2_width(cfg)),
        routed=lambda: routed(
            cfg,
            count=experts,
            chosen=cfg.integer("num_experts_per_tok", default=4),
            width=cfg.integer("moe_intermediate_size"),
        ),
    )
    tied = cfg.flag("tie_embedding", "tie_word_embeddings", default=True)
    return text(cfg.renamed(fixed={"tie_word_embeddings": tied}), stack(cfg, kinds, mixers, feeds))


@reads("lfm3")
def lfm3(cfg: Config) -> Text:
    """LFM3: short convolutions, local and global attention with a gate a head, norms before and after both halves."""
    shape = heads_of(cfg, head_dim=128, kv_default=4)
    has_gate = cfg.flag("use_attention_gate", default=True)

    def attending(kind: str, reach: Reach) -> Half:
        half = softmax(cfg, shape, reach, kind=kind, gate=0, vectors=shape.qk_norms)
        return gated(cfg, half, shape.heads) if has_gate else half

    mixers = {
        CONV: _short_conv(cfg, taps=7),
        FULL: attending("full attention", Reach()),
        SLIDING: attending("sliding attention", Reach(window=cfg.assumed("sliding_window", default=256))),
    }
    kinds = kinds_of(cfg, [FULL if i % 4 == 2 else SLIDING if i % 4 == 0 and i else CONV for i in range(cfg.layers)])
    mlp = dense(cfg, cfg.integer("intermediate_size"))
    norms = 4 if cfg.flag("use_sandwich_norm", default=True) else 2
    return text(cfg, stack(cfg, kinds, mixers, mlp, norms=norms), tied=True)
