"""What the unusual architectures share: layer lists, dense and expert halves, the two ends of the stack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.parts import Heads, attention, experts_of, feed_forward, head_of, qkv_o, stacked
from rooflight.catalog.config.registry import Text
from rooflight.values.model import Experts, Layer, Linear, Mixer, Reach

FULL = "full_attention"
SLIDING = "sliding_attention"
CHUNKED = "chunked_attention"
LINEAR = "linear_attention"
CONV = "conv"

# older spellings of layer_types entries, as published configs have them
_SPELLINGS = {"attention": FULL, "mamba": LINEAR, "mamba2": LINEAR, "recurrent": LINEAR, "global_attention": FULL}


class Half(msgspec.Struct, frozen=True, kw_only=True):
    """One half of a layer: the token mixer with its matrices, or a feed-forward.

    vectors   elements that are no matrix, the norm in front of the half left out
    """

    kind: str
    mixer: Mixer | None = None
    linears: tuple[Linear, ...] = ()
    experts: Experts | None = None
    vectors: int = 0


def joined(mixer: Half, mlp: Half, *, norm_elements: int, norms: int = 2) -> Layer:
    """A layer of the usual two halves; norm_elements counts all its norms together."""
    return Layer(
        count=1,
        kind=f"{mixer.kind} + {mlp.kind}",
        mixer=mixer.mixer,
        projections=mixer.linears,
        mlp=mlp.linears,
        experts=mlp.experts,
        vector_parameters=norm_elements + mixer.vectors + mlp.vectors,
        norms=norms,
    )


def alone(half: Half, *, norm_elements: int) -> Layer:
    """A layer that is one half only, with the norm in front of it."""
    is_mixer = half.mixer is not None
    return Layer(
        count=1,
        kind=half.kind,
        mixer=half.mixer,
        projections=half.linears if is_mixer else (),
        mlp=() if is_mixer else half.linears,
        experts=half.experts,
        vector_parameters=norm_elements + half.vectors,
        norms=1,
    )


def dense(hidden: int, width: int, *, gated: bool = True, bias: bool = False) -> Half:
    """A feed-forward every token passes."""
    return Half(kind="dense", linears=feed_forward(hidden, width, gated=gated, bias=bias))


def moe(hidden: int, *, count: int, chosen: int, width: int, shared: int = 0, shared_gate: bool = False) -> Half:
    """Routed experts of `width` beside a shared feed-forward of `shared` (0: none), with its own gate where asked."""
    linears = feed_forward(hidden, shared, prefix="shared_") if shared else ()
    if shared and shared_gate:
        linears += (Linear(name="shared_gate", inputs=hidden, outputs=1, split="none", pinned=True),)
    return Half(kind="MoE", linears=linears, experts=experts_of(hidden, count=count, chosen=chosen, width=width))


def layer_kinds(cfg: Config, *keys: str, layers: int, default: Sequence[str]) -> list[str]:
    """The layer_types of a config in today's spelling, or the family's own pattern where it gives none."""
    given = cfg.items(*keys, length=layers)
    if given is None:
        return list(default)
    for kind in given:
        if not isinstance(kind, str):
            raise cfg.bad(keys[0], given, "a list of layer kinds")
    return [_SPELLINGS.get(kind, kind) for kind in given]


def assumed(cfg: Config, *keys: str, default: int) -> int:
    """A whole number, or the architecture's own default, which is noted."""
    if not cfg.has(*keys):
        cfg.assume(f"{cfg.path}{keys[0]} is not given: {default}, the default of the architecture")
        return default
    return cfg.integer(*keys)


def scaled(cfg: Config, key: str, size: int, default: float) -> int:
    """`size` times the factor a key gives, rounded down. Raises BadConfig where nothing is left."""
    result = int(cfg.number(key, default=default) * size)
    if result < 1:
        raise cfg.bad(key, cfg.raw(key), "a positive factor")
    return result


def full_attention(
    cfg: Config,
    hidden: int,
    shape: Heads,
    *,
    bias: bool | None = None,
    kind: str = "attention",
    reach: Reach | None = None,
) -> Half:
    """Plain softmax attention without norms of its own; `bias` is the config's attention_bias unless given."""
    with_bias = cfg.flag("attention_bias") if bias is None else bias
    return Half(
        kind=kind,
        mixer=attention(shape, reach),
        linears=qkv_o(hidden, shape, qkv_bias=with_bias, o_bias=with_bias),
    )


def pick(cfg: Config, key: str, kind: str, halves: Mapping[str, Half]) -> Half:
    """The half a layer kind stands for. Raises BadConfig where the architecture has no such kind."""
    if kind not in halves:
        raise cfg.bad(key, kind, "one of the layer kinds of this architecture: " + ", ".join(halves))
    return halves[kind]


def text_of(
    layers: Iterable[Layer],
    *,
    hidden: int,
    vocab: int,
    tied: bool,
    final_norm: int | None = None,
    outside: tuple[Linear, ...] = (),
    vectors: int = 0,
    side_tables: int = 0,
    side_row: int = 0,
    embedded: int | None = None,
) -> Text:
    """The whole text model around its layers.

    final_norm    elements of the last norm (hidden if None)
    side_tables   elements of further input tables, of which a token looks up side_row
    embedded      rows of the input table where they are not the vocabulary
    """
    return Text(
        hidden=hidden,
        vocab=vocab,
        layers=stacked(layers),
        tied=tied,
        head=head_of(hidden, vocab),
        embedding_parameters=hidden * (embedded or vocab) + side_tables,
        embedding_row=hidden + side_row,
        outside=outside,
        vector_parameters=(hidden if final_norm is None else final_norm) + vectors,
    )
