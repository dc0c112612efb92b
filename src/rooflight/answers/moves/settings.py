"""Moves on the same machine: batch, formats, attention, graphs, another cut of the same devices."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rooflight.answers.moves.option import Asked, Option, move, option
from rooflight.roofline.rates import hardware_format
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import memory
from rooflight.units import scaled
from rooflight.values.formats import FORMATS
from rooflight.work.count import layer_matrices, stored_format
from rooflight.work.storage import element_bytes

# Weight formats that are tried where they are narrower than what the model is stored in, and what each risks.
_WEIGHTS = {
    "fp8": "quality: usually within noise; needs a calibrated or block-scaled checkpoint",
    "w8a8-int8": "quality: activations in INT8 need smoothing or per-token scales; test it",
    "int4-g128": "quality: a point or so on hard tasks; weight-only, so activations stay wide",
    "nvfp4": "quality: W4A4 needs a checkpoint made for it; test it",
    "mxfp4": "quality: as int4; weight-only",
}
# What engines run on a card without a path for the format: the same bits, wide arithmetic.
_WEIGHT_ONLY = {"fp8": "fp8-weight-only", "w8a8-int8": "int8", "nvfp4": "nvfp4-weight-only"}
_CACHES = {
    "fp8": "quality: usually within noise; test long contexts",
    "nvfp4": "quality: 4-bit caches lose recall over long contexts; few engines read them",
}


@move("batch")
def batch(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Twice, four times, and as many sequences as memory holds."""
    now, most = sc.workload.batch, memory(sc).max_batch
    if 1 <= most < now:
        yield option(
            f"batch {now:,} to {most:,}, all that memory holds", "leaves the others waiting for their turn",
            "fewer sequences at once", partial(changed, sc, batch=most),
        )  # fmt: skip
    if most < now:
        return
    sizes = {now * 2: "", now * 4: "", most: ", all that memory holds"}
    for size, words in sorted(sizes.items()):
        if size > now:
            yield option(
                f"batch {now:,} to {size:,}{words}",
                "spreads the weights of a step over more sequences, each with its own KV cache",
                f"every sequence waits for a longer step; {_grown(sc, size - now)} more KV cache",
                partial(changed, sc, batch=size),
            )


def _grown(sc: Scenario, sequences: int) -> str:
    return scaled(memory(sc).kv_bytes_per_sequence * sequences, "B")


@move("weights")
def weights(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Narrower weights: W8A8 and W4A4 multiply in the narrow format too, weight-only formats do not."""
    matrices = [linear for layer in sc.model.layers for linear, _ in layer_matrices(layer) if not linear.pinned]
    own = max(stored_format(linear, sc.numbers.weights).bits for linear in matrices)
    for wanted, risk in _WEIGHTS.items():
        multiplied = FORMATS[wanted].compute
        slow = multiplied is not None and hardware_format(sc.accelerator, multiplied) != multiplied
        name = _WEIGHT_ONLY[wanted] if slow else wanted
        form = FORMATS[name]
        if form.bits >= own:
            continue
        acts = "shrinks the weights" + (
            f" and multiplies in {form.compute}" if form.compute else ", and multiplies as before"
        )
        yield option(
            f"{name} weights", acts, risk,
            partial(changed, sc, weights=name, activations=None, compute=None),
        )  # fmt: skip


@move("kv-cache")
def kv_cache(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """A narrower KV cache."""
    for name, risk in _CACHES.items():
        if element_bytes(name) < sc.numbers.kv_bytes:
            yield option(
                f"{name} KV cache", "shrinks the KV cache and what attention reads of it; the weights stay", risk,
                partial(changed, sc, kv_cache=name),
            )  # fmt: skip


@move("attention")
def attention(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """FlashAttention in place of a score matrix that goes through memory."""
    if not sc.numbers.flash:
        yield option(
            "flash attention", "keeps the scores on chip instead of writing and reading them", "none",
            partial(changed, sc, attention="flash"),
        )  # fmt: skip


@move("graphs")
def graphs(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Kernels captured in a graph instead of launched one by one."""
    if not sc.deployment.graphs:
        yield option(
            "CUDA graphs", "launches a whole step at once instead of kernel by kernel",
            "memory: a graph for each batch size, some hundred MB", partial(changed, sc, graphs=True),
        )  # fmt: skip


@move("layout")
def layout(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Another cut of the same devices: replicas or stages in place of tensor parallelism, experts whole or cut."""
    cut, devices = sc.layout, sc.layout.devices
    routed = any(layer.experts is not None for layer in sc.model.layers)
    shapes = []
    for tp in (1, 2, 4, 8, 16):
        if tp <= devices and devices % tp == 0:
            shapes += [(tp, 1, devices // tp), (tp, devices // tp, 1)]
    for tp, pp, dp in dict.fromkeys(shapes):
        for ep in (1, tp * dp) if routed and tp * dp > 1 else (1,):
            if (tp, pp, dp, ep) == (cut.tp, cut.pp, cut.dp, cut.ep):
                continue
            words = " x ".join(
                f"{name} {value}" for name, value in (("tp", tp), ("pp", pp), ("dp", dp), ("ep", ep)) if value > 1
            )
            yield option(
                f"the same {devices} devices as {words or 'tp 1'}", _layout_acts(tp, pp, dp, ep, cut.tp),
                "memory: each replica holds all dense weights" if dp > cut.dp else "none but a restart",
                partial(changed, sc, tp=tp, pp=pp, dp=dp, ep=ep),
            )  # fmt: skip


def _layout_acts(tp: int, pp: int, dp: int, ep: int, before: int) -> str:
    parts = []
    if tp != before:
        parts.append("cuts each matrix finer" if tp > before else "cuts each matrix less, with fewer all-reduces")
    if pp > 1:
        parts.append(f"puts the layers on {pp} stages, one after the other")
    if dp > 1:
        parts.append(f"makes {dp} replicas that share the sequences")
    if ep > 1:
        parts.append(f"spreads whole experts over {ep} devices")
    return ", ".join(parts) or "keeps each expert's matrices cut"


@move("prefix-caching", alone=True)
def prefix_caching(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Prompts that begin alike are prefilled once."""
    hit = int(sc.workload.isl * asked.hit_rate)
    if sc.workload.cached_prefix < hit < sc.workload.isl:
        yield option(
            f"prefix caching, {asked.hit_rate:.0%} of the prompt found",
            f"prefills {sc.workload.isl - hit:,} of {sc.workload.isl:,} prompt tokens; decode reads the same cache",
            "memory: cached prefixes stay",
            partial(changed, sc, cached_prefix=hit),
            assumed=(f"a hit rate of {asked.hit_rate:.0%} (--hit-rate)",),
        )
