"""The memory of a deployment as an answer, and how many sequences fit into it."""

from __future__ import annotations

from msgspec import UNSET

from rooflight.numeric import Number, ceil, floor, maximum, minimum
from rooflight.scenario.definite import Scenario
from rooflight.serve.held import held_bytes
from rooflight.serve.hosted import device_cache_share, hosted
from rooflight.serve.pool import pool
from rooflight.serve.room import Room, decode_workers, holds_elsewhere, room, share_needed, share_used
from rooflight.units import whole
from rooflight.values.held import BOUNDLESS, MemoryBlock
from rooflight.work.adapters import device_adapter_bytes


def admitted(sc: Scenario) -> Number:
    """Sequences that run at once on one replica in the steady state, as its memory allows; no whole number.

    A running sequence holds memory for its prompt and for a share of its output (Engine.reserved_output).
    """
    held = sc.workload.isl + sc.workload.osl * sc.engine.reserved_output
    one = room(sc)
    cache = held_bytes(sc, ceil(held)) * device_cache_share(sc)
    return maximum(one.left / maximum(cache + one.row, 1.0), 0.0)


def memory(sc: Scenario) -> MemoryBlock:
    """The memory of the whole deployment (of workers apart: of those that decode), its pool, and the largest batch."""
    one, layout = room(sc), sc.layout
    known = sc.accelerator.given_bytes is not None
    told = room_told(sc)
    devices, replica = layout.devices * decode_workers(sc), layout.tp * layout.pp
    activations = one.chunk * devices + one.row * sc.workload.batch * replica
    # what the host shares of a cache is in no pool of the devices
    found = None if device_cache_share(sc) < 1 else pool(sc, one)
    weights, load = one.weights * devices, sc.workload
    prompts = load.prefill_batch if sc.deployment.prefill_on is None else 0
    cache = max(one.cache * load.batch, one.prompt * prompts) * replica
    return MemoryBlock(
        weights_bytes=whole(weights),
        kv_bytes=whole(cache),
        reserve_bytes=whole(activations + (one.engine + one.withheld) * devices),
        usable_bytes=whole(one.usable * devices) if known else None,
        needed_bytes=whole(weights + cache + activations + one.engine * devices),
        allowed_bytes=whole(_allowed(sc, one) * devices) if known else None,
        kv_pool_bytes=None if found is None else found.bytes.expected,
        kv_tokens=None if found is None else int(found.tokens.expected),
        fits=bool(all_fit(sc, one)) if told else None,
        host=hosted(sc),
        max_batch=int(largest_batch(sc, one)) if told else None,
        activation_bytes=whole(activations),
        engine_bytes=whole(one.engine * devices),
        withheld_bytes=whole(one.withheld * devices),
        kv_bytes_per_sequence=whole(one.cache * replica),
        kv_pool=found,
        share=share_used(sc, one),
        share_needed=share_needed(sc, one),
        adapter_bytes_or_absent=UNSET if sc.model.adapters is None else whole(
            device_adapter_bytes(sc.model, layout) * devices
        ),
    )  # fmt: skip


def room_told(sc: Scenario) -> bool:
    """Whether it is known how many fit: a source has the devices' size, or what lies elsewhere is too much already."""
    return sc.accelerator.given_bytes is not None or not holds_elsewhere(sc)


def _allowed(sc: Scenario, one: Room) -> Number:
    """What may be taken of a device: all that the share leaves; where a default leaves no room, the label in full."""
    leaves_none = not one.relaxed and not sc.share.stated and one.left < one.each
    most = sc.accelerator.most_bytes if leaves_none and holds_elsewhere(sc) else None
    return one.usable - one.withheld if most is None else most


def all_fit(sc: Scenario, one: Room) -> Number:
    """Whether all sequences of the workload, and all prompts prefilled together, fit at once; elementwise."""
    asked, load = sc.deployment, sc.workload
    prefilling = (asked.prefill_workers or 1) * (asked.prefill_dp or sc.layout.dp)
    prompts = ceil(load.prefill_batch / prefilling) if asked.prefill_on is None else 0  # elsewhere: room has its say
    return one.fits(ceil(load.batch / (sc.layout.dp * decode_workers(sc))), prompts)


def largest_batch(sc: Scenario, one: Room) -> Number:
    """Sequences that all replicas hold at most, elementwise."""
    return max_batch(one) * sc.layout.dp * decode_workers(sc)


def max_batch(one: Room) -> Number:
    """Sequences one replica holds at most, elementwise."""
    return floor(minimum(maximum(one.left / one.each, 0), BOUNDLESS))
