"""What a scenario that does not fit might leave to the host's memory, and how fast a token then is at best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from rooflight.errors import RooflightError
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.apart import is_apart
from rooflight.serve.memory import memory
from rooflight.units import exactly, to_base
from rooflight.work.count import is_encoder, weight_bytes
from rooflight.work.places import Split, layer_count

# Engines that read weights over the link every step; llama.cpp computes on the host, and so it is taken where nobody
# names an engine.
_STREAM = ("vllm", "sglang")
_COMPUTE = ("llama.cpp",)
# What is set where nothing lies on the host: then nothing is said of a host either.
ALL_ON_DEVICES: dict[str, Any] = {
    "n_gpu_layers": None, "n_cpu_moe": None, "cpu_moe": False, "kv_offload": True, "cpu_offload_gb": None,
    "host_cpu": None, "host_memory_bandwidth": None, "host_memory": None, "host_link": None,
}  # fmt: skip


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
    streams = engine is None and sc.deployment.cpu_offload_gb is not None
    if not streams and (engine is None or engine in _COMPUTE):
        yield "n_gpu_layers", range(layers, 0, -1), {}
        if any(layer.experts is not None for layer in sc.model.layers):
            yield "n_cpu_moe", range(1, layers + 1), {"n_gpu_layers": None, "cpu_moe": False}
    elif streams or engine in _STREAM:
        yield "cpu_offload_gb", _streamed(sc), {}


def _streamed(sc: Scenario) -> range:
    """GiB that a device may leave to the host: up to its weights."""
    held = weight_bytes(sc.model) / (sc.layout.tp * sc.layout.pp) / to_base(1, "GiB")
    return range(1, math.floor(held) + 1)


def _first(sc: Scenario, name: str, values: range, fixed: dict[str, Any]) -> Offload | None:
    """The first value that fits: the further one goes, the less lies on the devices."""
    # how much the host holds is another matter, and bounds the values from the other side
    value = _bisected(values, partial(_fits_with, sc, {**fixed, "host_memory": None}, False, name))
    if value is None:
        return None
    changes = {**fixed, **_stated(name, value)}
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
            changes["host_memory_bandwidth"] = exactly(rate, "B/s")
            after = changed(sc, **changes)
    layers = layer_count(sc.model)
    kept = layers if name == "cpu_offload_gb" else value - 1 if name == "n_gpu_layers" else layers - value
    return Offload(
        field=name, value=value, kept=kept, layers=layers, rate=rate, assumed=assumed,
        token_s=float(phases.decode(after).time.ceiling_s), changes=changes,
    )  # fmt: skip


def _stated(name: str, value: int) -> dict[str, Any]:
    return {name: value if name != "cpu_offload_gb" else value * to_base(1, "GiB")}


def _fits(sc: Scenario, relaxed: bool = False) -> bool:
    """Whether all sequences fit; relaxed: or would with a larger share of the memory."""
    held = memory(sc)
    return held.whole and (relaxed or held.share_needed is None)


def brought_back(sc: Scenario, **changes: Any) -> Scenario:
    """The scenario changed; where a part lies on the host, with as much on the devices as they hold then.

    All of it where that fits, else the most layers, or the experts of the fewest layers or the fewest weights on the
    host, by what lies there now; as asked where none of these fits. Raises as scenario.change does.
    """
    if sc.rates.beside is None:
        return changed(sc, **changes)
    relaxed = _needs_more(sc, changes)
    whole = changed(sc, **changes, **ALL_ON_DEVICES)
    if _fits(whole, relaxed):
        return whole
    for name, values, fixed in _ways_back(sc, whole):
        with_it = {**changes, **fixed}
        try:
            value = _bisected(values, partial(_fits_with, sc, with_it, relaxed, name))
        except RooflightError:  # replicas that would share a host; a link that nobody rated
            continue
        if value is not None:
            return changed(sc, **with_it, **_stated(name, value))
    return changed(sc, **changes)


def _fits_with(sc: Scenario, changes: dict[str, Any], relaxed: bool, name: str, value: int) -> bool:
    return _fits(changed(sc, **changes, **_stated(name, value)), relaxed)


def _needs_more(sc: Scenario, changes: dict[str, Any]) -> bool:
    """Whether what is asked for fits with a larger share of the memory alone: then no less is put on the devices."""
    try:
        held = memory(changed(sc, **changes))
    except RooflightError:  # replicas that would share a host
        held = memory(sc)
    return held.whole and held.share_needed is not None


def _ways_back(sc: Scenario, whole: Scenario) -> Iterator[tuple[str, range, dict[str, Any]]]:
    """As _ways, by what lies on the host now; from nothing on, where the cache stays there.

    whole   the scenario to be, with everything on the devices
    """
    beside, layers = sc.rates.beside, layer_count(whole.model)
    split = Split() if beside is None else beside.split
    first = 1 if sc.deployment.kv_offload else 0
    in_turn = range(layers + 1, -1, -1)
    if split.experts:
        yield "n_cpu_moe", range(first, layers + 1), {"n_gpu_layers": None, "cpu_moe": False}
        yield "n_gpu_layers", in_turn, {"n_cpu_moe": None, "cpu_moe": True}
    elif split.layers:
        yield "n_gpu_layers", in_turn, {}
    elif sc.deployment.cpu_offload_gb is not None:
        yield "cpu_offload_gb", _streamed(whole), {}


class Placing(msgspec.Struct, frozen=True, kw_only=True):
    """What lies on the host after a change that moved it there or back.

    layers          all of the model
    was, split      what lay there, and lies there
    streamed_bytes  weights that each device reads over the link every step
    """

    layers: int
    was: Split
    split: Split
    streamed_bytes: float


def placing(before: Scenario, after: Scenario) -> Placing | None:
    """Where the parts of a model lie after a change; None where nothing lay on the host or all of it lies there yet."""
    was, now = before.rates.beside, after.rates.beside
    names = ("n_gpu_layers", "n_cpu_moe", "cpu_moe", "kv_offload", "cpu_offload_gb")
    if was is None or all(getattr(before.deployment, name) == getattr(after.deployment, name) for name in names):
        return None
    return Placing(
        layers=layer_count(after.model), was=was.split, split=Split() if now is None else now.split,
        streamed_bytes=0.0 if now is None else now.streamed_bytes,
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
