"""Where a quantisation plan lands: checkpoints name modules, our plan names matrices.

A matrix here stands for one or more modules there ("qkv" for q_proj, k_proj and v_proj), under names that differ
from family to family; a matrix takes a format as soon as one of its names is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec

from rooflight.catalog.config.expressions import Budget
from rooflight.catalog.config.patterns import MOST_STEPS, OUTSIDE, Patterns
from rooflight.catalog.config.plan import Plan
from rooflight.catalog.config.registry import Text
from rooflight.catalog.config.vocabulary import stacked
from rooflight.values.formats import format_named
from rooflight.values.model import Experts, Layer, Linear, Recurrent
from rooflight.values.parts import mixed, pieces

# Our name of a matrix -> what checkpoints call the modules it stands for.
_LEAVES = {
    "qkv": "q_proj k_proj v_proj qkv_proj query_key_value c_attn W_pack Wqkv wqkv qkv",
    "q": "q_proj wq",
    "kv": "k_proj v_proj kv_proj wkv",
    "o": "o_proj out_proj dense wo",
    "q_a": "q_a_proj wq_a",
    "q_b": "q_b_proj wq_b",
    "kv_a": "kv_a_proj_with_mqa wkv_a",
    "kv_b": "kv_b_proj wkv_b",
    "o_a": "wo_a o_a_proj",
    "o_b": "wo_b o_b_proj",
    "gate_up": "gate_proj up_proj gate_up_proj w1 w3 dense_h_to_4h",
    "up": "up_proj fc1 w1 fc_in c_fc dense_h_to_4h",
    "down": "down_proj w2 fc2 fc_out dense_4h_to_h",
    "in_proj": "in_proj in_proj_qkv in_proj_z in_proj_qkvz",
    "in_proj_ba": "in_proj_ba in_proj_a in_proj_b",
    "out_proj": "out_proj",
    "latent_down": "fc1_latent_proj routed_expert_down_proj",
    "latent_up": "fc2_latent_proj routed_expert_up_proj",
    "output_gate": "g_proj gate_proj output_gate",
    "index_q": "indexer.wq_b",
    "index_k": "indexer.wk",
    "index_weights": "indexer.weights_proj indexers_proj",
}
_ATTENTION = ("self_attn", "attn", "self_attention", "attention", "mixer")
_RECURRENT = {
    "gated-delta": ("linear_attn",),
    "kda": ("self_attn",),
    "lightning": ("self_attn",),
    "short-conv": ("conv",),
    "rg-lru": ("temporal_block",),
}
_FEED = ("mlp", "ffn", "feed_forward", "block_sparse_moe", "mixer")
_HEAD = ("lm_head", "head", "output", "embed_out", "output_layer")


class _Placer:
    def __init__(self, plan: Plan, dtype: str, layers: int) -> None:
        self.plan = plan
        self.dtype = dtype
        budget = Budget(MOST_STEPS)
        self.listed = Patterns(plan.listed, layers, budget)
        self.excluded = Patterns(((pattern, "wide") for pattern in plan.excluded), layers, budget)
        self.used: dict[str, None] = {}

    @property
    def by_layer(self) -> bool:
        return self.listed.by_layer or self.excluded.by_layer

    def put(self, linear: Linear, paths: tuple[str, ...], number: int, base: str | None) -> Linear:
        return msgspec.structs.replace(linear, format=self.form(linear, paths, number, base))

    def form(self, linear: Linear, paths: tuple[str, ...], number: int, base: str | None) -> str:
        """The format of a module of these paths; dtype where it stays wide."""
        form = None
        if self.excluded.find(paths, number) is None:
            form = self.listed.find(paths, number)
            if form is None and (not linear.pinned or self.plan.whole):
                form = base
        if form is None or (self.plan.whole and not _divides(form, linear)):
            # a router that its family keeps in fp32 stays so
            return linear.format if linear.format == "fp32" else self.dtype
        self.used[form] = None
        return form

    def put_pieces(self, linear: Linear, layer: Layer, paths: tuple[str, ...], number: int, base: str | None) -> Linear:
        """A matrix that stands for several modules: each has the format that its own names say (MLX).

        Engines that multiply them in one product need one format for all: there one name says it for the matrix.
        """
        if not self.plan.whole:
            return self.put(linear, paths, number, base)
        rows: dict[str, int] = {}
        for piece, outputs in pieces(linear, layer):
            others = _OTHER_PIECES.get(piece, ())
            own = tuple(path for path in paths if path.rpartition(".")[2] not in others)
            form = self.form(linear, own, number, base)
            rows[form] = rows.get(form, 0) + outputs
        return msgspec.structs.replace(linear, format=mixed(tuple(rows.items())))

    def head(self, head: Linear, tied: bool, base: str | None) -> Linear:
        """The output matrix; a tied one is the table, which only MLX quantises."""
        plan = self.plan
        if plan.head_format is not None and not tied:
            base = plan.head_format
        elif plan.whole and tied and plan.table is not None:
            base = None if plan.table == "wide" else plan.table
        whole = plan.whole or (not tied and (plan.head or plan.head_format is not None))
        put = self.put(msgspec.structs.replace(head, pinned=not whole), _HEAD, OUTSIDE, base if whole else None)
        return msgspec.structs.replace(put, pinned=True)

    def table(self, hidden: int) -> str | None:
        """The format of the input tables; None: the dtype."""
        form = self.plan.table or (self.plan.base if self.plan.whole else None)
        divided = form is not None and form != "wide" and hidden % (format_named(form, None).block_inputs or 1) == 0
        return form if divided else None

    def layer(self, layer: Layer, number: int) -> Layer:
        base = None if self.plan.experts_only else self.plan.base
        projections = tuple(
            self.put_pieces(p, layer, tuple(paths_of(layer, p, "mixer")), number, base) for p in layer.projections
        )
        mlp = tuple(self.put_pieces(p, layer, tuple(paths_of(layer, p, "mlp")), number, base) for p in layer.mlp)
        experts = None if layer.experts is None else self.experts(layer, layer.experts, number)
        return msgspec.structs.replace(layer, projections=projections, mlp=mlp, experts=experts)

    def experts(self, layer: Layer, experts: Experts, number: int) -> Experts:
        base = self.plan.experts or self.plan.base
        whole = base if self.plan.whole else None

        def paths(name: str) -> tuple[str, ...]:
            return (*_expert_paths(name), *(_stacked_paths(name) if self.plan.whole else ()))

        linears = tuple(self.put_pieces(p, layer, paths(p.name), number, base) for p in experts.linears)
        routers = tuple(_router_paths())
        return msgspec.structs.replace(
            experts, linears=linears, router=self.put(experts.router, routers, number, whole)
        )


# What checkpoints call the modules of a fused matrix; a name of one piece says nothing of another.
_PIECES = {"q": ("q_proj", "wq"), "k": ("k_proj", "wk"), "v": ("v_proj", "wv"), "gate": ("gate_proj", "w1"),
           "up": ("up_proj", "w3"), "qkv": ("in_proj_qkv",), "z": ("in_proj_z",)}  # fmt: skip
_FUSED = (("q", "k", "v"), ("gate", "up"), ("qkv", "z"))
_OTHER_PIECES = {
    piece: tuple(leaf for other in fused if other != piece for leaf in _PIECES[other])
    for fused in _FUSED
    for piece in fused
}


def _divides(form: str, linear: Linear) -> bool:
    """Whether the groups of a format divide the rows of a matrix: MLX leaves others wide."""
    group = format_named(form, None).block_inputs
    return not group or linear.inputs // linear.groups % group == 0


def paths_of(layer: Layer, linear: Linear, role: str) -> Iterator[str]:
    """Modules of a layer that a matrix may stand for; role: mixer, mlp, experts or router."""
    if role == "mixer":
        return _paths(_holders(layer), linear.name)
    if role == "mlp":
        return _mlp_paths(linear.name)
    if role == "experts":
        return chain(_expert_paths(linear.name), _stacked_paths(linear.name))
    return _router_paths()


def _holders(layer: Layer) -> tuple[str, ...]:
    """What holds the mixer's modules."""
    mixer = layer.mixer
    return _RECURRENT.get(mixer.kind, ("mixer", "mamba")) if isinstance(mixer, Recurrent) else _ATTENTION


def _router_paths() -> Iterator[str]:
    return (f"{holder}.{leaf}" for holder in _FEED for leaf in ("gate", "router", "gate.wg", "router.gate"))


def _paths(holders: Iterable[str], name: str) -> Iterator[str]:
    for holder in holders:
        # Nemotron-H calls every mixer "mixer": out_proj there is the state-space layer's
        leaves = "o_proj" if (holder, name) == ("mixer", "o") else _LEAVES.get(name, name)
        for leaf in leaves.split():
            yield f"{holder}.{leaf}"


def _mlp_paths(name: str) -> Iterator[str]:
    if not name.startswith("shared_"):
        yield from _paths(_FEED, name)
        return
    if name == "shared_gate":
        yield from (f"{holder}.shared_expert_gate" for holder in _FEED)
        return
    shared = ("shared_experts", "shared_expert", "shared_mlp")
    holders = [f"{holder}.{inner}" for holder in _FEED for inner in shared]
    yield from _paths((*holders, "shared_mlp"), name.removeprefix("shared_"))


def _expert_paths(name: str) -> Iterator[str]:
    holders = [f"{holder}.experts{index}" for holder in _FEED for index in ("", ".0")]
    return _paths((*holders, "experts", "experts.0"), name)


def _stacked_paths(name: str) -> Iterator[str]:
    """All experts in one module, as mlx-lm keeps them; a pattern of others for mlp.gate_proj would match these too."""
    return _paths((*(f"{holder}.switch_mlp" for holder in _FEED), "switch_mlp"), name)


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """The text plan with a format on every matrix.

    table       of the input tables (None: the dtype)
    formats     that the quantisation brought in; doubts: what to warn of
    """

    text: Text
    table: str | None
    formats: tuple[str, ...]
    doubts: tuple[str, ...]


def apply(text: Text, plan: Plan | None, dtype: str) -> Placed:
    """Put the plan's formats on the matrices of a text model. Raises Endless where its patterns take too long."""
    placer = _Placer(plan or Plan(), dtype, sum(layer.count for layer in text.layers))
    layers: list[Layer] = []
    number = 0
    for layer in text.layers:
        if placer.by_layer:
            one = msgspec.structs.replace(layer, count=1)
            layers.extend(placer.layer(one, number + step) for step in range(layer.count))
        else:
            layers.append(placer.layer(layer, number))
        number += layer.count
    base = None if placer.plan.experts_only else placer.plan.base
    outside = tuple(placer.put(linear, (linear.name,), OUTSIDE, base) for linear in text.outside)
    head = text.head
    if head is not None:
        head = placer.head(head, text.tied, base)
    placed = msgspec.structs.replace(text, layers=stacked(layers), outside=outside, head=head)
    return Placed(
        text=placed,
        table=placer.table(text.hidden),
        formats=tuple(placer.used),
        doubts=tuple(_doubts(plan, placer)),
    )


def _doubts(plan: Plan | None, placer: _Placer) -> Iterator[str]:
    """A quantisation that changes nothing, and patterns that mean nothing here."""
    if plan is None:
        return
    if not placer.used and not plan.kv_format:
        yield f"the quantisation section changes no matrix of this model: all weights are counted as {placer.dtype}"
        return
    unmet = placer.listed.unmet
    if plan.whole:  # MLX names each module that differs as it is called, and no others
        unmet = [*unmet, *placer.listed.unmet_names, *placer.excluded.unmet, *placer.excluded.unmet_names]
    if unmet:
        more = f" and {len(unmet) - 3} more" if len(unmet) > 3 else ""
        yield f"the quantisation section names modules this model does not have: {', '.join(unmet[:3])}{more}"
