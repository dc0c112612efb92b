"""The per-layer plan of a model as its document shows it."""

from __future__ import annotations

import msgspec

from rooflight.values.model import Attention, Experts, LatentAttention, Layer, Mixer, Recurrent
from rooflight.work import count


class AttentionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """kind: "mha", "gqa", "mqa" (by its KV heads), "mla" (latent) or "cross". Reach as in values.model.Reach.

    cache_elements  elements cached a position and layer
    """

    kind: str
    heads: int
    kv_heads: int | None
    head_dim: int
    value_dim: int
    cache_elements: int
    window: int | None
    chunk: int | None
    top_k: int | None
    stride: int
    sinks: bool
    stores: bool


class ExpertPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Routed experts of a layer, and the parameters of one."""

    count: int
    chosen: int
    parameters_each: int


class StatePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A mixer whose memory does not grow: the shape of its state."""

    kind: str
    heads: int
    key_dim: int
    value_dim: int


class LayerPlan(msgspec.Struct, frozen=True, kw_only=True):
    """`count` equal layers. window: tokens its cache is bounded by; state_bytes: of one layer and sequence."""

    kind: str
    count: int
    parameters: int
    attention: AttentionPlan | None
    window: int | None
    experts: ExpertPlan | None
    state: StatePlan | None
    state_bytes: float
    kv_bytes_per_token: float


def layer_plan(layer: Layer) -> LayerPlan:
    """A layer as the document shows it."""
    mixer = layer.mixer
    grows = count.horizon(mixer) is None
    elements = count.cache_elements(mixer) / mixer.reach.stride if isinstance(mixer, Attention | LatentAttention) else 0
    return LayerPlan(
        kind=layer.kind,
        count=layer.count,
        parameters=count.layer_parameters(layer),
        attention=attention_plan(mixer),
        window=count.horizon(mixer),
        experts=_expert_plan(layer.experts),
        state=_state_plan(mixer),
        state_bytes=count.state_bytes(mixer),
        kv_bytes_per_token=2 * elements if grows or elements != count.cache_elements(mixer) else 0,
    )


def attention_plan(mixer: Mixer | None) -> AttentionPlan | None:
    """Attention as the document shows it; None for other mixers."""
    if not isinstance(mixer, Attention | LatentAttention):
        return None
    reach = mixer.reach
    if isinstance(mixer, LatentAttention):
        kv_heads, head_dim, sinks, stores = None, mixer.nope_dim + mixer.rope_dim, False, True
    else:
        kv_heads, head_dim, sinks = mixer.kv_heads, mixer.head_dim, mixer.sinks
        stores = mixer.stores or mixer.reach.both or mixer.crosses
    return AttentionPlan(
        kind=_attention_kind(mixer),
        heads=mixer.heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        value_dim=mixer.value_dim,
        cache_elements=count.cache_elements(mixer),
        window=reach.window,
        chunk=reach.chunk,
        top_k=reach.top_k,
        stride=reach.stride,
        sinks=sinks,
        stores=stores,
    )


def _attention_kind(mixer: Attention | LatentAttention) -> str:
    if isinstance(mixer, LatentAttention):
        return "mla"
    if mixer.fixed_context is not None or mixer.crosses:
        return "cross"
    return "mha" if mixer.kv_heads == mixer.heads else "mqa" if mixer.kv_heads == 1 else "gqa"


def _expert_plan(experts: Experts | None) -> ExpertPlan | None:
    if experts is None:
        return None
    each = sum(map(count.linear_parameters, experts.linears))
    return ExpertPlan(count=experts.count, chosen=experts.chosen, parameters_each=each)


def _state_plan(mixer: Mixer | None) -> StatePlan | None:
    if not isinstance(mixer, Recurrent):
        return None
    return StatePlan(kind=mixer.kind, heads=mixer.heads, key_dim=mixer.key_dim, value_dim=mixer.value_dim)
