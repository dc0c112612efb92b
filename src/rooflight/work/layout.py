"""How a plan is shared among devices: degrees of parallelism, shares of a matrix, what divides and what does not."""

from __future__ import annotations

import math

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.numeric import Number, capped
from rooflight.values.model import Attention, LatentAttention, Linear, Model, Recurrent


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Degrees of parallelism. Devices = tp x pp x dp; ep spreads the experts over groups of those.

    Attention and dense matrices are cut by tp and copied dp times. Experts are cut among max(ep, tp) devices:
    whole experts by ep, and below ep = tp the rest of the cut goes through each expert. Above ep = tp the
    experts of ep / tp replicas are pooled, and tokens travel to them (all-to-all).
    in_switch: the link adds up in flight. domain: devices it joins; 0: all.
    """

    tp: int = 1
    pp: int = 1
    ep: int = 1
    dp: int = 1
    in_switch: bool = False
    domain: int = 0

    @property
    def devices(self) -> int:
        return self.tp * self.pp * self.dp

    @property
    def pooled(self) -> int:
        """Replicas that share one set of experts."""
        return max(1, self.ep // self.tp)

    @property
    def expert_cut(self) -> int:
        """Devices over which one expert's matrices are cut."""
        return max(1, self.tp // self.ep)


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Devices that talk to each other: `local` of them in each of `domains` (an uneven split: their mean)."""

    local: float
    domains: int = 1

    @property
    def devices(self) -> float:
        """All of them."""
        return self.local * self.domains


def tensor_group(layout: Layout) -> Group:
    """The devices of a tensor-parallel group: neighbours."""
    return _neighbours(layout.tp, layout.domain)


def expert_group(layout: Layout) -> Group:
    """The devices that share a set of experts: the tensor groups of `pooled` replicas, a replica's stages apart."""
    stride, domain = layout.tp * layout.pp, layout.domain
    if layout.pp == 1 or not domain or layout.ep <= layout.tp:
        return _neighbours(layout.ep, domain)
    if layout.tp >= domain:
        return _neighbours(layout.ep, domain)
    together = min(layout.pooled, max(1, domain // stride))
    domains = -(-layout.pooled // together)
    return Group(local=layout.ep / domains, domains=domains)


def packed_domains(layout: Layout) -> int:
    """The fewest domains that the devices sharing a set of experts could lie in, however an engine places them."""
    return -(-layout.ep // layout.domain) if layout.domain else 1


def hops(layout: Layout) -> tuple[int, int]:
    """Of the pp - 1 hops between stages, (those within a domain, those across): stages are the next devices after tp.

    Engines place tensor ranks innermost, then stages, then replicas, and a replica begins with a domain.
    Source: vLLM parallel_state.py (ranks as data x pipeline x tensor). tp 8, pp 2 on nodes of 8: one hop, across.
    """
    domain, width = layout.domain, layout.tp
    if not domain:
        return layout.pp - 1, 0
    across = sum(stage * width // domain != (stage + 1) * width // domain for stage in range(layout.pp - 1))
    return layout.pp - 1 - across, across


def crossing(layout: Layout) -> tuple[str, ...]:
    """The degrees whose devices talk across domains: tp, pp, ep."""
    across = {
        "tp": tensor_group(layout).domains > 1,
        "pp": hops(layout)[1] > 0,
        "ep": layout.pooled > 1 and expert_group(layout).domains > 1,
    }
    return tuple(name for name, is_across in across.items() if is_across)


def _neighbours(devices: int, domain: int) -> Group:
    domains = -(-devices // domain) if domain else 1
    return Group(local=devices / domains, domains=domains)


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """How sequences fall on replicas and pipeline passes; may hold arrays.

    sequences   in one pass of one replica that has work
    passes      micro-batches that fill the pipeline at once, per replica
    replicas    that have work of their own
    """

    sequences: Number
    passes: Number
    replicas: Number


def share_out(batch: Number, layout: Layout) -> Share:
    """Spread `batch` sequences over dp replicas and up to pp micro-batches each, as evenly as can be.

    Fractions are averages; below one sequence a replica (or a pass) stays idle instead.
    """
    replicas = capped(batch, layout.dp)
    each = batch / replicas
    passes = capped(each, layout.pp)
    return Share(sequences=each / passes, passes=passes, replicas=replicas)


def kv_share(kv_heads: int, tp: int) -> float:
    """The part of K and V one device holds: 1/tp, but never less than one head."""
    return max(1 / tp, 1 / kv_heads) if kv_heads else 1 / tp


def local_sizes(linear: Linear, cut: int) -> tuple[float, float, float]:
    """(inputs, outputs, share of the stored bytes) of a matrix on one of `cut` tensor-parallel devices."""
    if linear.split == "none" or cut == 1:
        return linear.inputs, linear.outputs, 1.0
    if linear.split == "row":
        return linear.inputs / cut, linear.outputs, 1 / cut
    own = (linear.outputs - linear.kv_outputs) / cut + linear.kv_outputs * kv_share(linear.kv_heads, cut)
    return linear.inputs, own, own / linear.outputs


def check_layout(model: Model, layout: Layout) -> None:
    """Refuse degrees the model or the devices cannot be cut by. Raises BadInput with what would divide."""
    for layer in model.layers:
        mixer = layer.mixer
        heads = mixer.heads if isinstance(mixer, Attention | LatentAttention | Recurrent) else 0
        if heads and layout.tp > 1 and heads % layout.tp:
            raise _does_not_divide("tp", layout.tp, heads, f"the {heads} heads of {model.id}'s {layer.kind} layers")
        if isinstance(mixer, Attention) and mixer.kv_heads % layout.tp and layout.tp % mixer.kv_heads:
            raise _does_not_divide("tp", layout.tp, mixer.kv_heads, f"the {mixer.kv_heads} KV heads of {model.id}")
    depth = sum(layer.count for layer in model.layers)
    if layout.pp > depth:
        raise BadInput(
            f"{layout.pp} pipeline stages are more than the {depth} layers of {model.id}",
            where=Named.of("pp"), got=layout.pp, want=f"1 to {depth}",
        )  # fmt: skip
    _check_experts(model, layout)


def _check_experts(model: Model, layout: Layout) -> None:
    experts = [layer.experts.count for layer in model.layers if layer.experts is not None]
    if layout.ep == 1:
        return
    if not experts:
        raise BadInput(f"{model.id} has no routed experts to spread", where=Named.of("ep"), got=layout.ep, want="1")
    group = layout.tp * layout.dp
    if group % layout.ep or (layout.ep % layout.tp and layout.tp % layout.ep):
        fits = [d for d in _divisors(group) if d % layout.tp == 0 or layout.tp % d == 0]
        raise BadInput(
            f"{layout.ep} does not divide the {group} devices that hold the experts (tp {layout.tp} x dp {layout.dp})",
            where=Named.of("ep"), got=layout.ep, want="one of " + ", ".join(map(str, fits)),
        )  # fmt: skip
    if layout.ep > min(experts):
        raise BadInput(
            f"{layout.ep} devices are more than the {min(experts)} experts of {model.id}",
            where=Named.of("ep"), got=layout.ep, want=f"1 to {min(experts)}",
        )  # fmt: skip


def _does_not_divide(name: str, degree: int, heads: int, what: str) -> BadInput:
    return BadInput(
        f"{name} {degree} does not divide {what}",
        where=Named.of(name),
        got=degree,
        want="one of " + ", ".join(map(str, _divisors(heads))),
        try_this=Named(f"{{{name}}}, and {{pp}} or {{dp}} for the other devices", **{name: _nearest(degree, heads)}),
    )


def _nearest(degree: int, heads: int) -> int:
    """The degree to try: the widest that also divides the devices asked for, where any does; else the next below."""
    shared = math.gcd(degree, heads)
    return shared if shared > 1 else max(d for d in _divisors(heads) if d <= degree)


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, min(number, 1024) + 1) if number % d == 0]
