"""What of a deployment lies in the host's memory, and what that leaves on the devices."""

from __future__ import annotations

from rooflight.numeric import Number, maximum
from rooflight.scenario.definite import Scenario
from rooflight.serve.held import device_sequence_bytes, device_weight_bytes, sequence_tokens
from rooflight.values.held import HostMemory
from rooflight.values.model import Model
from rooflight.work.count import stored_format
from rooflight.work.layout import Layout
from rooflight.work.places import device_model, with_experts_aside
from rooflight.work.storage import linear_bytes


def hosted_weight_bytes(sc: Scenario) -> float:
    """Stored weights of one replica that lie on the host, streamed ones included."""
    beside = sc.rates.beside
    if beside is None:
        return 0.0
    kept = device_model(sc.model, beside.split)
    there = device_weight_bytes(sc.model, Layout()) - device_weight_bytes(kept, Layout())
    aside = with_experts_aside(sc.model, beside.split)
    there += 0.0 if aside is None else _expert_bytes(aside)
    return there + beside.streamed_bytes * sc.layout.tp * sc.layout.pp


def _expert_bytes(model: Model) -> float:
    held = 0.0
    for layer in model.layers:
        if layer.experts is not None:
            one = sum(linear_bytes(linear, stored_format(linear)) for linear in layer.experts.linears)
            held += layer.count * layer.experts.count * one
    return held


def device_cache_share(sc: Scenario) -> float:
    """Of the cache, the share that lies on the devices: that of their layers."""
    beside = sc.rates.beside
    if beside is None:
        return 1.0
    if beside.split.cache:
        return 0.0
    if not beside.split.layers:
        return 1.0
    whole = device_sequence_bytes(sc.model, 1, Layout(), sc.numbers)
    here = device_sequence_bytes(device_model(sc.model, beside.split), 1, Layout(), sc.numbers)
    return float(here / whole) if whole else 1.0


def hosted(sc: Scenario) -> HostMemory | None:
    """The host's memory as an answer; None where nothing lies there."""
    beside = sc.rates.beside
    if beside is None:
        return None
    cache = _sequence_bytes(sc) * sc.workload.batch
    weights, usable = hosted_weight_bytes(sc), beside.rates.accelerator.given_bytes
    return HostMemory(
        weights_bytes=weights, kv_bytes=float(cache), usable_bytes=usable,
        fits=None if usable is None else bool(weights + cache <= usable),
        memory_bytes_per_s=beside.rates.memory_bytes_per_s, link_bytes_per_s=beside.link_bytes_per_s,
    )  # fmt: skip


def _sequence_bytes(sc: Scenario) -> Number:
    """What one sequence has of its cache on the host."""
    return device_sequence_bytes(sc.model, sequence_tokens(sc), Layout(), sc.numbers) * (1 - device_cache_share(sc))


def host_sequences(sc: Scenario) -> Number | None:
    """How many sequences' part of the cache the host's memory holds beside weights; None where it sets no bound."""
    beside = sc.rates.beside
    usable = None if beside is None else beside.rates.accelerator.given_bytes
    if usable is None or device_cache_share(sc) >= 1:
        return None
    return (usable - hosted_weight_bytes(sc)) / maximum(_sequence_bytes(sc), 1.0)


def host_holds(sc: Scenario) -> bool:
    """Whether the host's memory holds the weights that lie there; where its size is not known it may."""
    beside = sc.rates.beside
    usable = None if beside is None else beside.rates.accelerator.given_bytes
    return usable is None or hosted_weight_bytes(sc) <= usable
