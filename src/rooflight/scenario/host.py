"""The host beside the devices, as a deployment asks for it: what lies there, its rates, and what is assumed of it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.catalog.accelerators import host_assumed, host_habits, load
from rooflight.errors import BadInput, MissingFact, Named
from rooflight.roofline.rates import Beside, Rates
from rooflight.roofline.rates import rates as rates_of
from rooflight.units import network
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import Deployment
from rooflight.values.model import Model
from rooflight.values.note import Note
from rooflight.work.count import is_encoder, weight_bytes
from rooflight.work.layout import Layout
from rooflight.work.places import Split, handovers, layer_count


def with_host(rates: Rates, model: Model, deployment: Deployment, layout: Layout) -> Rates:
    """The rates with the host beside; as they are where nothing lies there.

    Raises BadInput for what no host can take, MissingFact for a link nobody knows that is streamed over.
    """
    split, streamed = split_of(model, deployment), float(deployment.cpu_offload_gb or 0.0)
    if split == Split() and not streamed:
        return rates
    card = rates.accelerator
    _check(card, deployment, split, layout)
    streamed = min(streamed, weight_bytes(model) / (layout.tp * layout.pp))
    link = card.cpu_link_bytes_per_s or card.pcie_bytes_per_s
    if deployment.host_link is not None:
        link = network(deployment.host_link)[0]
    if streamed and link is None:
        raise MissingFact(
            f"{card.id} has no PCIe rate, so what streams over it cannot be bounded", where=card.origin or card.id,
            got="nothing", want='a [[fact]] with what = "pcie"', try_this=Named("{host_link}", host_link="25GB/s"),
        )  # fmt: skip
    host = host_of(card, deployment)
    there = rates_of(host, Layout(), graphs=True)
    if deployment.host_cpu is None or not host.peak_flop_per_s:
        # what its caches held would take no time where what it multiplies is not counted
        there = msgspec.structs.replace(there, cache_bytes=0.0)
    if link is not None:  # what it carries comes out of that memory
        link = min(link, host.fast_memory_bytes_per_s or host.memory_bytes_per_s or link)
    reached, least, handover_s = host_habits()
    beside = Beside(
        rates=there, split=split, streamed_bytes=streamed, link_bytes_per_s=link, devices=layout.tp * layout.pp,
        reached=reached, least=least, handover_s=handover_s * handovers(model, split),
    )  # fmt: skip
    return msgspec.structs.replace(rates, beside=beside)


def split_of(model: Model, deployment: Deployment) -> Split:
    """What lies in the host's memory.

    llama.cpp: layers from n_layer + 1 - n_gpu_layers on are on the GPU, the head being the last. Source:
    llama-model.cpp, load_tensors, i_gpu_start (with + 1 since late 2025; before it the head came last).
    Check: 80 layers, n_gpu_layers 55 -> 26 on the host; 80 -> 1; 0 -> 80 and the head.
    """
    layers, stated = layer_count(model), deployment.n_gpu_layers
    there, head = 0, False
    if stated is not None:
        there, head = min(max(layers + 1 - stated, 0), layers), stated == 0
    if not deployment.kv_offload and is_encoder(model):
        raise BadInput(
            f"{model.id} keeps no cache that could lie on the host", where=Named.of("kv_offload"), got="kept there",
            want="a model that decodes",
        )  # fmt: skip
    experts = layers if deployment.cpu_moe else min(deployment.n_cpu_moe or 0, layers)
    if experts and not any(layer.experts is not None for layer in model.layers):
        raise BadInput(
            f"{model.id} has no routed experts to keep on the host", where=Named.of("cpu_moe", "n_cpu_moe"),
            got=experts, want="a mixture of experts", try_this=Named("{n_gpu_layers}", n_gpu_layers=layers // 2),
        )  # fmt: skip
    return Split(
        layers=there, head=head and model.head is not None, experts=experts, cache=not deployment.kv_offload
    )  # fmt: skip


def host_of(card: Accelerator, deployment: Deployment) -> Accelerator:
    """The host that is named, with what is stated of it; else an assumed one."""
    stated = deployment.host_memory_bandwidth
    rate = None if stated is None else network(stated)[0]
    size = None if deployment.host_memory is None else float(deployment.host_memory)
    if deployment.host_cpu is None:
        return host_assumed(card, rate or card.host_memory_bytes_per_s, size)
    try:
        named, sockets = load(deployment.host_cpu)
    except BadInput as error:
        kept = error.where is not None and error.where != "on"  # a file's own place
        error.where = error.where if kept else Named.of("host_cpu")
        raise
    if named.kind != "cpu":
        raise BadInput(
            f"{named.id} is no CPU", where=Named.of("host_cpu"), got=deployment.host_cpu, want="a CPU of the catalog"
        )
    rate = rate or (named.memory_bytes_per_s or 0.0) * sockets or None
    fast = max((named.fast_memory_bytes_per_s or 0.0) * sockets, rate or 0.0) or None
    return msgspec.structs.replace(
        named, memory_bytes_per_s=rate, fast_memory_bytes_per_s=rate if stated else fast,
        memory_bytes=size or named.memory_bytes, program_bytes=size or named.program_bytes,
        peak_flop_per_s={form: peak * sockets for form, peak in named.peak_flop_per_s.items()},
        fast_flop_per_s={form: peak * sockets for form, peak in named.fast_flop_per_s.items()},
    )  # fmt: skip


def _check(card: Accelerator, deployment: Deployment, split: Split, layout: Layout) -> None:
    if card.kind == "cpu":
        raise BadInput(
            f"{card.id} is itself a host, so nothing lies beside it", where=Named.of("on"), got=card.id,
            want="a card with memory of its own",
        )  # fmt: skip
    if card.kind == "apu":
        raise BadInput(
            f"the memory of {card.id} is the host's own, so nothing lies beside it", where=Named.of("on"), got=card.id,
            want="a card with memory of its own",
        )  # fmt: skip
    if split != Split() and (layout.dp > 1 or deployment.is_apart):
        apart = "schedule" if deployment.schedule == "apart" else "prefill_workers"
        raise BadInput(
            "replicas and workers apart would share one host, and how is not known",
            where=Named.of("dp" if layout.dp > 1 else "prefill_on" if deployment.prefill_on is not None else apart),
            got=layout.dp if layout.dp > 1 else "workers apart",
            want="one replica where layers, experts or the cache lie on the host",
        )  # fmt: skip


def host_notes(beside: Beside | None, deployment: Deployment) -> Iterator[Note]:
    """What is assumed of the host."""
    if beside is None:
        return
    host, split = beside.rates, beside.split
    yield Note(key="host_reached", value=(beside.reached, beside.least, beside.handover_s))
    weights = bool(split.layers or split.experts or split.cache or split.head)
    stated = deployment.host_memory_bandwidth or host.accelerator.fast_memory_bytes_per_s == host.memory_bytes_per_s
    if weights and deployment.host_cpu is None and not stated:
        yield Note(
            key="host_rate", value=(host.memory_bytes_per_s, host.fast_memory_bytes_per_s),
            why=host.accelerator.origin,
        )  # fmt: skip
    if weights and deployment.host_cpu is None:
        yield Note(key="host_compute", value=host.accelerator.peak_flop_per_s["fp32"])
    if host.accelerator.memory_bytes is None:
        yield Note(key="host_size")
