"""Moves on the same machine: batch, formats, attention, graphs, another cut of the same devices."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.moves.option import Asked, Option, move, option, refitted
from rooflight.roofline.rates import hardware_format, unrated
from rooflight.scenario.definite import Scenario
from rooflight.serve.memory import memory
from rooflight.values.formats import FORMATS
from rooflight.work.count import has_source, is_encoder, layer_matrices, stored_format
from rooflight.work.layout import Layout
from rooflight.work.storage import element_bytes

# Formats that are tried where they are narrower than what the model, or the cache, is stored in.
_WEIGHTS = ("fp8", "w8a8-int8", "int4-g128", "nvfp4", "mxfp4")
_CACHES = ("fp8", "nvfp4")
# What engines run on a card without a path for the format: the same bits, wide arithmetic.
_WEIGHT_ONLY = {"fp8": "fp8-weight-only", "w8a8-int8": "int8", "nvfp4": "nvfp4-weight-only"}


@move("batch", needs_peak=True)
def batch(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Twice, four times, and as many sequences as memory holds; as many as it holds, where it holds fewer."""
    held = memory(sc)
    now, most = sc.workload.batch, held.most
    if sc.workload.request_rate is not None or sc.deployment.schedule == "alone":  # what arrives, or one
        return
    sizes = {now * 2, now * 4} if held.max_batch is None else {now * 2, now * 4, most} if most >= now else {most}
    for size in sorted(sizes):
        if size not in (0, now) and size <= most:
            yield option(sc, now, size, size == most, held.kv_bytes_per_sequence * (size - now), batch=size)


@move("weights")
def weights(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Narrower weights: W8A8 and W4A4 multiply in the narrow format too, weight-only formats do not."""
    matrices = [linear for layer in sc.model.layers for linear, _ in layer_matrices(layer) if not linear.pinned]
    own = max(stored_format(linear).bits for linear in matrices)
    for wanted in _WEIGHTS:
        multiplied = FORMATS[wanted].compute
        # a path that nobody published a rate of is none to count on
        slow = multiplied is not None and (
            hardware_format(sc.accelerator, multiplied) != multiplied or bool(unrated(sc.accelerator, (multiplied,)))
        )
        form = FORMATS[_WEIGHT_ONLY[wanted] if slow else wanted]
        if form.bits < own:
            yield refitted(sc, form.id, form.compute, wanted, weights=form.id, activations=None, compute=None)


@move("kv-cache")
def kv_cache(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """A narrower KV cache; in FP4 where the accelerator has it."""
    if is_encoder(sc.model):
        return
    for name in _CACHES:
        form = FORMATS[name].compute or name
        if element_bytes(name) < sc.numbers.kv_bytes and hardware_format(sc.accelerator, form) == form:
            yield option(sc, name, kv_cache=name, cache_type_k=None, cache_type_v=None)


@move("attention")
def attention(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """FlashAttention in place of a score matrix that goes through memory."""
    if not sc.numbers.flash:
        yield option(sc, attention="flash")


@move("graphs")
def graphs(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Kernels captured in a graph instead of launched one by one."""
    if not sc.deployment.graphs:
        yield option(sc, graphs=True)


@move("layout")
def layout(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Another cut of the same devices: replicas or stages in place of tensor parallelism, experts whole or cut."""
    now, devices = sc.layout, sc.layout.devices
    routed = any(layer.experts is not None for layer in sc.model.layers)
    shapes = []
    for tp in (1, 2, 4, 8, 16):
        if devices % tp == 0:
            shapes += [(tp, 1, devices // tp), (tp, devices // tp, 1)]
    for tp, pp, dp in dict.fromkeys(shapes):
        for ep in (1, tp * dp) if routed and tp * dp > 1 else (1,):
            cut = Layout(tp=tp, pp=pp, dp=dp, ep=ep, in_switch=now.in_switch, domain=now.domain)
            if cut != now:  # a replica without a request would say nothing of replicas
                batch = max(sc.workload.batch, dp)
                yield refitted(sc, now, cut, batch, tp=tp, pp=pp, dp=dp, ep=ep, batch=batch)


@move("prefix-caching", alone=True, needs_peak=True)
def prefix_caching(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Prompts that begin alike are prefilled once, but for their last token."""
    if is_encoder(sc.model) or has_source(sc.model):  # each token sees those behind it
        return
    isl, cached = sc.workload.isl, sc.workload.cached_prefix
    hit = max(min(int(isl * asked.hit_rate), isl - 1), cached)
    if hit > cached or "prefix-caching" in asked.named:
        yield option(sc, hit, isl, asked.hit_rate, cached_prefix=hit)
