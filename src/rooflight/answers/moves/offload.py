"""A part of the model in the host's memory: what makes a model fit that the devices do not hold."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.moves.option import Asked, Option, move, option
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import memory
from rooflight.serve.offload import offloads


@move("offload", alone=True)
def offload(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Layers, experts or streamed weights on the host where not one sequence fits; where layers lie there, fewer."""
    beside = sc.rates.beside
    there = 0 if beside is None else beside.split.layers
    if memory(sc).most and not there:  # nothing lies on the host that need not
        return
    for one in offloads(sc):
        same = one.field == "n_gpu_layers" and one.value == sc.deployment.n_gpu_layers
        if not same:
            yield option(sc, one.field, one.value, one.kept, one.layers, one.rate, one.assumed, **one.changes)
