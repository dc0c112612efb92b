"""MiniMax: Text-01 and M1 with lightning attention, M2, M3 with block-sparse attention."""

from __future__ import annotations

from rooflight.catalog.config.decoder import Decoder, Routed, described
from rooflight.catalog.config.feeds import dense, mlps, routed
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.layouts import dense_layers
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.vocabulary import FULL, LINEAR, Half, Heads, heads_of, kinds_of, softmax, stack, text
from rooflight.values.model import Indexer, Linear, Reach, Recurrent

_SPARSE = "minimax_m3_sparse"

described({"minimax_m2": Decoder(qk_norm="heads", experts=Routed(width=("intermediate_size",), wide_router=True))})


def _lightning(hidden: int, shape: Heads) -> Half:
    """Lightning attention: every head has keys and values of its own and a state of head_dim x head_dim."""
    return Half(
        kind="linear attention",
        mixer=Recurrent(kind="lightning", heads=shape.heads, key_dim=shape.head_dim, value_dim=shape.head_dim),
        linears=(
            Linear(name="in_proj", inputs=hidden, outputs=3 * shape.q),
            Linear(name="output_gate", inputs=hidden, outputs=shape.q),
            Linear(name="out_proj", inputs=shape.q, outputs=hidden, split="row"),
        ),
        vectors=shape.q,
    )


@reads("minimax", "minimax_text_01", "minimax_m1")
def minimax(cfg: Config) -> Text:
    """MiniMax-Text-01 and M1: lightning attention with full attention now and then, experts in every layer."""
    shape = heads_of(cfg, kv_default=8)
    mixers = {LINEAR: _lightning(cfg.hidden, shape), FULL: softmax(cfg, shape, kind="full attention", bias=False)}
    coded = cfg.items("attn_type_list", of="mark", length=cfg.layers)
    if coded is None:
        coded = [1 - i % 2 for i in range(cfg.layers)]
    mlp = routed(
        cfg,
        count=cfg.assumed("num_local_experts", "num_experts", default=8),
        chosen=cfg.assumed("num_experts_per_tok", default=2),
        width=cfg.integer("intermediate_size"),
        shared=cfg.integer("shared_intermediate_size", default=0, at_least=0),
    )
    kinds = kinds_of(cfg, [FULL if code else LINEAR for code in coded])
    return text(cfg, stack(cfg, kinds, mixers, mlp))


def _block_sparse(hidden: int, shape: Heads, plain: Half, cfg: Config) -> Half:
    """Attention to `topk` blocks of keys, the query's own block among them; the indexer caches one key a position."""
    heads = cfg.integer("sparse_num_index_heads", "index_n_heads", default=4)
    size = cfg.integer("sparse_index_dim", "index_head_dim", default=128)
    block = cfg.integer("sparse_block_size", "index_block_size", default=128)
    top_k = block * cfg.integer("sparse_topk_blocks", "index_topk_blocks", default=16)
    indexer = Indexer(heads=heads, head_dim=size, key_dim=size)
    queries = Linear(name="index_q", inputs=hidden, outputs=heads * size, split="none")
    keys = Linear(name="index_k", inputs=hidden, outputs=size, split="none")
    return Half(
        kind="block-sparse attention",
        mixer=shape.attention(Reach(top_k=top_k), indexer=indexer),
        linears=(*plain.linears, queries, keys),
        vectors=plain.vectors + 2 * size,
    )


@reads("minimax_m3", "minimax_m3_vl", "minimax_m3_vl_text")
def minimax_m3(cfg: Config) -> Text:
    """MiniMax-M3: after the first layers, attention to the best blocks of keys a small indexer picks, and experts."""
    cfg.repeats("n_shared_experts", 1)
    shape = heads_of(cfg, head_dim=128)
    sparse = cfg.section("sparse_attention_config") or cfg
    flags = sparse.items("sparse_attention_freq", of="mark", length=cfg.layers) or [0] * cfg.layers
    plain = softmax(cfg, shape, kind="full attention", bias=False, vectors=shape.qk_norms)
    mixers = {FULL: plain, _SPARSE: _block_sparse(cfg.hidden, shape, plain, sparse)}
    feeds = mlps(
        cfg,
        dense_layers("first", cfg),
        routed=lambda: routed(
            cfg,
            count=cfg.assumed("num_local_experts", "num_experts", default=128),
            chosen=cfg.assumed("num_experts_per_tok", default=4),
            width=cfg.integer("intermediate_size", "moe_intermediate_size"),
            shared=cfg.integer("shared_intermediate_size"),
            wide_router=True,
        ),
        dense=lambda: dense(cfg, cfg.integer("dense_intermediate_size")),
    )
    kinds = kinds_of(cfg, [_SPARSE if flag else FULL for flag in flags])
    return text(cfg, stack(cfg, kinds, mixers, feeds))
