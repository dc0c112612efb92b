"""What an engine's memory should hold as a log says it was started, by the library's own rules."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from rooflight.answers.diagnose.setting import Setting
from rooflight.errors import RooflightError
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve.held import device_sequence_bytes, kinds_of
from rooflight.serve.memory import memory
from rooflight.values.held import MemoryBlock, Range
from rooflight.values.recorded import Measurements, Record, Stated

# Which share of memory an engine's log states.
_SHARES = {"vllm": "gpu_memory_utilization", "sglang": "mem_fraction_static"}
_STATED = {
    "total": "gpu_memory_utilization", "before": "mem_fraction_static", "after": "free_gpu_memory_fraction",
}  # fmt: skip
_NARROWER = {"vllm": "fp8", "sglang": "fp8", "llama.cpp": "q8_0"}
_WIDE = ("bf16", "fp16", "f16")
# What is tried where the share is lower.
_HIGH_SHARE = 0.95


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What one start should have, by rooflight: bytes of one device, tokens and sequences of the whole server.

    activation_bytes    at the peak; engine_bytes: context, graphs and workspaces of the engine
    pool_bytes          of the cache; for llama.cpp, which has no pool, the cache of its context
    token_bytes         a token in all layers, those with a window counted in full; None: pages not known
    sequence_bytes      one sequence of the context in full, where layers with a window keep no more than that
    compare             "tokens" where those are a capacity, else "bytes"
    stated_share        the log (or the user) states the share; of: what it is of
    """

    weights_bytes: float
    activation_bytes: float
    engine_bytes: float
    pool_bytes: Range
    tokens: Range
    sequences: Range
    sequence_tokens: int
    token_bytes: float | None
    sequence_bytes: float
    compare: str
    kv_cache: str
    share: float | None
    of: str
    stated_share: bool
    given_bytes: float | None
    vendor: str


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the question changed, and how many times as many full-length sequences the pool then holds."""

    field: str
    value: str
    times: float
    sequences: float | None = None


def scenario_of(record: Record, setting: Setting) -> Scenario | None:
    """The setting's scenario as the record was started; None where there is none, or what it states cannot be run."""
    base, stated = setting.scenario, record.stated
    if base is None:
        return None
    try:
        found = changed(base, **_fields(stated, setting))
    except RooflightError:
        return None
    found = _pinned(found)
    weights = stated.weights
    if weights is None or "weights" in setting.given or base.deployment.weights is not None:
        return found
    try:
        other = changed(found, weights=weights)
    except RooflightError:
        return found
    return min((found, other), key=lambda sc: _apart(sc, record.measured))


def _pinned(sc: Scenario) -> Scenario:
    """The scenario with its share as if it was stated: an engine that has started keeps to it, whatever then fits."""
    field = _STATED.get(sc.share.of)
    if sc.share.stated or field is None:
        return sc
    try:
        return changed(sc, **_one(field, sc.share.value))
    except RooflightError:
        return sc


def with_share(sc: Scenario, share: float) -> Scenario:
    """The scenario with another share of the kind it has."""
    field = _STATED.get(sc.share.of)
    return sc if field is None else changed(sc, **_one(field, share))


def _one(field: str, value: float) -> dict[str, Any]:
    return {field: value}


def _fields(stated: Stated, setting: Setting) -> dict[str, Any]:
    """What the record states, but for what the user said."""
    engine = stated.engine or ""
    fields: dict[str, Any] = {
        "engine": stated.engine, "engine_version": stated.engine_version, "max_model_len": stated.context_tokens,
        "max_num_seqs": stated.max_num_seqs, "max_num_batched_tokens": stated.max_num_batched_tokens,
        "kv_cache": stated.kv_cache, "tp": stated.tp, "pp": stated.pp, "dp": _replicas(stated),
    }  # fmt: skip
    if engine == "llama.cpp" and stated.gpus:
        fields |= {"tp": 1, "pp": stated.gpus}
    if engine in _SHARES:
        fields[_SHARES[engine]] = stated.memory_share
    if stated.context_tokens:
        fields |= {"isl": max(stated.context_tokens - 1, 1), "osl": 1, "batch": 1}
    return {name: value for name, value in fields.items() if value is not None and name not in setting.given}


def _replicas(stated: Stated) -> int | None:
    """Replicas; attention that runs data-parallel on the tensor ranks' own devices is none of them."""
    shared = stated.gpus is not None and stated.gpus == (stated.tp or 1) * (stated.pp or 1)
    return None if stated.dp is None or (shared and stated.dp > 1) else stated.dp


def _apart(sc: Scenario, measured: Measurements) -> float:
    """How far the weights of a scenario are from those measured."""
    seen = measured.weights_bytes_per_accelerator
    block = memory(sc)
    each = block.weights_bytes / sc.layout.devices
    return 0.0 if not seen or seen <= 0 or each <= 0 else abs(math.log(each / seen))


def expected(sc: Scenario, record: Record, setting: Setting) -> Expected | None:
    """What a record's engine should have in its scenario; None where the card's memory is in no source.

    llama.cpp makes its cache for a context, so nothing is expected of it where that is not known.
    """
    block = memory(sc)
    whole = sc.habits is not None and sc.habits.rule.ubatch is not None
    if block.kv_pool is None or (whole and not record.stated.context_tokens):
        return None
    devices, cut, rule = sc.layout.devices, sc.layout, None if sc.habits is None else sc.habits.rule
    kinds = None if rule is None else kinds_of(sc, msgspec.structs.replace(rule, windows=False))
    token_bytes = None if kinds is None else sum(kind.layers * kind.token_bytes for kind in kinds) / cut.pp
    pool, tokens = _over(block.kv_pool.bytes, devices), block.kv_pool.tokens
    if whole:
        one = block.kv_bytes_per_sequence / (cut.tp * cut.pp)
        pool = Range(expected=one, low=one, high=one)
    line = block.kv_pool.log
    if line is not None and line.compare == "tokens" and line.tokens is not None:
        tokens = Range(expected=float(line.tokens * cut.dp), low=tokens.low, high=tokens.high)
    base = setting.scenario
    told = record.stated.memory_share is not None or (base is not None and bool(base.share.stated))
    return Expected(
        weights_bytes=block.weights_bytes / devices, activation_bytes=block.activation_bytes / devices,
        engine_bytes=block.engine_bytes / devices, pool_bytes=pool, tokens=tokens, sequences=block.kv_pool.sequences,
        sequence_tokens=block.kv_pool.sequence_tokens, token_bytes=token_bytes, sequence_bytes=_windowed(sc, block),
        compare="bytes" if line is None else line.compare, kv_cache=sc.numbers.kv, share=block.share, of=sc.share.of,
        stated_share=told, given_bytes=sc.accelerator.given_bytes, vendor=sc.accelerator.vendor,
    )  # fmt: skip


def _windowed(sc: Scenario, block: MemoryBlock) -> float:
    length = 0 if block.kv_pool is None else block.kv_pool.sequence_tokens
    return float(device_sequence_bytes(sc.model, length, sc.layout, sc.numbers))


def _over(whole: Range, devices: int) -> Range:
    return Range(expected=whole.expected / devices, low=whole.low / devices, high=whole.high / devices)


def gains(sc: Scenario, engine: str, sequences: float | None) -> tuple[Gain, ...]:
    """What would hold more sequences of the full length: a narrower cache, a larger share, twice the devices.

    sequences   that are held now, as the log says
    """
    now = _sequences(sc)
    if not now:
        return ()
    tried: list[tuple[str, str, dict[str, Any]]] = []
    narrower = _NARROWER.get(engine)
    if narrower is not None and sc.numbers.kv in _WIDE:
        tried.append(("kv_cache", narrower, {"kv_cache": narrower, "cache_type_k": None, "cache_type_v": None}))
    share = _SHARES.get(engine)
    if share is not None and sc.share.of in ("total", "before") and sc.share.value < _HIGH_SHARE:
        tried.append((share, f"{_HIGH_SHARE:g}", {share: _HIGH_SHARE}))
    if engine in _SHARES:
        tried.append(("tp", f"{2 * sc.layout.tp}", {"tp": 2 * sc.layout.tp}))
    found = []
    for field, value, fields in tried:
        try:
            then = _sequences(changed(sc, **fields))
        except RooflightError:
            continue
        if then > now:
            held = None if sequences is None else sequences * then / now
            found.append(Gain(field=field, value=value, times=then / now, sequences=held))
    return tuple(found)


def _sequences(sc: Scenario) -> float:
    block = memory(sc)
    found = 0.0 if block.kv_pool is None else block.kv_pool.sequences.expected
    return found if math.isfinite(found) else 0.0
