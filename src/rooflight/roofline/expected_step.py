"""Expected time of a step: each operator by its kind's fit, one after the other, and the host between steps.

An operator's time is its floor and its body. In a step of a real engine floors overlap with the kernels before them
(an engine's floor_share of them is left), bodies do not.
"""

from __future__ import annotations

import msgspec

from rooflight.numeric import Number, maximum, minimum
from rooflight.roofline import expected, formulas
from rooflight.roofline.rates import Rates
from rooflight.values.calibration import Calibration, DecodeFit, Engine, GemmFit, LinkFit, PrefillFit
from rooflight.values.formats import FORMATS
from rooflight.values.work import Exchange, Gemm, Operator, Scores

# Compute units taken where an entry names none: those of a large GPU.
COMPUTE_UNITS = 128
# How sharply an engine's step turns from what memory allows to what its compute units draw.
UNIT_SHARPNESS = 4


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


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of a step by what they are; may hold arrays.

    body        kernels, beyond their floors; floors: of all kernels
    link        collectives
    experts     bodies of the routed experts' products
    unit_bytes  bytes (no seconds) that each compute unit moves
    """

    body: Number = 0.0
    floors: Number = 0.0
    link: Number = 0.0
    experts: Number = 0.0
    unit_bytes: Number = 0.0


def parts(operators: tuple[Operator, ...], at: Setting) -> Parts:
    """The expected seconds of all operators, sorted into parts."""
    body: Number = 0.0
    floors: Number = 0.0
    link: Number = 0.0
    experts: Number = 0.0
    moved: Number = 0.0
    for op in operators:
        seconds = operator_s(op, at)
        if isinstance(op.shape, Exchange):
            link = link + seconds * op.count
            continue
        moved = moved + op.work.moved_bytes * op.count
        floor = minimum(floor_s(op, at), seconds)
        floors = floors + floor * op.count
        if op.kind == "experts":
            experts = experts + (seconds - floor) * op.count
        else:
            body = body + (seconds - floor) * op.count
    return Parts(body=body, floors=floors, link=link, experts=experts, unit_bytes=moved / at.compute_units)


def step_s(part: Parts, engine: Engine, *, sequences: Number, expert_layers: int) -> Number:
    """Expected wall seconds of a step: an engine's shares of the parts, and the host.

    = p-norm(body x body_share + experts x expert_share, unit_bytes x unit_byte_s) + floors x floor_share + link
      + expert_layers x expert_layer_s + host_s + sequences x host_per_sequence_s

    Source: fitted (calibration/fit_engines.py).
    """
    kernels = part.body * engine.body_share + part.experts * engine.expert_share
    if engine.unit_byte_s:
        kernels = expected.joined_s(kernels, part.unit_bytes * engine.unit_byte_s, sharpness=UNIT_SHARPNESS)
    host = engine.host_s + sequences * engine.host_per_sequence_s
    return kernels + part.floors * engine.floor_share + part.link + expert_layers * engine.expert_layer_s + host


def operator_s(op: Operator, at: Setting) -> Number:
    """Expected seconds of one run of an operator inside a captured graph."""
    shape = op.shape
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
    touched = expected.likely_experts(held=shape.held, chance=shape.chance, rows=shape.tokens)
    untouched_bytes = op.work.weight_bytes * (1 - touched / shape.matrices)
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
    rate = at.rates.link_bytes_per_s or 0.0
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
