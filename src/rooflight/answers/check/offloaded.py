"""Where a model's parts lay in a row that says that some ran on the host: as it says, or in every way it allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from rooflight.answers.check.names import Names
from rooflight.catalog.accelerators import host_usual_most
from rooflight.errors import RooflightError
from rooflight.scenario.definite import Scenario
from rooflight.serve.room import holds_weights
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import Deployment
from rooflight.values.measurement import Measurement
from rooflight.values.model import Model
from rooflight.work.places import layer_count

# What a row says of which part it was; anything else leaves it open.
_CACHE, _ALL = "kv cache", "all weights"


def splits(
    row: Measurement, model: Model, card: Accelerator, asked: Deployment, names: Names
) -> tuple[Deployment, ...]:
    """The deployment with what the host holds; first as engines are set: as much on the devices as they hold.

    Then, where the row does not say what it was, those with more on the host, up to all. () where nothing lies there,
    or nothing can be told: processors and memory that both share have no host beside them.
    """
    if card.kind != "gpu" or not (row.split or row.offloaded):
        return ()
    routed = any(layer.experts is not None for layer in model.layers)
    if row.split:
        stated = replace(asked, n_gpu_layers=row.n_gpu_layers, n_cpu_moe=row.n_cpu_moe if routed else None)
        return (_beside(stated, row) if row.n_gpu_layers is not None or routed else asked,)
    said = row.partial_offload.lower()
    if _CACHE in said:
        return (_beside(replace(asked, kv_offload=False), row),)
    everything = _beside(replace(asked, n_gpu_layers=0), row)
    if _ALL in said:
        return (everything,)
    layers = layer_count(model)

    def with_experts(there: int) -> Deployment:
        return _beside(replace(asked, n_cpu_moe=there), row) if there else asked

    def with_layers(there: int) -> Deployment:  # the head is the last to go
        return _beside(replace(asked, n_gpu_layers=layers + 1 - there), row) if there else asked

    def fits(one: Deployment) -> bool:
        try:
            return holds_weights(names.scenario(model, card, one))
        except RooflightError:
            return False

    if routed:
        experts = _fewest(layers, lambda there: fits(with_experts(there)))
        if experts is not None:
            return (*map(with_experts, sorted({experts, (experts + layers) // 2, layers})), everything)
    there = _fewest(layers + 1, lambda there: fits(with_layers(there)))
    if there is None:
        return ()
    return (with_layers(there), everything) if there <= layers else (everything,)


def _beside(asked: Deployment, row: Measurement) -> Deployment:
    """With what the row says of the host."""
    return replace(asked, host_cpu=row.host_cpu, host_memory_bandwidth=row.host_memory_bandwidth)


def others(found: Scenario, names: Names) -> Iterator[Scenario]:
    """The same on other hosts that it may have run with: what is expected goes up to theirs.

    A fast one, with the memory's rate that the row states, where it names none; and each multiplying itself what
    engines would copy to the card.
    """
    yield names.uncopied(found)
    if found.deployment.host_cpu is not None:
        return
    asked = replace(found.deployment, host_cpu=host_usual_most())
    try:
        fast = names.scenario(found.checkpoint, found.accelerator, asked)
    except RooflightError:
        return
    yield from (fast, names.uncopied(fast))


def _fewest(most: int, fits: Callable[[int], bool]) -> int | None:
    """The fewest that do, of what does the better the more there are; None where not even all do."""
    if not fits(most):
        return None
    low, high = -1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
