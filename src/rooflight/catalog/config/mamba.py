"""State-space models and their hybrids: Mamba, Mamba-2, Jamba, Bamba, Falcon-H1, Granite 4 hybrids, Nemotron-H."""

from __future__ import annotations

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.hybrid_parts import (
    FULL,
    LINEAR,
    Half,
    alone,
    assumed,
    dense,
    full_attention,
    joined,
    layer_kinds,
    moe,
    pick,
    scaled,
    text_of,
)
from rooflight.catalog.config.parts import feed_forward, heads_of, router_of
from rooflight.catalog.config.registry import Text, reads
from rooflight.errors import BadConfig
from rooflight.values.model import Experts, Linear, Recurrent


def _rank(cfg: Config, key: str, hidden: int) -> int:
    """The rank of the time step: a number, or "auto" (and silence): hidden / 16, rounded up."""
    return -(-hidden // 16) if cfg.raw(key) in (None, "auto") else cfg.integer(key)


def mamba1(
    hidden: int,
    inner: int,
    *,
    state: int,
    rank: int,
    kernel: int,
    conv_bias: bool,
    bias: bool,
    inner_norms: bool = False,
) -> Half:
    """A Mamba mixer: every channel has a state of `state` numbers; the step, B and C come from a small projection."""
    vectors = inner * (state + 1 + kernel + conv_bias)  # A, D, the convolution's taps and bias
    return Half(
        kind="mamba",
        mixer=Recurrent(
            kind="mamba1",
            heads=inner,
            key_dim=state,
            value_dim=1,
            conv_channels=inner,
            conv_kernel=kernel,
            conv_state_elements=inner * kernel,
        ),
        linears=(
            Linear(name="in_proj", inputs=hidden, outputs=2 * inner, bias=2 * inner if bias else 0),
            Linear(name="x_proj", inputs=inner, outputs=rank + 2 * state, split="row"),
            Linear(name="dt_proj", inputs=rank, outputs=inner, bias=inner),
            Linear(name="out_proj", inputs=inner, outputs=hidden, bias=hidden if bias else 0, split="row"),
        ),
        vectors=vectors + (rank + 2 * state if inner_norms else 0),
    )


class Mamba2(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes of a Mamba-2 mixer: heads x head_dim channels, `groups` sets of B and C of `state` numbers."""

    heads: int
    head_dim: int
    groups: int
    state: int
    kernel: int
    conv_bias: bool = True
    in_bias: bool = False
    out_bias: bool = False
    norm: bool = True


def mamba2(hidden: int, size: Mamba2) -> Half:
    """A Mamba-2 mixer: one matrix makes gate, x, B, C and a time step a head; a state of state x head_dim a head."""
    inner = size.heads * size.head_dim
    channels = inner + 2 * size.groups * size.state
    outputs = inner + channels + size.heads
    taps = channels * (size.kernel + size.conv_bias)
    return Half(
        kind="mamba2",
        mixer=Recurrent(
            kind="mamba2",
            heads=size.heads,
            key_dim=size.state,
            value_dim=size.head_dim,
            conv_channels=channels,
            conv_kernel=size.kernel,
            conv_state_elements=channels * size.kernel,
        ),
        linears=(
            Linear(name="in_proj", inputs=hidden, outputs=outputs, bias=outputs if size.in_bias else 0),
            Linear(name="out_proj", inputs=inner, outputs=hidden, bias=hidden if size.out_bias else 0, split="row"),
        ),
        # A, D and the step's bias a head, and the gated norm in front of the output
        vectors=taps + 3 * size.heads + (inner if size.norm else 0),
    )


@reads("mamba", "falcon_mamba")
def pure_mamba(cfg: Config) -> Text:
    """Mamba and Falcon-Mamba: nothing but mixers (Falcon's norms inside the mixer have no weights)."""
    hidden = cfg.integer("hidden_size", "d_model")
    mixer = mamba1(
        hidden,
        cfg.optional("intermediate_size") or scaled(cfg, "expand", hidden, 2.0),
        state=assumed(cfg, "state_size", default=16),
        rank=_rank(cfg, "time_step_rank", hidden),
        kernel=assumed(cfg, "conv_kernel", default=4),
        conv_bias=cfg.flag("use_conv_bias", default=True),
        bias=cfg.flag("use_bias"),
    )
    layers = [alone(mixer, norm_elements=hidden)] * cfg.integer("num_hidden_layers", "n_layer")
    tied = cfg.flag("tie_word_embeddings", default=True)
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=tied)


@reads("mamba2")
def pure_mamba2(cfg: Config) -> Text:
    """Mamba-2 (and Codestral Mamba): nothing but mixers."""
    hidden = cfg.integer("hidden_size", "d_model")
    bias = cfg.flag("use_bias")
    mixer = mamba2(
        hidden,
        Mamba2(
            heads=cfg.integer("num_heads"),
            head_dim=cfg.integer("head_dim"),
            groups=assumed(cfg, "n_groups", default=8),
            state=assumed(cfg, "state_size", default=128),
            kernel=assumed(cfg, "conv_kernel", default=4),
            conv_bias=cfg.flag("use_conv_bias", default=True),
            in_bias=bias,
            out_bias=bias,
        ),
    )
    layers = [alone(mixer, norm_elements=hidden)] * cfg.integer("num_hidden_layers", "n_layer")
    tied = cfg.flag("tie_word_embeddings")
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=tied)


@reads("jamba")
def jamba(cfg: Config) -> Text:
    """Jamba: Mamba with an attention layer every few, experts every other layer."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    period = cfg.integer("attn_layer_period", default=8)
    offset = cfg.integer("attn_layer_offset", default=4, at_least=0)
    expert_period = cfg.integer("expert_layer_period", default=2)
    expert_offset = cfg.integer("expert_layer_offset", default=1, at_least=0)
    experts, width = cfg.integer("num_experts", default=16), cfg.integer("intermediate_size")
    mamba = mamba1(
        hidden,
        cfg.integer("mamba_expand", default=2) * hidden,
        state=assumed(cfg, "mamba_d_state", default=16),
        rank=_rank(cfg, "mamba_dt_rank", hidden),
        kernel=assumed(cfg, "mamba_d_conv", default=4),
        conv_bias=cfg.flag("mamba_conv_bias", default=True),
        bias=cfg.flag("mamba_proj_bias"),
        inner_norms=True,
    )
    attention = full_attention(cfg, hidden, heads_of(cfg, hidden, kv_default=8), bias=False)
    plain = dense(hidden, width)
    routed = moe(hidden, count=experts, chosen=cfg.integer("num_experts_per_tok", default=2), width=width)
    layers = [
        joined(
            attention if i % period == offset else mamba,
            routed if experts > 1 and i % expert_period == expert_offset else plain,
            norm_elements=2 * hidden,
        )
        for i in range(count)
    ]
    tied = cfg.flag("tie_word_embeddings")
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=tied)


def _named_mamba2(cfg: Config, inner: int, *, out_bias: bool | None = None, norm: bool = True) -> Mamba2:
    """The mamba_* keys of Bamba and its kin; mamba_d_head may be "auto": inner / heads."""
    heads = assumed(cfg, "mamba_n_heads", default=128)
    if inner % heads:
        raise cfg.bad("mamba_n_heads", heads, f"a divisor of the inner size {inner}")
    bias = cfg.flag("mamba_proj_bias")
    return Mamba2(
        heads=heads,
        head_dim=inner // heads if cfg.raw("mamba_d_head") in (None, "auto") else cfg.integer("mamba_d_head"),
        groups=assumed(cfg, "mamba_n_groups", default=1),
        state=assumed(cfg, "mamba_d_state", default=256),
        kernel=assumed(cfg, "mamba_d_conv", default=4),
        conv_bias=cfg.flag("mamba_conv_bias", default=True),
        in_bias=bias,
        out_bias=bias if out_bias is None else out_bias,
        norm=norm,
    )


@reads("bamba")
def bamba(cfg: Config) -> Text:
    """Bamba: Mamba-2 with attention at the layers it names, a dense feed-forward in all."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    inner = cfg.integer("mamba_expand", default=2) * hidden
    mixers = {
        LINEAR: mamba2(hidden, _named_mamba2(cfg, inner)),
        FULL: full_attention(cfg, hidden, heads_of(cfg, hidden, kv_default=8)),
    }
    chosen = set(cfg.layer_numbers("attn_layer_indices", count) or ())
    mlp = dense(hidden, cfg.integer("intermediate_size"), bias=cfg.flag("mlp_bias"))
    layers = [joined(mixers[FULL if i in chosen else LINEAR], mlp, norm_elements=2 * hidden) for i in range(count)]
    tied = cfg.flag("tie_word_embeddings")
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=tied)


@reads("falcon_h1")
def falcon_h1(cfg: Config) -> Text:
    """Falcon-H1: attention and Mamba-2 side by side in every layer; the plan lists them one after the other."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    # silence means 1024, an explicit null the usual expansion
    usual = cfg.integer("mamba_expand", default=2) * hidden
    inner = cfg.integer("mamba_d_ssm", default=usual if "mamba_d_ssm" in cfg.data else 1024)
    norm = cfg.flag("mamba_rms_norm")
    size = _named_mamba2(cfg, inner, out_bias=cfg.flag("projectors_bias"), norm=norm)
    attention = full_attention(cfg, hidden, heads_of(cfg, hidden, kv_default=8), kind="attention (beside mamba2)")
    mlp = dense(hidden, cfg.integer("intermediate_size"), bias=cfg.flag("mlp_bias"))
    # both mixers read one normalised input, so the first of the pair has no norm of its own
    pair = [
        msgspec.structs.replace(alone(attention, norm_elements=0), norms=0),
        joined(mamba2(hidden, size), mlp, norm_elements=2 * hidden),
    ]
    tied = cfg.flag("tie_word_embeddings")
    return text_of(pair * count, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=tied)


@reads("granitemoehybrid")
def granite_hybrid(cfg: Config) -> Text:
    """Granite 4: Mamba-2 and attention, experts beside a shared feed-forward; no experts means dense."""
    hidden, count = cfg.integer("hidden_size"), cfg.integer("num_hidden_layers")
    kinds = layer_kinds(cfg, "layer_types", "layers_block_type", layers=count, default=[LINEAR] * count)
    mixers = {}
    if LINEAR in kinds:
        mixers[LINEAR] = mamba2(hidden, _named_mamba2(cfg, cfg.integer("mamba_expand", default=2) * hidden))
    if FULL in kinds:
        mixers[FULL] = full_attention(cfg, hidden, heads_of(cfg, hidden))
    shared = assumed(cfg, "shared_intermediate_size", default=1024)
    experts = cfg.integer("num_local_experts", default=8, at_least=0)
    if experts:
        mlp = moe(
            hidden,
            count=experts,
            chosen=cfg.integer("num_experts_per_tok", default=2),
            width=cfg.integer("intermediate_size"),
            shared=shared,
        )
    else:
        mlp = dense(hidden, shared)
    layers = [joined(pick(cfg, "layer_types", kind, mixers), mlp, norm_elements=2 * hidden) for kind in kinds]
    tied = cfg.flag("tie_word_embeddings")
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=tied)


_PATTERN = {"M": LINEAR, "E": "moe", "*": FULL, "-": "mlp"}


def _nemotron_moe(cfg: Config, hidden: int) -> Half:
    """Ungated experts, in a narrower latent space where moe_latent_size is given, beside a shared one at full width."""
    bias = cfg.flag("mlp_bias")
    latent = cfg.optional("moe_latent_size")
    count, width = cfg.integer("n_routed_experts"), cfg.integer("moe_intermediate_size")
    shared = feed_forward(
        hidden, cfg.integer("moe_shared_expert_intermediate_size"), gated=False, bias=bias, prefix="shared_"
    )
    if latent is not None:
        # every device needs the whole latent vector
        down = Linear(name="latent_down", inputs=hidden, outputs=latent, bias=latent if bias else 0, split="none")
        up = Linear(name="latent_up", inputs=latent, outputs=hidden, bias=hidden if bias else 0, split="none")
        shared = (*shared, down, up)
    return Half(
        kind="MoE",
        linears=shared,
        experts=Experts(
            count=count,
            chosen=cfg.integer("num_experts_per_tok"),
            linears=feed_forward(latent or hidden, width, gated=False),
            router=router_of(hidden, count),
        ),
    )


def _nemotron_kinds(cfg: Config) -> list[str]:
    """One entry a layer, from the pattern of letters or the list of names; their number is the layer count."""
    names = cfg.items("layers_block_type", "layer_types")
    if names is not None:
        return layer_kinds(cfg, "layers_block_type", "layer_types", layers=len(names), default=())
    pattern = cfg.text("hybrid_override_pattern")
    unknown = set(pattern) - set(_PATTERN)
    if unknown:
        letters = "a string of M (mamba2), E (experts), * (attention) and - (feed-forward)"
        raise cfg.bad("hybrid_override_pattern", pattern, letters)
    if len(pattern) != cfg.integer("num_hidden_layers", default=len(pattern), said=False):
        cfg.warn(f"hybrid_override_pattern has {len(pattern)} layers, num_hidden_layers says otherwise: pattern used")
    return [_PATTERN[letter] for letter in pattern]


@reads("nemotron_h")
def nemotron_h(cfg: Config) -> Text:
    """Nemotron-H and Nemotron 3: a layer is one of Mamba-2, attention, experts or a feed-forward."""
    hidden = cfg.integer("hidden_size")
    kinds = _nemotron_kinds(cfg)
    bias = cfg.flag("use_bias")
    size = Mamba2(
        heads=assumed(cfg, "mamba_num_heads", default=128),
        head_dim=assumed(cfg, "mamba_head_dim", default=64),
        groups=assumed(cfg, "n_groups", "mamba_n_groups", default=8),
        state=assumed(cfg, "ssm_state_size", "mamba_d_state", default=128),
        kernel=assumed(cfg, "conv_kernel", "mamba_d_conv", default=4),
        conv_bias=cfg.flag("use_conv_bias", "mamba_conv_bias", default=True),
        in_bias=bias,
        out_bias=bias,
    )
    blocks = {LINEAR: mamba2(hidden, size)}
    if FULL in kinds:
        blocks[FULL] = full_attention(cfg, hidden, heads_of(cfg, hidden, usually_given=True), bias=False)
    if "moe" in kinds:
        blocks["moe"] = _nemotron_moe(cfg, hidden)
    if "mlp" in kinds:
        width = cfg.integer("intermediate_size")
        blocks["mlp"] = dense(hidden, width, gated=False, bias=cfg.flag("mlp_bias"))
    key = "layers_block_type"
    layers = [alone(pick(cfg, key, kind, blocks), norm_elements=hidden) for kind in kinds]
    tied = cfg.flag("tie_word_embeddings")
    return text_of(layers, hidden=hidden, vocab=cfg.integer("vocab_size"), tied=tied)


@reads("zamba", "zamba2")
def zamba(cfg: Config) -> Text:
    """Zamba: not read, because its attention blocks are used by many layers but stored once. Raises BadConfig."""
    raise BadConfig(
        f"{cfg.raw('model_type')} shares the weights of its attention blocks between layers: not read in this version",
        where=cfg.at("model_type"),
        got=str(cfg.raw("model_type")),
        want="an architecture whose layers own their weights",
    )
