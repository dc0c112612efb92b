"""Local, cross and block-sparse attention: Llama 4, Llama 3.2 Vision, Step 3.5 and 3.7, MiniMax-M3."""

from __future__ import annotations

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.hybrid_parts import (
    CHUNKED,
    FULL,
    SLIDING,
    Half,
    assumed,
    dense,
    full_attention,
    joined,
    layer_kinds,
    moe,
    pick,
    text_of,
)
from rooflight.catalog.config.parts import Heads, attention, heads_of, qkv_o
from rooflight.catalog.config.registry import Text, reads
from rooflight.values.model import Attention, Indexer, Layer, Linear, Reach

SPARSE = "minimax_m3_sparse"


def _llama4_pattern(cfg: Config, layers: int, chunk: int | None) -> list[str]:
    """Layers with rotary positions attend within their chunk, those without (every fourth) attend everything."""
    step = cfg.integer("no_rope_layer_interval", default=4, said=False)
    rotary = cfg.items("no_rope_layers") or [int((i + 1) % step != 0) for i in range(layers)]
    if len(rotary) != layers:
        rotary = cfg.items("no_rope_layers", length=layers) or rotary
    return [CHUNKED if flag and chunk is not None else FULL for flag in rotary]


@reads("llama4", "llama4_text")
def llama4(cfg: Config) -> Text:
    """Llama 4: attention within chunks in three layers of four; experts beside a shared one, in all or every other."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    shape = heads_of(cfg, hidden, head_dim=128, kv_default=8)
    chunk = None if cfg.raw("attention_chunk_size") in (None, 0) else cfg.integer("attention_chunk_size")
    if chunk is None and "attention_chunk_size" not in cfg.data:
        chunk = assumed(cfg, "attention_chunk_size", default=8192)
    mixers = {FULL: full_attention(cfg, hidden, shape, kind="full attention")}
    if chunk is not None:
        mixers[CHUNKED] = full_attention(cfg, hidden, shape, kind="chunked attention", reach=Reach(chunk=chunk))
    experts, width = cfg.integer("num_local_experts", default=16), cfg.integer("intermediate_size")
    step = cfg.integer("interleave_moe_layer_step", default=1)
    listed = cfg.layer_numbers("moe_layers", count)
    routed_layers = set(range(step - 1, count, step) if listed is None else listed)
    routed = moe(hidden, count=experts, chosen=cfg.integer("num_experts_per_tok", default=1), width=width, shared=width)
    kinds = layer_kinds(cfg, "layer_types", layers=count, default=_llama4_pattern(cfg, count, chunk))

    def layer(i: int, kind: str) -> Layer:
        mlp = routed if i in routed_layers else dense(hidden, cfg.integer("intermediate_size_mlp"))
        return joined(pick(cfg, "layer_types", kind, mixers), mlp, norm_elements=2 * hidden)

    return text_of(
        [layer(i, kind) for i, kind in enumerate(kinds)],
        hidden=hidden,
        vocab=assumed(cfg, "vocab_size", default=202048),
        tied=cfg.flag("tie_word_embeddings"),
    )


def _image_tokens(cfg: Config) -> int:
    """Positions a cross-attention layer sees of one image: tiles x (patches + 1)."""
    usual = (("max_num_tiles", 4), ("image_size", 560), ("patch_size", 14))
    tiles, side, patch = (cfg.integer(key, default=size, said=False) for key, size in usual)
    tokens = tiles * ((side // patch) ** 2 + 1)
    seen = f"one image of {tokens} positions ({tiles} tiles)"
    cfg.assume(f"cross-attention layers attend {seen}; without an image they are skipped")
    return tokens


@reads("mllama", "mllama_text_model")
def mllama(cfg: Config) -> Text:
    """Llama 3.2 Vision: some layers attend the image only, through gates, with normed queries and keys.

    Their K and V matrices run on image positions, once an image: a text step neither multiplies nor reads them,
    so they are stored beside the input tables.
    """
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    shape = heads_of(cfg, hidden, kv_default=8)
    named = cfg.layer_numbers("cross_attention_layers", count) or [3, 8, 13, 18, 23, 28, 33, 38]
    crossing = {number for number in range(count) if number in named}
    mlp = dense(hidden, cfg.integer("intermediate_size"))
    plain = joined(full_attention(cfg, hidden, shape, bias=False), mlp, norm_elements=2 * hidden)
    _, out = qkv_o(hidden, shape)
    cross = Half(
        kind="cross-attention to the image",
        mixer=msgspec.structs.replace(attention(shape), stores=False, fixed_context=_image_tokens(cfg)),
        linears=(Linear(name="q", inputs=hidden, outputs=shape.q), out),
        vectors=2 * shape.head_dim + 2,
    )
    crossed = joined(cross, mlp, norm_elements=2 * hidden)
    vocab = cfg.integer("vocab_size")
    return text_of(
        [crossed if i in crossing else plain for i in range(count)],
        hidden=hidden,
        vocab=vocab,
        tied=cfg.flag("tie_word_embeddings"),
        side_tables=8 * hidden + len(crossing) * hidden * shape.kv,  # 8 rows for image tokens
    )


def _step_experts(cfg: Config, count: int) -> set[int]:
    """Layers with experts: listed, or all after the first few."""
    kinds = cfg.items("mlp_layer_types")
    if kinds is not None:
        return {i for i, kind in enumerate(kinds[:count]) if kind == "sparse"}
    listed = cfg.raw("moe_layers_enum")
    if isinstance(listed, str):
        listed = [part.strip() for part in listed.split(",") if part.strip()]
    if isinstance(listed, list):
        if not all(str(part).isdigit() for part in listed):
            raise cfg.bad("moe_layers_enum", listed, "layer numbers with commas between")
        return {int(part) for part in listed}
    return set(range(cfg.integer("first_k_dense_replace", default=3, at_least=0), count))


@reads("step3p5", "step3p7", "step3p5_text", "step3p7_text")
def step(cfg: Config) -> Text:
    """Step 3.5 and 3.7: query heads of their own number in sliding layers, a gate a head, experts and a shared one."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    shape = heads_of(cfg, hidden, head_dim=128, kv_key=("num_key_value_heads", "num_attention_groups"), kv_default=8)
    other = cfg.section("attention_other_setting")
    heads = other.integer("num_attention_heads", default=shape.heads) if other else shape.heads
    heads = cfg.integer("num_sliding_attention_heads", default=heads, said=False)
    kinds = _cut(cfg, "layer_types", count) or [FULL] * count
    mixers = {FULL: _head_gated(cfg, hidden, shape, "full attention", Reach())}
    if SLIDING in kinds:
        local = Heads(heads=heads, kv_heads=shape.kv_heads, head_dim=shape.head_dim, value_dim=shape.value_dim)
        near = Reach(window=cfg.integer("sliding_window"))
        mixers[SLIDING] = _head_gated(cfg, hidden, local, "sliding attention", near)
    routed = moe(
        hidden,
        count=assumed(cfg, "moe_num_experts", "n_routed_experts", "num_experts", default=288),
        chosen=cfg.integer("moe_top_k", "num_experts_per_tok", default=8),
        width=assumed(cfg, "moe_intermediate_size", default=1280),
        shared=assumed(cfg, "share_expert_dim", "share_expert_dims", default=1280),
    )
    plain = dense(hidden, cfg.integer("intermediate_size"), bias=cfg.flag("mlp_bias"))
    with_experts = _step_experts(cfg, count)
    layers = [
        joined(pick(cfg, "layer_types", kind, mixers), routed if i in with_experts else plain, norm_elements=2 * hidden)
        for i, kind in enumerate(kinds)
    ]
    tied = cfg.flag("tie_word_embeddings")
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=tied)


def _cut(cfg: Config, key: str, count: int) -> list[str] | None:
    """A list of layer kinds that may go on for the multi-token-prediction layers: its first `count` entries."""
    drafts = cfg.integer("num_nextn_predict_layers", default=0, at_least=0)
    given = cfg.items(key)
    if given is not None and len(given) == count + drafts:
        return [str(kind) for kind in given[:count]]
    return None if given is None else layer_kinds(cfg, key, layers=count, default=())


def _head_gated(cfg: Config, hidden: int, shape: Heads, kind: str, reach: Reach) -> Half:
    """Attention with normed queries and keys, its output gated a head (or an element, where `gating` says so)."""
    half = full_attention(cfg, hidden, shape, kind=kind, reach=reach)
    per_head = cfg.raw("gating") in (None, True, "per-head")
    gate = Linear(name="output_gate", inputs=hidden, outputs=shape.heads if per_head else shape.q)
    return msgspec.structs.replace(half, linears=(*half.linears, gate), vectors=2 * shape.head_dim)


@reads("minimax_m3", "minimax_m3_vl", "minimax_m3_vl_text")
def minimax_m3(cfg: Config) -> Text:
    """MiniMax-M3: after the first layers, attention to the best blocks of keys a small indexer picks, and experts."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    shape = heads_of(cfg, hidden, head_dim=128)
    sparse = cfg.section("sparse_attention_config") or cfg
    flags = sparse.items("sparse_attention_freq", length=count) or [0] * count
    pattern = [SPARSE if flag else FULL for flag in flags]
    plain = full_attention(cfg, hidden, shape, kind="full attention", bias=False)
    plain = msgspec.structs.replace(plain, vectors=2 * shape.head_dim)
    mixers = {FULL: plain, SPARSE: _block_sparse(hidden, plain, attention(shape), sparse)}
    routed = moe(
        hidden,
        count=assumed(cfg, "num_local_experts", "num_experts", default=128),
        chosen=assumed(cfg, "num_experts_per_tok", default=4),
        width=cfg.integer("intermediate_size"),
        shared=cfg.integer("shared_intermediate_size"),
    )
    wide = dense(hidden, cfg.integer("dense_intermediate_size"))
    given = cfg.items("mlp_layer_types", length=count)
    if given is not None:
        experts = [kind == "sparse" for kind in given]
    else:
        experts = [bool(flag) for flag in cfg.items("moe_layer_freq", length=count) or [1] * count]
    kinds = layer_kinds(cfg, "layer_types", layers=count, default=pattern)
    layers = [
        joined(pick(cfg, "layer_types", kind, mixers), routed if has else wide, norm_elements=2 * hidden)
        for kind, has in zip(kinds, experts, strict=True)
    ]
    tied = cfg.flag("tie_word_embeddings")
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=tied)


def _block_sparse(hidden: int, plain: Half, mixer: Attention, cfg: Config) -> Half:
    """Attention to `topk` blocks of keys, the query's own block among them; the indexer caches one key a position."""
    heads = cfg.integer("sparse_num_index_heads", "index_n_heads", default=4)
    size = cfg.integer("sparse_index_dim", "index_head_dim", default=128)
    block = cfg.integer("sparse_block_size", "index_block_size", default=128)
    top_k = block * cfg.integer("sparse_topk_blocks", "index_topk_blocks", default=16)
    return Half(
        kind="block-sparse attention",
        mixer=msgspec.structs.replace(
            mixer, reach=Reach(top_k=top_k), indexer=Indexer(heads=heads, head_dim=size, key_dim=size)
        ),
        linears=(
            *plain.linears,
            Linear(name="index_q", inputs=hidden, outputs=heads * size, split="none"),
            Linear(name="index_k", inputs=hidden, outputs=size, split="none"),
        ),
        vectors=plain.vectors + 2 * size,
    )
