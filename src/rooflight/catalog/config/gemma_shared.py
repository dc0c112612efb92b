"""Gemma 3n and Gemma 4: local and global layers of different heads, caches shared between layers, per-layer inputs."""

from __future__ import annotations

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.hybrid_parts import FULL, SLIDING, Half, assumed, layer_kinds, pick, text_of
from rooflight.catalog.config.parts import Heads, attention, experts_of, feed_forward, heads_of, qkv_o
from rooflight.catalog.config.registry import Text, reads
from rooflight.values.model import Experts, Layer, Linear, Reach

_WORDS = {FULL: "full attention", SLIDING: "sliding attention"}


def _mixer(
    hidden: int, kind: str, shape: Heads, *, window: int, bias: bool, one_projection: bool, shares: bool
) -> Half:
    """Attention with normed queries and keys.

    shares           the layer reads the cache of an earlier one and has no K or V matrix
    one_projection   K and V come from one matrix (both are cached: only K is rotated)
    """
    reach = Reach(window=window) if kind == SLIDING else Reach()
    qkv, out = qkv_o(hidden, shape, qkv_bias=bias, o_bias=bias)
    made = 0 if shares else shape.kv_heads * shape.head_dim * (1 if one_projection else 2)
    outputs = shape.q + made
    qkv = msgspec.structs.replace(
        qkv,
        outputs=outputs,
        bias=outputs if bias else 0,
        kv_outputs=made,
        kv_heads=shape.kv_heads if made else 0,
    )
    return Half(
        kind=_WORDS[kind] + (" (shared cache)" if shares else ""),
        mixer=msgspec.structs.replace(attention(shape, reach), stores=not shares),
        linears=(qkv, out),
        vectors=shape.head_dim * (1 if shares else 2),
    )


def _side_inputs(hidden: int, side: int, layers: int, rows: int) -> tuple[tuple[Linear, ...], int, int]:
    """Per-layer inputs: the matrix outside the layers, the norm's elements and the table's. All empty without them."""
    if not side:
        return (), 0, 0
    projection = Linear(name="per_layer_model_projection", inputs=hidden, outputs=layers * side, split="none")
    return (projection,), side, rows * layers * side


def _side_width(cfg: Config) -> int:
    """Elements of the per-layer inputs; an explicit 0 means the model has none, and so does the unified kind."""
    key = "hidden_size_per_layer_input"
    unified = "unified" in cfg.text("model_type", default="")
    return 0 if unified or cfg.raw(key) == 0 else assumed(cfg, key, default=256)


def _side_linears(hidden: int, side: int) -> tuple[Linear, ...]:
    return (
        Linear(name="per_layer_gate", inputs=hidden, outputs=side, split="none"),
        Linear(name="per_layer_projection", inputs=side, outputs=hidden, split="none"),
    )


def _first_sharing(cfg: Config, layers: int, default: int) -> int:
    """The first layer that reads the cache of an earlier one."""
    shared = cfg.integer("num_kv_shared_layers", default=default, at_least=0)
    if shared > layers:
        raise cfg.bad("num_kv_shared_layers", shared, f"at most num_hidden_layers ({layers})")
    return layers - shared


@reads("gemma4", "gemma4_text", "gemma4_unified", "gemma4_unified_text")
def gemma4(cfg: Config) -> Text:
    """Gemma 4: wider heads in global layers, experts beside the dense feed-forward, per-layer inputs in small ones."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    local = heads_of(cfg, hidden, head_dim=256, kv_default=4)
    equal = cfg.flag("attention_k_eq_v")
    wide = cfg.integer("global_head_dim", default=512)
    kv_heads = cfg.integer("num_global_key_value_heads", default=local.kv_heads) if equal else local.kv_heads
    shapes = {
        SLIDING: local,
        FULL: Heads(heads=local.heads, kv_heads=kv_heads, head_dim=wide, value_dim=wide),
    }
    side = _side_width(cfg)
    first = _first_sharing(cfg, count, 0)
    window, bias = assumed(cfg, "sliding_window", default=512), cfg.flag("attention_bias")
    pattern = [SLIDING if (i + 1) % 6 else FULL for i in range(count)]
    kinds = layer_kinds(cfg, "layer_types", layers=count, default=pattern)
    if kinds[-1] == SLIDING:
        cfg.assume("the last layer attends globally, whatever layer_types says")
        kinds[-1] = FULL

    def mixer(kind: str, shares: bool) -> Half:
        shape = shapes[kind]
        return _mixer(
            hidden, kind, shape, window=window, bias=bias, one_projection=equal and kind == FULL, shares=shares
        )

    mixers = {(kind, shares): mixer(kind, shares) for kind in shapes for shares in (False, True)}
    width = cfg.integer("intermediate_size")
    widened = cfg.flag("use_double_wide_mlp")
    experts, expert_vectors = _gemma4_experts(cfg, hidden)

    def layer(i: int, kind: str) -> Layer:
        shares = i >= first
        pick(cfg, "layer_types", kind, {name: mixers[name, False] for name in shapes})
        half = mixers[kind, shares]
        mlp = feed_forward(hidden, width * 2 if widened and shares else width)
        return Layer(
            count=1,
            kind=half.kind + (" + dense and MoE" if experts else " + dense"),
            mixer=half.mixer,
            projections=half.linears,
            mlp=(*mlp, *_side_linears(hidden, side)) if side else mlp,
            experts=experts,
            vector_parameters=4 * hidden + half.vectors + expert_vectors + (hidden if side else 0),
            norms=4 + (3 if experts else 0) + (1 if side else 0),
        )

    vocab = assumed(cfg, "vocab_size", default=262144)
    rows = cfg.integer("vocab_size_per_layer_input", default=262144)
    outside, norm, table = _side_inputs(hidden, side, count, rows)
    return text_of(
        [layer(i, kind) for i, kind in enumerate(kinds)],
        hidden=hidden,
        vocab=vocab,
        tied=cfg.flag("tie_word_embeddings", default=True),
        outside=outside,
        vectors=norm,
        side_tables=table,
        side_row=count * side,
    )


def _gemma4_experts(cfg: Config, hidden: int) -> tuple[Experts | None, int]:
    """The experts beside the dense half, and the elements of their norms and scales (three norms, the router's two)."""
    if not cfg.flag("enable_moe_block"):
        return None, 0
    count = cfg.integer("num_experts")
    width = cfg.integer("moe_intermediate_size", "expert_intermediate_size")
    experts = experts_of(hidden, count=count, chosen=cfg.integer("top_k_experts"), width=width)
    return experts, 3 * hidden + hidden + count


def _altup(hidden: int, streams: int, laurel: int) -> tuple[Linear, ...]:
    """What a Gemma 3n layer adds to attention and feed-forward: the mix of its streams and a low-rank residual."""
    return (
        Linear(name="altup_router", inputs=hidden, outputs=streams, split="none", pinned=True),
        Linear(name="altup_predict", inputs=streams, outputs=streams * streams, split="none", pinned=True),
        Linear(name="altup_correct", inputs=streams, outputs=streams, split="none", pinned=True),
        Linear(name="laurel_left", inputs=hidden, outputs=laurel, split="none"),
        Linear(name="laurel_right", inputs=laurel, outputs=hidden, split="none"),
    )


@reads("gemma3n", "gemma3n_text")
def gemma3n(cfg: Config) -> Text:
    """Gemma 3n: several residual streams, per-layer inputs, the last layers reading the caches of earlier ones."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    shape = heads_of(cfg, hidden, head_dim=256, kv_default=2)
    side = assumed(cfg, "hidden_size_per_layer_input", default=256)
    streams, laurel = cfg.integer("altup_num_inputs", default=4), cfg.integer("laurel_rank", default=64)
    first = _first_sharing(cfg, count, 15)
    window, bias = assumed(cfg, "sliding_window", default=512), cfg.flag("attention_bias")
    pattern = [SLIDING if (i + 1) % 5 else FULL for i in range(count)]
    kinds = layer_kinds(cfg, "layer_types", layers=count, default=pattern)
    listed = isinstance(cfg.raw("intermediate_size"), list)
    widths = cfg.items("intermediate_size", length=count) if listed else [cfg.integer("intermediate_size")] * count
    extra = (*_side_linears(hidden, side), *_altup(hidden, streams, laurel))

    def layer(i: int, kind: str, width: int) -> Layer:
        if kind not in _WORDS:
            raise cfg.bad("layer_types", kind, "full_attention or sliding_attention")
        half = _mixer(hidden, kind, shape, window=window, bias=bias, one_projection=False, shares=i >= first)
        return Layer(
            count=1,
            kind=half.kind + " + dense",
            mixer=half.mixer,
            projections=half.linears,
            mlp=(*feed_forward(hidden, width), *extra),
            # four norms of the halves, those of the streams' router, the low-rank residual and the side input, a scale
            vector_parameters=8 * hidden + half.vectors,
            norms=7,
        )

    vocab = assumed(cfg, "vocab_size", default=262400)
    rows = cfg.integer("vocab_size_per_layer_input", default=262144)
    outside, norm, table = _side_inputs(hidden, side, count, rows)
    others = streams - 1
    streams_in = Linear(name="altup_in", inputs=hidden, outputs=others * hidden, split="none")
    streams_out = Linear(name="altup_out", inputs=others * hidden, outputs=others * hidden, groups=others, split="none")
    return text_of(
        [layer(i, kind, width) for i, (kind, width) in enumerate(zip(kinds, widths or (), strict=True))],
        hidden=hidden,
        vocab=vocab,
        tied=cfg.flag("tie_word_embeddings", default=True),
        outside=(*outside, streams_in, streams_out) if others else outside,
        vectors=norm,
        side_tables=table,
        side_row=count * side,
    )
