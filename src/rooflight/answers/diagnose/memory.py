"""An engine's own account of its memory: whether its terms add up, what its pool holds, and what it should hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from rooflight.answers.diagnose.memory_expected import Expected, Gain, expected, gains, scenario_of, with_share
from rooflight.answers.diagnose.setting import Setting
from rooflight.scenario.definite import Scenario
from rooflight.units import to_base
from rooflight.values.deployment import SHARES
from rooflight.values.diagnosis import Confidence, Found
from rooflight.values.recorded import Measurements, Record, Recorded

# How a pool differs from what is expected of it.
CauseKind = Literal["weights", "half", "twice", "bytes", "full_layers", "share", "first_start", "taken", "more"]
# What is wrong with it: an allocation failed, nothing is left for the cache, one request of the full length does not
# fit, it cannot be, weights lie in the host's memory.
Trouble = Literal["failed", "nothing_left", "one_request", "cannot_be", "host"]
# A pool is as expected within that, whatever the interval (the rules leave 3 % on nine of ten starts).
_NEAR = 0.03
_WEIGHTS_NEAR = 0.05
# Causes that make other tokens of bytes that are as expected.
_OTHER_POOL = ("half", "twice", "bytes")
# Formats are told apart by bytes a token: half and twice are fp8 and 16 bits of one cache.
_RATIO_NEAR = 0.04
# Terms that are printed in hundredths of a GiB add up to that.
_ROUNDING_BYTES = 5 * to_base(0.01, "GiB")
_SHARE_NEAR = 0.006
# What a first start of vLLM on ROCm leaves less than later ones, for kernels are compiled while it measures
# (facts found on public starts, as those of catalog/engine_memory.toml).
_FIRST_START = (to_base(0.6, "GiB"), to_base(3.1, "GiB"))
# Share of the weights in the host's memory that no table of embeddings explains.
_HOST_SHARE = 0.5
_WIDE = ("bf16", "fp16", "f16")
# q8_0 keeps 32 elements in 34 bytes.
_NARROWER = {"vllm": ("fp8", 2.0), "sglang": ("fp8", 2.0), "llama.cpp": ("q8_0", 32 / 17)}


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """Why a pool is not what is expected of it.

    value       weights: measured over expected bytes; half, twice, bytes: bytes a token over expected ones;
                full_layers: times the memory that windows would need; share: the share that explains the gap;
                first_start, taken, more: bytes of a device
    """

    kind: CauseKind
    value: float


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """One start of an engine, judged; bytes of one accelerator.

    token_bytes     the cache of a token by division; tokens: of one replica; sequences: of the full context at once
    unaccounted     of what the engine may use, left when all terms that it prints are taken off
    pool_bytes      worked_out: from tokens and the model, the log has no bytes
    placed_bytes    weights, cache and buffers together, where they exceed `total_bytes`
    host_share      of the weights, in the host's memory
    gap             of the pool to what is expected, as a share of it; None: no telling
    as_expected     the pool's bytes are, with the weights as logged or as expected, and its tokens too
    """

    record: Record
    file: str
    tokens: float | None
    token_bytes: float | None
    sequences: float | None
    unaccounted: float | None
    pool_bytes: float | None
    worked_out: bool
    total_bytes: float | None
    placed_bytes: float | None
    host_share: float | None
    trouble: Trouble | None
    expected: Expected | None
    gap: float | None
    as_expected: bool
    causes: tuple[Cause, ...]
    gains: tuple[Gain, ...]


class MemoryFound(Found, frozen=True, kw_only=True):
    """What an engine's account of its memory says; kept: the start that leads, others: how many more were judged.

    lacks       what the files do not say, where that is why it cannot be told
    """

    kept: Kept
    others: int = 0
    lacks: tuple[str, ...] = ()
    asked: bool = False


def memory(files: Sequence[Recorded], setting: Setting) -> MemoryFound | None:
    """The start with the gravest trouble, else the last, of all that give an account of memory; None: none does."""
    found = [(_judged(record, one.file, setting), one) for one in files for record in _accounts(one)]
    if not found:
        return None
    kept, one = max(enumerate(found), key=lambda pair: (_grave(pair[1][0]), pair[0]))[1]
    nothing = _nothing(kept)
    bound = None if kept.trouble is None or nothing else "capacity"
    return MemoryFound(
        bound="capacity" if bound else None, confidence=_confidence(kept), cannot_tell=nothing, kept=kept,
        others=len(found) - 1, lacks=one.lacks if nothing else (), asked=setting.scenario is not None,
    )  # fmt: skip


def _accounts(one: Recorded) -> list[Record]:
    """Records that say what memory went to; of a log that says nothing at all its first, for what it lacks."""
    found = [record for record in one.records if accounts(record.measured)]
    timed = any(record.measured.tpot_s or record.measured.prefill_s for record in one.records)
    silent = not found and bool(one.lacks) and not one.watched and not timed
    return [*one.records[:1]] if silent else found


def accounts(measured: Measurements) -> bool:
    """Whether an engine said what its memory went to."""
    return any(
        value is not None
        for value in (
            measured.kv_tokens, measured.kv_bytes, measured.kv_bytes_per_accelerator, measured.wanted_bytes,
            measured.weights_bytes_per_accelerator, measured.host_weights_bytes, measured.out_of_memory,
            measured.needed_kv_bytes_per_accelerator,
        )
    )  # fmt: skip


def _nothing(kept: Kept) -> bool:
    """Whether the account ends before it says anything of the pool."""
    return kept.pool_bytes is kept.tokens is None and kept.trouble is None


def _grave(kept: Kept) -> int:
    if _nothing(kept):
        return 0
    return 1 if kept.trouble is None else 2 if kept.trouble == "host" else 3


def _confidence(kept: Kept) -> Confidence:
    """Failures are the engine's own words; an expectation that is met is sure, one that is not only with a cause."""
    if _nothing(kept):
        return "low"
    if kept.trouble is not None:
        return "medium" if kept.trouble == "host" else "high"
    if kept.expected is None or kept.gap is None:
        return "medium"
    return "high" if kept.as_expected else "medium" if kept.causes else "low"


def _judged(record: Record, file: str, setting: Setting) -> Kept:
    seen = record.measured
    sc = scenario_of(record, setting)
    should = None if sc is None else expected(sc, record, setting)
    tokens = _replica_tokens(record)
    pool, worked_out = _pool(seen, record), False
    token_bytes = pool / tokens if pool is not None and pool > 0 and tokens else None
    if pool is None and tokens and should is not None and should.token_bytes:
        pool, worked_out = tokens * should.token_bytes, True
    total = seen.total_bytes_per_accelerator
    if total is None and setting.card is not None:
        total = setting.card.most_bytes
    sequences = _sequences(record, tokens)
    placed = _placed(record, total)
    host = _host_share(seen)
    plain, logged = _near(seen, pool, should)
    trouble = _trouble(record, sequences, placed, host)
    causes = tuple(_causes(record, pool, token_bytes, should, near=plain or logged))
    if sc is not None and (share := next((one.value for one in causes if one.kind == "share"), None)) is not None:
        sc = with_share(sc, share)
    return Kept(
        record=record, file=file, tokens=tokens, token_bytes=token_bytes, sequences=sequences,
        unaccounted=_unaccounted(seen), pool_bytes=pool, worked_out=worked_out, total_bytes=total, placed_bytes=placed,
        host_share=host, trouble=trouble, expected=should, gap=_gap(record, pool, should),
        as_expected=_as_expected(plain, logged, causes),
        causes=causes,
        gains=_gains(record, trouble, sequences, sc),
    )  # fmt: skip


def _replica_tokens(record: Record) -> float | None:
    """Tokens of the cache of one replica."""
    seen = record.measured
    return seen.kv_tokens if seen.kv_tokens_per_replica is None else seen.kv_tokens_per_replica


def _pool(seen: Measurements, record: Record) -> float | None:
    """Bytes of the cache on one accelerator; of the smallest where they differ, but for layers that are split."""
    if record.stated.engine == "llama.cpp":
        several = (record.stated.gpus or 1) > 1
        return seen.kv_bytes if not several else seen.kv_bytes / (record.stated.gpus or 1) if seen.kv_bytes else None
    return min(seen.kv_bytes_by_accelerator) if seen.kv_bytes_by_accelerator else seen.kv_bytes_per_accelerator


def _sequences(record: Record, tokens: float | None) -> float | None:
    """Sequences of the full context that one replica holds: as the engine says, else by division."""
    if record.measured.max_concurrency is not None:
        return record.measured.max_concurrency
    context = record.stated.context_tokens
    if record.stated.engine == "llama.cpp":  # the cache is made for the context
        return None
    return tokens / context if tokens is not None and context else None


def _unaccounted(seen: Measurements) -> float | None:
    """What the engine may use, less all that it says it uses; None where a term is missing."""
    terms = (
        seen.weights_bytes_per_accelerator, seen.activation_bytes_per_accelerator, seen.other_bytes_per_accelerator,
        seen.kv_bytes_per_accelerator,
    )  # fmt: skip
    known = [term for term in terms if term is not None]
    usable = seen.usable_bytes_per_accelerator
    return usable - sum(known) if usable is not None and len(known) == len(terms) else None


def adds_up(kept: Kept) -> bool | None:
    """Whether the engine's terms add up to what it may use; None: not all are there."""
    return None if kept.unaccounted is None else abs(kept.unaccounted) <= _ROUNDING_BYTES


def _placed(record: Record, total: float | None) -> float | None:
    """Weights, cache and buffers of one accelerator together, where that is more than it has."""
    seen = record.measured
    cache = seen.kv_bytes_per_accelerator
    if cache is None and (record.stated.gpus or 1) == 1:
        cache = seen.kv_bytes
    parts = (seen.weights_bytes_per_accelerator, cache, seen.compute_bytes_per_accelerator)
    placed = sum(part for part in parts if part is not None)
    return placed if total is not None and placed > total else None


def _host_share(seen: Measurements) -> float | None:
    host = seen.host_weights_bytes
    if host is None:
        return None
    placed = sum(seen.weights_bytes_by_accelerator or (seen.weights_bytes_per_accelerator or 0.0,))
    return host / (host + placed) if host + placed > 0 else None


def _trouble(record: Record, sequences: float | None, placed: float | None, host: float | None) -> Trouble | None:
    seen = record.measured
    if placed is not None:
        return "cannot_be"
    short = sequences is not None and sequences < 1
    if seen.needed_kv_bytes_per_accelerator is not None or (short and not seen.wanted_bytes):
        return "one_request"
    none_left = seen.kv_bytes_per_accelerator is not None and seen.kv_bytes_per_accelerator <= 0
    if none_left:
        return "nothing_left"
    if seen.out_of_memory or seen.wanted_bytes is not None:
        return "failed"
    offloaded, layers = seen.offloaded_layers, seen.layers
    partly = offloaded is not None and layers is not None and 0 < offloaded < layers
    return "host" if partly or (host is not None and _HOST_SHARE < host < 1) else None


def _gap(record: Record, pool: float | None, should: Expected | None) -> float | None:
    """How far the pool is from what is expected, in tokens where those are a capacity, else in bytes."""
    if pool is None or should is None or should.pool_bytes.expected <= 0:
        return None
    tokens = record.measured.kv_tokens
    if should.compare == "tokens" and tokens is not None and should.tokens.expected > 0:
        return tokens / should.tokens.expected - 1
    return pool / should.pool_bytes.expected - 1


def _near(seen: Measurements, pool: float | None, should: Expected | None) -> tuple[bool, bool]:
    """Whether the pool's bytes are as expected, and whether they are with the weights as logged."""
    if pool is None or should is None or should.pool_bytes.expected <= 0:
        return False, False
    span, weights = should.pool_bytes, seen.weights_bytes_per_accelerator
    shift = should.weights_bytes - weights if should.of in ("total", "before") and weights is not None else 0.0
    plain, logged = (
        span.low + by <= pool <= span.high + by or abs(pool - span.expected - by) <= _NEAR * span.expected
        for by in (0.0, shift)
    )
    return plain, logged


def _as_expected(plain: bool, logged: bool, causes: tuple[Cause, ...]) -> bool:
    """Whether nothing has to be explained: weights that differ explain a pool that differs."""
    kinds = {one.kind for one in causes}
    return not kinds & set(_OTHER_POOL) and (plain or (logged and "weights" not in kinds))


def _causes(
    record: Record, pool: float | None, token_bytes: float | None, should: Expected | None, *, near: bool
) -> Iterator[Cause]:
    """What differs from what is expected: weights, the cache's bytes a token, windows that are not used, the share."""
    if should is None:
        return
    weights = record.measured.weights_bytes_per_accelerator
    of_one = record.stated.engine != "llama.cpp" and weights is not None and should.weights_bytes > 0
    if of_one and weights is not None and abs(weights / should.weights_bytes - 1) > _WEIGHTS_NEAR:
        yield Cause(kind="weights", value=weights / should.weights_bytes)
    yield from _formats(token_bytes, should)
    yield from _windows(record, token_bytes, should)
    if not near and pool is not None:
        yield from _left(record, pool, should)


def _formats(token_bytes: float | None, should: Expected) -> Iterator[Cause]:
    if token_bytes is None or not should.token_bytes or should.compare != "tokens":
        return
    ratio = token_bytes / should.token_bytes
    if abs(ratio / 0.5 - 1) <= _RATIO_NEAR:
        yield Cause(kind="half", value=ratio)
    elif abs(ratio / 2 - 1) <= _RATIO_NEAR:
        yield Cause(kind="twice", value=ratio)
    elif abs(ratio - 1) > _RATIO_NEAR:
        yield Cause(kind="bytes", value=ratio)


def _windows(record: Record, token_bytes: float | None, should: Expected) -> Iterator[Cause]:
    """Every layer cached in full, where windows would have saved."""
    if token_bytes is None or not should.token_bytes or not record.stated.context_tokens:
        return
    full = should.token_bytes * should.sequence_tokens
    tokens, seen = _replica_tokens(record), record.measured.max_concurrency
    used = seen is not None and tokens is not None and seen > 1.05 * tokens / record.stated.context_tokens
    saves = should.sequence_bytes > 0 and should.sequence_bytes < (1 - _RATIO_NEAR) * full
    if saves and not used and abs(token_bytes / should.token_bytes - 1) <= _RATIO_NEAR:
        yield Cause(kind="full_layers", value=full / should.sequence_bytes)


def _left(record: Record, pool: float, should: Expected) -> Iterator[Cause]:
    """The rest of a gap: another share, where none is stated; else what something else takes of the device."""
    seen = record.measured
    if should.of not in ("total", "before") or not should.given_bytes or should.share is None:
        return
    shift = should.weights_bytes - (seen.weights_bytes_per_accelerator or should.weights_bytes)
    short = should.pool_bytes.expected + shift - pool
    share = should.share - short / should.given_bytes
    whole = round(share, 2)
    if not should.stated_share and 0 < whole <= 1 and abs(share - whole) <= _SHARE_NEAR and whole != should.share:
        yield Cause(kind="share", value=whole)
    elif should.vendor == "AMD" and record.stated.engine == "vllm" and _FIRST_START[0] <= short <= _FIRST_START[1]:
        yield Cause(kind="first_start", value=short)
    else:
        yield Cause(kind="taken" if short > 0 else "more", value=abs(short))


def _gains(record: Record, trouble: Trouble | None, sequences: float | None, sc: Scenario | None) -> tuple[Gain, ...]:
    """What would hold more, where that is worth something: by the library, else by the width of the cache alone."""
    stated = record.stated
    few = sequences is not None and stated.max_num_seqs is not None and sequences < stated.max_num_seqs
    if trouble in ("cannot_be", "host") or (trouble is None and not few):
        return ()
    engine = stated.engine or ""
    if sc is not None:
        found = gains(sc, engine, sequences)
        # a start that failed beside its cache gains nothing from a larger share; one that runs needs no devices
        left_out = {"failed": ("kv_cache", *SHARES), None: ("tp",)}.get(trouble, ())
        return tuple(one for one in found if one.field not in left_out)
    narrower = _NARROWER.get(engine)
    if narrower is None or stated.kv_cache not in _WIDE or trouble == "failed":
        return ()
    name, times = narrower
    return (
        Gain(field="kv_cache", value=name, times=times, sequences=None if sequences is None else sequences * times),
    )
