"""Hypothesis strategies for models, workloads and deployments, in one place."""

from __future__ import annotations

from hypothesis import strategies as st

from rooflight.catalog.accelerators import load
from rooflight.values.deployment import Deployment
from rooflight.values.model import Attention, Experts, LatentAttention, Layer, Linear, Model, Reach, Recurrent
from rooflight.values.workload import Workload

CARDS = ("h100-sxm", "a100-sxm4-80gb", "mi300x", "l40s", "b200", "rtx-4090", "t4", "tpu-v5e", "gaudi3")
# Storage formats from wide to narrow: each is stored in no more bits than the one before.
NARROWING = ("bf16", "fp8", "int4-g128")

heads = st.sampled_from([8, 16, 32])
kv_groups = st.sampled_from([1, 2, 4, 8])
reaches = st.one_of(
    st.just(Reach()),
    st.builds(Reach, window=st.integers(1, 4096)),
    st.builds(Reach, chunk=st.integers(1, 4096)),
    st.builds(Reach, top_k=st.integers(1, 2048)),
)
workloads = st.builds(
    Workload,
    batch=st.integers(1, 300),
    prefill_batch=st.integers(1, 8),
    isl=st.integers(2, 20_000),
    osl=st.integers(0, 2000),
    context=st.one_of(st.none(), st.integers(0, 100_000)),
    cached_prefix=st.integers(0, 1),
)


@st.composite
def attentions(draw):
    count, group = draw(heads), draw(kv_groups)
    dim = draw(st.sampled_from([64, 128]))
    kv = count // group
    return Attention(
        reach=draw(reaches), heads=count, kv_heads=kv, head_dim=dim, value_dim=dim, cache_elements=2 * kv * dim
    )


latents = st.builds(
    LatentAttention,
    heads=heads,
    latent_dim=st.sampled_from([256, 512]),
    rope_dim=st.just(64),
    nope_dim=st.just(128),
    value_dim=st.just(128),
)
recurrents = st.builds(
    Recurrent,
    kind=st.sampled_from(["mamba2", "gated-delta"]),
    heads=heads,
    key_dim=st.just(128),
    value_dim=st.just(64),
    conv_channels=st.just(4096),
    conv_kernel=st.just(4),
    conv_state_elements=st.just(4096 * 4),
)


def _projections(mixer, hidden):
    if isinstance(mixer, Attention):
        kv = mixer.kv_heads * (mixer.head_dim + mixer.value_dim)
        return (
            Linear(
                name="qkv",
                inputs=hidden,
                outputs=mixer.heads * mixer.head_dim + kv,
                kv_outputs=kv,
                kv_heads=mixer.kv_heads,
            ),
            Linear(name="o", inputs=mixer.heads * mixer.value_dim, outputs=hidden, split="row"),
        )
    if isinstance(mixer, LatentAttention):
        width = mixer.nope_dim + mixer.rope_dim
        return (
            Linear(name="q", inputs=hidden, outputs=mixer.heads * width),
            Linear(name="kv_a", inputs=hidden, outputs=mixer.latent_dim + mixer.rope_dim, split="none"),
            Linear(name="kv_b", inputs=mixer.latent_dim, outputs=mixer.heads * (mixer.nope_dim + mixer.value_dim)),
            Linear(name="o", inputs=mixer.heads * mixer.value_dim, outputs=hidden, split="row"),
        )
    inner = mixer.heads * mixer.value_dim
    return (
        Linear(name="in_proj", inputs=hidden, outputs=4 * inner),
        Linear(name="out_proj", inputs=inner, outputs=hidden, split="row"),
    )


def _pair(hidden, inner, prefix=""):
    return (
        Linear(name=f"{prefix}gate_up", inputs=hidden, outputs=2 * inner),
        Linear(name=f"{prefix}down", inputs=inner, outputs=hidden, split="row"),
    )


@st.composite
def models(draw, moe=None):
    """A decoder of one or two kinds of layer, small enough to fit any card of CARDS."""
    hidden = draw(st.sampled_from([512, 1024, 2048]))
    layers = []
    for mixer in draw(st.lists(st.one_of(attentions(), latents, recurrents), min_size=1, max_size=2)):
        experts = None
        mlp = _pair(hidden, draw(st.sampled_from([1024, 4096])))
        if draw(st.booleans()) if moe is None else moe:
            count = draw(st.sampled_from([8, 16, 64]))
            experts = Experts(
                count=count,
                chosen=draw(st.integers(1, count)),
                linears=_pair(hidden, 256),
                router=Linear(name="router", inputs=hidden, outputs=count, split="none", pinned=True),
            )
            mlp = draw(st.sampled_from([(), _pair(hidden, 512, "shared_")]))
        layers.append(
            Layer(
                count=draw(st.integers(1, 4)),
                kind="layer",
                mixer=mixer,
                projections=_projections(mixer, hidden),
                mlp=mlp,
                experts=experts,
                vector_parameters=2 * hidden,
            )
        )
    vocab = draw(st.sampled_from([1000, 32_000]))
    return Model(
        id="drawn",
        type="drawn",
        architecture="drawn",
        hidden=hidden,
        vocab=vocab,
        layers=tuple(layers),
        embedding_parameters=vocab * hidden,
        embedding_row=hidden,
        head=Linear(name="lm_head", inputs=hidden, outputs=vocab, pinned=True),
        tied=draw(st.booleans()),
        vector_parameters=hidden,
    )


cards = st.sampled_from(CARDS).map(lambda name: load(name)[0])
deployments = st.builds(
    Deployment,
    tp=st.sampled_from([1, 2, 4]),
    pp=st.just(1),
    dp=st.sampled_from([1, 2]),
    weights=st.sampled_from([None, *NARROWING, "nvfp4", "mxfp4", "w8a8-int8"]),
    kv_cache=st.sampled_from([None, "fp8"]),
    attention=st.sampled_from(["flash", "naive"]),
    graphs=st.booleans(),
    ignore_capacity=st.just(True),
)
