"""A decoder described by what sets it apart from a plain one: flags, not code. And the reader of such descriptions.

Each model line's file has the descriptions of its types. Sources: the config and modelling files of transformers 5.24
(shapes and key defaults only), and the model repositories named where transformers has no such type. Every type of
transformers is checked against parameter counts of real modules (tests/unit/catalog/architectures.json).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal

import msgspec

from rooflight.catalog.config.feeds import dense, mlps, routed
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.layouts import Dense, Flag, Windows, dense_layers, is_set, label_of, reaches_of
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.vocabulary import Half, Heads, heads_of, layer, softmax, text

ATTENTION_BIAS = ("attention_bias", False)
MLP_BIAS = ("mlp_bias", False)
USE_BIAS = ("use_bias", False)
EXPERT_COUNT = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")


class Routed(msgspec.Struct, frozen=True, kw_only=True):
    """The experts of a decoder. Keys are tried in order.

    shared_number   keys of how many shared experts there are, each `width` wide ...
    shared_width    ... or the key of their whole width
    shared_gate     a sigmoid gate (hidden -> 1) on the shared expert
    bias            of the experts and the router
    correction      the routing correction bias is a parameter (one an expert)
    wide_router     the router's weights are fp32, whatever the others are
    norm_behind     a norm behind the routed feed-forward
    dense_first     how many layers in front have none, where the file is silent
    kind            what the feed-forward is called ("MoE", "MoE + shared expert" if None)
    """

    count: tuple[str, ...] = EXPERT_COUNT
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
    bias: bool = False
    correction: bool = False
    wide_router: bool = False
    norm_behind: bool = False
    kind: str | None = None


class Decoder(msgspec.Struct, frozen=True, kw_only=True):
    """A decoder as differences from a plain one: gated feed-forward, two RMS norms a layer, no biases.

    spelled         the config under the usual keys, where the file has others
    bias            of the query, key and value matrices
    o_bias          of the output matrix (as `bias` if None)
    mixers          attention of another build: makes the mixer of each layer, where the fields about attention do not
    qk_norm         norms of queries and keys: "head" one vector of head_dim for all heads, "heads" one a head,
                    "bare" without parameters
    qk_weights      parameters of each of them per element
    head_dim        where the config is silent (None: hidden size over heads)
    sinks           a learned sink logit a head
    output_gate     a gate of the attention output, as wide as the query, without bias
    norms           norms over the hidden size in a layer
    post_norms_if   a key that adds a norm behind attention and one behind the feed-forward
    one_norm_if     a key that leaves one norm a layer (attention and feed-forward in parallel)
    norm_weights    parameters of each norm per element: 0 none, 1 weight, 2 weight and bias
    extra           further parameters a layer (activation scalars)
    tied            tie_word_embeddings where the config is silent
    positions       the key of the learned position table, and how many rows it has beyond that
    embedding_norm  a norm between the embedding and the first layer
    """

    spelled: Callable[[Config], Config] | None = None
    bias: Flag = False
    o_bias: Flag | None = None
    mixers: Callable[[Config], Sequence[Half]] | None = None
    qk_norm: Literal["none", "head", "heads", "bare"] = "none"
    qk_norm_if: Flag = True
    qk_weights: int = 1
    head_dim: int | None = None
    windows: Windows = Windows()
    sinks: bool = False
    output_gate: bool = False
    gated: bool = True
    mlp_bias: Flag = False
    experts: Routed | None = None
    norms: int = 2
    post_norms_if: Flag = False
    one_norm_if: Flag = False
    norm_weights: int = 1
    extra: int = 0
    final_norm: Flag = True
    tied: bool = False
    head_bias: Flag = False
    positions: tuple[str, int] | None = None
    embedding_norm: bool = False

    def but(self, **changes: object) -> Decoder:
        """This decoder with some things otherwise."""
        return msgspec.structs.replace(self, **changes)


# what Llama's keys say: most lines took them over
LLAMA = Decoder(bias=ATTENTION_BIAS, mlp_bias=MLP_BIAS)


def described(decoders: Mapping[str, Decoder]) -> None:
    """Register decoders under their model types, several with blanks between."""
    for names, decoder in decoders.items():
        reads(*names.split())(partial(read, decoder))


def read(decoder: Decoder, cfg: Config) -> Text:
    """The text model of a description. Raises BadConfig."""
    if decoder.spelled is not None:
        cfg = decoder.spelled(cfg)
    feeds = _feeds(decoder, cfg)
    mixers = (decoder.mixers or partial(_mixers, decoder))(cfg)
    norms = 1 if is_set(cfg, decoder.one_norm_if) else decoder.norms + 2 * is_set(cfg, decoder.post_norms_if)
    made = {
        (id(mixer), id(feed)): layer(cfg, mixer, feed, norms=norms, weights=decoder.norm_weights)
        for mixer, feed in zip(mixers, feeds, strict=True)
    }
    layers = [made[id(mixer), id(feed)] for mixer, feed in zip(mixers, feeds, strict=True)]
    positions = 0
    if decoder.positions is not None:
        key, beyond = decoder.positions
        positions = cfg.integer(key) + beyond
    outer_norms = is_set(cfg, decoder.final_norm) + decoder.embedding_norm
    return text(
        cfg,
        layers,
        tied=decoder.tied,
        head_bias=is_set(cfg, decoder.head_bias),
        final_norm=outer_norms * decoder.norm_weights * cfg.hidden,
        side_tables=positions * cfg.hidden,
        side_row=cfg.hidden if positions else 0,
    )


def _mixers(decoder: Decoder, cfg: Config) -> list[Half]:
    """Softmax attention of each layer, as far as it reaches."""
    shape = heads_of(cfg, head_dim=decoder.head_dim, usually_given=decoder.qk_norm == "head")
    reaches = reaches_of(decoder.windows, cfg)
    norms, weights = _qk_norms(decoder, cfg, shape)
    bias = is_set(cfg, decoder.bias)
    o_bias = None if decoder.o_bias is None else is_set(cfg, decoder.o_bias)
    made = {
        reach: softmax(
            cfg,
            shape,
            reach,
            kind=label_of(reach),
            bias=bias,
            o_bias=o_bias,
            gate=shape.q if decoder.output_gate else None,
            gate_bias=False,
            sinks=decoder.sinks,
            vectors=weights + decoder.extra,
            inner_norms=norms,
        )
        for reach in dict.fromkeys(reaches)
    }
    return [made[reach] for reach in reaches]


def _qk_norms(decoder: Decoder, cfg: Config, shape: Heads) -> tuple[int, int]:
    """How many norms of queries and keys a layer has, and their parameters."""
    if decoder.qk_norm == "none" or not is_set(cfg, decoder.qk_norm_if):
        return 0, 0
    if decoder.qk_norm == "bare":
        return 2, 0
    return 2, decoder.qk_weights * (shape.qk_norms if decoder.qk_norm == "head" else shape.qk_norms_by_head)


def _feeds(decoder: Decoder, cfg: Config) -> list[Half]:
    """The feed-forward of each layer."""
    experts = decoder.experts
    if experts is None:
        return [_dense(decoder, cfg, "intermediate_size")] * cfg.layers
    return mlps(
        cfg,
        dense_layers(experts.dense, cfg, experts.dense_first),
        routed=lambda: _routed(experts, cfg),
        dense=lambda: _dense(decoder, cfg, *experts.dense_width),
    )


def _dense(decoder: Decoder, cfg: Config, *width: str) -> Half:
    return dense(cfg, cfg.integer(*width), gated=decoder.gated, bias=is_set(cfg, decoder.mlp_bias))


def _routed(experts: Routed, cfg: Config) -> Half:
    """Routed experts with their router, and the shared ones beside them. Raises BadConfig."""
    count, chosen, width = (cfg.uniform(*keys) for keys in (experts.count, experts.chosen, experts.width))
    shared = _shared(experts, cfg, width)
    half = routed(
        cfg,
        count=count,
        chosen=chosen,
        chosen_key=experts.chosen[0],
        width=width,
        shared=shared,
        shared_gate=experts.shared_gate,
        shared_bias=bool(shared) and is_set(cfg, experts.shared_bias),
        bias=experts.bias,
        wide_router=experts.wide_router,
    )
    return msgspec.structs.replace(
        half,
        kind=experts.kind or ("MoE + shared expert" if shared else "MoE"),
        vectors=half.vectors + (count if experts.correction else 0),
        norms=int(experts.norm_behind),
    )


def _shared(experts: Routed, cfg: Config, width: int) -> int:
    """The width of all shared experts together."""
    if experts.shared_width:
        total: int = cfg.integer(*experts.shared_width, default=0, at_least=0)
        return total
    if experts.shared_number:
        return width * cfg.uniform(*experts.shared_number, default=experts.shared_default, at_least=0)
    return 0
