"""Moves to another machine: more of the same accelerators, other ones, and each of their rates by itself."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.answers.moves.option import Asked, Option, move, option, refitted
from rooflight.catalog.accelerators import load, with_memory
from rooflight.catalog.changed import what_if
from rooflight.catalog.unlike import changed_each
from rooflight.roofline.links import NETWORK
from rooflight.scenario.basis import basis_on
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import memory
from rooflight.serve.offload import brought_back
from rooflight.units import exactly
from rooflight.values.accelerator import Accelerator
from rooflight.work.layout import crossing

# Accelerators of data centres that are sold or rented today, by memory bandwidth: the next ones up are tried.
_LADDER = (
    "l4", "l40s", "a100-sxm4-80gb", "rtx-pro-6000-blackwell", "h100-sxm", "h200-sxm", "mi300x", "mi325x", "b200",
    "mi355x", "b300",
)  # fmt: skip
_NEXT_CARDS = 3


@move("tp", "machine")
def tensor_parallel(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Each matrix cut over more accelerators."""
    for degree in (2, 4, 8):
        if degree > sc.layout.tp and sc.layout.dp == sc.layout.pp == 1:
            yield refitted(sc, sc.layout.tp, degree, tp=degree)


@move("replicas", "machine")
def replicas(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """The same again beside it, each with its own sequences."""
    cut = sc.layout
    yield refitted(sc, cut.dp, cut.dp * 2, cut.devices, dp=cut.dp * 2, batch=sc.workload.batch * 2)


@move("stages", "machine")
def stages(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Layers over more accelerators, one after the other."""
    cut = sc.layout
    yield refitted(sc, cut.pp, cut.pp * 2, cut.devices, pp=cut.pp * 2)


@move("experts", "machine")
def expert_parallel(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Attention replicated, whole experts spread over all accelerators: what large routed models are served with."""
    routed = any(layer.experts is not None for layer in sc.model.layers)
    now = sc.layout.devices
    for devices in (8, 16, 32):
        if routed and devices > now:
            sequences = max(1, sc.workload.batch * devices // now)
            yield refitted(sc, now, devices, tp=1, pp=1, dp=devices, ep=devices, batch=sequences)


@move("card", "machine")
def cards(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """As many of another accelerator: those asked for, and the next ones up."""
    own = sc.accelerator.memory_bytes_per_s or 0.0
    up = [load(name)[0] for name in _LADDER]
    up = [card for card in up if (card.memory_bytes_per_s or 0.0) > own]
    tried = {card.id: card for card in (*asked.cards, *up[:_NEXT_CARDS]) if card.id != sc.accelerator.id}
    for card in tried.values():
        told = (sc.devices, card.id, *_times(sc.accelerator, card), basis_on(sc, card), sc.deployment.engine)
        yield refitted(sc, *told, accelerator=card)


def _times(one: Accelerator, other: Accelerator) -> tuple[float | None, str, float | None, float | None]:
    """(bandwidth, a 16-bit format, its peak, memory) of the other, in times the one's; None where not known."""
    peaks = one.peak_flop_per_s, other.peak_flop_per_s
    form = next((name for name in ("bf16", "fp16") if all(name in peak for peak in peaks)), "")
    return (
        _ratio(other.memory_bytes_per_s, one.memory_bytes_per_s),
        form,
        peaks[1][form] / peaks[0][form] if form else None,
        _ratio(other.memory_bytes, one.memory_bytes),
    )


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one and other else None


@move("card-bandwidth", "machine")
def bandwidth(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """What memory bandwidth alone would do."""
    yield option(sc, accelerator=what_if(sc.accelerator, bandwidth_times=2))


@move("card-compute", "machine", needs_peak=True)
def compute(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """What arithmetic alone would do."""
    yield option(sc, accelerator=what_if(sc.accelerator, peak_times=2))


@move("card-capacity", "machine", needs_peak=True)
def capacity(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """What capacity alone would do: more sequences."""
    card = sc.accelerator
    if card.memory_bytes:
        if card.joined:
            larger = changed_each(card, lambda one: with_memory(one, 2 * (one.memory_bytes or 0.0)))
            roomy = brought_back(sc, accelerator=larger)
        else:
            roomy = brought_back(sc, memory=2 * card.memory_bytes)
        yield option(roomy, batch=max(memory(roomy).most, sc.workload.batch))


@move("card-link", "machine")
def link(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """What the link alone would do."""
    own, links = sc.accelerator.link, sc.rates.links
    if links is not None and links.far == NETWORK and crossing(sc.layout):
        latency = "" if links.far_latency_s is None else f",{exactly(links.far_latency_s, 's')}"
        yield option(sc, "network", network=f"{exactly(2 * links.far_bytes_per_s, 'B/s')}{latency}")
    elif own is not None:
        faster = msgspec.structs.replace(own, bytes_per_s=2 * own.bytes_per_s)
        card = changed_each(sc.accelerator, lambda one: msgspec.structs.replace(one, link=faster))
        yield option(sc, own.name, accelerator=card)
