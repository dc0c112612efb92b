"""What must lie in device memory, and how many sequences fit beside it."""

from __future__ import annotations

import msgspec

from rooflight.errors import MissingFact, Named
from rooflight.numeric import Number, ceil, floor, maximum, minimum
from rooflight.scenario.assume import PREFILL_CHUNK_TOKENS
from rooflight.scenario.definite import Scenario
from rooflight.units import whole
from rooflight.values.analysis import MemoryBlock
from rooflight.values.model import Attention, LatentAttention, Model
from rooflight.work.count import (
    cache_elements,
    horizon,
    state_bytes,
    stored_format,
    table_bytes,
    tower_bytes,
    vector_format,
    window_elements,
)
from rooflight.work.layout import Layout, kv_share, local_sizes
from rooflight.work.numbers import Numbers
from rooflight.work.reach import held_positions
from rooflight.work.storage import element_bytes, linear_bytes


def device_weight_bytes(model: Model, layout: Layout) -> float:
    """Stored bytes on one device, stages taken as equal: matrices by their cut, tables and towers by tp."""
    wide = element_bytes(vector_format(model))
    total = table_bytes(model) / layout.tp + model.vector_parameters * wide
    total += tower_bytes(model) / layout.tp
    tables = list(model.outside) if model.head is None or model.tied else [*model.outside, model.head]
    for linear in tables:
        total += linear_bytes(linear, stored_format(linear)) * local_sizes(linear, layout.tp)[2]
    for layer in model.layers:
        held = layer.vector_parameters * wide
        for linear in (*layer.projections, *layer.mlp, *([layer.experts.router] if layer.experts else [])):
            held += linear_bytes(linear, stored_format(linear)) * local_sizes(linear, layout.tp)[2]
        if layer.experts is not None:
            one = sum(linear_bytes(linear, stored_format(linear)) for linear in layer.experts.linears)
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


def row_bytes(sc: Scenario) -> float:
    """Working memory of one token's row on its way through the widest layer, on one device."""
    model, cut = sc.model, sc.layout.tp
    widest = max(
        (local_sizes(linear, cut)[1] for layer in model.layers for linear in (*layer.projections, *layer.mlp)),
        default=model.hidden,
    )
    return (4 * model.hidden + 2 * widest) * sc.numbers.act_bytes


def chunk_bytes(sc: Scenario) -> Number:
    """Working memory of a prefill chunk, score matrix included where it is kept; on one device.

    An assumption, not a count: engines reuse buffers differently.
    """
    load = sc.workload
    rows = minimum(load.prefill_batch * load.isl, PREFILL_CHUNK_TOKENS)
    return rows * (row_bytes(sc) + _score_bytes(sc) * load.isl)


def decode_row_bytes(sc: Scenario) -> Number:
    """Working memory of one decoding sequence: its row, its scores where they are kept, its logits in fp32."""
    return row_bytes(sc) + _score_bytes(sc) * sequence_tokens(sc) + sc.model.vocab * 4 / sc.layout.tp


def _score_bytes(sc: Scenario) -> float:
    """Bytes of scores a query leaves in memory per key: none in flash attention, one per head in naive."""
    if sc.numbers.flash:
        return 0.0
    mixers = (layer.mixer for layer in sc.model.layers)
    heads = max((mixer.heads for mixer in mixers if isinstance(mixer, Attention | LatentAttention)), default=0)
    return heads / sc.layout.tp * sc.numbers.act_bytes


def sequence_tokens(sc: Scenario) -> Number:
    """Tokens a sequence may come to hold: isl + osl, or context + 1 where a context is given; drafted ones beside."""
    load = sc.workload
    return (load.isl + load.osl if load.context is None else load.context + 1) + load.draft_tokens


def device_memory_bytes(sc: Scenario) -> float:
    """Bytes one device can allocate; raises MissingFact where nobody published them."""
    if sc.accelerator.memory_bytes is None:
        raise MissingFact(
            f"{sc.accelerator.id} has no memory size, so whether the model fits cannot be told",
            where=sc.accelerator.origin or sc.accelerator.id,
            got="nothing",
            want='a [[fact]] with what = "memory-label" or "memory-usable"',
            try_this=Named("a file of your own with that fact: {on}", on="my-card.toml"),
        )
    return sc.accelerator.memory_bytes


def holds_weights(sc: Scenario) -> bool:
    """Whether the weights alone lie in the devices' memory; True where its size is in no source."""
    usable = sc.accelerator.memory_bytes
    return usable is None or device_weight_bytes(sc.model, sc.layout) <= usable


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """One device's memory, in bytes; every field may be an array.

    cache, row      what one more sequence takes: KV cache and state, and its row of working memory
    prompt          what one prompt holds once it is prefilled
    left            what weights, prefill chunk, engine and the withheld share leave for sequences
    """

    usable: float
    withheld: float
    weights: float
    chunk: Number
    engine: float
    cache: Number
    row: Number
    prompt: Number
    left: Number

    def fits(self, sequences: Number, prompts: Number) -> Number:
        """Whether so many sequences, or so many prompts being prefilled, fit beside the rest."""
        return maximum(sequences * (self.cache + self.row), prompts * self.prompt) <= self.left


def room(sc: Scenario) -> Room:
    """How the memory of one device is spent; raises MissingFact where its size is in no source."""
    usable = device_memory_bytes(sc)
    withheld = usable - usable * sc.deployment.gpu_memory_utilization
    weights = device_weight_bytes(sc.model, sc.layout)
    chunk, engine = chunk_bytes(sc), sc.accelerator.assumed.engine_reserve_bytes
    return Room(
        usable=usable,
        withheld=withheld,
        weights=weights,
        chunk=chunk,
        engine=engine,
        cache=device_sequence_bytes(sc.model, sequence_tokens(sc), sc.layout, sc.numbers),
        row=decode_row_bytes(sc) / sc.layout.pp,
        prompt=device_sequence_bytes(sc.model, sc.workload.isl, sc.layout, sc.numbers),
        left=usable - withheld - weights - chunk - engine,
    )


def admitted(sc: Scenario) -> Number:
    """Sequences that run at once on one replica in the steady state, as its memory allows; no whole number.

    A running sequence holds memory for its prompt and for a share of its output (Engine.reserved_output).
    """
    engine = sc.engine
    held = sc.workload.isl + sc.workload.osl * engine.reserved_output
    one = room(sc)
    of_free = (one.left + one.withheld) * sc.deployment.gpu_memory_utilization
    left = one.left + (of_free - one.left) * engine.withheld_of_free
    cache = device_sequence_bytes(sc.model, held, sc.layout, sc.numbers)
    return maximum(left / (cache + one.row), 0.0)


def memory(sc: Scenario) -> MemoryBlock:
    """The memory of the whole deployment (of workers apart: of those that decode), and the largest batch that fits.

    Raises MissingFact.
    """
    one, layout = room(sc), sc.layout
    devices, replica = layout.devices * decode_workers(sc), layout.tp * layout.pp
    activations = one.chunk * devices + one.row * sc.workload.batch * replica
    return MemoryBlock(
        weights_bytes=whole(one.weights * devices),
        kv_bytes=whole(one.cache * sc.workload.batch * replica),
        reserve_bytes=whole(activations + (one.engine + one.withheld) * devices),
        usable_bytes=whole(one.usable * devices),
        fits=bool(all_fit(sc, one)),
        max_batch=int(largest_batch(sc, one)),
        activation_bytes=whole(activations),
        engine_bytes=whole(one.engine * devices),
        withheld_bytes=whole(one.withheld * devices),
        kv_bytes_per_sequence=whole(one.cache * replica),
    )


def decode_workers(sc: Scenario) -> int:
    """Workers that decode: one, where they are not apart."""
    return sc.deployment.decode_workers or 1


def all_fit(sc: Scenario, one: Room) -> Number:
    """Whether all sequences of the workload, and all prompts prefilled together, fit at once; elementwise."""
    asked, load = sc.deployment, sc.workload
    prefilling = (asked.prefill_workers or 1) * (asked.prefill_dp or sc.layout.dp)
    return one.fits(ceil(load.batch / (sc.layout.dp * decode_workers(sc))), ceil(load.prefill_batch / prefilling))


def largest_batch(sc: Scenario, one: Room) -> Number:
    """Sequences that all replicas hold at most, elementwise."""
    return max_batch(one) * sc.layout.dp * decode_workers(sc)


def max_batch(one: Room) -> Number:
    """Sequences one replica holds at most, elementwise."""
    return maximum(floor(one.left / (one.cache + one.row)), 0)
