"""Mixers whose memory does not grow: Mamba, Mamba-2, gated delta nets and Kimi delta attention."""

from __future__ import annotations

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import Text
from rooflight.catalog.config.vocabulary import Half, alone, text
from rooflight.values.model import Linear, Recurrent


def time_step_rank(cfg: Config, key: str) -> int:
    """The rank of Mamba's time step: a number, or "auto" (and silence): hidden / 16, rounded up."""
    return -(-cfg.hidden // 16) if cfg.raw(key) in (None, "auto") else cfg.integer(key)


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


def mamba_only(cfg: Config) -> Text:
    """Mamba and Falcon-Mamba: nothing but mixers (Falcon's norms inside the mixer have no weights)."""
    cfg = cfg.renamed(fixed={"hidden_size": cfg.integer("hidden_size", "d_model")})
    mixer = mamba1(
        cfg.hidden,
        cfg.optional("intermediate_size") or cfg.scaled("expand", cfg.hidden, 2.0),
        state=cfg.assumed("state_size", default=16),
        rank=time_step_rank(cfg, "time_step_rank"),
        kernel=cfg.assumed("conv_kernel", default=4),
        conv_bias=cfg.flag("use_conv_bias", default=True),
        bias=cfg.flag("use_bias"),
    )
    layers = [alone(cfg, mixer)] * cfg.integer("num_hidden_layers", "n_layer")
    return text(cfg, layers, tied=True)


def named_mamba2(cfg: Config, inner: int, *, out_bias: bool | None = None, norm: bool = True) -> Half:
    """A Mamba-2 mixer by the mamba_* keys of Bamba and its kin; mamba_d_head may be "auto": inner / heads."""
    heads = cfg.assumed("mamba_n_heads", default=128)
    if inner % heads:
        raise cfg.bad("mamba_n_heads", heads, f"a divisor of the inner size {inner}")
    bias = cfg.flag("mamba_proj_bias")
    sizes = Mamba2(
        heads=heads,
        head_dim=inner // heads if cfg.raw("mamba_d_head") in (None, "auto") else cfg.integer("mamba_d_head"),
        groups=cfg.assumed("mamba_n_groups", default=1),
        state=cfg.assumed("mamba_d_state", default=256),
        kernel=cfg.assumed("mamba_d_conv", default=4),
        conv_bias=cfg.flag("mamba_conv_bias", default=True),
        in_bias=bias,
        out_bias=bias if out_bias is None else out_bias,
        norm=norm,
    )
    return mamba2(cfg.hidden, sizes)


def delta(
    kind: str,
    linears: tuple[Linear, ...],
    *,
    heads: int,
    key_dim: int,
    value_dim: int,
    channels: int,
    kernel: int,
    vectors: int,
) -> Half:
    """A delta-rule state of heads x key_dim x value_dim behind a causal convolution of `kernel` taps a channel.

    The convolution's state is kept as wide as its kernel (transformers; engines may keep one column less).
    """
    mixer = Recurrent(
        kind=kind,
        heads=heads,
        key_dim=key_dim,
        value_dim=value_dim,
        conv_channels=channels,
        conv_kernel=kernel,
        conv_state_elements=channels * kernel,
    )
    return Half(kind="linear attention", mixer=mixer, linears=linears, vectors=channels * kernel + vectors)


def gated_delta(hidden: int, *, key_heads: int, heads: int, key_dim: int, value_dim: int, kernel: int) -> Half:
    """A gated delta net: q, k, v and the output gate z in one matrix, beta and decay in a small one."""
    values = heads * value_dim
    channels = 2 * key_heads * key_dim + values
    return delta(
        "gated-delta",
        (
            Linear(name="in_proj", inputs=hidden, outputs=channels + values),
            Linear(name="in_proj_ba", inputs=hidden, outputs=2 * heads),
            Linear(name="out_proj", inputs=values, outputs=hidden, split="row"),
        ),
        heads=heads,
        key_dim=key_dim,
        value_dim=value_dim,
        channels=channels,
        kernel=kernel,
        vectors=2 * heads + value_dim,  # decay rate and time step bias a head, and the norm of a value head
    )


def kimi_delta(
    hidden: int, *, heads: int, head_dim: int, kernel: int, low_rank: bool, low_rank_gate: bool | None = None
) -> Half:
    """Kimi delta attention: the delta rule with a decay a channel. Decay and gate go through a low rank or straight.

    low_rank_gate   of the gate, where it differs from the decay (Kimi K3's gate has the full rank)
    """
    width = heads * head_dim

    def made(whole: str, part: str, narrow: bool) -> tuple[Linear, ...]:
        if not narrow:
            return (Linear(name=whole, inputs=hidden, outputs=width),)
        return (
            Linear(name=f"{part}_a", inputs=hidden, outputs=head_dim, split="none"),
            Linear(name=f"{part}_b", inputs=head_dim, outputs=width),
        )

    gates = (
        *made("decay", "decay", low_rank),
        *made("output_gate", "gate", low_rank if low_rank_gate is None else low_rank_gate),
    )
    return delta(
        "kda",
        (
            Linear(name="in_proj", inputs=hidden, outputs=3 * width),
            *gates,
            Linear(name="beta", inputs=hidden, outputs=heads),
            Linear(name="out_proj", inputs=width, outputs=hidden, split="row"),
        ),
        heads=heads,
        key_dim=head_dim,
        value_dim=head_dim,
        channels=3 * width,
        kernel=kernel,
        vectors=width + heads + head_dim,  # time step bias a channel, decay rate a head, the norm of a head
    )
