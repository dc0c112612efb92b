"""DeepSeek: the first (the shape of its own code), V2 to V3.2 with latent attention, V4, VL2 and OCR."""

from __future__ import annotations

from typing import Any

from rooflight.catalog.config import towers
from rooflight.catalog.config.decoder import ATTENTION_BIAS, LLAMA, MLP_BIAS, Decoder, Routed, described, read
from rooflight.catalog.config.feeds import routed
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.hyper import mixed, mixing, streams_of
from rooflight.catalog.config.latent import latents, sparse_latents
from rooflight.catalog.config.registry import Text, counts_towers, reads
from rooflight.catalog.config.vocabulary import Half, layer, text
from rooflight.errors import BadConfig
from rooflight.values.model import Attention, Indexer, Layer, Linear, Reach, Tower

_SHARED = ("n_shared_experts",)
_V2 = Decoder(
    mixers=latents,
    mlp_bias=MLP_BIAS,
    experts=Routed(shared_number=_SHARED, shared_default=2, shared_bias=MLP_BIAS, dense="first"),
)
_V2_WITHOUT_MLA = _V2.but(mixers=None, bias=ATTENTION_BIAS)
_VL2_WITHOUT_MLA = Decoder(bias=ATTENTION_BIAS, experts=Routed(shared_number=_SHARED, dense="first", kind="MoE"))
_V3 = Routed(shared_number=_SHARED, shared_default=1, dense="first", dense_first=3)

described(
    {
        "deepseek": LLAMA.but(experts=Routed(shared_number=_SHARED, dense="first")),
        "deepseek_v3": Decoder(mixers=latents, experts=_V3),
        "deepseek_v32": Decoder(mixers=sparse_latents, experts=_V3),
    }
)


@reads("deepseek_v2")
def deepseek_v2(cfg: Config) -> Text:
    """DeepSeek V2; its small multimodal siblings switch latent attention off."""
    latent = cfg.flag("use_mla", default=True) and cfg.has("kv_lora_rank")
    return read(_V2 if latent else _V2_WITHOUT_MLA, cfg)


@reads("deepseek_vl_v2")
def deepseek_vl2(cfg: Config) -> Text:
    """DeepSeek-VL2 and DeepSeek-OCR: a small DeepSeek-V2, with ordinary attention where use_mla is false."""
    return deepseek_v2(cfg) if cfg.flag("use_mla", default=True) else read(_VL2_WITHOUT_MLA, cfg)


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
    kinds = cfg.items("layer_types", of="name")
    given: list[Any] | None = cfg.items("compress_ratios", of="number")
    if kinds is not None:
        given = [rates.get(kind) for kind in kinds]
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


def _mixer(cfg: Config, rate: int) -> Half:
    """Attention over a window and a past compressed `rate` to one (0: a window only)."""
    hidden = cfg.hidden
    cfg.repeats("num_key_value_heads", 1)
    heads, size = cfg.integer("num_attention_heads"), cfg.integer("head_dim", default=512)
    q_rank = cfg.assumed("q_lora_rank", default=1024)
    groups, o_rank = cfg.assumed("o_groups", default=8), cfg.assumed("o_lora_rank", default=1024)
    window = cfg.assumed("sliding_window", default=128)
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
        inner_norms=2,
    )


@reads("deepseek_v4")
def deepseek_v4(cfg: Config) -> Text:
    """DeepSeek-V4: experts in every layer (the first ones chosen by token id), hyper-connections around both halves."""
    width, streams = cfg.integer("moe_intermediate_size"), streams_of(cfg)
    mlp = routed(
        cfg,
        count=cfg.integer("n_routed_experts"),
        chosen=cfg.integer("num_experts_per_tok"),
        width=width,
        shared=width * cfg.integer("n_shared_experts", default=1, at_least=0),
    )

    def one(rate: int) -> Layer:
        return layer(cfg, mixed(cfg, _mixer(cfg, rate), "hyper_attention"), mixed(cfg, mlp, "hyper_mlp"))

    rates = _rates(cfg, cfg.layers)
    layers = {rate: one(rate) for rate in dict.fromkeys(rates)}
    head = mixing(cfg, "hyper_head", streams)
    return text(cfg, [layers[rate] for rate in rates], outside=(head,), vectors=streams + 1)


@counts_towers("multi_modality")
def janus_tower(outer: Config) -> tuple[Tower, ...]:
    """Janus: several encoders, named but not counted."""
    return towers.not_counted(outer, "SigLIP encoder, image generator (VQ) and their aligners")


@counts_towers("deepseek_vl_v2")
def deepseek_vl2_tower(outer: Config) -> tuple[Tower, ...]:
    """DeepSeek-VL2 and DeepSeek-OCR: named but not counted."""
    return towers.not_counted(outer, "image encoder and projector")
