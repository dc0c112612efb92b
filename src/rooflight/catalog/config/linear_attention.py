"""Linear attention beside full attention: gated delta nets, Kimi delta attention, lightning attention."""

from __future__ import annotations

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.hybrid_parts import (
    FULL,
    LINEAR,
    Half,
    assumed,
    dense,
    joined,
    layer_kinds,
    moe,
    pick,
    text_of,
)
from rooflight.catalog.config.parts import Heads, attention, heads_of, qkv_o
from rooflight.catalog.config.registry import Text, reads
from rooflight.values.model import Layer, Linear, Recurrent


def _every_fourth(cfg: Config, layers: int) -> list[str]:
    step = cfg.integer("full_attention_interval", default=4)
    return [LINEAR if (i + 1) % step else FULL for i in range(layers)]


def delta_state(kind: str, *, heads: int, key_dim: int, value_dim: int, channels: int, kernel: int) -> Recurrent:
    """A delta-rule state of heads x key_dim x value_dim behind a causal convolution of `kernel` taps.

    The convolution's state is kept as wide as its kernel (transformers; engines may keep one column less).
    """
    return Recurrent(
        kind=kind,
        heads=heads,
        key_dim=key_dim,
        value_dim=value_dim,
        conv_channels=channels,
        conv_kernel=kernel,
        conv_state_elements=channels * kernel,
    )


def _gated_delta(cfg: Config, hidden: int) -> Half:
    """Qwen3-Next's linear layers: q, k, v and the output gate z in one matrix, beta and decay in a small one."""
    key_heads = assumed(cfg, "linear_num_key_heads", default=16)
    heads = assumed(cfg, "linear_num_value_heads", default=32)
    key_dim = assumed(cfg, "linear_key_head_dim", default=128)
    value_dim = assumed(cfg, "linear_value_head_dim", default=128)
    kernel = assumed(cfg, "linear_conv_kernel_dim", default=4)
    keys, values = key_heads * key_dim, heads * value_dim
    channels = 2 * keys + values
    return Half(
        kind="linear attention",
        mixer=delta_state(
            "gated-delta", heads=heads, key_dim=key_dim, value_dim=value_dim, channels=channels, kernel=kernel
        ),
        linears=(
            Linear(name="in_proj", inputs=hidden, outputs=channels + values),
            Linear(name="in_proj_ba", inputs=hidden, outputs=2 * heads),
            Linear(name="out_proj", inputs=values, outputs=hidden, split="row"),
        ),
        # taps, decay rate and time step bias a head, and the norm of a value head
        vectors=channels * kernel + 2 * heads + value_dim,
    )


def _gated_attention(cfg: Config, hidden: int) -> Half:
    """Full attention whose query projection also makes an output gate of the queries' size."""
    few = 4 if cfg.text("model_type", default="") in ("qwen3_5", "qwen3_5_text") else 2
    shape = heads_of(cfg, hidden, head_dim=256, kv_default=few)
    bias = cfg.flag("attention_bias")
    gate = shape.q if cfg.flag("attn_output_gate", default=True) else 0
    return Half(
        kind="full attention",
        mixer=attention(shape),
        linears=qkv_o(hidden, shape, qkv_bias=bias, o_bias=bias, gate=gate),
        vectors=2 * shape.head_dim,
    )


# where the file is silent
_EXPERTS = {"qwen3_next": 512, "qwen3_5_moe": 256, "qwen3_5_moe_text": 256}


@reads("qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text")
def qwen_next(cfg: Config) -> Text:
    """Qwen3-Next, Qwen3.5, Qwen3.6: three gated delta nets to one full attention; experts where the file has them."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    mixers = {LINEAR: _gated_delta(cfg, hidden), FULL: _gated_attention(cfg, hidden)}
    experts = cfg.integer("num_experts", default=_EXPERTS.get(cfg.text("model_type", default=""), 0), at_least=0)
    dense_layers = cfg.layer_numbers("mlp_only_layers", count) or []
    step = cfg.integer("decoder_sparse_step", default=1, said=False)

    def mlp(i: int) -> Half:
        if not experts or i in dense_layers or (i + 1) % step:
            return dense(hidden, cfg.integer("intermediate_size"))
        return moe(
            hidden,
            count=experts,
            chosen=cfg.integer("num_experts_per_tok"),
            width=cfg.integer("moe_intermediate_size"),
            shared=assumed(cfg, "shared_expert_intermediate_size", default=512),
            shared_gate=True,
        )

    def layer(i: int, kind: str) -> Layer:
        return joined(pick(cfg, "layer_types", kind, mixers), mlp(i), norm_elements=2 * hidden)

    kinds = layer_kinds(cfg, "layer_types", layers=count, default=_every_fourth(cfg, count))
    return text_of(
        [layer(i, kind) for i, kind in enumerate(kinds)],
        hidden=hidden,
        vocab=cfg.integer("vocab_size"),
        tied=cfg.flag("tie_word_embeddings"),
    )


@reads("olmo_hybrid")
def olmo_hybrid(cfg: Config) -> Text:
    """OLMo-Hybrid: gated delta nets with a norm in front, attention layers with norms behind."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    shape = heads_of(cfg, hidden)
    bias = cfg.flag("attention_bias")
    full = Half(
        kind="full attention",
        mixer=attention(shape),
        linears=qkv_o(hidden, shape, qkv_bias=bias, o_bias=bias),
        vectors=shape.q + shape.kv_heads * shape.head_dim,
    )
    key_heads = cfg.integer("linear_num_key_heads", default=shape.heads)
    heads = cfg.integer("linear_num_value_heads", default=shape.heads)
    key_dim = cfg.integer("linear_key_head_dim", default=3 * hidden // (4 * key_heads))
    value_dim = cfg.integer("linear_value_head_dim", default=2 * key_dim)
    kernel = assumed(cfg, "linear_conv_kernel_dim", default=4)
    keys, values = key_heads * key_dim, heads * value_dim
    channels = 2 * keys + values
    linear = Half(
        kind="linear attention",
        mixer=delta_state(
            "gated-delta", heads=heads, key_dim=key_dim, value_dim=value_dim, channels=channels, kernel=kernel
        ),
        linears=(
            Linear(name="in_proj", inputs=hidden, outputs=channels + values),
            Linear(name="in_proj_ba", inputs=hidden, outputs=2 * heads),
            Linear(name="out_proj", inputs=values, outputs=hidden, split="row"),
        ),
        vectors=channels * kernel + 2 * heads + value_dim,
    )
    pattern = [FULL if i % 4 == 3 else LINEAR for i in range(count)]
    if FULL not in pattern:
        pattern[-1] = FULL
    mixers = {LINEAR: linear, FULL: full}
    mlp = dense(hidden, cfg.integer("intermediate_size"))
    layers = []
    for kind in layer_kinds(cfg, "layer_types", layers=count, default=pattern):
        layers.append(joined(pick(cfg, "layer_types", kind, mixers), mlp, norm_elements=2 * hidden))
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=cfg.flag("tie_word_embeddings"))


def _latent(cfg: Config, hidden: int, *, gated: bool = False) -> Half:
    """Latent attention (MLA), with an output gate a head where asked."""
    from rooflight.catalog.config.mla import latent_attention  # only the two hybrids with MLA need its module

    mixer, linears, vectors = latent_attention(cfg)
    gate = Linear(name="output_gate", inputs=hidden, outputs=mixer.heads)
    return Half(kind="MLA", mixer=mixer, linears=(*linears, gate) if gated else linears, vectors=vectors)


def _kimi_delta(hidden: int, *, heads: int, head_dim: int, kernel: int, low_rank: bool) -> Half:
    """Kimi delta attention: the delta rule with a decay a channel. Decay and gate go through a low rank or straight."""
    width = heads * head_dim
    if low_rank:
        gates: tuple[Linear, ...] = (
            Linear(name="decay_a", inputs=hidden, outputs=head_dim, split="none"),
            Linear(name="decay_b", inputs=head_dim, outputs=width),
            Linear(name="gate_a", inputs=hidden, outputs=head_dim, split="none"),
            Linear(name="gate_b", inputs=head_dim, outputs=width),
        )
    else:
        gates = (
            Linear(name="decay", inputs=hidden, outputs=width),
            Linear(name="output_gate", inputs=hidden, outputs=width),
        )
    return Half(
        kind="linear attention",
        mixer=delta_state("kda", heads=heads, key_dim=head_dim, value_dim=head_dim, channels=3 * width, kernel=kernel),
        linears=(
            Linear(name="in_proj", inputs=hidden, outputs=3 * width),
            *gates,
            Linear(name="beta", inputs=hidden, outputs=heads),
            Linear(name="out_proj", inputs=width, outputs=hidden, split="row"),
        ),
        # taps, time step bias a channel, decay rate a head, the norm of a head
        vectors=3 * width * kernel + width + heads + head_dim,
    )


def _latent_and_delta(cfg: Config, hidden: int, kinds: list[str], mixers: dict[str, Half], first_dense: int) -> Text:
    experts = moe(
        hidden,
        count=cfg.integer("num_experts", "num_local_experts"),
        chosen=cfg.integer("num_experts_per_token", "num_experts_per_tok"),
        width=cfg.integer("moe_intermediate_size"),
        shared=cfg.integer("num_shared_experts", "n_shared_experts", default=1, at_least=0)
        * cfg.integer("moe_shared_expert_intermediate_size", "moe_intermediate_size"),
    )
    plain = dense(hidden, cfg.integer("intermediate_size"))
    given = cfg.items("mlp_layer_types", length=len(kinds))
    if given is not None:
        first_dense = sum(kind == "dense" for kind in given)
    layers = []
    for i, kind in enumerate(kinds):
        layers.append(
            joined(
                pick(cfg, "layer_types", kind, mixers), plain if i < first_dense else experts, norm_elements=2 * hidden
            )
        )
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=cfg.flag("tie_word_embeddings"))


@reads("kimi_linear")
def kimi_linear(cfg: Config) -> Text:
    """Kimi-Linear: Kimi delta attention with latent attention every fourth layer, experts after the first layers."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    linear = cfg.section("linear_attn_config") or cfg
    full_layers = linear.items("full_attn_layers")
    if full_layers is None:
        pattern = [FULL if i and i % 4 == 0 else LINEAR for i in range(count)]
    else:
        # numbered from 1 in the published files
        pattern = [FULL if i + 1 in full_layers else LINEAR for i in range(count)]
    # beside the section, head_dim means something else
    head_dim_keys = ("linear_head_dim",) if linear is cfg else ("head_dim", "linear_head_dim")
    mixers = {
        LINEAR: _kimi_delta(
            hidden,
            heads=linear.integer("num_heads", "linear_num_heads", default=32),
            head_dim=linear.integer(*head_dim_keys, default=128),
            kernel=linear.integer("short_conv_kernel_size", "linear_conv_kernel_dim", default=4),
            low_rank=True,
        ),
        FULL: _latent(cfg, hidden),
    }
    kinds = layer_kinds(cfg, "layer_types", layers=count, default=pattern)
    first = cfg.integer("first_k_dense_replace", default=1, at_least=0)
    return _latent_and_delta(cfg, hidden, kinds, mixers, first)


@reads("bailing_hybrid")
def bailing_hybrid(cfg: Config) -> Text:
    """Ling hybrids: Kimi delta attention, latent attention with a gate a head at the end of each group."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    heads = cfg.integer("num_attention_heads")
    group = assumed(cfg, "layer_group_size", default=6)
    mixers = {
        LINEAR: _kimi_delta(
            hidden,
            heads=heads,
            head_dim=cfg.integer("linear_head_dim", "head_dim", default=128),
            kernel=cfg.integer("short_conv_kernel_size", default=4),
            low_rank=False,
        ),
        FULL: _latent(cfg, hidden, gated=True),
    }
    pattern = [LINEAR if (i + 1) % group else FULL for i in range(count)]
    kinds = layer_kinds(cfg, "layer_types", layers=count, default=pattern)
    first = cfg.integer("first_k_dense_replace", default=2, at_least=0)
    return _latent_and_delta(cfg, hidden, kinds, mixers, first)


def _lightning(hidden: int, shape: Heads) -> Half:
    """Lightning attention: every head has keys and values of its own and a state of head_dim x head_dim."""
    return Half(
        kind="linear attention",
        mixer=Recurrent(kind="lightning", heads=shape.heads, key_dim=shape.head_dim, value_dim=shape.head_dim),
        linears=(
            Linear(name="in_proj", inputs=hidden, outputs=3 * shape.q),
            Linear(name="output_gate", inputs=hidden, outputs=shape.q),
            Linear(name="out_proj", inputs=shape.q, outputs=hidden, split="row"),
        ),
        vectors=shape.q,
    )


@reads("minimax", "minimax_text_01", "minimax_m1")
def minimax(cfg: Config) -> Text:
    """MiniMax-Text-01 and M1: lightning attention with full attention now and then, experts in every layer."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    shape = heads_of(cfg, hidden, kv_default=8)
    full = Half(kind="full attention", mixer=attention(shape), linears=qkv_o(hidden, shape))
    mixers = {LINEAR: _lightning(hidden, shape), FULL: full}
    coded = cfg.items("attn_type_list", length=count)
    if coded is not None:
        pattern = [FULL if code else LINEAR for code in coded]
    else:
        pattern = [LINEAR if i % 2 else FULL for i in range(count)]
    mlp = moe(
        hidden,
        count=assumed(cfg, "num_local_experts", "num_experts", default=8),
        chosen=assumed(cfg, "num_experts_per_tok", default=2),
        width=cfg.integer("intermediate_size"),
        shared=cfg.integer("shared_intermediate_size", default=0, at_least=0),
    )
    layers = []
    for kind in layer_kinds(cfg, "layer_types", layers=count, default=pattern):
        layers.append(joined(pick(cfg, "layer_types", kind, mixers), mlp, norm_elements=2 * hidden))
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=cfg.flag("tie_word_embeddings"))
