"""Models and a card built by hand, so that a test of counting does not lean on the reading of configs.

The tiny ones have sizes small enough to count on paper; the well-known ones are written from their published shapes.
"""

from __future__ import annotations

import msgspec

from rooflight.values.accelerator import Accelerator, Assumed
from rooflight.values.model import (
    Attention,
    Experts,
    LatentAttention,
    Layer,
    Linear,
    Mixer,
    Model,
    Reach,
    Recurrent,
)


def attention(*, heads: int, kv_heads: int, head_dim: int, reach: Reach | None = None) -> Attention:
    """Ordinary softmax attention with values as wide as keys."""
    return Attention(
        reach=reach or Reach(),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        value_dim=head_dim,
        cache_elements=2 * kv_heads * head_dim,
    )


def projections(hidden: int, mixer: Attention) -> tuple[Linear, ...]:
    """Fused query, key and value matrix, and the output matrix."""
    kv = mixer.cache_elements
    return (
        Linear(
            name="qkv",
            inputs=hidden,
            outputs=mixer.heads * mixer.head_dim + kv,
            kv_outputs=kv,
            kv_heads=mixer.kv_heads,
        ),
        Linear(name="o", inputs=mixer.heads * mixer.head_dim, outputs=hidden, split="row"),
    )


def gated(hidden: int, width: int, prefix: str = "") -> tuple[Linear, ...]:
    """Gate and up in one matrix, and down."""
    return (
        Linear(name=f"{prefix}gate_up", inputs=hidden, outputs=2 * width),
        Linear(name=f"{prefix}down", inputs=width, outputs=hidden, split="row"),
    )


def experts(hidden: int, *, count: int, chosen: int, width: int) -> Experts:
    """`count` gated experts, `chosen` of them a token."""
    router = Linear(name="router", inputs=hidden, outputs=count, split="none", pinned=True)
    return Experts(count=count, chosen=chosen, linears=gated(hidden, width), router=router)


def model(name: str, hidden: int, vocab: int, layers: tuple[Layer, ...], *, tied: bool = False) -> Model:
    """Layers between an embedding and a head, with a final norm."""
    return Model(
        id=name,
        type="hand-made",
        architecture="HandMadeForCausalLM",
        hidden=hidden,
        vocab=vocab,
        layers=layers,
        embedding_parameters=vocab * hidden,
        embedding_row=hidden,
        head=Linear(name="lm_head", inputs=hidden, outputs=vocab, pinned=True),
        tied=tied,
        vector_parameters=hidden,
    )


def with_linears(given: Model, **changes: object) -> Model:
    """The model with every matrix of its layers changed alike (its format, say)."""

    def changed(linears: tuple[Linear, ...]) -> tuple[Linear, ...]:
        return tuple(msgspec.structs.replace(linear, **changes) for linear in linears)

    layers = tuple(
        msgspec.structs.replace(layer, projections=changed(layer.projections), mlp=changed(layer.mlp))
        for layer in given.layers
    )
    return msgspec.structs.replace(given, layers=layers)


def tiny_dense(reach: Reach | None = None, *, kv_heads: int = 2, layers: int = 3, tied: bool = False) -> Model:
    """hidden 8, vocab 32; 4 heads of 2 over `kv_heads`; feed-forward of 16.

    With 2 KV heads a layer holds qkv 8 x (8 + 8), o 8 x 8, gate_up 8 x 32, down 16 x 8: 128 + 64 + 256 + 128 = 576
    weights and 2 norms of 8.
    """
    mixer = attention(heads=4, kv_heads=kv_heads, head_dim=2, reach=reach)
    layer = Layer(
        count=layers,
        kind="attention + dense",
        mixer=mixer,
        projections=projections(8, mixer),
        mlp=gated(8, 16),
        vector_parameters=2 * 8,
    )
    return model("tiny-dense", 8, 32, (layer,), tied=tied)


def tiny_moe(*, shared: bool = False) -> Model:
    """One layer of 8 experts, 2 chosen, each gate_up 8 x 8 and down 4 x 8 (96 weights); router 8 x 8."""
    mixer = attention(heads=4, kv_heads=2, head_dim=2)
    layer = Layer(
        count=1,
        kind="attention + MoE",
        mixer=mixer,
        projections=projections(8, mixer),
        mlp=gated(8, 4, "shared_") if shared else (),
        experts=experts(8, count=8, chosen=2, width=4),
        vector_parameters=2 * 8,
    )
    return model("tiny-moe", 8, 32, (layer,))


def latent_layer(hidden: int, mixer: LatentAttention, query_rank: int, **rest: object) -> Layer:
    """A layer of multi-head latent attention with a low-rank query."""
    width = mixer.latent_dim + mixer.rope_dim
    heads, key = mixer.heads, mixer.nope_dim + mixer.rope_dim
    parts = (
        Linear(name="q_a", inputs=hidden, outputs=query_rank, split="none"),
        Linear(name="q_b", inputs=query_rank, outputs=heads * key),
        Linear(name="kv_a", inputs=hidden, outputs=width, split="none"),
        Linear(name="kv_b", inputs=mixer.latent_dim, outputs=heads * (mixer.nope_dim + mixer.value_dim)),
        Linear(name="o", inputs=heads * mixer.value_dim, outputs=hidden, split="row"),
    )
    vectors = 2 * hidden + query_rank + mixer.latent_dim
    return Layer(mixer=mixer, projections=parts, vector_parameters=vectors, norms=4, **rest)


def tiny_mla() -> Model:
    """2 layers: 2 heads of 2 + 2 (key) and 2 (value) over a latent of 4 + 2; query rank 4; feed-forward of 16."""
    mixer = LatentAttention(heads=2, latent_dim=4, rope_dim=2, nope_dim=2, value_dim=2)
    return model("tiny-mla", 8, 32, (latent_layer(8, mixer, 4, count=2, kind="MLA + dense", mlp=gated(8, 16)),))


def tiny_hybrid() -> Model:
    """3 gated delta layers (2 heads, state 4 x 4, convolution of 4 over 24 channels) and one of attention."""
    mixer: Mixer = Recurrent(
        kind="gated-delta",
        heads=2,
        key_dim=4,
        value_dim=4,
        conv_channels=24,
        conv_kernel=4,
        conv_state_elements=24 * 3,
    )
    linear = Layer(
        count=3,
        kind="gated delta + dense",
        mixer=mixer,
        projections=(
            Linear(name="in", inputs=8, outputs=24),
            Linear(name="out", inputs=8, outputs=8, split="row"),
        ),
        mlp=gated(8, 16),
        vector_parameters=2 * 8 + 24 * 4,
    )
    softmax = attention(heads=4, kv_heads=2, head_dim=2)
    full = Layer(
        count=1,
        kind="attention + dense",
        mixer=softmax,
        projections=projections(8, softmax),
        mlp=gated(8, 16),
        vector_parameters=2 * 8,
    )
    return model("tiny-hybrid", 8, 32, (linear, full))


def llama(name: str, *, hidden: int, layers: int, heads: int, width: int, vocab: int = 128256) -> Model:
    """A Llama 3: 8 KV heads, head dim 128, untied head."""
    mixer = attention(heads=heads, kv_heads=8, head_dim=128)
    layer = Layer(
        count=layers,
        kind="attention + dense",
        mixer=mixer,
        projections=projections(hidden, mixer),
        mlp=gated(hidden, width),
        vector_parameters=2 * hidden,
    )
    return model(name, hidden, vocab, (layer,))


def llama_3_8b() -> Model:
    """Llama 3 and 3.1 8B."""
    return llama("llama-3-8b", hidden=4096, layers=32, heads=32, width=14336)


def llama_3_70b() -> Model:
    """Llama 3 and 3.1 70B."""
    return llama("llama-3.1-70b", hidden=8192, layers=80, heads=64, width=28672)


def deepseek_v3() -> Model:
    """DeepSeek-V3 without its multi-token-prediction layer: 3 dense layers, then 58 of 256 experts and a shared one."""
    mixer = LatentAttention(heads=128, latent_dim=512, rope_dim=64, nope_dim=128, value_dim=128)
    hidden = 7168
    dense = latent_layer(hidden, mixer, 1536, count=3, kind="MLA + dense", mlp=gated(hidden, 18432))
    routed = latent_layer(
        hidden,
        mixer,
        1536,
        count=58,
        kind="MLA + MoE",
        mlp=gated(hidden, 2048, "shared_"),
        experts=experts(hidden, count=256, chosen=8, width=2048),
    )
    return model("deepseek-v3", hidden, 129280, (dense, routed))


def card(**fields: object) -> Accelerator:
    """A card of round numbers: 1000 FLOP/s, 100 bytes/s, a million bytes of memory, no cache, a second a launch."""
    assumed = Assumed(
        family="Hand",
        peak_margin=1.0,
        last_level_cache_bytes=0.0,
        launch_graph_s=1.0,
        launch_eager_s=3.0,
        engine_reserve_bytes=1000.0,
        source="made up for tests",
    )
    given = {
        "id": "hand-card",
        "name": "Hand-made card",
        "vendor": "nobody",
        "family": "Hand",
        "kind": "gpu",
        "peak_flop_per_s": {"bf16": 1000.0},
        "memory_bytes_per_s": 100.0,
        "memory_bytes": 1e6,
        "last_level_cache_bytes": 0.0,
        "assumed": assumed,
        "origin": "tests/hand-card.toml",
        **fields,
    }
    return Accelerator(**given)
