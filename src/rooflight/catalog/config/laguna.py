"""Laguna: query heads of a number of their own in each layer, gated attention, experts and a shared one."""

from __future__ import annotations

import msgspec

from rooflight.catalog.config.feeds import dense, mlps, routed
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.layouts import dense_layers
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.vocabulary import (
    EVERYTHING,
    FULL,
    SLIDING,
    Half,
    Heads,
    gated,
    heads_of,
    kinds_of,
    layer,
    pick,
    softmax,
    text,
)
from rooflight.values.model import Reach


def _attention(cfg: Config, shape: Heads, kind: str, reach: Reach) -> Half:
    """Attention with normed queries and keys; the gate of its output is one a head, or one an element."""
    per_head = cfg.raw("gating") in (None, True, "per-head")
    name = "sliding attention" if kind == SLIDING else "full attention"
    half = softmax(cfg, shape, reach, kind=name, gate=0, vectors=shape.qk_norms, inner_norms=2)
    return gated(cfg, half, shape.heads if per_head else shape.q)


def _feeds(cfg: Config) -> list[Half]:
    """The first layer dense where the file is silent; the router's correction is a parameter."""
    feeds = mlps(
        cfg,
        dense_layers("first", cfg, 1),
        routed=lambda: routed(
            cfg,
            count=cfg.integer("num_experts", "num_local_experts"),
            chosen=cfg.integer("num_experts_per_tok"),
            width=cfg.integer("moe_intermediate_size"),
            shared=cfg.integer("shared_expert_intermediate_size", default=512, at_least=0),
        ),
        dense=lambda: dense(cfg, cfg.integer("intermediate_size")),
    )
    made = {
        id(feed): feed
        if feed.experts is None
        else msgspec.structs.replace(feed, kind="MoE + shared expert", vectors=feed.vectors + feed.experts.count)
        for feed in feeds
    }
    return [made[id(feed)] for feed in feeds]


@reads("laguna")
def laguna(cfg: Config) -> Text:
    """Laguna XS and S: more query heads in sliding layers than in full ones, over the same K/V heads."""
    shape = heads_of(cfg, head_dim=128)
    kinds = kinds_of(cfg, [FULL] * cfg.layers)
    reaches = {FULL: EVERYTHING, SLIDING: Reach(window=cfg.optional("sliding_window") or 512)}
    heads = cfg.items("num_attention_heads_per_layer", of="number", length=cfg.layers) or [shape.heads] * cfg.layers
    mixers: dict[tuple[str, int], Half] = {}
    for kind, own in dict.fromkeys(zip(kinds, heads, strict=True)):
        if not own or own % shape.kv_heads:
            raise cfg.bad("num_attention_heads_per_layer", own, f"a multiple of the {shape.kv_heads} K/V heads")
        reach = pick(cfg, "layer_types", kind, reaches)
        mixers[kind, own] = _attention(cfg, msgspec.structs.replace(shape, heads=own), kind, reach)
    return text(
        cfg,
        [layer(cfg, mixers[kind, own], feed) for kind, own, feed in zip(kinds, heads, _feeds(cfg), strict=True)],
    )
