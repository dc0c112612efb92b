"""Unlike devices in one deployment, as a question asks for them: layers split by memory, or tensors cut equally."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rooflight.catalog.calibration import calibration, fitted_family
from rooflight.catalog.unlike import groups, mean_of, slowest_of
from rooflight.errors import BadInput, Named
from rooflight.roofline.rates import Rates, Stage
from rooflight.roofline.rates import rates as rates_of
from rooflight.scenario.measured import is_torch
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import Deployment
from rooflight.values.model import Model
from rooflight.values.note import Note
from rooflight.work.layout import Layout
from rooflight.work.places import layer_count, shares

# Ours, 2026-11-29: no engine was fitted on unlike cards, so intervals are so much wider, at both ends.
UNFITTED_CARDS = 1.5

Asked = tuple[Accelerator, int | None, Deployment]


def told(card: Accelerator, count: int | None, deployment: Deployment) -> Asked:
    """The card that stands for unlike ones, how many there are, and the deployment with their layout.

    Without a degree of its own the layers are split, a stage a device; with tensors cut over all of them the slowest
    sets the pace. Cards that are alike after all are so many of one kind. Raises BadInput for any other layout, and for
    what is not known of unlike cards.
    """
    if not card.joined:
        return card, count, deployment
    devices = len(card.joined)
    tp, pp = deployment.tp or 1, deployment.pp
    cut = tp == devices > 1 and pp == 1
    if deployment.dp > 1 or not (cut or (tp == 1 and pp in (1, devices))):
        raise BadInput(
            f"{devices} unlike devices hold layers in turn, or all of them a part of each",
            where=Named.of("tp", "pp", "dp"), got=f"tp {tp}, pp {pp}, dp {deployment.dp}",
            want=Named("{pp} or {tp}, without {dp}", pp=devices, tp=devices),
        )  # fmt: skip
    if not cut:
        deployment = msgspec.structs.replace(deployment, tp=1, pp=devices)
    if len(groups(card)) == 1:
        return msgspec.structs.replace(card.joined[0], joined=()), devices, deployment
    _check(card, deployment)
    return (slowest_of if cut else mean_of)(card.joined), devices, deployment


def _check(card: Accelerator, deployment: Deployment) -> None:
    """Refuse what is not known of unlike cards. Raises BadInput."""
    refused = (
        ("memory", deployment.memory is not None, "each has a memory of its own", "a file of its own for each card"),
        ("n_gpu_layers", deployment.on_host, "how they share a host beside them is not known", "nothing on the host"),
        ("decode_workers", deployment.is_apart, "workers of several kinds are not known", "workers of one kind"),
        ("engine", is_torch(deployment.engine), "operators were measured on one machine", "another engine"),
    )  # fmt: skip
    for name, found, why, want in refused:
        if found:
            raise BadInput(f"{card.id}: {why}", where=Named.of(name), got="unlike cards", want=want)


def with_stages(rates: Rates, model: Model, layout: Layout, *, graphs: bool, fp16_sums: bool = False) -> Rates:
    """The rates with those of each kind of device that layers are split over; as they are where they are not.

    Layers are split by what a program is given of each device's memory, as llama.cpp does by default (its
    --tensor-split); devices of one kind follow each other, the largest memory first.
    """
    card = rates.accelerator
    if not card.joined or layout.tp > 1:
        return rates
    counts = list(shares([one.given_bytes or 0.0 for one in card.joined], layer_count(model)))
    found, first = [], 0
    for one, devices in groups(card):
        last = first + sum(counts.pop(0) for _ in range(devices))
        own = msgspec.structs.replace(rates_of(one, Layout(), graphs=graphs, fp16_sums=fp16_sums), links=rates.links)
        fits = calibration(fitted_family(one))
        found.append(Stage(rates=own, devices=devices, first=first, last=last, fits=fits))
        first = last
    return msgspec.structs.replace(rates, unlike=tuple(found))


def rates_for(rates: Rates, operator: str) -> Rates:
    """The rates of the device that an operator of that name runs on, where there are unlike ones."""
    own = (one.rates for one in rates.unlike if operator.endswith(f" ({one.rates.accelerator.id})"))
    return next(own, rates)


def stage_notes(rates: Rates) -> Iterator[Note]:
    """Which card holds how many layers; whose pace cut tensors go at."""
    card = rates.accelerator
    if not card.joined:
        return
    if rates.unlike:
        held = tuple((one.rates.accelerator.id, one.devices, one.layers) for one in rates.unlike)
        yield Note(key="layer_split", value=held)
    else:
        yield Note(key="slowest_card", value=tuple(one.id for one, _ in groups(card)))
    yield Note(key="unfitted_cards", value=UNFITTED_CARDS)
