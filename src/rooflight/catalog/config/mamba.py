"""Mamba, Mamba-2, and the hybrids named after them: Jamba, Bamba, Zamba."""

from __future__ import annotations

from rooflight.catalog.config.feeds import dense, mlps, routed
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.states import Mamba2, mamba1, mamba2, mamba_only, named_mamba2, time_step_rank
from rooflight.catalog.config.vocabulary import alone, heads_of, layer, softmax, text
from rooflight.errors import BadConfig

reads("mamba")(mamba_only)


@reads("mamba2")
def pure_mamba2(cfg: Config) -> Text:
    """Mamba-2 (and Codestral Mamba): nothing but mixers."""
    cfg = cfg.renamed(fixed={"hidden_size": cfg.integer("hidden_size", "d_model")})
    bias = cfg.flag("use_bias")
    sizes = Mamba2(
        heads=cfg.integer("num_heads"),
        head_dim=cfg.integer("head_dim"),
        groups=cfg.assumed("n_groups", default=8),
        state=cfg.assumed("state_size", default=128),
        kernel=cfg.assumed("conv_kernel", default=4),
        conv_bias=cfg.flag("use_conv_bias", default=True),
        in_bias=bias,
        out_bias=bias,
    )
    return text(cfg, [alone(cfg, mamba2(cfg.hidden, sizes))] * cfg.integer("num_hidden_layers", "n_layer"))


@reads("jamba")
def jamba(cfg: Config) -> Text:
    """Jamba: Mamba with an attention layer every few, experts every other layer."""
    period = cfg.integer("attn_layer_period", default=8)
    offset = cfg.integer("attn_layer_offset", default=4, at_least=0)
    expert_period = cfg.integer("expert_layer_period", default=2)
    expert_offset = cfg.integer("expert_layer_offset", default=1, at_least=0)
    experts, width = cfg.integer("num_experts", default=16), cfg.integer("intermediate_size")
    mamba = mamba1(
        cfg.hidden,
        cfg.integer("mamba_expand", default=2) * cfg.hidden,
        state=cfg.assumed("mamba_d_state", default=16),
        rank=time_step_rank(cfg, "mamba_dt_rank"),
        kernel=cfg.assumed("mamba_d_conv", default=4),
        conv_bias=cfg.flag("mamba_conv_bias", default=True),
        bias=cfg.flag("mamba_proj_bias"),
        inner_norms=True,
    )
    attention = softmax(cfg, heads_of(cfg, kv_default=8), bias=False)
    chosen = cfg.integer("num_experts_per_tok", default=2)
    feeds = mlps(
        cfg,
        {i for i in range(cfg.layers) if experts == 1 or i % expert_period != expert_offset},
        routed=lambda: routed(cfg, count=experts, chosen=chosen, width=width),
        dense=lambda: dense(cfg, width),
    )
    return text(cfg, [layer(cfg, attention if i % period == offset else mamba, mlp) for i, mlp in enumerate(feeds)])


@reads("bamba")
def bamba(cfg: Config) -> Text:
    """Bamba: Mamba-2 with attention at the layers it names, a dense feed-forward in all."""
    mamba = named_mamba2(cfg, cfg.integer("mamba_expand", default=2) * cfg.hidden)
    attention = softmax(cfg, heads_of(cfg, kv_default=8))
    attending = cfg.layer_numbers("attn_layer_indices", cfg.layers) or ()
    mlp = dense(cfg, cfg.integer("intermediate_size"), bias=cfg.flag("mlp_bias"))
    return text(cfg, [layer(cfg, attention if i in attending else mamba, mlp) for i in range(cfg.layers)])


@reads("zamba", "zamba2")
def zamba(cfg: Config) -> Text:
    """Zamba: not read, because its attention blocks are used by many layers but stored once. Raises BadConfig."""
    raise BadConfig(
        f"{cfg.raw('model_type')} shares the weights of its attention blocks between layers: not read in this version",
        where=cfg.at("model_type"),
        got=str(cfg.raw("model_type")),
        want="an architecture whose layers own their weights",
    )
