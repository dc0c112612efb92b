"""Expected time of operators, each by its kind's fit: a floor, which overlaps with the kernels before, and a body."""

from __future__ import annotations

import msgspec

from rooflight.affine import elements, like
from rooflight.numeric import Number, maximum, minimum
from rooflight.roofline import expected, formulas, tables
from rooflight.roofline.collectives import experts_across_s, library_s, send_across_s
from rooflight.roofline.links import NETWORK, PCIE, Links, near_bytes_per_s
from rooflight.roofline.rates import Rates
from rooflight.values.calibration import Calibration, DecodeFit, GemmFit, LinkFit, PrefillFit
from rooflight.values.formats import FORMATS
from rooflight.values.work import Exchange, Gemm, Operator, Scores

# Compute units taken where an entry names none: those of a large GPU.
COMPUTE_UNITS = 128
_LEAST_TOUCHED = 1e-12
# vLLM of 2024 takes the kernel that is not split over the context, in which each query head reads the cache for itself,
# where a device has more than so many sequences x query heads, or a context is one partition. Source: vLLM 0.6,
# vllm/attention/ops/paged_attn.py (use_v1, _PARTITION_SIZE).
ALONE_FROM = 512
ALONE_TOKENS = 512


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What expected times of operators depend on beside the operator: machine, fits, cache, devices of experts.

    cached      share of the bytes that lie in the last-level cache from the step before
    """

    rates: Rates
    calibration: Calibration
    cached: Number = 0.0
    expert_devices: int = 1

    @property
    def compute_units(self) -> float:
        return self.rates.accelerator.compute_units or COMPUTE_UNITS


def operator_parts(op: Operator, at: Setting) -> tuple[tuple[str, Number], ...]:
    """What all runs of an operator add to the parts of a step: (field of Parts, amount); bytes of all compute units."""
    seconds = like(op.work.moved_bytes, operator_s(op, at))
    if isinstance(op.shape, Exchange):
        return (("link", seconds * op.count),)
    if at.calibration.tables is not None:  # whole calls were timed: nothing of them is a floor that another one hides
        return (("experts" if op.kind == "experts" else "body", seconds * op.count),)
    floor = minimum(floor_s(op, at), seconds)
    narrowed = isinstance(op.shape, Gemm) and op.compute == "fp4" and op.kind != "experts"
    return (
        ("unit_bytes", op.work.moved_bytes * op.count),
        ("launches", _launches(op) * op.count),
        ("floors", floor * op.count),
        *((("fp4_floors", floor * op.count),) if narrowed else ()),
        ("experts" if op.kind == "experts" else "body", (seconds - floor) * op.count),
        *_unshared(op, at),
    )


def _launches(op: Operator) -> Number:
    """Kernels of one run as a framework launches them by itself: of routed experts one for each of them."""
    each = op.shape.held if op.kind == "experts" and isinstance(op.shape, Gemm) else 1
    return op.work.launches * each


def _unshared(op: Operator, at: Setting) -> tuple[tuple[str, Number], ...]:
    """Of decode attention, at memory's rate: the cache read for each query head, and what of it others would spare."""
    shape = op.shape
    if not isinstance(shape, Scores) or not shape.decoding or shape.latent:
        return ()
    group = maximum(shape.heads / shape.kv_heads, 1)
    once = op.work.kv_read_bytes / at.rates.memory_bytes_per_s * op.count
    alone = (shape.sequences * shape.heads > ALONE_FROM) | (shape.keys <= ALONE_TOKENS)
    return (("repeated", once * group), ("unshared", elements(once * (group - 1)) * elements(alone)))


def operator_s(op: Operator, at: Setting) -> Number:
    """Expected seconds of one run of an operator inside a captured graph."""
    shape = op.shape
    if at.calibration.tables is not None and not isinstance(shape, Exchange):
        return tables.operator_s(op, at.calibration.tables)
    if isinstance(shape, Gemm):
        return _experts_s(op, shape, at) if op.kind == "experts" else _gemm_s(op, shape, at)
    if isinstance(shape, Scores):
        return _attention_s(op, shape, at)
    if isinstance(shape, Exchange):
        return _exchange_s(op, shape, at)
    plain = expected.elementwise_s(
        moved_bytes=op.work.moved_bytes,
        memory_bytes_per_s=at.rates.memory_bytes_per_s,
        fit=at.calibration.elementwise,
    )
    if isinstance(op.work.flop, int | float) and op.work.flop == 0:
        return plain
    return maximum(plain, op.work.flop / at.rates.peak(op.compute))


def floor_s(op: Operator, at: Setting) -> Number:
    """The part of operator_s that does not depend on its size."""
    if isinstance(op.shape, Gemm):
        return fit_of(op.shape.stored, op.compute, at.calibration.gemm).floor_s
    if isinstance(op.shape, Scores):
        fit = _scores_fit(op, op.shape, at)
        if isinstance(fit, DecodeFit):
            return expected.decode_floor_s(head_dim=op.shape.head_dim, fit=fit)
        return fit.floor_s
    return at.calibration.elementwise.floor_s


def fit_of(stored: str, compute: str, fits: dict[str, GemmFit]) -> GemmFit:
    """The fit of a storage format: its own, else that of the nearest one that multiplies in the same format."""
    form = FORMATS.get(stored)
    bits = form.bits if form is not None else 4 if "int4" in stored else 8
    narrow = {
        "fp8": ("fp8-block128", "fp8") if "block" in stored else ("fp8", "fp8-block128"),
        "fp4": ("nvfp4", "fp8"),
        "int8": ("w8a8-int8", "fp8"),
    }.get(compute, ())
    wide = ("int4", "int8") if bits < 6 else ("int8", "int4") if bits < 16 else ()
    return next(fits[name] for name in (*narrow, *wide, "bf16") if name in fits)


def _gemm_s(op: Operator, shape: Gemm, at: Setting) -> Number:
    fit = fit_of(shape.stored, op.compute, at.calibration.gemm)
    return expected.gemm_s(
        tokens=shape.tokens,
        step_tokens=shape.tokens,
        inputs=shape.inputs,
        flop=op.work.flop,
        moved_bytes=op.work.moved_bytes,
        quantised_bytes=shape.quantised_bytes,
        cached=at.cached,
        flop_per_s=at.rates.peak(op.compute),
        memory_bytes_per_s=at.rates.memory_bytes_per_s,
        compute_units=at.compute_units,
        fit=fit,
    )


def _experts_s(op: Operator, shape: Gemm, at: Setting) -> Number:
    """As real routers choose, some experts more often than others: fewer are touched, one device has more to do."""
    fit = fit_of(shape.stored, op.compute, at.calibration.gemm)
    # a part of a pass so small that 1 - (1 - k/E)^M is 0 in a float touches what it has of rows
    least = minimum(shape.tokens, _LEAST_TOUCHED)
    touched = maximum(expected.likely_experts(held=shape.held, chance=shape.chance, rows=shape.tokens), least)
    untouched_bytes = op.work.weight_bytes * (1 - touched / maximum(shape.matrices, least))
    busiest = expected.load_imbalance(rows=shape.tokens, held=shape.held, devices=at.expert_devices)
    return expected.expert_gemm_s(
        rows=shape.tokens,
        step_tokens=shape.tokens / (shape.held * shape.chance),
        touched=touched,
        imbalance=busiest,
        inputs=shape.inputs,
        flop=op.work.flop,
        moved_bytes=op.work.moved_bytes - untouched_bytes,
        quantised_bytes=shape.quantised_bytes,
        cached=at.cached,
        flop_per_s=at.rates.peak(op.compute),
        memory_bytes_per_s=at.rates.memory_bytes_per_s,
        compute_units=at.compute_units,
        fit=fit,
    )


def _attention_s(op: Operator, shape: Scores, at: Setting) -> Number:
    common = {
        "sequences": shape.sequences,
        "kv_heads": shape.kv_heads,
        "group": shape.heads / shape.kv_heads,
        "head_dim": shape.head_dim,
        "flop": op.work.flop,
        "moved_bytes": op.work.moved_bytes,
        "cached": at.cached,
        "flop_per_s": at.rates.peak(op.compute),
        "memory_bytes_per_s": at.rates.memory_bytes_per_s,
        "compute_units": at.compute_units,
    }
    fit = _scores_fit(op, shape, at)
    if isinstance(fit, DecodeFit):
        return expected.decode_attention_s(context=shape.keys, fit=fit, **common)
    stored = op.work.kv_write_bytes
    return expected.prefill_attention_s(new=shape.new, keys=shape.keys, stored_bytes=stored, fit=fit, **common)


def _scores_fit(op: Operator, shape: Scores, at: Setting) -> DecodeFit | PrefillFit:
    """By the format attention multiplies in; bf16's where that one was not measured."""
    if shape.decoding:
        decode = at.calibration.decode
        return decode.get(op.compute) or decode["bf16"]
    prefill = at.calibration.prefill
    return prefill.get(op.compute) or prefill["bf16"]


def link_kinds(at: Setting) -> tuple[str, ...]:
    """Which kind of link joins the devices, as the fits name them, nearest first."""
    link = at.rates.accelerator.link
    if link is None:
        return ("pcie",)
    if link.reduces:
        return ("nvlink-switch", "nvlink")
    return ("nvlink", "nvlink-switch") if "nvlink" in link.name.lower() else ("fabric",)


def _exchange_s(op: Operator, shape: Exchange, at: Setting) -> Number:
    """An engine's own kernels or its library within a domain, the library over PCIe and across."""
    links, fits = at.rates.links or Links(), at.calibration.collectives
    within_pcie = links.name == PCIE and shape.domains == 1 and shape.what == "all_reduce"
    if fits is not None and (shape.domains > 1 or within_pcie):
        if shape.what == "send":
            return send_across_s(op.work.link_bytes, links, fits)
        if shape.what == "all_to_all" and links.far == NETWORK:
            return experts_across_s(shape, links, fits)
        return library_s(shape, at.rates.accelerator, links, fits)
    rate = near_bytes_per_s(links, shape.local)
    if shape.what == "send":
        fit = _link_fit("all_gather", at)
        return fit.latency_s + op.work.link_bytes / (rate * fit.efficiency)
    fit = _link_fit(shape.what, at)
    ask = expected.all_reduce_s if shape.what == "all_reduce" else expected.exchange_s
    return ask(payload_bytes=shape.payload_bytes, devices=shape.devices, link_bytes_per_s=rate, fit=fit)


def _link_fit(what: str, at: Setting) -> LinkFit:
    links = at.calibration.links
    return next(links[f"{kind}/{what}"] for kind in (*link_kinds(at), "nvlink", "pcie") if f"{kind}/{what}" in links)


def cached_share(moved_bytes: Number, at_cache_bytes: float) -> Number:
    """Share of a whole step's bytes that are still in the last-level caches, by the rule of the ceiling."""
    return formulas.step_cache_credit(moved_bytes, at_cache_bytes) / moved_bytes
