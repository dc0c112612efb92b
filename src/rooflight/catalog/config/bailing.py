"""Ling and Ring, whose model types are called bailing: experts, and hybrids with Kimi delta attention.

Not in transformers: the shapes of their own repositories' code.
"""

from __future__ import annotations

from rooflight.catalog.config.decoder import USE_BIAS, Decoder, Routed, described
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.latent import hybrid, latent
from rooflight.catalog.config.layouts import every
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.states import kimi_delta
from rooflight.catalog.config.vocabulary import FULL, LINEAR, gated, kinds_of

_BAILING = Decoder(
    bias=("use_qkv_bias", False),
    o_bias=USE_BIAS,
    qk_norm="head",
    qk_norm_if=("use_qk_norm", False),
    experts=Routed(shared_number=("num_shared_experts",), dense="first"),
)

described({"bailing_moe": _BAILING, "bailing_moe_v2": _BAILING.but(qk_norm_if=("use_qk_norm", True))})


@reads("bailing_hybrid")
def bailing_hybrid(cfg: Config) -> Text:
    """Ling hybrids: Kimi delta attention, latent attention with a gate a head at the end of each group."""
    heads = cfg.integer("num_attention_heads")
    group = cfg.assumed("layer_group_size", default=6)
    delta = kimi_delta(
        cfg.hidden,
        heads=heads,
        head_dim=cfg.integer("linear_head_dim", "head_dim", default=128),
        kernel=cfg.integer("short_conv_kernel_size", default=4),
        low_rank=False,
    )
    mixers = {LINEAR: delta, FULL: gated(cfg, latent(cfg), heads)}
    return hybrid(cfg, kinds_of(cfg, every(cfg, group, most=LINEAR, nth=FULL)), mixers, dense_first=2)
