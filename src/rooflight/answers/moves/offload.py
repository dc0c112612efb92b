"""A part of the model in the host's memory: what makes a model fit that the devices do not hold."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.moves.option import Asked, Option, move, option
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import memory
from rooflight.serve.offload import ALL_ON_DEVICES, Offload, brought_back, offloads
from rooflight.work.places import layer_count


@move("offload", alone=True)
def offload(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Layers, experts or streamed weights on the host where not one sequence fits; where a part lies there, less."""
    beside, fits = sc.rates.beside, memory(sc).most > 0
    if fits and beside is None:  # nothing lies on the host that need not
        return
    if beside is not None and brought_back(sc).rates.beside is None:
        layers = layer_count(sc.model)
        yield option(sc, "", 0, layers, layers, 0.0, "", **ALL_ON_DEVICES)
        return
    for one in offloads(sc):
        same = one.field == "n_gpu_layers" and one.value == sc.deployment.n_gpu_layers
        if _less(sc, one) if fits else not same:
            yield option(sc, one.field, one.value, one.kept, one.layers, one.rate, one.assumed, **one.changes)


def _less(sc: Scenario, one: Offload) -> bool:
    """Whether it leaves less to the host than lies there now."""
    beside, now = sc.rates.beside, sc.deployment.n_gpu_layers
    if one.field == "n_gpu_layers":
        return now is not None and one.value > now
    if one.field == "n_cpu_moe":
        there = 0 if beside is None else max(beside.split.experts, beside.split.layers)
        return one.value < there or bool(beside is not None and beside.split.layers)
    return beside is not None and bool(beside.streamed_bytes) and one.changes[one.field] < beside.streamed_bytes
