"""DeepSeek-V4: attention over a window and a compressed past, grouped output projection, several residual streams."""

from __future__ import annotations

from typing import Any

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.hybrid_parts import Half, assumed, moe, text_of
from rooflight.catalog.config.registry import Text, reads
from rooflight.errors import BadConfig
from rooflight.values.model import Attention, Indexer, Layer, Linear, Reach

_RATES = {"sliding_attention": 0, "compressed_sparse_attention": 4, "heavily_compressed_attention": 128}


def _rates(cfg: Config, layers: int) -> list[int]:
    """Tokens a compressed key stands for, layer by layer; 0 where a layer has its window only.

    compress_ratios goes on for the multi-token-prediction layers.
    """
    rates = dict(_RATES)
    named = cfg.section("compress_rates")
    for kind in list(rates)[1:]:
        if named is not None and named.has(kind):
            rates[kind] = named.integer(kind)
    kinds = cfg.items("layer_types")
    given: list[Any] | None = cfg.items("compress_ratios")
    if kinds is not None:
        given = [rates.get(str(kind)) for kind in kinds]
    if given is None:
        near, far = rates["compressed_sparse_attention"], rates["heavily_compressed_attention"]
        given = [far] * min(layers, 2) + [near if i % 2 else far for i in range(layers - 2)]
        cfg.assume("compress_ratios is not given: the architecture's own order of compressed layers")
    if len(given) < layers or not all(isinstance(rate, int) and rate >= 0 for rate in given):
        raise BadConfig(
            "compress_ratios does not say how every layer compresses its past",
            where=cfg.at("compress_ratios"),
            got=f"{len(given)} entries: {given[:6]} ...",
            want=f"whole numbers, at least {layers}: one a layer, 0 for a window only",
        )
    return [int(rate) for rate in given[:layers]]


def _compressor(hidden: int, size: int, rate: int, prefix: str) -> tuple[tuple[Linear, ...], int]:
    """What makes one key of `rate` tokens: value and gate matrices, a bias by position, a norm.

    A small rate has two overlapping series and so twice the width. The published FP8 files keep these in bf16.
    """
    width = size * (2 if rate < 128 else 1)
    linears = (
        Linear(name=f"{prefix}kv", inputs=hidden, outputs=width, split="none", pinned=True),
        Linear(name=f"{prefix}gate", inputs=hidden, outputs=width, split="none", pinned=True),
    )
    return linears, rate * width + size


def _mixer(cfg: Config, hidden: int, rate: int) -> Half:
    heads, size = cfg.integer("num_attention_heads"), cfg.integer("head_dim", default=512)
    q_rank = assumed(cfg, "q_lora_rank", default=1024)
    groups, o_rank = assumed(cfg, "o_groups", default=8), assumed(cfg, "o_lora_rank", default=1024)
    window = assumed(cfg, "sliding_window", default=128)
    # one K head that is V too, held once
    projections = [
        Linear(name="q_a", inputs=hidden, outputs=q_rank, split="none"),
        Linear(name="q_b", inputs=q_rank, outputs=heads * size),
        Linear(name="kv", inputs=hidden, outputs=size, split="none", kv_outputs=size, kv_heads=1),
        Linear(name="o_a", inputs=heads * size, outputs=groups * o_rank, groups=groups),
        Linear(name="o_b", inputs=groups * o_rank, outputs=hidden, split="row"),
    ]
    vectors = heads + q_rank + size  # sinks, norms of the query's rank and of the key
    reach, indexer, kind = Reach(window=window), None, "sliding attention"
    if rate:
        linears, elements = _compressor(hidden, size, rate, "compress_")
        projections += linears
        vectors += elements
        reach, kind = Reach(window=window, stride=rate), "heavily compressed attention"
    if 0 < rate < 128:
        index_heads, index_size = cfg.integer("index_n_heads", default=64), cfg.integer("index_head_dim", default=128)
        top_k = cfg.integer("index_topk", default=512)
        linears, elements = _compressor(hidden, index_size, rate, "index_")
        projections += (
            Linear(name="index_q", inputs=q_rank, outputs=index_heads * index_size, split="none"),
            *linears,
            Linear(name="index_weights", inputs=hidden, outputs=index_heads, split="none", pinned=True),
        )
        vectors += elements
        reach, kind = Reach(window=window, stride=rate, top_k=top_k), "compressed sparse attention"
        indexer = Indexer(heads=index_heads, head_dim=index_size, key_dim=index_size)
    return Half(
        kind=kind,
        mixer=Attention(
            reach=reach,
            heads=heads,
            kv_heads=1,
            head_dim=size,
            value_dim=size,
            cache_elements=size,
            indexer=indexer,
            sinks=True,
        ),
        linears=tuple(projections),
        vectors=vectors,
    )


@reads("deepseek_v4")
def deepseek_v4(cfg: Config) -> Text:
    """DeepSeek-V4: experts in every layer (the first ones chosen by token id), hyper-connections around both halves."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    width, streams = cfg.integer("moe_intermediate_size"), cfg.integer("hc_mult", default=4)
    routed = moe(
        hidden,
        count=cfg.integer("n_routed_experts"),
        chosen=cfg.integer("num_experts_per_tok"),
        width=width,
        shared=width * cfg.integer("n_shared_experts", default=1, at_least=0),
    )
    mixes = (2 + streams) * streams  # what collapses, expands and mixes the streams

    def mixing(name: str, outputs: int) -> Linear:
        return Linear(name=name, inputs=streams * hidden, outputs=outputs, split="none", pinned=True)

    def layer(half: Half) -> Layer:
        return Layer(
            count=1,
            kind=f"{half.kind} + MoE",
            mixer=half.mixer,
            projections=(mixing("hyper_attention", mixes), *half.linears),
            mlp=(mixing("hyper_mlp", mixes), *routed.linears),
            experts=routed.experts,
            vector_parameters=2 * hidden + half.vectors + 2 * (mixes + 3),
            norms=2,
            inner_norms=2,
        )

    rates = _rates(cfg, count)
    layers = {rate: layer(_mixer(cfg, hidden, rate)) for rate in dict.fromkeys(rates)}
    return text_of(
        [layers[rate] for rate in rates],
        hidden=hidden,
        vocab=cfg.integer("vocab_size"),
        tied=cfg.flag("tie_word_embeddings"),
        outside=(mixing("hyper_head", streams),),
        vectors=streams + 1,
    )
