"""What a scenario that does not fit might leave to the host's memory, and how fast a token then is at best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from rooflight.errors import RooflightError
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.apart import is_apart
from rooflight.serve.memory import memory
from rooflight.units import to_base
from rooflight.work.count import is_encoder, weight_bytes
from rooflight.work.places import layer_count

# Engines that read weights over the link every step; llama.cpp computes on the host, and so it is taken where nobody
# names an engine.
_STREAM = ("vllm", "sglang")
_COMPUTE = ("llama.cpp",)


class Offload(msgspec.Struct, frozen=True, kw_only=True):
    """One way to hold it.

    field, value    of the deployment: n_gpu_layers, n_cpu_moe, cpu_offload_gb (GiB)
    kept, layers    layers (with n_cpu_moe: layers whose experts) on the devices, and all of them
    rate            of the host's memory or, of cpu_offload_gb, of the link to it, bytes a second
    assumed         where that rate is from, if nobody said it; "" else
    token_s         the ceiling of a decode step
    changes         to the deployment, the assumed rate among them: then it is part of the question
    """

    field: str
    value: int
    kept: int
    layers: int
    rate: float
    assumed: str
    token_s: float
    changes: dict[str, Any]


def offloads(sc: Scenario) -> tuple[Offload, ...]:
    """Each way that holds all the sequences, by the engine's options; none where something else is the matter."""
    able = sc.accelerator.kind not in ("cpu", "apu") and sc.layout.dp == 1 and not is_apart(sc)
    if not able or is_encoder(sc.model) or not sc.workload.osl or sc.accelerator.given_bytes is None:
        return ()
    engine = None if sc.deployment.engine is None else sc.engine.id
    found = []
    for name, values, fixed in _ways(sc, engine):
        try:
            one = _first(sc, name, values, fixed)
        except RooflightError:  # a link that nobody rated; replicas; an engine timed in other formats alone
            continue
        if one is not None:
            found.append(one)
    return tuple(found)


def _ways(sc: Scenario, engine: str | None) -> Iterator[tuple[str, range, dict[str, Any]]]:
    """The option of each way, its values from the least that lies on the host on, and what else is set with it."""
    layers = layer_count(sc.model)
    if engine is None or engine in _COMPUTE:
        yield "n_gpu_layers", range(layers, 0, -1), {}
        if any(layer.experts is not None for layer in sc.model.layers):
            yield "n_cpu_moe", range(1, layers + 1), {"n_gpu_layers": None, "cpu_moe": False}
    elif engine in _STREAM:
        held = weight_bytes(sc.model) / (sc.layout.tp * sc.layout.pp) / to_base(1, "GiB")
        yield "cpu_offload_gb", range(1, math.floor(held) + 1), {}


def _first(sc: Scenario, name: str, values: range, fixed: dict[str, Any]) -> Offload | None:
    """The first value that fits: the further one goes, the less lies on the devices."""

    def with_value(value: int) -> dict[str, Any]:
        stated = value if name != "cpu_offload_gb" else value * to_base(1, "GiB")
        return {**fixed, name: stated}

    def fits(value: int) -> bool:
        """On the devices: how much the host holds is another matter, and bounds the values from the other side."""
        held = memory(changed(sc, **with_value(value), host_memory=None))
        return held.whole and held.share_needed is None

    value = _bisected(values, fits)
    if value is None:
        return None
    changes = with_value(value)
    after = changed(sc, **changes)
    beside, there = after.rates.beside, memory(after).host
    if beside is None or there is None or there.fits is False:
        return None
    assumed, rate = "", beside.link_bytes_per_s or 0.0
    if name != "cpu_offload_gb":
        host = beside.rates.accelerator
        rate = beside.rates.memory_bytes_per_s
        if (host.fast_memory_bytes_per_s or rate) > rate and sc.deployment.host_cpu is None:
            assumed = host.origin
            changes["host_memory_bandwidth"] = f"{rate:f}B/s"
            after = changed(sc, **changes)
    layers = layer_count(sc.model)
    kept = layers if name == "cpu_offload_gb" else value - 1 if name == "n_gpu_layers" else layers - value
    return Offload(
        field=name, value=value, kept=kept, layers=layers, rate=rate, assumed=assumed,
        token_s=float(phases.decode(after).time.ceiling_s), changes=changes,
    )  # fmt: skip


def _bisected(values: range, fits: Callable[[int], bool]) -> int | None:
    """The first of values that fits, where all behind it do."""
    if not len(values) or not fits(values[-1]):
        return None
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(values[middle]) else (middle + 1, high)
    return values[low]
