"""The parts decoders are built of: attention, feed-forward and the two ends of the stack, as plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.errors import BadConfig
from rooflight.values.model import Attention, Experts, Layer, Linear, Reach


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
    def out(self) -> int:
        return self.heads * self.value_dim


def heads_of(
    cfg: Config,
    hidden: int,
    *,
    head_dim: int | None = None,
    heads_key: Sequence[str] = ("num_attention_heads",),
    kv_key: Sequence[str] = ("num_key_value_heads",),
    head_dim_key: Sequence[str] = ("head_dim",),
    kv_default: int | None = None,
    usually_given: bool = False,
) -> Heads:
    """The heads a config names; `head_dim` is the family's own default. Raises BadConfig.

    usually_given   configs of the family give head_dim: where one does not, hidden size over heads is said; elsewhere
                    only where that comes to a size few models have
    """
    heads = cfg.integer(*heads_key)
    kv_heads = cfg.optional(*kv_key)
    if kv_heads is None:
        kv_heads = kv_default or heads
        if kv_default is not None:
            cfg.silent(kv_key[0], kv_heads)
        else:
            cfg.assume(f"{kv_key[0]} is not given: one K/V head for each of the {heads} query heads (MHA)")
    size = cfg.optional(*head_dim_key)
    if size is None and head_dim is not None:
        size = head_dim
        cfg.silent(head_dim_key[0], size)
    if size is None:
        if hidden % heads:
            raise BadConfig(
                f"hidden_size {hidden} % {heads_key[0]} {heads} != 0, and no head_dim is given",
                where=cfg.at(heads_key[0]),
                got=f"{hidden} / {heads} = {hidden / heads:.3f}",
                want="a head_dim key, or heads that divide the hidden size",
            )
        size = hidden // heads
        if usually_given or size % 8 or 128 < size != 256:
            cfg.silent(head_dim_key[0], f"{size} (hidden size over heads)")
    if heads % kv_heads:
        raise BadConfig(
            f"{heads} query heads cannot share {kv_heads} K/V heads evenly",
            where=cfg.at(kv_key[0]),
            got=f"{heads_key[0]} {heads}, {kv_key[0]} {kv_heads}",
            want="K/V heads that divide the query heads",
        )
    return Heads(heads=heads, kv_heads=kv_heads, head_dim=size, value_dim=size)


def attention(shape: Heads, reach: Reach | None = None, *, sinks: bool = False) -> Attention:
    """The mixer of ordinary softmax attention."""
    return Attention(
        reach=reach or Reach(),
        heads=shape.heads,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        value_dim=shape.value_dim,
        cache_elements=shape.kv,
        sinks=sinks,
    )


def qkv_o(
    hidden: int,
    shape: Heads,
    *,
    qkv_bias: bool = False,
    o_bias: bool = False,
    gate: int = 0,
    gate_bias: bool = True,
) -> tuple[Linear, ...]:
    """The fused input projection and the output projection; `gate` more outputs where the query makes a gate."""
    outputs = shape.q + shape.kv + gate
    biased = outputs if gate_bias else outputs - gate
    qkv = Linear(
        name="qkv",
        inputs=hidden,
        outputs=outputs,
        bias=biased if qkv_bias else 0,
        kv_outputs=shape.kv,
        kv_heads=shape.kv_heads,
    )
    out = Linear(name="o", inputs=shape.out, outputs=hidden, bias=hidden if o_bias else 0, split="row")
    return qkv, out


def feed_forward(
    hidden: int, width: int, *, gated: bool = True, bias: bool = False, prefix: str = ""
) -> tuple[Linear, ...]:
    """A feed-forward of `width`: gate and up fused, and down; or up and down where there is no gate."""
    up = width * (2 if gated else 1)
    return (
        Linear(name=f"{prefix}gate_up" if gated else f"{prefix}up", inputs=hidden, outputs=up, bias=up if bias else 0),
        Linear(name=f"{prefix}down", inputs=width, outputs=hidden, bias=hidden if bias else 0, split="row"),
    )


def experts_of(
    hidden: int,
    *,
    count: int,
    chosen: int,
    width: int,
    gated: bool = True,
    bias: bool = False,
    router_bias: bool = False,
) -> Experts:
    """`count` routed experts of `width`, and the router that picks `chosen` of them."""
    return Experts(
        count=count,
        chosen=chosen,
        linears=feed_forward(hidden, width, gated=gated, bias=bias),
        router=router_of(hidden, count, bias=router_bias),
    )


def router_of(hidden: int, count: int, *, bias: bool = False) -> Linear:
    """The matrix that scores experts."""
    return Linear(name="router", inputs=hidden, outputs=count, bias=count if bias else 0, split="none", pinned=True)


def head_of(hidden: int, vocab: int, *, bias: bool = False) -> Linear:
    """The output matrix over the vocabulary."""
    return Linear(name="lm_head", inputs=hidden, outputs=vocab, bias=vocab if bias else 0, pinned=True)


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
