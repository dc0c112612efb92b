"""The deployments of a comparison: accelerators by layouts and formats, each with its batch, memory and price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import msgspec

from rooflight.errors import BadInput, MissingFact, Named, NoSteadyState, RooflightError
from rooflight.roofline.rates import no_peak
from rooflight.scenario.definite import Scenario, scenario
from rooflight.serve.apart import pools
from rooflight.serve.arrivals import loaded
from rooflight.serve.memory import largest_batch, memory
from rooflight.serve.mix import mean_load
from rooflight.serve.room import room
from rooflight.serve.schedule import chosen
from rooflight.serve.sweep import filled
from rooflight.values.accelerator import Accelerator, devices_named
from rooflight.values.deployment import Deployment
from rooflight.values.held import MemoryBlock
from rooflight.values.mix import Mix
from rooflight.values.model import Model
from rooflight.values.note import Note
from rooflight.values.question import swept
from rooflight.values.workload import Workload

# Fields of Deployment that may have several values: each is a deployment of its own.
AXES = swept("deployments", "rows")
# More rows than anybody reads.
MOST = 500

Devices = tuple[Accelerator, int | None]


class Contender(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment of the comparison.

    scenario        with its own batch and the lengths of the mean request in a batch, which memory is counted for;
                    None: a fact is missing, which `error` names. Where that is the compute peak there is a scenario:
                    its decode steps can be told, requests cannot
    run             the scenario at the mix's mean lengths: what is timed
    users           requests in flight, real where a rate of arrivals makes them
    count           of all devices, those of every worker where prefill and decode are apart
    others          workers that prefill on another card: it, and how many of the count; None where there are none
    price_usd_per_hour      of all devices; None where no price was given
    """

    card: Accelerator
    count: int
    deployment: Deployment
    scenario: Scenario | None
    held: MemoryBlock | None
    price_usd_per_hour: float | None
    run: Scenario | None = None
    users: float = 1.0
    label: str = ""
    error: RooflightError | None = None
    others: tuple[Accelerator, int] | None = None

    @property
    def cards(self) -> tuple[tuple[Accelerator, int], ...]:
        """Each kind of card with how many of it there are."""
        return _kinds(self.card, self.count, self.others)

    @property
    def tdp_w(self) -> float | None:
        """Of all devices; None where one of them has none."""
        watts = [None if card.tdp_w is None else card.tdp_w * count for card, count in self.cards]
        return None if None in watts else sum(each for each in watts if each is not None)

    @property
    def whole(self) -> bool:
        """Whether all sequences of the batch run at once: they fit, or are to be computed anyway."""
        return self.held is not None and (self.held.whole or self.deployment.ignore_capacity)

    @property
    def answers(self) -> bool:
        """Whether it has times: at least one sequence fits, and no more requests arrive than it finishes."""
        held = self.whole or (self.held is not None and self.held.most > 0)
        return held and self.error is None

    @property
    def decodes(self) -> bool:
        """Whether its decode steps are all that can be told of it."""
        held = self.whole or (self.held is not None and self.held.most > 0)
        return held and isinstance(self.error, MissingFact) and self.run is not None

    @property
    def late(self) -> bool:
        """Whether it fits, but more requests arrive than it finishes."""
        held = self.whole or (self.held is not None and self.held.most > 0)
        return held and isinstance(self.error, NoSteadyState)

    def key(self) -> tuple[object, ...]:
        """Equal for two that are the same deployment."""
        return self.card.id, self.count, self.deployment


def contenders(
    model: Model,
    devices: Sequence[Devices],
    axes: Mapping[str, Sequence[Any]],
    *,
    mix: Mix,
    batch: int | None,
    workload: Workload,
    deployment: Deployment,
    prices: Mapping[str, float],
) -> tuple[list[Contender], list[Note]]:
    """Every deployment once, labelled, and what was odd. batch None: each at the largest that fits.

    Raises BadInput for a layout that cannot be, MissingFact where a fact is missing for all of them.
    """
    layouts = list(_deployments(deployment, axes))
    if len(devices) * len(layouts) > MOST:
        raise BadInput(
            f"that is {len(devices) * len(layouts):,} deployments",
            where=Named("{on} and the options with several values"),
            got=f"{len(devices):,} x {len(layouts):,}", want=f"at most {MOST:,}",
        )  # fmt: skip
    load = msgspec.structs.replace(
        workload, batch=1 if batch is None else batch, isl=max(mix.batch_isl, 1),
        osl=max(mix.batch_osl, 1 if mix.osl else 0),
    )  # fmt: skip
    found: dict[tuple[object, ...], Contender] = {}
    notes: list[Note] = []
    for card, count in devices:
        for layout in layouts:
            one = _contender(model, card, count, filled(layout, card, count, axes), load, mix, batch is None, prices)
            if one.key() in found:
                notes.append(Note(key="named_twice", value=_counted(one)))
            found.setdefault(one.key(), one)
    rows = _labelled(list(found.values()), [name for name in AXES if name in axes])
    if isinstance(rows[0].error, MissingFact) and all(one.scenario is None for one in rows):
        raise rows[0].error
    return rows, notes


def _deployments(deployment: Deployment, axes: Mapping[str, Sequence[Any]]) -> Iterator[Deployment]:
    names = [name for name in AXES if name in axes]
    given = {name: getattr(deployment, name) for name in Deployment.__struct_fields__}
    for values in product(*(axes[name] for name in names)):
        yield Deployment(**{**given, **dict(zip(names, values, strict=True))})


def _contender(
    model: Model, card: Accelerator, count: int | None, deployment: Deployment, load: Workload, mix: Mix,
    largest: bool, prices: Mapping[str, float],
) -> Contender:  # fmt: skip
    try:
        found = contender(scenario(model, card, count, load, deployment), mix, largest=largest, prices=prices)
    except MissingFact as missing:
        said = count or (deployment.tp or 1) * deployment.pp * deployment.dp
        return without_times(card, said, deployment, missing, prices)
    return msgspec.structs.replace(found, deployment=deployment)


def contender(sc: Scenario, mix: Mix, *, largest: bool, prices: Mapping[str, float], label: str = "") -> Contender:
    """A scenario on the mix, with its own batch or the largest that fits. Raises MissingFact."""
    if largest:
        sc = msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, batch=_largest(sc)))
    timed, users, late = _loaded(msgspec.structs.replace(sc, workload=mean_load(sc.workload, mix)))
    sc = msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, batch=timed.workload.batch))
    card, devices, others = sc.accelerator, sc.layout.devices, None
    if chosen(timed) == "apart":
        both = pools(timed)
        devices = both.devices
        if sc.deployment.prefill_on is not None:
            others = both.prefill.accelerator, both.prefill_workers * both.prefill.layout.devices
    return Contender(
        card=card,
        count=devices,
        deployment=sc.deployment,
        scenario=sc,
        held=memory(sc),
        price_usd_per_hour=_price(prices, _kinds(card, devices, others)),
        run=timed,
        users=users,
        label=label,
        error=late or (no_peak(card, sc.unrated, "requests") if sc.unrated else None),
        others=others,
    )


def without_times(
    card: Accelerator, count: int, deployment: Deployment, error: RooflightError, prices: Mapping[str, float],
    label: str = "",
) -> Contender:  # fmt: skip
    """A row that says why it has no times."""
    return Contender(
        card=card, count=count, deployment=deployment, scenario=None, held=None,
        price_usd_per_hour=_price(prices, ((card, count),)), label=label, error=error,
    )  # fmt: skip


def _largest(sc: Scenario) -> int:
    """The largest batch that fits, 1 at least. Raises MissingFact where no source has the devices' size."""
    card = sc.accelerator
    if card.given_bytes is None:
        raise MissingFact(
            f"{card.id} has no memory size, so the largest batch that fits cannot be told",
            where=card.origin or card.id, got="nothing", want=Named.of("memory", "batch"),
        )  # fmt: skip
    return max(int(largest_batch(sc, room(sc))), 1)


def _loaded(sc: Scenario) -> tuple[Scenario, float, NoSteadyState | None]:
    """The scenario at the number in flight that its rate of arrivals makes, and that number; or why there is none."""
    try:
        return *loaded(sc), None
    except NoSteadyState as late:
        return sc, float(sc.workload.batch), late


def _kinds(
    card: Accelerator, count: int, others: tuple[Accelerator, int] | None
) -> tuple[tuple[Accelerator, int], ...]:  # fmt: skip
    return ((card, count),) if others is None else ((card, count - others[1]), others)


def _price(prices: Mapping[str, float], cards: Sequence[tuple[Accelerator, int]]) -> float | None:
    """Of all devices; None where one of them has none."""
    known = [prices[card.id] * count for card, count in cards if card.id in prices]
    return sum(known) if len(known) == len(cards) else None


def _counted(one: Contender) -> str:
    return devices_named(one.card.id, one.count)


def _labelled(rows: list[Contender], axes: Sequence[str]) -> list[Contender]:
    """Names that tell rows apart: devices, then what the options with several values say of each."""
    labels = []
    for one in rows:
        here = one.scenario.devices if one.scenario is not None else _counted(one)
        labels.append(" ".join([here, *(_told(one, name) for name in axes)]))
    twice = {label for label in labels if labels.count(label) > 1}
    for place, label in enumerate(labels):
        if label in twice:  # two files whose cards share an id
            labels[place] = f"{label} ({labels[: place + 1].count(label)})"
    return [msgspec.structs.replace(one, label=label) for one, label in zip(rows, labels, strict=True)]


def _told(one: Contender, name: str) -> str:
    """What a row is in one of the fields that have several values."""
    value = getattr(one.deployment, name)
    if name == "weights" and one.scenario is not None:
        return one.scenario.weights
    if name == "engine":
        return str(value)
    return f"KV {value}" if name == "kv_cache" else f"{name} {value}"
