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

    Then, where the row does not say what it was, those with more on the host, up to all. () where nothing can be told:
    processors and memory that both share have no host beside them.
    """
    said = row.partial_offload.lower()
    if card.kind != "gpu":
        return ()
    if _CACHE in said:
        return (replace(asked, kv_offload=False),)
    if _ALL in said:
        return (replace(asked, n_gpu_layers=0),)
    layers = layer_count(model)
    everything = replace(asked, n_gpu_layers=0)
    if any(layer.experts is not None for layer in model.layers):
        experts = _fewest(layers, lambda there: _fits(replace(asked, n_cpu_moe=there), model, card, names))
        if experts is not None:
            some = sorted({experts, (experts + layers) // 2, layers})
            return (*(replace(asked, n_cpu_moe=there) if there else asked for there in some), everything)
    there = _fewest(layers + 1, lambda there: _fits(_with_layers(asked, layers, there), model, card, names))
    if there is None:
        return ()
    return (_with_layers(asked, layers, there), everything) if there <= layers else (everything,)


def others(found: Scenario, names: Names) -> Iterator[Scenario]:
    """The same beside other hosts that it may have run with, which no row names: what is expected goes up to theirs.

    One with fast memory, and each multiplying itself what engines would copy to the card.
    """
    asked = replace(found.deployment, host_memory_bandwidth=f"{host_usual_most():.0f}B/s")
    try:
        fast = names.scenario(found.checkpoint, found.accelerator, asked)
    except RooflightError:
        return
    yield from (fast, names.uncopied(found), names.uncopied(fast))


def _with_layers(asked: Deployment, layers: int, there: int) -> Deployment:
    """With so many layers on the host, the head being the last to go; 0: none."""
    return replace(asked, n_gpu_layers=layers + 1 - there) if there else asked


def _fits(asked: Deployment, model: Model, card: Accelerator, names: Names) -> bool:
    try:
        return holds_weights(names.scenario(model, card, asked))
    except RooflightError:
        return False


def _fewest(most: int, fits: Callable[[int], bool]) -> int | None:
    """The fewest that do, of what does the better the more there are; None where not even all do."""
    if not fits(most):
        return None
    low, high = -1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
