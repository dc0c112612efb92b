"""The generic decoder: a stack of attention and feed-forward, told apart by Traits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.parts import Heads, attention, feed_forward, head_of, heads_of, qkv_o, stacked
from rooflight.catalog.config.registry import Text, reads
from rooflight.catalog.config.traits import TRAITS, Flag, Traits
from rooflight.values.model import Experts, Layer, Linear, Reach


class Feed(msgspec.Struct, frozen=True, kw_only=True):
    """The feed-forward half of a layer; `vectors` are its parameters that are no matrix."""

    kind: str = "dense"
    mlp: tuple[Linear, ...] = ()
    experts: Experts | None = None
    vectors: int = 0
    norms: int = 0


def is_set(cfg: Config, flag: Flag) -> bool:
    """A fixed answer, or what the first of the keys that is there says."""
    return flag if isinstance(flag, bool) else cfg.flag(*flag[0].split(), default=flag[1])


def read_decoder(traits: Traits, cfg: Config) -> Text:
    """A dense decoder."""
    feed = dense_feed(traits, cfg)
    return assemble(traits, cfg, lambda _: feed)


def dense_feed(traits: Traits, cfg: Config, *width_keys: str) -> Feed:
    """The ordinary feed-forward of a family."""
    width = cfg.integer(*(width_keys or ("intermediate_size",)))
    hidden = cfg.integer("hidden_size")
    return Feed(mlp=feed_forward(hidden, width, gated=traits.gated, bias=is_set(cfg, traits.mlp_bias)))


def assemble(traits: Traits, cfg: Config, feed_of: Callable[[int], Feed]) -> Text:
    """Embedding, layers of attention and feed_of(layer number), final norm, head."""
    hidden = cfg.integer("hidden_size")
    count = cfg.integer("num_hidden_layers")
    shape = heads_of(cfg, hidden, head_dim=traits.head_dim, usually_given=traits.qk_norm == "head")
    reaches = reaches_of(traits, cfg, count)
    layers = [_layer(traits, cfg, hidden, shape, reaches[number], feed_of(number)) for number in range(count)]
    return ends(traits, cfg, stacked(layers))


def ends(traits: Traits, cfg: Config, layers: tuple[Layer, ...]) -> Text:
    """Layers between an embedding and a head."""
    hidden = cfg.integer("hidden_size")
    vocab = cfg.integer("vocab_size")
    positions = _positions(traits, cfg)
    norms = is_set(cfg, traits.final_norm) + traits.embedding_norm
    return Text(
        hidden=hidden,
        vocab=vocab,
        layers=layers,
        tied=cfg.flag("tie_word_embeddings", default=traits.tied),
        head=head_of(hidden, vocab, bias=is_set(cfg, traits.head_bias)),
        embedding_parameters=(vocab + positions) * hidden,
        embedding_row=hidden * (2 if positions else 1),
        vector_parameters=norms * traits.norm_vectors * hidden,
    )


def _positions(traits: Traits, cfg: Config) -> int:
    if traits.positions is None:
        return 0
    key, beyond = traits.positions
    return cfg.integer(key) + beyond


def _layer(traits: Traits, cfg: Config, hidden: int, shape: Heads, reach: Reach, feed: Feed) -> Layer:
    norms = 1 if is_set(cfg, traits.one_norm_if) else traits.norms + 2 * is_set(cfg, traits.post_norms_if)
    qk_norms, qk_elements = _qk_norms(traits, cfg, shape)
    vectors = norms * traits.norm_vectors * hidden + qk_elements + traits.extra + feed.vectors
    return Layer(
        count=1,
        kind=f"{label_of(reach)} + {feed.kind}",
        mixer=attention(shape, reach, sinks=traits.sinks),
        projections=qkv_o(
            hidden,
            shape,
            qkv_bias=is_set(cfg, traits.qkv_bias),
            o_bias=is_set(cfg, traits.o_bias),
            gate=shape.q if traits.output_gate else 0,
            gate_bias=False,
        ),
        mlp=feed.mlp,
        experts=feed.experts,
        vector_parameters=vectors + (shape.heads if traits.sinks else 0),
        norms=norms + feed.norms,
        inner_norms=qk_norms,
    )


def _qk_norms(traits: Traits, cfg: Config, shape: Heads) -> tuple[int, int]:
    """How many norms of queries and keys a layer has, and their parameters."""
    if traits.qk_norm == "none" or not is_set(cfg, traits.qk_norm_if):
        return 0, 0
    if traits.qk_norm == "bare":
        return 2, 0
    elements = 2 * shape.head_dim if traits.qk_norm == "head" else (shape.heads + shape.kv_heads) * shape.head_dim
    return 2, traits.qk_vectors * elements


def label_of(reach: Reach) -> str:
    """What a layer's attention is called."""
    if reach.window is not None:
        return "sliding attention"
    return "chunked attention" if reach.chunk is not None else "attention"


def reaches_of(traits: Traits, cfg: Config, count: int) -> list[Reach]:
    """What each layer attends: as layer_types says, else by the family's own layout."""
    window = _window(traits, cfg)
    full, near = Reach(), Reach(window=window)
    types = cfg.items("layer_types", length=count)
    if types is not None:
        if window is None and "sliding_attention" in types:
            why = "this model type has none" if traits.windows == "none" else "none is set"
            cfg.warn(f"layer_types asks for sliding_attention, but of windows {why}: read as full attention")
        return [_reach_named(cfg, name, full, near) for name in types]
    if window is None:
        return [full] * count
    if traits.windows == "all":
        return [near] * count
    if traits.windows == "from":
        first = cfg.integer("max_window_layers", default=count, at_least=0, said=False)
        return [near if number >= first else full for number in range(count)]
    if traits.windows == "below":
        below = cfg.integer("max_window_layers", default=28, at_least=0)
        return [full if number % 2 or number >= below else near for number in range(count)]
    pattern = _pattern(traits, cfg)
    if traits.windows == "every-first":
        return [near if number % pattern else full for number in range(count)]
    if traits.windows == "nope":
        return [full if (number + 1) % pattern else near for number in range(count)]
    return [near if (number + 1) % pattern else full for number in range(count)]


def _pattern(traits: Traits, cfg: Config) -> int:
    """Layers in a repeat of local and global ones; a word such as "LLLG" spells it out."""
    keys = ("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers")
    word = cfg.raw(*keys)
    if isinstance(word, str) and word and set(word[:-1]) <= {"L"} and word.endswith("G"):
        return len(word)
    # that every second layer is local is a rule of its families, and no key of theirs
    pattern: int = cfg.integer(*keys, default=traits.pattern, said=traits.pattern > 2)
    return pattern


def _window(traits: Traits, cfg: Config) -> int | None:
    if traits.windows == "none" or not is_set(cfg, traits.window_if):
        return None
    if "sliding_window" not in cfg.data and traits.window is not None:
        cfg.assume(f"sliding_window is not given: {traits.window}, the default of this model type")
        return traits.window
    return cfg.optional("sliding_window")


def _reach_named(cfg: Config, name: object, full: Reach, near: Reach) -> Reach:
    if name == "full_attention":
        return full
    if name == "sliding_attention":
        return near
    if name == "chunked_attention":
        return Reach(chunk=cfg.integer("attention_chunk_size"))
    raise cfg.bad("layer_types", name, "made of full_attention and sliding_attention in this model type")


for _type, _traits in TRAITS.items():
    reads(_type)(partial(read_decoder, _traits))
