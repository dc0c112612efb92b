"""What would hold a scenario that does not fit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from rooflight.errors import BadInput, MissingFact
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve.hosted import host_holds
from rooflight.serve.memory import memory
from rooflight.serve.offload import ALL_ON_DEVICES, Offload, offloads
from rooflight.work.layout import Layout

_NARROWER = ("fp8", "int4-g128")


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """layout: of fewest devices that holds it, None where there is none; unjoined: no link between devices is known;
    weights: a narrower format that fits on the same devices, where the question named none; offloads: what may lie in
    the host's memory, where not one sequence fits.

    Where the host's memory is too small, layout holds all of it without the host, and host_bytes is what of the host's
    memory would hold it as the question is; None where the devices do not hold the rest. bare: the layout is without
    the host.
    """

    layout: Layout | None = None
    host_bytes: float | None = None
    unjoined: bool = False
    weights: str | None = None
    offloads: tuple[Offload, ...] = ()
    bare: bool = False

    def ways(self) -> Iterator[dict[str, Any]]:
        """Each of them alone, as changes to the question."""
        if self.host_bytes is not None:
            yield {"host_memory": math.ceil(self.host_bytes)}
        if self.layout is not None:
            cut = {name: getattr(self.layout, name) for name in ("tp", "pp", "dp", "ep")}
            yield {**cut, **(ALL_ON_DEVICES if self.bare else {})}
        if self.weights is not None:
            yield {"weights": self.weights}
        yield from (one.changes for one in self.offloads)


def remedy(sc: Scenario) -> Remedy:
    """Another layout of these devices, more of them, a narrower format, a part in the host's memory."""
    layout, unjoined, small = None, False, not host_holds(sc)
    try:
        layout = _layout_without_host(sc) if small else _layout_that_holds(sc)
    except MissingFact:
        unjoined = True
    narrower = _NARROWER if sc.deployment.weights is None else ()
    weights = next((form for form in narrower if _fits(sc, form)), None)
    hosted = offloads(sc) if memory(sc).most < 1 else ()
    needed = _host_bytes(sc) if small else None
    return Remedy(
        layout=layout, unjoined=unjoined, weights=weights, offloads=hosted, host_bytes=needed, bare=small
    )  # fmt: skip


def _host_bytes(sc: Scenario) -> float | None:
    """What the host's memory must be, where the devices hold the rest."""
    there = memory(sc).host
    if there is None:
        return None
    needed = there.weights_bytes + there.kv_bytes
    return needed if _held(sc, host_memory=math.ceil(needed)) is not None else None


def _layout_without_host(sc: Scenario) -> Layout | None:
    """The layout of fewest devices that holds all of it, nothing on the host. Raises MissingFact."""
    bare = changed(sc, **ALL_ON_DEVICES)
    return bare.layout if memory(bare).whole else _layout_that_holds(bare)


def _fits(sc: Scenario, weights: str) -> bool:
    """Whether it fits in a narrower format, and its times could be told."""
    try:
        return _held(sc, weights=weights) is not None
    except MissingFact:  # an engine that was timed in other formats alone
        return False


def _layout_that_holds(sc: Scenario) -> Layout | None:
    """The layout of fewest devices that holds the scenario; raises MissingFact where devices cannot be joined."""
    here = sc.layout
    if sc.accelerator.joined:  # all of them hold a part already
        return None
    layouts = [
        {"tp": tp, "pp": pp, "dp": here.dp, "ep": here.ep}
        for tp in (1, 2, 4, 8, 16)
        for pp in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
    ]
    if any(layer.experts is not None for layer in sc.model.layers):
        layouts += [{"tp": 1, "pp": 1, "dp": n, "ep": n} for n in (2, 4, 8, 16, 32, 64, 128)]
    layouts.sort(key=lambda way: (way["tp"] * way["pp"] * way["dp"], way["pp"], way["dp"]))
    same = {"tp": here.tp, "pp": here.pp, "dp": here.dp, "ep": here.ep}
    enough = (way for way in layouts if way != same and way["tp"] * way["pp"] * way["dp"] >= here.devices)
    found = (_held(sc, **way) for way in enough)
    return next((held.layout for held in found if held is not None), None)


def _held(sc: Scenario, **changes: Any) -> Scenario | None:
    """The scenario with another deployment, None where that cannot be laid out or does not fit. Raises MissingFact."""
    try:
        other = changed(sc, **changes)
    except BadInput:
        return None
    return other if memory(other).whole else None
