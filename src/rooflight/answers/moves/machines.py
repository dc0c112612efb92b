"""Moves to another machine: more of the same accelerators, other ones, and each of their rates by itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from rooflight.answers.moves.option import Asked, Option, move, option
from rooflight.catalog.accelerators import load
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import memory
from rooflight.values.accelerator import Accelerator

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
            yield option(
                f"tp {sc.layout.tp} to {degree}",
                "cuts weights, cache and arithmetic of a step, and adds two all-reduces a layer",
                f"{degree - sc.layout.tp} more accelerators, joined by a fast link",
                partial(changed, sc, tp=degree),
            )


@move("replicas", "machine")
def replicas(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """The same again beside it, each with its own sequences."""
    cut = sc.layout
    yield option(
        f"dp {cut.dp} to {cut.dp * 2}, with as many sequences each",
        "runs the same step twice, on twice the accelerators",
        f"{cut.devices} more accelerators",
        partial(changed, sc, dp=cut.dp * 2, batch=sc.workload.batch * 2),
    )


@move("stages", "machine")
def stages(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Layers over more accelerators, one after the other."""
    cut = sc.layout
    yield option(
        f"pp {cut.pp} to {cut.pp * 2}",
        "halves the layers an accelerator holds; a token passes all stages one after the other",
        f"{cut.devices} more accelerators; pipeline bubbles unless the batch fills the stages",
        partial(changed, sc, pp=cut.pp * 2),
    )


@move("experts", "machine")
def expert_parallel(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Attention replicated, whole experts spread over all accelerators: what large routed models are served with."""
    if not any(layer.experts is not None for layer in sc.model.layers):
        return
    for devices in (8, 16, 32):
        if devices > sc.layout.devices:
            yield option(
                f"dp {devices} x ep {devices}, with as many sequences each",
                "replicates attention and spreads the experts: each accelerator reads fewer of them for more tokens",
                f"{devices - sc.layout.devices} more accelerators; tokens travel to their experts",
                partial(changed, sc, tp=1, pp=1, dp=devices, ep=devices,
                    batch=max(1, sc.workload.batch * devices // sc.layout.devices),
                ),
            )  # fmt: skip


@move("card", "machine")
def cards(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """As many of another accelerator: those asked for, and the next ones up."""
    own = sc.accelerator.memory_bytes_per_s or 0.0
    up = [load(name)[0] for name in _LADDER]
    up = [card for card in up if (card.memory_bytes_per_s or 0.0) > own]
    tried = {card.id: card for card in (*asked.cards, *up[:_NEXT_CARDS]) if card.id != sc.accelerator.id}
    for card in tried.values():
        yield option(
            f"{sc.devices} to {card.id}", _differs(sc.accelerator, card), "other accelerators",
            partial(changed, sc, accelerator=card),
        )  # fmt: skip


def _differs(one: Accelerator, other: Accelerator) -> str:
    parts = []
    if one.memory_bytes_per_s and other.memory_bytes_per_s:
        parts.append(f"{other.memory_bytes_per_s / one.memory_bytes_per_s:.2f}x the bandwidth")
    form = next(
        (name for name in ("bf16", "fp16") if name in one.peak_flop_per_s and name in other.peak_flop_per_s), ""
    )
    if form:
        parts.append(f"{other.peak_flop_per_s[form] / one.peak_flop_per_s[form]:.2f}x the {form} rate")
    if one.memory_bytes and other.memory_bytes:
        parts.append(f"{other.memory_bytes / one.memory_bytes:.2f}x the memory")
    return "has " + ", ".join(parts)


@move("card-bandwidth", "machine")
def bandwidth(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """What memory bandwidth alone would do."""
    card = sc.accelerator
    faster = msgspec.structs.replace(card, memory_bytes_per_s=2 * (card.memory_bytes_per_s or 0.0))
    yield option(
        "twice the memory bandwidth, all else equal", "doubles the memory roof", "no such card: it shows what binds",
        partial(changed, sc, accelerator=faster),
    )  # fmt: skip


@move("card-compute", "machine")
def compute(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """What arithmetic alone would do."""
    card = sc.accelerator
    faster = msgspec.structs.replace(
        card,
        peak_flop_per_s={name: 2 * rate for name, rate in card.peak_flop_per_s.items()},
        fast_flop_per_s={name: 2 * rate for name, rate in card.fast_flop_per_s.items()},
    )
    yield option(
        "twice the FLOP/s, all else equal", "doubles the compute roofs", "no such card: it shows what binds",
        partial(changed, sc, accelerator=faster),
    )  # fmt: skip


@move("card-capacity", "machine")
def capacity(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """What capacity alone would do: more sequences."""
    card = sc.accelerator
    if not card.memory_bytes:
        return
    larger = msgspec.structs.replace(card, memory_bytes=2 * card.memory_bytes)

    def filled() -> Scenario:
        roomy = changed(sc, accelerator=larger)
        return changed(roomy, batch=max(memory(roomy).max_batch, sc.workload.batch))

    yield option(
        "twice the memory, filled with sequences", "lets more sequences share each step's weights",
        "no such card: it shows what binds; every sequence waits for a longer step", filled,
    )  # fmt: skip


@move("card-link", "machine")
def link(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """What the link alone would do."""
    card = sc.accelerator
    own = card.link
    if own is None:
        return
    faster = msgspec.structs.replace(card, link=msgspec.structs.replace(own, bytes_per_s=2 * own.bytes_per_s))
    yield option(
        f"twice the {own.name} bandwidth, all else equal", "doubles the link roof", "no such card: it shows what binds",
        partial(changed, sc, accelerator=faster),
    )  # fmt: skip
