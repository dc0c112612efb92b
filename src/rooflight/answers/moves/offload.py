"""A part of the model in the host's memory: what makes a model fit that the devices do not hold."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.moves.option import Asked, Option, move, option
from rooflight.roofline.rates import Beside
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
    ways = offloads(sc)
    for one in ways:
        same = one.field == "n_gpu_layers" and one.value == sc.deployment.n_gpu_layers
        if same or (fits and beside is not None and not _less(sc, beside, one, ways)):
            continue
        changes = dict(one.changes)
        if beside is not None and one.assumed:  # as it was assumed of what lies there now: a ceiling takes the best
            changes.pop("host_memory_bandwidth", None)
        yield option(sc, one.field, one.value, one.kept, one.layers, one.rate, one.assumed, **changes)


def _less(sc: Scenario, beside: Beside, one: Offload, ways: tuple[Offload, ...]) -> bool:
    """Whether it leaves less to the host than lies there now; layers in turn only where experts must lie there too."""
    now, split = sc.deployment.n_gpu_layers, beside.split
    if one.field == "n_gpu_layers":
        alone = split.experts and any(other.field == "n_cpu_moe" for other in ways)
        return now is not None and one.value > now and not alone
    if one.field == "n_cpu_moe":
        return bool(split.layers) or one.value < split.experts
    return bool(one.changes[one.field] < beside.streamed_bytes)
