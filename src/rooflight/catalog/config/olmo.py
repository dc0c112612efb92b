"""OLMo: 1 to 3, OLMoE, FlexOlmo, OLMo-Hybrid with gated delta nets."""

from __future__ import annotations

from rooflight.catalog.config.decoder import ATTENTION_BIAS, Decoder, Routed, described
from rooflight.catalog.config.feeds import dense
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.layouts import Windows, every
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.states import gated_delta
from rooflight.catalog.config.vocabulary import FULL, LINEAR, heads_of, kinds_of, softmax, stack, text

_OLMO2 = Decoder(bias=ATTENTION_BIAS, qk_norm="heads")

described(
    {
        "olmo": Decoder(bias=ATTENTION_BIAS, norm_weights=0),
        "olmo2": _OLMO2,
        "olmo3": _OLMO2.but(windows=Windows("every", 4, 4096)),
        "olmoe flex_olmo": _OLMO2.but(experts=Routed(width=("intermediate_size",))),
    }
)


@reads("olmo_hybrid")
def olmo_hybrid(cfg: Config) -> Text:
    """OLMo-Hybrid: gated delta nets with a norm in front, attention layers with norms behind."""
    shape = heads_of(cfg)
    full = softmax(cfg, shape, kind="full attention", vectors=shape.qk_norms_by_head)
    key_heads = cfg.integer("linear_num_key_heads", default=shape.heads)
    heads = cfg.integer("linear_num_value_heads", default=shape.heads)
    key_dim = cfg.integer("linear_key_head_dim", default=3 * cfg.hidden // (4 * key_heads))
    linear = gated_delta(
        cfg.hidden,
        key_heads=key_heads,
        heads=heads,
        key_dim=key_dim,
        value_dim=cfg.integer("linear_value_head_dim", default=2 * key_dim),
        kernel=cfg.assumed("linear_conv_kernel_dim", default=4),
    )
    pattern = every(cfg, 4, most=LINEAR, nth=FULL)
    if FULL not in pattern:
        pattern[-1] = FULL
    mlp = dense(cfg, cfg.integer("intermediate_size"))
    return text(cfg, stack(cfg, kinds_of(cfg, pattern), {LINEAR: linear, FULL: full}, mlp))
