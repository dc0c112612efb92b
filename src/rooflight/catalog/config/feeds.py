"""The words for feed-forwards: dense ones, and routed experts with what stands around them."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.vocabulary import NOTHING, Half
from rooflight.values.model import Experts, Linear

# the narrower space that routed experts work in, where they do: of Nemotron 3, and of Kimi K3
LATENT_WIDTH = ("moe_latent_size", "routed_expert_hidden_size")
# the number type of the router's weights, where it is another than the model's (GLM-5, Ling)
_ROUTER_TYPE = ("moe_router_dtype", "router_dtype")
# what a feed-forward of one kind is told by: aside where no layer has the kind
_OF_DENSE = ("intermediate_size", "intermediate_size_mlp", "dense_intermediate_size", "ffn_hidden_size")
_OF_EXPERTS = (
    "num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts", "num_experts_per_tok",
    "num_experts_per_token", "moe_intermediate_size", "n_shared_experts", "num_shared_experts",
    "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", *LATENT_WIDTH,
)  # fmt: skip


def feed_forward(
    hidden: int, width: int, *, gated: bool = True, bias: bool = False, prefix: str = ""
) -> tuple[Linear, ...]:
    """The matrices of a feed-forward of `width`: gate and up fused, and down; or up and down where there is no gate."""
    up = width * (2 if gated else 1)
    return (
        Linear(name=f"{prefix}gate_up" if gated else f"{prefix}up", inputs=hidden, outputs=up, bias=up if bias else 0),
        Linear(name=f"{prefix}down", inputs=width, outputs=hidden, bias=hidden if bias else 0, split="row"),
    )


def dense(cfg: Config, width: int, *, gated: bool = True, bias: bool = False) -> Half:
    """A feed-forward every token passes."""
    return Half(kind="dense", linears=feed_forward(cfg.hidden, width, gated=gated, bias=bias))


def experts_of(
    cfg: Config,
    *,
    count: int,
    chosen: int,
    width: int,
    gated: bool = True,
    bias: bool = False,
    inputs: int | None = None,
    wide_router: bool = False,
    chosen_key: str = "num_experts_per_tok",
) -> Experts:
    """`count` experts of `width`, and the router that picks `chosen` of them. Raises BadConfig.

    bias      of the experts and the router
    inputs    what the experts are fed, where that is not the hidden size

    The router is kept in fp32 where the file says so, or where the family's files have it so (wide_router).
    """
    if chosen > count:
        raise cfg.bad(chosen_key, chosen, f"at most the {count} experts there are")
    scores = count if bias else 0
    groups, chosen_groups = _expert_groups(cfg, count)
    wide = wide_router or cfg.raw(*_ROUTER_TYPE) in ("float32", "fp32", "torch.float32") or cfg.flag("need_fp32_gate")
    return Experts(
        count=count,
        chosen=chosen,
        groups=groups,
        chosen_groups=chosen_groups,
        linears=feed_forward(inputs or cfg.hidden, width, gated=gated, bias=bias),
        router=Linear(
            name="router",
            inputs=cfg.hidden,
            outputs=count,
            bias=scores,
            split="none",
            pinned=True,
            format="fp32" if wide else "bf16",
        ),
    )


def _expert_groups(cfg: Config, count: int) -> tuple[int, int]:
    """(groups of experts, how many of them a token may choose from), (1, 1) where the router is free to choose.

    A greedy router has the keys and does not look at them (DeepSeek-V2-Lite).
    """
    groups, chosen = cfg.raw("n_group"), cfg.raw("topk_group")
    whole = all(isinstance(number, int) and not isinstance(number, bool) for number in (groups, chosen))
    if not whole or not 1 <= chosen < groups <= count or count % groups or cfg.raw("topk_method") == "greedy":
        return 1, 1
    return groups, chosen


def routed(
    cfg: Config,
    *,
    shared: int = 0,
    shared_gate: bool = False,
    shared_bias: bool = False,
    gated: bool = True,
    **experts: Any,
) -> Half:
    """Experts (`experts` as in experts_of), and a shared one of the width `shared` beside them (0: none).

    shared_gate, shared_bias   of the shared one: a gate of its own (hidden -> 1), and biases

    Where the file names a latent space, the routed experts work in it: one matrix takes a token there before they are
    dispatched, one back after they are summed. Router and shared expert see the whole width.
    """
    latent = cfg.optional(*LATENT_WIDTH)
    own = experts_of(cfg, gated=gated, inputs=latent, **experts)
    linears = feed_forward(cfg.hidden, shared, gated=gated, bias=shared_bias, prefix="shared_") if shared else ()
    if shared and shared_gate:
        linears += (Linear(name="shared_gate", inputs=cfg.hidden, outputs=1, split="none", pinned=True),)
    vectors = 0
    if latent is not None:
        linears += _latent_space(cfg, latent, bias=shared_bias)
        vectors = latent if cfg.flag("latent_moe_use_norm") else 0
    return Half(kind="MoE", linears=linears, experts=own, vectors=vectors)


def _latent_space(cfg: Config, latent: int, *, bias: bool) -> tuple[Linear, ...]:
    """The matrices into and out of the space of the experts; every device needs the whole latent vector.

    Kimi's code keeps both wide whatever the checkpoint's quantisation is, Nemotron's leaves it to the checkpoint.
    """
    wide = cfg.has("routed_expert_hidden_size")
    hidden = cfg.hidden
    return (
        Linear(
            name="latent_down", inputs=hidden, outputs=latent, bias=latent if bias else 0, split="none", pinned=wide
        ),
        Linear(name="latent_up", inputs=latent, outputs=hidden, bias=hidden if bias else 0, split="none", pinned=wide),
    )


def mlps(cfg: Config, without: Container[int], *, dense: Callable[[], Half], routed: Callable[[], Half]) -> list[Half]:
    """The feed-forward of each layer: dense `without` experts, else routed. One that no layer has is not asked for."""
    numbers = range(cfg.layers)
    plain = [number in without for number in numbers]
    experts = NOTHING if all(plain) else routed()
    other = dense() if any(plain) else NOTHING
    if not any(plain):
        cfg.aside(*_OF_DENSE)
    elif all(plain):
        cfg.aside(*_OF_EXPERTS)
    return [other if is_dense else experts for is_dense in plain]
