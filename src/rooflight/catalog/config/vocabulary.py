"""The words in which every reader describes a decoder.

A decoder is an embedding, layers, a last norm and a head: `text`. A layer is two halves, seldom one: `layer`. A half
is what mixes tokens (`softmax`; `latent` in latent.py; `mamba1`, `gated_delta` ... in states.py) or a feed-forward
(`dense`, `routed`). `stack` makes the layers of what layer_types names and of one feed-forward for all or one each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import Text
from rooflight.errors import BadConfig
from rooflight.values.model import Attention, Experts, Layer, Linear, Mixer, Reach

FULL = "full_attention"
SLIDING = "sliding_attention"
CHUNKED = "chunked_attention"
LINEAR = "linear_attention"
CONV = "conv"
# gates of the attention output, as wide as it, and one a head
WIDE_GATE = ("attn_output_gate", "attention_output_gate", "use_attn_output_gate", "elementwise_attn_output_gate")
HEAD_GATE = ("headwise_attn_output_gate", "use_head_wise_attn_gate")

# older spellings of layer_types entries, as published configs have them
_SPELLINGS = {"attention": FULL, "mamba": LINEAR, "mamba2": LINEAR, "recurrent": LINEAR, "global_attention": FULL}
EVERYTHING = Reach()
T = TypeVar("T")


class Heads(msgspec.Struct, frozen=True, kw_only=True):
    """Attention heads: `heads` queries and `kv_heads` keys of head_dim elements, values of value_dim."""

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int

    @property
    def q(self) -> int:
        return self.heads * self.head_dim

    @property
    def kv(self) -> int:
        """Elements of the keys and values of a token: what the cache holds a layer."""
        return self.kv_heads * (self.head_dim + self.value_dim)

    @property
    def qk_norms(self) -> int:
        """Elements of a norm of queries and one of keys, each one vector for all heads."""
        return 2 * self.head_dim

    @property
    def qk_norms_by_head(self) -> int:
        """The same, a vector a head."""
        return (self.heads + self.kv_heads) * self.head_dim

    @property
    def out(self) -> int:
        return self.heads * self.value_dim

    def attention(self, reach: Reach = EVERYTHING, **more: Any) -> Attention:
        """The mixer of softmax attention; `more` as in values.model.Attention."""
        return Attention(
            reach=reach,
            heads=self.heads,
            kv_heads=self.kv_heads,
            head_dim=self.head_dim,
            value_dim=self.value_dim,
            cache_elements=self.kv,
            **more,
        )


class Half(msgspec.Struct, frozen=True, kw_only=True):
    """One half of a layer: the token mixer with its matrices, or a feed-forward.

    vectors       elements that are no matrix, norms over the hidden size left out
    norms         norms over the hidden size beyond the layer's usual ones
    inner_norms   norms inside the mixer: of queries and keys, or of latents
    """

    kind: str
    mixer: Mixer | None = None
    linears: tuple[Linear, ...] = ()
    experts: Experts | None = None
    vectors: int = 0
    norms: int = 0
    inner_norms: int = 0


NOTHING = Half(kind="")


def heads_of(
    cfg: Config,
    *,
    head_dim: int | None = None,
    kv_key: Sequence[str] = ("num_key_value_heads",),
    kv_default: int | None = None,
    usually_given: bool = False,
) -> Heads:
    """The heads a config names; `head_dim` is the family's own default. Raises BadConfig.

    usually_given   configs of the family give head_dim: where one does not, hidden size over heads is said; elsewhere
                    only where that comes to a size few models have
    """
    hidden, heads = cfg.hidden, cfg.integer("num_attention_heads")
    kv_heads = cfg.optional(*kv_key)
    if kv_heads is None:
        kv_heads = kv_default or heads
        if kv_default is not None:
            cfg.silent(kv_key[0], kv_heads)
        else:
            cfg.assume(f"{kv_key[0]} is not given: one K/V head for each of the {heads} query heads (MHA)")
    size = cfg.optional("head_dim")
    if size is None and head_dim is not None:
        size = head_dim
        cfg.silent("head_dim", size)
    if size is None:
        size = _divided(cfg, hidden, heads)
        if usually_given or size % 8 or 128 < size != 256:
            cfg.silent("head_dim", f"{size} (hidden size over heads)")
    if heads % kv_heads:
        raise BadConfig(
            f"{heads} query heads cannot share {kv_heads} K/V heads evenly",
            where=cfg.at(kv_key[0]),
            got=f"num_attention_heads {heads}, {kv_key[0]} {kv_heads}",
            want="K/V heads that divide the query heads",
        )
    return Heads(heads=heads, kv_heads=kv_heads, head_dim=size, value_dim=size)


def _divided(cfg: Config, hidden: int, heads: int) -> int:
    if hidden % heads:
        raise BadConfig(
            f"hidden_size {hidden} % num_attention_heads {heads} != 0, and no head_dim is given",
            where=cfg.at("num_attention_heads"),
            got=f"{hidden} / {heads} = {hidden / heads:.3f}",
            want="a head_dim key, or heads that divide the hidden size",
        )
    return hidden // heads


def softmax(
    cfg: Config,
    shape: Heads,
    reach: Reach = EVERYTHING,
    *,
    kind: str = "attention",
    bias: bool | None = None,
    o_bias: bool | None = None,
    gate: int | None = None,
    gate_bias: bool = True,
    made: int | None = None,
    sinks: bool = False,
    vectors: int = 0,
    inner_norms: int = 0,
) -> Half:
    """Softmax attention: its mixer, the fused input projection and the output projection.

    bias, o_bias   of queries, keys and values, and of the output: what attention_bias says, and as `bias`, where None
    gate           further outputs where the query makes a gate, with a bias of their own or not (gate_bias); None: what
                   the file says of an output gate, of which silence means none
    made           elements of K and V that the layer makes (all if None); 0: it reads the cache of an earlier layer
    """
    biased = cfg.flag("attention_bias") if bias is None else bias
    if gate is None:
        gate = output_gate(cfg, shape)
    kv = shape.kv if made is None else made
    outputs = shape.q + kv + gate
    qkv = Linear(
        name="qkv",
        inputs=cfg.hidden,
        outputs=outputs,
        bias=(outputs if gate_bias else outputs - gate) if biased else 0,
        kv_outputs=kv,
        kv_heads=shape.kv_heads if kv else 0,
    )
    return Half(
        kind=kind,
        mixer=shape.attention(reach, stores=kv > 0, sinks=sinks),
        linears=(qkv, output(cfg, shape, bias=biased if o_bias is None else o_bias)),
        vectors=vectors + (shape.heads if sinks else 0),
        inner_norms=inner_norms,
    )


def output_gate(cfg: Config, shape: Heads) -> int:
    """Outputs of the gate of the attention output that a file asks for: one an element, one a head, or none."""
    if cfg.flag(*WIDE_GATE):
        return shape.out
    return shape.heads if cfg.flag(*HEAD_GATE) else 0


def output(cfg: Config, shape: Heads, *, bias: bool = False) -> Linear:
    """The output projection of attention."""
    return Linear(name="o", inputs=shape.out, outputs=cfg.hidden, bias=cfg.hidden if bias else 0, split="row")


def gated(cfg: Config, half: Half, outputs: int) -> Half:
    """A mixer whose output passes a gate with a matrix of its own, `outputs` wide: one a head, or one an element."""
    gate = Linear(name="output_gate", inputs=cfg.hidden, outputs=outputs)
    return msgspec.structs.replace(half, linears=(*half.linears, gate))


def layer(cfg: Config, mixer: Half | None, mlp: Half | None, *, norms: int | None = None, weights: int = 1) -> Layer:
    """A layer of two halves, or of one, with a norm in front of each; `weights`: parameters of a norm an element."""
    halves = [half for half in (mixer, mlp) if half is not None]
    first, second = mixer or NOTHING, mlp or NOTHING
    count = (len(halves) if norms is None else norms) + first.norms + second.norms
    return Layer(
        count=1,
        kind=" + ".join(half.kind for half in halves) or "nothing",
        mixer=first.mixer,
        projections=first.linears,
        mlp=second.linears,
        experts=second.experts,
        vector_parameters=count * weights * cfg.hidden + first.vectors + second.vectors,
        norms=count,
        inner_norms=first.inner_norms,
    )


def alone(cfg: Config, half: Half, *, norms: int = 1) -> Layer:
    """A layer that is one half only."""
    return layer(cfg, half, None, norms=norms) if half.mixer is not None else layer(cfg, None, half, norms=norms)


def stack(
    cfg: Config,
    kinds: Sequence[str],
    mixers: Mapping[str, Half],
    mlp: Half | Sequence[Half],
    *,
    key: str = "layer_types",
    norms: int = 2,
) -> list[Layer]:
    """One layer for each of `kinds`, which `key` names: the mixer it stands for, and the feed-forward or its own one.

    Raises BadConfig where the architecture has no such kind.
    """
    each = [mlp] * len(kinds) if isinstance(mlp, Half) else mlp
    return [layer(cfg, pick(cfg, key, kind, mixers), own, norms=norms) for kind, own in zip(kinds, each, strict=True)]


def pick(cfg: Config, key: str, kind: object, known: Mapping[str, T]) -> T:
    """What a layer kind stands for. Raises BadConfig where the architecture has no such kind."""
    if not isinstance(kind, str) or kind not in known:
        raise cfg.bad(key, kind, "one of the layer kinds of this architecture: " + ", ".join(known))
    return known[kind]


def kinds_of(cfg: Config, default: Sequence[str], *keys: str, layers: int | None = None) -> list[str]:
    """The layer_types of a config in today's spelling, or the family's own pattern where it gives none."""
    given = cfg.items(*(keys or ("layer_types",)), of="name", length=cfg.layers if layers is None else layers)
    if given is None:
        return list(default)
    return [_SPELLINGS.get(kind, kind) for kind in given]


def text(
    cfg: Config,
    layers: Iterable[Layer],
    *,
    tied: bool = False,
    vocab: int | None = None,
    head_bias: bool = False,
    final_norm: int | None = None,
    outside: tuple[Linear, ...] = (),
    vectors: int = 0,
    side_tables: int = 0,
    side_row: int = 0,
) -> Text:
    """The whole text model around its layers.

    tied          what silence about tie_word_embeddings means
    vocab         the architecture's own vocabulary, where files leave it out
    final_norm    elements of the last norm (hidden if None)
    side_tables   elements of further input tables, of which a token looks up side_row
    """
    hidden = cfg.hidden
    rows = cfg.integer("vocab_size") if vocab is None else cfg.assumed("vocab_size", default=vocab)
    cfg.repeats("padded_vocab_size", rows)
    head = Linear(name="lm_head", inputs=hidden, outputs=rows, bias=rows if head_bias else 0, pinned=True)
    return Text(
        hidden=hidden,
        vocab=rows,
        layers=stacked(layers),
        tied=cfg.flag("tie_word_embeddings", default=tied),
        head=head,
        embedding_parameters=hidden * rows + side_tables,
        embedding_row=hidden + side_row,
        outside=outside,
        vector_parameters=(hidden if final_norm is None else final_norm) + vectors,
    )


def stacked(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """Layers of the stack in order, equal neighbours merged into one with their count."""
    result: list[Layer] = []
    for layer in layers:
        last = result[-1] if result else None
        if last is not None and msgspec.structs.replace(last, count=layer.count) == layer:
            result[-1] = msgspec.structs.replace(last, count=last.count + layer.count)
        else:
            result.append(layer)
    return tuple(result)


def merged(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """Equal layers merged wherever they stand, in order of first appearance."""
    counts: dict[Layer, int] = {}
    for layer in layers:
        one = msgspec.structs.replace(layer, count=1)
        counts[one] = counts.get(one, 0) + layer.count
    return tuple(msgspec.structs.replace(layer, count=count) for layer, count in counts.items())


def runs_of(stack: Iterable[Layer], layers: Iterable[Layer]) -> tuple[tuple[int, int], ...]:
    """The stack in order, as places in its merged `layers`: (place, how many in a row); nothing where it is theirs."""
    places = {msgspec.structs.replace(layer, count=1): place for place, layer in enumerate(layers)}
    found = tuple((places[msgspec.structs.replace(layer, count=1)], layer.count) for layer in stack)
    return () if len(found) == len(places) else found
