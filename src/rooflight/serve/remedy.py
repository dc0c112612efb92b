"""What would hold a scenario that does not fit."""

from __future__ import annotations

from typing import Any

import msgspec

from rooflight.errors import BadInput, MissingFact
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import memory
from rooflight.serve.offload import Offload, offloads
from rooflight.work.layout import Layout

_NARROWER = ("fp8", "int4-g128")


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """layout: of fewest devices that holds it, None where there is none; unjoined: no link between devices is known;
    weights: a narrower format that fits on the same devices, where the question named none; offloads: what may lie in
    the host's memory, where not one sequence fits."""

    layout: Layout | None = None
    unjoined: bool = False
    weights: str | None = None
    offloads: tuple[Offload, ...] = ()


def remedy(sc: Scenario) -> Remedy:
    """Another layout of these devices, more of them, a narrower format, a part in the host's memory."""
    layout, unjoined = None, False
    try:
        layout = _layout_that_holds(sc)
    except MissingFact:
        unjoined = True
    narrower = _NARROWER if sc.deployment.weights is None else ()
    weights = next((form for form in narrower if _fits(sc, form)), None)
    hosted = offloads(sc) if memory(sc).most < 1 else ()
    return Remedy(layout=layout, unjoined=unjoined, weights=weights, offloads=hosted)


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
