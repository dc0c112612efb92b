"""Step 3.5 and 3.7."""

from __future__ import annotations

from rooflight.catalog.config import towers
from rooflight.catalog.config.feeds import dense, mlps, routed
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import Text, counts_towers, reads
from rooflight.catalog.config.vocabulary import (
    FULL,
    HEAD_GATE,
    SLIDING,
    Half,
    Heads,
    gated,
    heads_of,
    kinds_of,
    softmax,
    stack,
    text,
)
from rooflight.values.model import Reach, Tower

_LONGEST_NUMBER = 10  # digits of a layer's number


def _without_experts(cfg: Config) -> set[int]:
    """Layers without experts: those not listed, or the first few."""
    numbers = set(range(cfg.layers))
    kinds = cfg.items("mlp_layer_types", of="name")
    if kinds is not None:
        return numbers - {i for i, kind in enumerate(kinds) if kind == "sparse"}
    listed = cfg.raw("moe_layers_enum")
    if isinstance(listed, str):
        parts = [part.strip() for part in listed.split(",") if part.strip()]
        if not all(part.isdecimal() and len(part) < _LONGEST_NUMBER for part in parts):
            raise cfg.bad("moe_layers_enum", listed, "layer numbers with commas between")
        return numbers - {int(part) for part in parts}
    if listed is not None:
        return numbers - set(cfg.items("moe_layers_enum", of="number") or ())
    return set(range(cfg.integer("first_k_dense_replace", default=3, at_least=0)))


def _kinds(cfg: Config) -> list[str]:
    """layer_types, which may go on for the multi-token-prediction layers: its first entries; all full where absent."""
    drafts = cfg.integer("num_nextn_predict_layers", default=0, at_least=0)
    given = cfg.items("layer_types", of="name")
    if given is not None and len(given) == cfg.layers + drafts:
        return given[: cfg.layers]
    return kinds_of(cfg, [FULL] * cfg.layers)


def _attention(cfg: Config, shape: Heads, kind: str, reach: Reach) -> Half:
    """Attention with normed queries and keys, its output gated a head (or an element, where `gating` says so)."""
    per_head = cfg.raw("gating") in (None, True, "per-head")
    cfg.aside(*HEAD_GATE)
    half = softmax(cfg, shape, reach, kind=kind, gate=0, vectors=shape.qk_norms)
    return gated(cfg, half, shape.heads if per_head else shape.q)


@reads("step3p5", "step3p7", "step3p5_text", "step3p7_text")
def step(cfg: Config) -> Text:
    """Step 3.5 and 3.7: query heads of their own number in sliding layers, a gate a head, experts and a shared one."""
    shape = heads_of(cfg, head_dim=128, kv_key=("num_key_value_heads", "num_attention_groups"), kv_default=8)
    other = cfg.section("attention_other_setting")
    heads, kv_heads, size = shape.heads, shape.kv_heads, shape.head_dim
    if other is not None:
        heads = other.integer("num_attention_heads", default=heads, said=False)
        kv_heads = other.integer("num_attention_groups", "num_key_value_heads", default=kv_heads, said=False)
        size = other.integer("head_dim", default=size, said=False)
    heads = cfg.integer("num_sliding_attention_heads", default=heads, said=False)
    kinds = _kinds(cfg)
    cfg.repeats("n_shared_experts", 1)
    mixers = {FULL: _attention(cfg, shape, "full attention", Reach())}
    if SLIDING in kinds:
        local = Heads(heads=heads, kv_heads=kv_heads, head_dim=size, value_dim=size)
        mixers[SLIDING] = _attention(cfg, local, "sliding attention", Reach(window=cfg.integer("sliding_window")))
    feeds = mlps(
        cfg,
        _without_experts(cfg),
        routed=lambda: routed(
            cfg,
            count=cfg.assumed("moe_num_experts", "n_routed_experts", "num_experts", default=288),
            chosen=cfg.integer("moe_top_k", "num_experts_per_tok", default=8),
            width=cfg.assumed("moe_intermediate_size", default=1280),
            shared=cfg.assumed("share_expert_dim", "share_expert_dims", default=1280),
        ),
        dense=lambda: dense(cfg, cfg.integer("intermediate_size"), bias=cfg.flag("mlp_bias")),
    )
    return text(cfg, stack(cfg, kinds, mixers, feeds))


@counts_towers("step3p7")
def step_tower(outer: Config) -> tuple[Tower, ...]:
    """Step 3.7: scaled residuals, two convolutions that shrink the grid, one matrix."""
    vision = towers.vision_of(outer)
    hidden = vision.integer("width", "hidden_size", default=1536)
    width = vision.scaled("mlp_ratio", hidden, 8960 / 1536)
    encoder = towers.patches(vision, hidden, bias=False, patch=14)
    encoder += vision.integer("max_position_embeddings", default=2704) * hidden + 2 * hidden
    encoder += vision.integer("layers", "num_hidden_layers", default=47) * (towers.block(hidden, width) + 2 * hidden)
    shrink = towers.linear(9 * hidden, 2 * hidden) + towers.linear(9 * 2 * hidden, 4 * hidden)
    projector = towers.linear(4 * hidden, towers.text_hidden(outer), outer.flag("projector_bias"))
    return towers.vision(encoder + shrink + projector)
