"""GLM-5.3: Kimi delta attention, sparse latent attention every fourth layer, hyper-connections around both halves."""

from __future__ import annotations

from rooflight.catalog.config import towers
from rooflight.catalog.config.feeds import dense, mlps, routed
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.hyper import mixed
from rooflight.catalog.config.latent import indexers, latent
from rooflight.catalog.config.layouts import dense_layers, every
from rooflight.catalog.config.registry import Text, counts_towers, reads
from rooflight.catalog.config.states import kimi_delta
from rooflight.catalog.config.vocabulary import FULL, LINEAR, Half, kinds_of, stack, text
from rooflight.values.model import Tower

_INDEXED = "indexed_attention"
_SIZES = {"q_lora_rank": 1536, "qk_rope_head_dim": 0, "index_n_heads": 32, "index_kpool": 16}


def _feeds(cfg: Config) -> list[Half]:
    """Three dense layers in front, then experts beside a shared one; the router's weights are fp32."""
    width = cfg.integer("moe_intermediate_size")
    feeds = mlps(
        cfg,
        dense_layers("first", cfg, 3),
        routed=lambda: routed(
            cfg,
            count=cfg.integer("n_routed_experts", "num_local_experts"),
            chosen=cfg.integer("num_experts_per_tok"),
            width=width,
            shared=width * cfg.integer("n_shared_experts", default=1, at_least=0),
            wide_router=True,
        ),
        dense=lambda: dense(cfg, cfg.integer("intermediate_size")),
    )
    return [mixed(cfg, feed, "hyper_mlp") for feed in feeds]


def _delta(cfg: Config) -> Half:
    """Kimi delta attention, sized by keys of its own or by the section linear_attn_config."""
    linear = cfg.section("linear_attn_config") or cfg
    own = linear is cfg
    return kimi_delta(
        cfg.hidden,
        heads=linear.integer("linear_num_heads" if own else "num_heads", default=64),
        head_dim=linear.integer("linear_head_dim" if own else "head_dim", default=128),
        kernel=linear.integer("linear_conv_kernel_dim" if own else "short_conv_kernel_size", default=4),
        low_rank=True,
    )


@reads("glm5_next", "glm5_next_text")
def glm_next(cfg: Config) -> Text:
    """GLM-5.3-Flash: the latent layers attend what an indexer picks among keys pooled 16 to one."""
    cfg = cfg.renamed(fixed={key: size for key, size in _SIZES.items() if cfg.raw(key) is None})
    kinds = [FULL if kind == _INDEXED else kind for kind in kinds_of(cfg, every(cfg, 4, most=LINEAR, nth=FULL))]
    searches = indexers(cfg, cfg.layers)
    mixers = {LINEAR: mixed(cfg, _delta(cfg), "hyper_attention")}
    for own in dict.fromkeys(own for kind, own in zip(kinds, searches, strict=True) if kind == FULL):
        mixers[f"{FULL} {own}"] = mixed(cfg, latent(cfg, own), "hyper_attention")
    names = [f"{FULL} {own}" if kind == FULL else kind for kind, own in zip(kinds, searches, strict=True)]
    return text(cfg, stack(cfg, names, mixers, _feeds(cfg)))


@counts_towers("glm5_next")
def glm_next_tower(outer: Config) -> tuple[Tower, ...]:
    """GLM-5.3's encoder: gated layers with normed queries and keys, a convolution that merges patches, a merger."""
    vision = towers.vision_of(outer)
    hidden, out = vision.integer("hidden_size", default=1024), vision.integer("out_hidden_size", default=1536)
    frames, merge = vision.integer("temporal_patch_size", default=2), vision.integer("spatial_merge_size", default=2)
    heads = vision.integer("num_heads", "num_attention_heads", default=16)
    bias = vision.flag("attention_bias", default=True)
    width = vision.integer("intermediate_size", default=4096)
    block = towers.block(hidden, width, gated=True, attention_bias=bias, norm_vectors=1) + 2 * (hidden // heads)
    encoder = towers.patches(vision, hidden, bias=True, patch=14, frames=frames) + hidden
    encoder += vision.integer("depth", "num_hidden_layers", default=24) * block
    merger = towers.linear(hidden * merge * merge, out) + out * out + 2 * out
    merger += 3 * out * vision.integer("projection_intermediate_size", default=10240)
    return towers.vision(encoder + merger)
