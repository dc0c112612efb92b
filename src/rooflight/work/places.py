"""Which operators of a step run where: on unlike devices in turn, or with a part in the memory of a host."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import msgspec

from rooflight.values.model import Layer, Model
from rooflight.values.work import Operator
from rooflight.work.collectives import hop_rows
from rooflight.work.layout import Layout
from rooflight.work.numbers import Numbers
from rooflight.work.step import Step, operators

# What holds the cache (or the state that stands for it).
_CACHING = ("attention", "recurrent")
_OUTSIDE = ("embedding", "final_norm")


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """What lies in the host's memory: the first so many layers, the head, experts of the first so many, the cache."""

    layers: int = 0
    head: bool = False
    experts: int = 0
    cache: bool = False


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """Operators by place. Layers of the host come in turn; what else lies there is read beside the device's memory.

    beside  of the device's layers, on the host: their weights lie there; cached: their cache does
    turn    of the host's own layers; turn_cached: their attention, which stays where their cache is
    """

    device: tuple[Operator, ...]
    beside: tuple[Operator, ...]
    cached: tuple[Operator, ...]
    turn: tuple[Operator, ...]
    turn_cached: tuple[Operator, ...]


def stack(model: Model) -> Iterable[tuple[int, int]]:
    """The layers in order: (which of model.layers, how many in a row)."""
    return model.runs or tuple((index, layer.count) for index, layer in enumerate(model.layers))


def layer_count(model: Model) -> int:
    """All layers."""
    return sum(layer.count for layer in model.layers)


def cut(model: Model, first: int, last: int) -> Model:
    """The model with layers first .. last - 1 of its stack alone; tables and head as they are."""
    counts = [0] * len(model.layers)
    at = 0
    for index, many in stack(model):
        counts[index] += max(0, min(last, at + many) - max(first, at))
        at += many
    kept: tuple[Layer, ...] = tuple(
        msgspec.structs.replace(layer, count=count) for layer, count in zip(model.layers, counts, strict=True) if count
    )
    return msgspec.structs.replace(model, layers=kept, runs=())


def device_model(model: Model, split: Split) -> Model:
    """What of the model lies on the devices, its experts included wherever they are."""
    kept = cut(model, split.layers, layer_count(model)) if split.layers else model
    return msgspec.structs.replace(kept, head=None) if split.head else kept


def host_model(model: Model, split: Split) -> Model:
    """The host's own layers, and the head where that is there; no tables."""
    return msgspec.structs.replace(
        cut(model, 0, split.layers), head=model.head if split.head else None, outside=(), vector_parameters=0,
        vector_bytes=0.0,
    )  # fmt: skip


def with_experts_aside(model: Model, split: Split) -> Model | None:
    """The devices' layers whose experts lie on the host; None where there are none."""
    if split.experts <= split.layers:
        return None
    found = msgspec.structs.replace(cut(model, split.layers, split.experts), head=None, outside=())
    return found if any(layer.experts is not None for layer in found.layers) else None


def handovers(model: Model, split: Split) -> int:
    """How often a pass goes to the host and back: once to its own layers, and for each layer of which a part is there.

    Check by hand: 48 routed layers, experts of 20 on the host -> 20; the cache there -> all layers that have one.
    """
    there = int(bool(split.layers or split.head))
    at = 0
    for index, many in stack(model):
        layer = model.layers[index]
        for place in range(max(at, split.layers), at + many):
            there += split.cache or (layer.experts is not None and place < split.experts)
        at += many
    return there


def placed(model: Model, split: Split, step: Step, layout: Layout, numbers: Numbers) -> Placed:
    """The operators of one pass by place: those of the host for one device that does them all."""
    aside = with_experts_aside(model, split)
    rest = msgspec.structs.replace(split, layers=max(split.layers, split.experts)) if aside is not None else split
    device = operators(device_model(model, rest), step, layout, numbers)
    beside: tuple[Operator, ...] = ()
    if aside is not None:
        inner = _inside(operators(aside, step, layout, numbers))
        device += _kept(inner, lambda op: not _of_experts(op))
        alone = _inside(operators(aside, step, Layout(), numbers))
        beside = _kept(alone, _of_experts)
    cached: tuple[Operator, ...] = ()
    if split.cache:
        whole = device_model(model, split)
        cached = _kept(operators(whole, step, Layout(), numbers), _caches)
        device = _kept(device, lambda op: not _caches(op))
    turn = operators(host_model(model, split), step, Layout(), numbers) if split.layers or split.head else ()
    turn = _inside(turn)
    return Placed(
        device=device, beside=beside, cached=cached,
        turn=_kept(turn, lambda op: not _caches(op)), turn_cached=_kept(turn, _caches),
    )  # fmt: skip


def shares(sizes: Sequence[float], layers: int) -> tuple[int, ...]:
    """How many of a stack's layers each of several devices takes, in proportion to their sizes, in whole layers.

    The rest of a division goes where most is left over; what takes a layer less than one still takes one. Check by
    hand: sizes 24 and 12, 80 layers -> 53 and 27. Raises ValueError for fewer layers than devices.
    """
    if layers < len(sizes):
        raise ValueError("fewer layers than devices")
    exact = [layers * size / sum(sizes) for size in sizes]
    found = [max(1, math.floor(one)) for one in exact]
    while sum(found) != layers:
        more = 1 if sum(found) < layers else -1
        open_ = [at for at in range(len(found)) if more > 0 or found[at] > 1]
        found[max(open_, key=lambda at: (more * (exact[at] - found[at]), -at))] += more
    return tuple(found)


def stage_model(model: Model, first: int, last: int) -> Model:
    """The model of a device that holds layers first .. last - 1: what is before all layers with the first of them, the
    head behind the last."""
    kept = cut(model, first, last)
    if first:
        kept = msgspec.structs.replace(kept, outside=(), encodes=(), towers=(), table_bytes=0.0, tied=False)
    if last < layer_count(model):
        kept = msgspec.structs.replace(kept, head=None)
    return kept


def in_turn(
    model: Model, cuts: Sequence[tuple[int, int]], step: Step, layout: Layout, numbers: Numbers
) -> tuple[tuple[Operator, ...], ...]:
    """The operators of one pass through devices that hold layers first .. last - 1 each, hops with the first of them.

    layout      of all: a stage a device
    """
    alone = msgspec.structs.replace(layout, pp=1)
    found = []
    for first, last in cuts:
        ops = operators(stage_model(model, first, last), step, alone, numbers)
        ops = ops if not first else _kept(ops, lambda op: op.name != "embedding")
        found.append(ops if last == layer_count(model) else _kept(ops, lambda op: op.name != "final_norm"))
    sent = tuple(op for _, _, op in hop_rows(model, step.tokens, layout, numbers))
    return (found[0] + sent, *found[1:])


def _inside(ops: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """Without what is no layer's."""
    return _kept(ops, lambda op: op.name not in _OUTSIDE)


def _of_experts(op: Operator) -> bool:
    return op.kind == "experts" or op.name.startswith("expert_act")


def _caches(op: Operator) -> bool:
    return op.kind in _CACHING


def _kept(ops: tuple[Operator, ...], keep: Callable[[Operator], bool]) -> tuple[Operator, ...]:
    return tuple(op for op in ops if keep(op))
