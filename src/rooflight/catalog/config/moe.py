"""Mixture-of-experts decoders: ordinary attention, routed feed-forward, told apart by a table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import msgspec

from rooflight.catalog.config.decoder import Feed, assemble, dense_feed, ends, is_set, label_of
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.parts import Heads, attention, experts_of, feed_forward, qkv_o, stacked
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.traits import (
    ATTENTION_BIAS,
    LLAMA,
    MLP_BIAS,
    PLAIN,
    QWEN_WINDOW,
    TRAITS,
    Flag,
    Traits,
)
from rooflight.values.model import Experts, Layer, Linear, Reach

# Which layers keep a dense feed-forward, where no mlp_layer_types says so:
# none    none of them
# first   the first first_k_dense_replace (or `dense_first`), and all but each moe_layer_freq-th
# steps   those of mlp_only_layers, and all but each decoder_sparse_step-th
# between those outside moe_layer_start_index..moe_layer_end_index, and all but each moe_layer_interval-th
Dense = Literal["none", "first", "steps", "between"]


class Moe(msgspec.Struct, frozen=True, kw_only=True):
    """The feed-forward of an MoE family. Keys are tried in order.

    shared_number   keys of how many shared experts there are, each `width` wide ...
    shared_width    ... or the key of their whole width
    shared_gate     a sigmoid gate (hidden -> 1) on the shared expert
    bias_in_model   the routing correction bias is a parameter (one an expert)
    """

    base: Traits = PLAIN
    count: tuple[str, ...] = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
    chosen: tuple[str, ...] = ("num_experts_per_tok",)
    width: tuple[str, ...] = ("moe_intermediate_size",)
    shared_number: tuple[str, ...] = ()
    shared_default: int = 0
    shared_width: tuple[str, ...] = ()
    shared_gate: bool = False
    shared_bias: Flag = False
    dense: Dense = "none"
    dense_first: int = 0
    dense_width: tuple[str, ...] = ("intermediate_size",)
    expert_bias: bool = False
    router_bias: bool = False
    bias_in_model: bool = False
    gated: bool = True


def read_moe(moe: Moe, cfg: Config) -> Text:
    """A decoder whose feed-forward is routed in some layers or all."""
    return assemble(moe.base, cfg, feeds(moe, cfg))


def feeds(moe: Moe, cfg: Config) -> Callable[[int], Feed]:
    """The feed-forward of each layer, by its number."""
    layers = cfg.integer("num_hidden_layers")
    dense = dense_layers(moe, cfg, layers)
    routed = routed_feed(moe, cfg) if len(dense) < layers else Feed()
    plain = dense_feed(moe.base, cfg, *moe.dense_width) if dense else Feed()
    return lambda number: plain if number in dense else routed


def routed_feed(moe: Moe, cfg: Config) -> Feed:
    """Routed experts with their router, and the shared ones beside them."""
    experts = routed_experts(moe, cfg)
    shared = _shared(moe, cfg, cfg.integer("hidden_size"), one_number(cfg, *moe.width))
    return Feed(
        kind="MoE + shared expert" if shared else "MoE",
        mlp=shared,
        experts=experts,
        vectors=experts.count if moe.bias_in_model else 0,
    )


def routed_experts(moe: Moe, cfg: Config) -> Experts:
    """The routed experts and their router. Raises BadConfig."""
    count = one_number(cfg, *moe.count)
    chosen = one_number(cfg, *moe.chosen)
    if chosen > count:
        raise cfg.bad(moe.chosen[0], chosen, f"at most the {count} experts there are")
    return experts_of(
        cfg.integer("hidden_size"),
        count=count,
        chosen=chosen,
        width=one_number(cfg, *moe.width),
        gated=moe.gated,
        bias=moe.expert_bias,
        router_bias=moe.router_bias,
    )


def one_number(cfg: Config, *keys: str, at_least: int = 1) -> int:
    """A number, or a list of one and the same number a layer. Raises BadConfig."""
    key = next((key for key in keys if cfg.has(key)), keys[0])
    if isinstance(cfg.raw(key), list):
        value = cfg.items(key, length=cfg.integer("num_hidden_layers"))
        if value and all(type(entry) is int and entry == value[0] for entry in value):
            cfg = Config({key: value[0]}, origin=cfg.origin, path=cfg.path, parent=cfg)
    number: int = cfg.integer(*keys, at_least=at_least)
    return number


def _shared(moe: Moe, cfg: Config, hidden: int, width: int) -> tuple[Linear, ...]:
    total = 0
    if moe.shared_width:
        total = cfg.integer(*moe.shared_width, default=0, at_least=0)
    elif moe.shared_number:
        value = cfg.raw(*moe.shared_number)
        number = one_number(cfg, *moe.shared_number, at_least=0) if isinstance(value, list) else None
        if number is None:
            number = cfg.integer(*moe.shared_number, default=moe.shared_default, at_least=0)
        total = number * width
    if not total:
        return ()
    parts = feed_forward(hidden, total, gated=moe.gated, bias=is_set(cfg, moe.shared_bias), prefix="shared_")
    if moe.shared_gate:
        parts += (Linear(name="shared_gate", inputs=hidden, outputs=1, split="none", pinned=True),)
    return parts


def dense_layers(moe: Moe, cfg: Config, layers: int) -> frozenset[int]:
    """The numbers of the layers without experts."""
    types = cfg.items("mlp_layer_types", length=layers)
    if types is not None:
        return frozenset(number for number, name in enumerate(types) if name == "dense")
    if moe.dense == "first":
        first = cfg.integer("first_k_dense_replace", "num_dense_layers", default=moe.dense_first, at_least=0)
        if first > layers and cfg.has("first_k_dense_replace", "num_dense_layers"):
            cfg.warn(f"the first {first} layers are to be dense, but there are {layers}: no layer has experts")
        return _by_frequency(cfg, layers, first)
    if moe.dense == "steps":
        step = cfg.integer("decoder_sparse_step", default=1, said=False)
        only = cfg.layer_numbers("mlp_only_layers", layers) or []
        return frozenset(number for number in range(layers) if number in only or (number + 1) % step)
    if moe.dense == "between":
        start = cfg.integer("moe_layer_start_index", default=1, at_least=0)
        end = cfg.integer("moe_layer_end_index", default=layers - 1, at_least=-1, said=False)
        end = layers - 1 if end == -1 else end
        step = cfg.integer("moe_layer_interval", default=1, said=False)
        return frozenset(n for n in range(layers) if not (start <= n <= end and (n + 1) % step == 0))
    return frozenset()


def _by_frequency(cfg: Config, layers: int, first: int) -> frozenset[int]:
    """moe_layer_freq is a step, or a list of one 0/1 a layer."""
    marks = cfg.raw("moe_layer_freq")
    if isinstance(marks, list):
        marks = cfg.items("moe_layer_freq", length=layers) or []
        return frozenset(number for number, mark in enumerate(marks) if not mark)
    step = cfg.integer("moe_layer_freq", default=1, said=False)
    return frozenset(number for number in range(layers) if number < first or number % step)


def read_mimo_v2(cfg: Config) -> Text:
    """MiMo-V2: window layers with K/V heads and sinks of their own, global layers; values narrower than keys."""
    hidden = cfg.integer("hidden_size")
    count = cfg.integer("num_hidden_layers")
    feed_of = feeds(_MIMO_V2, cfg)
    marks = cfg.items("hybrid_layer_pattern", length=count) if not cfg.has("layer_types") else None
    if marks is None:
        types = cfg.items("layer_types", length=count)
        near = (
            [name == "sliding_attention" for name in types]
            if types
            else [n > 0 and bool((n + 1) % 6) for n in range(count)]
        )
    else:
        near = [bool(mark) for mark in marks]
    window = cfg.integer("sliding_window", "sliding_window_size", default=128)
    layers = [_mimo_layer(cfg, hidden, window if near[number] else None, feed_of(number)) for number in range(count)]
    return ends(_MIMO_V2.base, cfg, stacked(layers))


def _mimo_layer(cfg: Config, hidden: int, window: int | None, feed: Feed) -> Layer:
    heads, kv_heads, key, value = (
        ("swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim", "swa_v_head_dim")
        if window
        else ("num_attention_heads", "num_key_value_heads", "head_dim", "v_head_dim")
    )
    query_heads = cfg.integer(heads, "num_attention_heads")
    full_kv = cfg.integer("num_key_value_heads", default=4)
    # transformers' MiMo-V2-Flash gives window layers twice the K/V heads; published configs name them.
    shared = cfg.integer(kv_heads, default=2 * full_kv if window else full_kv)
    head_dim = cfg.integer(key, "head_dim", default=192)
    shape = Heads(
        heads=query_heads, kv_heads=shared, head_dim=head_dim, value_dim=cfg.integer(value, "v_head_dim", default=128)
    )
    reach = Reach(window=window)
    sinks = cfg.flag(
        "add_swa_attention_sink_bias" if window else "add_full_attention_sink_bias", default=window is not None
    )
    bias = cfg.flag("attention_bias")
    return Layer(
        count=1,
        kind=f"{label_of(reach)} + {feed.kind}",
        mixer=attention(shape, reach, sinks=sinks),
        projections=qkv_o(hidden, shape, qkv_bias=bias),
        mlp=feed.mlp,
        experts=feed.experts,
        vector_parameters=2 * hidden + (shape.heads if sinks else 0) + feed.vectors,
    )


_EVERY_FOURTH = Traits(windows="every", pattern=4, window=4096)
_BIASED = Traits(qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS)
_QK = msgspec.structs.replace(_BIASED, qk_norm="head")
_GRANITE_SWA = msgspec.structs.replace(_BIASED, sinks=True, windows="every-first", pattern=4, window=128)
_QKV = Traits(qkv_bias=ATTENTION_BIAS)
_GLM = msgspec.structs.replace(_QKV, qk_norm="head", qk_norm_if=("use_qk_norm", False))
_BAILING = Traits(
    qkv_bias=("use_qkv_bias", False),
    o_bias=("use_bias", False),
    qk_norm="head",
    qk_norm_if=("use_qk_norm", False),
)
_AFMOE = Traits(
    qkv_bias=ATTENTION_BIAS,
    o_bias=ATTENTION_BIAS,
    qk_norm="head",
    norms=4,
    windows="every",
    pattern=4,
    window=1024,
    output_gate=True,
)
_GPT_OSS = Traits(
    qkv_bias=("attention_bias", True),
    o_bias=("attention_bias", True),
    sinks=True,
    head_dim=64,
    windows="every",
    pattern=2,
    window=128,
)
_ERNIE = Traits(
    qkv_bias=("use_bias", False),
    o_bias=("use_bias", False),
    mlp_bias=("use_bias", False),
    head_bias=("use_bias", False),
    tied=True,
)
_WIDE = ("intermediate_size",)
_MIMO_V2 = Moe(dense="first", dense_first=1)
_OLMOE = Moe(base=TRAITS["olmo2"], width=_WIDE)

MOES: dict[str, Moe] = {
    "mixtral": Moe(base=Traits(windows="all"), width=_WIDE),
    "qwen2_moe": Moe(
        base=Traits(qkv_bias=("qkv_bias", True), windows="below", window_if=QWEN_WINDOW),
        shared_width=("shared_expert_intermediate_size",),
        shared_gate=True,
        dense="steps",
    ),
    "qwen3_moe": Moe(base=msgspec.structs.replace(_QK, windows="all", window_if=QWEN_WINDOW), dense="steps"),
    "olmoe": _OLMOE,
    "flex_olmo": _OLMOE,
    "phimoe": Moe(
        base=msgspec.structs.replace(_BIASED, norm_vectors=2, head_bias=("lm_head_bias", False), windows="all"),
        width=_WIDE,
    ),
    "granitemoe": Moe(base=_BIASED, width=_WIDE),
    "granitemoeshared": Moe(base=_BIASED, width=_WIDE, shared_width=("shared_intermediate_size",)),
    "granitemoe_swa": Moe(base=_GRANITE_SWA, width=_WIDE, shared_width=("shared_intermediate_size",)),
    "gpt_oss": Moe(base=_GPT_OSS, width=_WIDE, expert_bias=True, router_bias=True),
    "glm4_moe": Moe(base=_GLM, shared_number=("n_shared_experts",), shared_default=1, dense="first", dense_first=1),
    "exaone_moe": Moe(
        base=msgspec.structs.replace(_EVERY_FOURTH, qk_norm="head"),
        shared_number=("num_shared_experts",),
        shared_default=1,
        dense="first",
        dense_first=1,
    ),
    "hunyuan_v1_moe": Moe(
        base=_QK,
        chosen=("moe_topk",),
        width=("moe_intermediate_size", "intermediate_size"),
        shared_number=("num_shared_expert",),
        shared_default=1,
    ),
    "ernie4_5_moe": Moe(
        base=_ERNIE,
        chosen=("moe_k",),
        shared_number=("moe_num_shared_experts",),
        shared_default=2,
        shared_bias=("use_bias", False),
        dense="between",
        bias_in_model=True,
    ),
    "dots1": Moe(
        base=msgspec.structs.replace(_QK, windows="from", window=4096),
        shared_number=("n_shared_experts",),
        dense="first",
    ),
    "minimax_m2": Moe(base=Traits(qk_norm="heads"), width=_WIDE),
    "afmoe": Moe(
        base=_AFMOE,
        shared_number=("num_shared_experts",),
        shared_default=2,
        dense="first",
        dense_first=1,
        bias_in_model=True,
    ),
    "solar_open": Moe(base=_QKV, shared_number=("n_shared_experts",), shared_default=1),
    "mellum": Moe(base=msgspec.structs.replace(_QK, windows="none")),
    "hy_v3": Moe(
        base=msgspec.structs.replace(_QK, mlp_bias=MLP_BIAS),
        shared_number=("num_shared_experts",),
        shared_default=1,
        shared_bias=MLP_BIAS,
        dense="first",
        dense_first=1,
    ),
    "sarvam_moe": Moe(
        base=msgspec.structs.replace(_QKV, qk_norm="head", qk_norm_if=("use_qk_norm", True)),
        shared_number=("n_shared_experts", "num_shared_experts"),
        shared_default=1,
        dense="first",
        dense_first=1,
    ),
    "cohere2_moe": Moe(
        base=TRAITS["cohere2"],
        width=_WIDE,
        shared_number=("num_shared_experts",),
        dense_width=("prefix_dense_intermediate_size", "intermediate_size"),
    ),
    # not in transformers: the shapes of their own repositories' code
    "deepseek": Moe(base=LLAMA, shared_number=("n_shared_experts",), dense="first"),
    "bailing_moe": Moe(base=_BAILING, shared_number=("num_shared_experts",), dense="first"),
    "bailing_moe_v2": Moe(
        base=msgspec.structs.replace(_BAILING, qk_norm_if=("use_qk_norm", True)),
        shared_number=("num_shared_experts",),
        dense="first",
    ),
    "minicpm": Moe(base=Traits(tied=True), width=_WIDE),
}


def read_minicpm(cfg: Config) -> Text:
    """MiniCPM: dense, or Mixtral-like where num_experts is set."""
    if cfg.integer("num_experts", default=0, at_least=0):
        return read_moe(MOES["minicpm"], cfg)
    feed = dense_feed(MOES["minicpm"].base, cfg)
    return assemble(MOES["minicpm"].base, cfg, lambda _: feed)


for _type, _moe in MOES.items():
    reads(_type)(partial(read_moe, _moe))
reads("minicpm")(read_minicpm)
reads("mimo_v2_flash", "mimo_v2")(read_mimo_v2)
