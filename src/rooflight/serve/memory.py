"""What must lie in device memory, and how many sequences fit beside it."""

from __future__ import annotations

import math

import msgspec

from rooflight.errors import MissingFact
from rooflight.numeric import Number, maximum, minimum
from rooflight.serve.scenario import Scenario
from rooflight.spec.analysis import MemoryBlock
from rooflight.spec.model import Attention, LatentAttention, Model
from rooflight.work.count import cache_elements, horizon, state_bytes, stored_format, tower_bytes, window_elements
from rooflight.work.layout import Layout, kv_share, local_sizes
from rooflight.work.numbers import Numbers
from rooflight.work.reach import held_positions
from rooflight.work.storage import element_bytes, linear_bytes
from rooflight.units import whole

# Prompt tokens an engine runs through the model at once; longer prompts are chunked (vLLM's default on large GPUs).
PREFILL_CHUNK_TOKENS = 8192


def device_weight_bytes(model: Model, layout: Layout, numbers: Numbers) -> float:
    """Stored bytes on one device, stages taken as equal: matrices by their cut, tables and towers by tp."""
    wide = element_bytes(model.dtype)
    total = model.embedding_parameters * wide / layout.tp + model.vector_parameters * wide
    total += tower_bytes(model) / layout.tp
    tables = list(model.outside) if model.head is None or model.tied else [*model.outside, model.head]
    for linear in tables:
        total += linear_bytes(linear, stored_format(linear, numbers.weights)) * local_sizes(linear, layout.tp)[2]
    for layer in model.layers:
        held = layer.vector_parameters * wide
        for linear in (*layer.projections, *layer.mlp, *([layer.experts.router] if layer.experts else [])):
            held += linear_bytes(linear, stored_format(linear, numbers.weights)) * local_sizes(linear, layout.tp)[2]
        if layer.experts is not None:
            one = sum(linear_bytes(linear, stored_format(linear, numbers.weights)) for linear in layer.experts.linears)
            held += layer.experts.count * one / max(layout.ep, layout.tp)
        total += layer.count * held
    return total / layout.pp


def device_sequence_bytes(model: Model, tokens: Number, layout: Layout, numbers: Numbers) -> Number:
    """KV cache and state one device holds for a sequence of `tokens` tokens; latents are on every tensor rank."""
    total: Number = 0.0
    for layer in model.layers:
        mixer = layer.mixer
        share = kv_share(mixer.kv_heads, layout.tp) if isinstance(mixer, Attention) else 1.0
        if isinstance(mixer, Attention | LatentAttention):
            bounded = horizon(mixer)
            positions = held_positions(mixer.reach, tokens)
            total = total + layer.count * cache_elements(mixer) * share * positions * numbers.kv_bytes
            if mixer.reach.stride > 1 and bounded is not None:
                total = total + layer.count * window_elements(mixer) * share * bounded * numbers.kv_bytes
        total = total + layer.count * state_bytes(mixer, numbers.act_bytes) / layout.tp
    return total / layout.pp


def device_activation_bytes(sc: Scenario) -> Number:
    """Working memory of the largest pass: the widest rows of a prefill chunk, and the logits in fp32.

    An assumption, not a count: engines reuse buffers differently.
    """
    model, load, layout = sc.model, sc.workload, sc.layout
    widest = max(
        (local_sizes(linear, layout.tp)[1] for layer in model.layers for linear in (*layer.projections, *layer.mlp)),
        default=model.hidden,
    )
    chunk = minimum(maximum(load.prefill_batch * load.isl, load.batch), PREFILL_CHUNK_TOKENS)
    rows = chunk * (4 * model.hidden + 2 * widest) * sc.numbers.act_bytes
    logits = maximum(load.batch, load.prefill_batch) * model.vocab * 4 / layout.tp
    if sc.numbers.flash:
        return rows + logits
    heads = max((m.heads for m in (layer.mixer for layer in model.layers) if isinstance(m, Attention | LatentAttention)), default=0)
    return rows + logits + load.prefill_batch * heads / layout.tp * load.isl**2 * sc.numbers.act_bytes


def sequence_tokens(sc: Scenario) -> Number:
    """Tokens a sequence may come to hold: isl + osl, or context + 1 where a context is given."""
    return sc.workload.isl + sc.workload.osl if sc.workload.context is None else sc.workload.context + 1


def device_memory_bytes(sc: Scenario) -> float:
    """Bytes one device can allocate; raises MissingFact where nobody published them."""
    if sc.accelerator.memory_bytes is None:
        raise MissingFact(
            f"{sc.accelerator.id} has no memory size, so whether the model fits cannot be told",
            where=sc.accelerator.origin or sc.accelerator.id,
            got="nothing",
            want='a [[fact]] with what = "memory-label" or "memory-usable"',
            try_this="a file of your own with that fact: --on my-card.toml",
        )
    return sc.accelerator.memory_bytes


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """One device's memory, in bytes; every field may be an array.

    sequence    what one sequence holds; left: what weights, activations, engine and the withheld share leave
    """

    usable: float
    withheld: float
    weights: float
    activations: Number
    engine: float
    sequence: Number
    left: Number

    def fits(self, sequences: Number) -> Number:
        """Whether so many sequences fit beside the rest."""
        return sequences * self.sequence <= self.left


def room(sc: Scenario) -> Room:
    """How the memory of one device is spent; raises MissingFact where its size is in no source."""
    usable = device_memory_bytes(sc)
    withheld = usable - usable * sc.deployment.gpu_memory_utilization
    weights = device_weight_bytes(sc.model, sc.layout, sc.numbers)
    activations, engine = device_activation_bytes(sc), sc.accelerator.assumed.engine_reserve_bytes
    return Room(
        usable=usable,
        withheld=withheld,
        weights=weights,
        activations=activations,
        engine=engine,
        sequence=device_sequence_bytes(sc.model, sequence_tokens(sc), sc.layout, sc.numbers),
        left=usable - withheld - weights - activations - engine,
    )


def memory(sc: Scenario) -> MemoryBlock:
    """The memory of the whole deployment, and the largest batch that fits; raises MissingFact."""
    one, layout = room(sc), sc.layout
    devices, replica = layout.devices, layout.tp * layout.pp
    return MemoryBlock(
        weights_bytes=whole(one.weights * devices),
        kv_bytes=whole(one.sequence * sc.workload.batch * replica),
        reserve_bytes=whole((one.activations + one.engine + one.withheld) * devices),
        usable_bytes=whole(one.usable * devices),
        fits=bool(one.fits(math.ceil(sc.workload.batch / layout.dp))),
        max_batch=max_batch(one) * layout.dp,
        activation_bytes=whole(one.activations * devices),
        engine_bytes=whole(one.engine * devices),
        withheld_bytes=whole(one.withheld * devices),
        kv_bytes_per_sequence=whole(one.sequence * replica),
    )


def max_batch(one: Room) -> int:
    """Sequences a replica holds at most; a model without cache or state is bounded by 2^31 alone."""
    if one.left <= 0:
        return 0
    return math.floor(one.left / one.sequence) if one.sequence > 0 else 2**31


def max_batches(one: Room) -> Number:
    """max_batch, elementwise."""
    import numpy as np

    left, sequence = np.asarray(one.left, dtype=float), np.asarray(one.sequence, dtype=float)
    bound = np.full(np.broadcast_shapes(left.shape, sequence.shape), 2.0**31)
    np.divide(left, sequence, out=bound, where=sequence > 0)
    return np.where(left <= 0, 0, np.floor(bound)).astype(np.int64)
