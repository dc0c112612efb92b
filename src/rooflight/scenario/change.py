"""Scenarios changed: the same question with another workload, deployment, model or machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

import msgspec

from rooflight.catalog.unlike import pooled
from rooflight.errors import RooflightError
from rooflight.scenario.definite import Scenario, scenario
from rooflight.values.accelerator import Accelerator
from rooflight.values.model import Model
from rooflight.values.question import Fields, split
from rooflight.work.count import is_encoder


def changed(
    sc: Scenario, *, model: Model | None = None, accelerator: Accelerator | None = None, **fields: Unpack[Fields]
) -> Scenario:
    """The scenario with fields of Workload or Deployment replaced. Raises UnknownName, and as scenario() does.

    The layout is definite: without tp, pp or dp among the fields it stays as it is. Steps that one of them evaluated
    need not be evaluated by the other.
    """
    load, layout = split(fields)
    together = sc.workload.prefill_batch is sc.workload.batch or sc.workload.prefill_batch == sc.workload.batch
    if "batch" in load and "prefill_batch" not in load and is_encoder(sc.model) and together:
        load["prefill_batch"] = load["batch"]  # the batch of an encoder is what it prefills
    if "isl" in load:  # of the question: without images and sound, which the scenario's counts
        load["isl"] += sc.workload.media_tokens or 0
    if model is not None or "weights" in layout:
        layout.setdefault("weight_bytes", None)  # a size is that of the weights it was stated of
    held = msgspec.structs.replace(sc.deployment, tp=sc.layout.tp)
    if accelerator is not None:  # a size that was stated of one device says nothing of another
        held = msgspec.structs.replace(held, memory=None)
    return scenario(
        model or sc.checkpoint,
        accelerator or sc.accelerator,
        None,
        msgspec.structs.replace(sc.workload, **load),
        msgspec.structs.replace(held, **layout),
        plans=sc.plans,
    )


def spread(sc: Scenario) -> Iterator[Scenario]:
    """Unlike cards with everything spread as suits them best, which no split of layers beats: nobody says how it was.

    None where the cards are alike.
    """
    card = sc.accelerator
    for devices in range(len(card.joined), 0, -1):
        try:
            yield changed(sc, accelerator=pooled(card, devices), tp=devices, pp=1)
        except RooflightError:
            continue
        return


def uncalibrated(sc: Scenario) -> Scenario:
    """The scenario without your own calibration: the engine's fits as they are."""
    return scenario(
        sc.checkpoint, sc.accelerator, None, sc.workload,
        msgspec.structs.replace(sc.deployment, tp=sc.layout.tp, calibration=None), plans=sc.plans,
    )  # fmt: skip
