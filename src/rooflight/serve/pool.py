"""The pool of an engine's cache as an answer: in bytes, tokens and sequences, with the line of its log to compare."""

from __future__ import annotations

import math

from rooflight.numeric import Number
from rooflight.scenario.definite import Scenario
from rooflight.serve.held import (
    Pages,
    device_weight_bytes,
    held_bytes,
    kinds_of,
    pages,
    sequence_tokens,
    step_tokens,
)
from rooflight.serve.hosted import host_holds
from rooflight.serve.room import Room, decode_workers, prefill_holds
from rooflight.serve.working import other_sampler_bytes, sampler_bytes
from rooflight.units import to_base, whole
from rooflight.values.held import LogLine, Pool, Range
from rooflight.work.count import is_encoder

# Of the weights, where a 4-bit format is known by its label alone: which parts stay wide is not said.
_LABEL_DOUBT = 0.03
# GiB of a device where an engine's habits are not known, and of a total that follows by rule; a share of a label.
_UNKNOWN_GIB = 1.0
_RULE_GIB = 0.1
_LABEL_SHARE = 0.005


def pool(sc: Scenario, one: Room) -> Pool | None:
    """The pool that a room leaves, all devices; None where the devices' size is in no source, or nothing is cached."""
    if math.isinf(one.left) or is_encoder(sc.model):
        return None
    length, workers = sequence_tokens(sc), decode_workers(sc)
    devices, replicas = sc.layout.devices * workers, sc.layout.dp * workers
    over = float(one.left * one.cache / one.each)  # below nothing where something is too large
    left = max(over, 0.0)
    less, more = _doubt_bytes(sc)
    high = max(over + more, 0.0) if host_holds(sc) and prefill_holds(sc) else left
    ends = (left, max(left - less, 0.0), high)
    tokens = [tokens_in(sc, end) * replicas for end in ends]
    sequences = [end / one.cache * replicas if one.cache else math.inf for end in ends]
    return Pool(
        bytes=_range([whole(end * devices) for end in ends]),
        tokens=_range(tokens),
        sequences=_range(sequences),
        sequence_tokens=int(length),
        log=None if one.relaxed == 2 else log_line(sc, left),  # no engine starts in that
    )


def _range(ends: list[float]) -> Range:
    expected, low, high = ends
    return Range(expected=expected, low=low, high=high)


def tokens_in(sc: Scenario, pool_bytes: float) -> float:
    """Tokens that so many bytes of one device hold on a replica.

    Where every layer keeps all tokens, whole pages of them; else as sequences of the question's length have them.
    """
    cut = _pages(sc)
    if cut is not None and _alike(cut) and sc.draft is None:
        return float(pool_bytes // (cut.bytes / sc.layout.pp) * cut.block)
    length = sequence_tokens(sc)
    held = held_bytes(sc, length)
    return math.floor(pool_bytes / held * length) if held else 0.0


def _alike(cut: Pages) -> bool:
    """Whether one kind of layer keeps everything, so that tokens are what a pool is."""
    kind = cut.kinds[0][0]
    return len(cut.kinds) == 1 and kind.window is None and not kind.state


def _pages(sc: Scenario) -> Pages | None:
    found = sc.habits
    if found is None or found.rule.ubatch is not None:
        return None
    kinds = kinds_of(sc, found.rule)
    return None if kinds is None else pages(kinds, found.rule)


def log_line(sc: Scenario, pool_bytes: float) -> LogLine | None:
    """What the engine's own log prints of one replica's pool; None where the engine is not known to print any.

    Several kinds of layers: the tokens printed are no capacity, so bytes are what compares (vLLM's "Available KV cache
    memory"). Source: facts of vLLM's _report_kv_cache_config, catalog/engine_memory.toml.
    """
    found = sc.habits
    if found is None or not found.log:
        return None
    if found.rule.ubatch is not None:
        batch = math.ceil(sc.workload.batch / sc.layout.dp)
        taken = float(held_bytes(sc, sequence_tokens(sc))) * batch
        return LogLine(engine=found.engine, line=found.log, tokens=None, device_bytes=whole(taken), compare="bytes")
    cut = _pages(sc)
    tokens: Number | None = None
    compare = "bytes"
    if sc.draft is not None:  # layers of two models share the pool, and what is printed of them is not known
        tokens = None
    elif cut is not None and _alike(cut):
        tokens, compare = tokens_in(sc, pool_bytes), "tokens"
    elif cut is not None and found.rule.printed:
        blocks = pool_bytes // (cut.bytes / sc.layout.pp)
        if found.rule.printed == "blocks":
            tokens = blocks // cut.groups * cut.block
        else:
            longest = sc.deployment.max_model_len or sc.model.max_context or sequence_tokens(sc)
            tokens = blocks / cut.of_sequence(longest, step_tokens(sc)) * longest
    return LogLine(
        engine=found.engine, line=found.log, tokens=None if tokens is None else int(tokens),
        device_bytes=whole(pool_bytes), compare=compare,
    )  # fmt: skip


def _doubt_bytes(sc: Scenario) -> tuple[float, float]:
    """How much less, and how much more, the pool of a device may be."""
    found, card = sc.habits, sc.accelerator
    weights = sc.model.quantization or ""
    doubt = 0.0
    if "int4" in weights or weights.startswith("nvfp4"):
        doubt += _LABEL_DOUBT * device_weight_bytes(sc.model, sc.layout)
    total = next((note for note in card.assumptions if note.key == "memory_total"), None)
    how = None if total is None else total.value[3]
    if how == "rule":
        doubt += to_base(_RULE_GIB, "GiB")
    if total is not None and total.value[1] == "label":
        doubt += _LABEL_SHARE * (card.given_bytes or 0.0)
    if found is None:
        own = doubt + to_base(_UNKNOWN_GIB, "GiB")
        return own, own
    rule = found.rule
    gib = rule.doubt_linked_GiB if sc.layout.tp * sc.layout.pp > 1 else rule.doubt_GiB
    if card.kind == "apu":
        gib = max(gib, rule.doubt_unified_GiB)
    own = doubt + to_base(gib, "GiB")
    other = other_sampler_bytes(sc, rule) - sampler_bytes(sc, rule)
    logits = abs(other) * sc.model.vocab * (sc.most_sequences or 0)
    return (own + logits, own) if other > 0 else (own, own + logits)
