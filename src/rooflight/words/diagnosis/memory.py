"""An engine's account of its memory in words."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.diagnose.memory import Cause, Kept, MemoryFound, adds_up
from rooflight.answers.diagnose.memory_expected import Expected, Gain
from rooflight.units import round_significant, to_base
from rooflight.values.diagnosis import Evidence, Next, Told

_ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "llama.cpp": "llama.cpp"}
# Lines up to which a log has to go, and how it is kept.
_UNTIL = {
    "vllm": ("GPU KV cache size", "vllm serve MODEL 2>&1 | tee start.log"),
    "sglang": ("max_total_num_tokens", "python -m sglang.launch_server --model-path MODEL 2>&1 | tee start.log"),
    "llama.cpp": ("KV buffer size", "llama-server -m MODEL 2>&1 | tee start.log"),
}
# Options of each engine, by fields of the question.
_OPTIONS = {
    "vllm": {
        "kv_cache": "--kv-cache-dtype", "gpu_memory_utilization": "--gpu-memory-utilization",
        "tp": "--tensor-parallel-size", "max_model_len": "--max-model-len",
    },
    "sglang": {
        "kv_cache": "--kv-cache-dtype", "mem_fraction_static": "--mem-fraction-static", "tp": "--tp",
        "max_model_len": "--context-length",
    },
    "llama.cpp": {"max_model_len": "-c"},
}  # fmt: skip
_VALUES = {("sglang", "fp8"): "fp8_e5m2"}
_WORDS = {
    "kv_cache": "Keep the cache in {value}", "gpu_memory_utilization": "Let the engine use {value} of the memory",
    "mem_fraction_static": "Give weights and cache {value} of the memory", "tp": "Run over {value} devices (TP)",
}  # fmt: skip
# Nobody gives an engine so little by intent, but for several engines on a card.
_UNUSUAL_SHARE = 0.6
# Sequences over tokens by length, beyond the rounding of both.
_WINDOWED = 1.05
_WANTED = {"compute": " for the compute buffer", "kv": " for the KV cache", "weights": " for weights", None: ""}


def told(found: MemoryFound) -> Told:
    """The sentence, the evidence, what comes next, and what else the log's arithmetic says."""
    kept = found.kept
    if found.cannot_tell:
        return Told(answer=_untold(found), next=tuple(_record(kept)), notes=tuple(_notes(found)))
    return Told(
        answer=_answer(kept), evidence=tuple(_evidence(kept)), next=tuple(_next(kept)), notes=tuple(_notes(found))
    )


def _engine(kept: Kept) -> str:
    return kept.record.stated.engine or ""


def _name(kept: Kept) -> str:
    return _ENGINES.get(_engine(kept), "the engine")


def _gib(value: float) -> str:
    gib = value / to_base(1, "GiB")
    return f"{gib:,.2f} GiB" if abs(gib) >= 1 else f"{value / to_base(1, 'MiB'):,.0f} MiB"


def _untold(found: MemoryFound) -> str:
    lacks = " and ".join(found.lacks) or "the size of the KV pool"
    return f"The log of {_name(found.kept)} does not say {lacks}, so what its memory holds cannot be told from it."


def _record(kept: Kept) -> Iterator[Next]:
    line, command = _UNTIL.get(_engine(kept), _UNTIL["vllm"])
    yield Next(what=f"Record the log from the start on until the line \u201c{line}\u201d", command=command)


def _answer(kept: Kept) -> str:
    trouble = kept.trouble
    if trouble == "cannot_be":
        placed, total = _gib(kept.placed_bytes or 0.0), _gib(kept.total_bytes or 0.0)
        other = "" if _engine(kept) == "llama.cpp" else "; the log is of another accelerator, or of several"
        return f"This cannot be: {placed} of weights, cache and buffers on a device of {total}{other}."
    if trouble == "one_request":
        return _one_request(kept)
    if trouble == "nothing_left":
        left = _gib(kept.record.measured.kv_bytes_per_accelerator or 0.0)
        return f"Weights and activations leave {_name(kept)} nothing for the KV cache ({left} a device)."
    if trouble == "failed":
        return _failed(kept)
    if trouble == "host":
        return _host(kept)
    return f"{_holds(kept)}{_beside(kept)}."


def _one_request(kept: Kept) -> str:
    seen, context = kept.record.measured, kept.record.stated.context_tokens
    length = f"{context:,} tokens" if context else "the full length"
    if kept.tokens is not None:
        return f"One request of {length} does not fit: the pool of {_name(kept)} holds {kept.tokens:,.0f}."
    needed, pool = seen.needed_kv_bytes_per_accelerator, kept.pool_bytes
    said = f"One request of {length} does not fit"
    if needed is not None and pool is not None:
        said += f": its cache takes {_gib(needed)} a device, and {_gib(pool)} are left for it"
    longest = seen.longest_tokens
    return said + (f"; {longest:,.0f} tokens would." if longest else ".")


def _failed(kept: Kept) -> str:
    seen = kept.record.measured
    if seen.wanted_bytes is None:
        return f"{_first(_name(kept))} ran out of memory while it started{_with(kept, 'a device')}."
    total = f" of a device of {_gib(kept.total_bytes)}" if kept.total_bytes else ""
    what = _WANTED.get(seen.wanted_for, "")
    fault = kept.total_bytes is not None and seen.wanted_bytes > kept.total_bytes
    cause = ", more than it has at all" if fault else _with(kept, "it" if total else "a device")
    return f"{_first(_name(kept))} ran out of memory: it asked for {_gib(seen.wanted_bytes)}{what}{total}{cause}."


def _with(kept: Kept, where: str) -> str:
    seen = kept.record.measured
    cache = seen.kv_bytes_per_accelerator or seen.kv_bytes
    parts = [(seen.weights_bytes_per_accelerator, "weights"), (cache, "cache")]
    said = " and ".join(f"{_gib(value)} of {name}" for value, name in parts if value)
    return f", with {said} on {where}" if said else ""


def _first(name: str) -> str:
    return name[:1].upper() + name[1:] if name == "the engine" else name


def _host(kept: Kept) -> str:
    seen = kept.record.measured
    offloaded, layers = seen.offloaded_layers, seen.layers
    host = seen.host_weights_bytes
    where = "" if host is None else f"{_gib(host)} of the weights ({kept.host_share:.0%}) lie in the host's memory"
    if offloaded is not None and layers is not None and offloaded < layers:
        said = f"{offloaded} of {layers} layers are on the accelerator"
        return f"{said}, and {where}." if where else f"{said}: the rest runs from the host's memory."
    even = f", although {offloaded}/{layers} layers count as offloaded" if offloaded else ""
    return f"{where}{even}: experts or matrices that were placed there."


def _holds(kept: Kept) -> str:
    """What the pool holds."""
    stated, seen = kept.record.stated, kept.record.measured
    if _engine(kept) == "llama.cpp":
        cache = seen.kv_bytes
        if cache is None:
            return f"The weights take {_gib(seen.weights_bytes_per_accelerator or 0.0)} of a device"
        length = f" for {kept.tokens:,.0f} tokens" if kept.tokens else ""
        return f"The cache takes {_gib(cache)}{length}"
    tokens = seen.kv_tokens
    if tokens is None:
        return f"The pool is {_gib(kept.pool_bytes or 0.0)} a device"
    said = f"The pool holds {tokens:,.0f} tokens"
    if kept.sequences is not None and stated.context_tokens:
        each = " a replica" if seen.kv_tokens_per_replica is not None else ""
        said += f", {round_significant(kept.sequences)} requests of {stated.context_tokens:,}{each}"
    return said


def _beside(kept: Kept) -> str:
    """What is expected of it, and why it differs."""
    should = kept.expected
    if should is None or kept.gap is None:
        return ""
    about = _expected(kept, should)
    if kept.as_expected:
        return f": as expected ({about})"
    less = "less" if kept.gap < 0 else "more"
    why = "; ".join(_cause(one) for one in kept.causes)
    return f": {abs(kept.gap):.0%} {less} than expected ({about}){'; ' + why if why else ''}"


def _expected(kept: Kept, should: Expected) -> str:
    if should.compare == "tokens" and kept.record.measured.kv_tokens is not None:
        return f"{should.tokens.expected:,.0f}"
    about = f"{_gib(should.pool_bytes.expected)} a device"
    return about if kept.record.measured.kv_tokens is None else f"{_gib(kept.pool_bytes or 0.0)} of {about}"


def _cause(cause: Cause) -> str:
    value = cause.value
    smaller = ", as would a smaller card" if cause.kind == "share" and value < _UNUSUAL_SHARE else ""
    return {
        "weights": f"the weights take {value:.2f} times what is expected",
        "half": "a token takes half of the expected bytes, as in an 8-bit cache",
        "twice": "a token takes twice the expected bytes, as in a 16-bit cache",
        "bytes": f"a token takes {value:.2f} times the expected bytes",
        "full_layers": f"layers with a window keep every token, {value:.1f} times what the model needs",
        "share": f"a share of {value:g} of the memory would explain it{smaller}",
        "first_start": f"{_gib(value)} a device, as a first start on ROCm leaves less while kernels are compiled",
        "taken": f"{_gib(value)} a device are taken by something else",
        "more": f"{_gib(value)} a device more are left than its rules leave",
    }[cause.kind]


def _evidence(kept: Kept) -> Iterator[Evidence]:
    seen, stated, should = kept.record.measured, kept.record.stated, kept.expected
    short = kept.trouble is not None
    near = kept.as_expected or should is None
    if kept.tokens is not None:
        yield Evidence(what="tokens that the cache holds", value=kept.tokens, unit="tokens")
    if stated.context_tokens is not None:
        yield Evidence(what="tokens of a request of the full length", value=float(stated.context_tokens), unit="tokens")
    if kept.sequences is not None:
        less = (kept.sequences < 1) == (kept.trouble == "one_request")
        yield Evidence(what="requests of the full length at once", value=kept.sequences, supports=less)
    if kept.pool_bytes is not None:
        how = ", by its tokens and the model" if kept.worked_out else ""
        yield Evidence(what=f"cache on a device{how}", value=kept.pool_bytes, unit="B")
    if kept.token_bytes is not None:
        yield Evidence(what="cache of a token on a device, by division", value=kept.token_bytes, unit="B")
    if should is not None and should.token_bytes and kept.token_bytes is not None and _engine(kept) != "llama.cpp":
        yield Evidence(what="cache of a token on a device, by the model", value=should.token_bytes, unit="B")
    if should is not None and kept.gap is not None:
        yield Evidence(
            what="cache on a device, expected", value=should.pool_bytes.expected, unit="B", supports=near or short
        )
    for what, value in _parts(kept):
        yield Evidence(what=what, value=value, unit="B")
    if should is not None and _engine(kept) != "llama.cpp":
        for what, value in _terms(should):
            yield Evidence(what=f"{what}, expected", value=value, unit="B", supports=near or short)
    if kept.host_share is not None:
        yield Evidence(
            what="weights in the host's memory", value=kept.host_share, unit="share", supports=kept.trouble == "host"
        )
    if seen.wanted_bytes is not None:
        yield Evidence(what="an allocation that failed", value=seen.wanted_bytes, unit="B")


def _parts(kept: Kept) -> Iterator[tuple[str, float]]:
    seen = kept.record.measured
    labelled = "" if seen.total_bytes_per_accelerator is not None else ", by its label"
    named = (
        (f"memory of a device{labelled}", kept.total_bytes),
        ("of it the engine may use", seen.usable_bytes_per_accelerator),
        ("weights on a device", seen.weights_bytes_per_accelerator),
        ("activations at their peak", seen.activation_bytes_per_accelerator),
        ("outside of torch", seen.other_bytes_per_accelerator),
        ("compute buffers", seen.compute_bytes_per_accelerator),
    )
    yield from ((what, value) for what, value in named if value is not None)


def _terms(should: Expected) -> Iterator[tuple[str, float]]:
    """The terms that leave a pool, as they are expected."""
    yield "weights on a device", should.weights_bytes
    yield "activations at their peak", should.activation_bytes
    yield "kept by the engine itself", should.engine_bytes


def _next(kept: Kept) -> Iterator[Next]:
    engine = _engine(kept)
    options = _OPTIONS.get(engine, {})
    if kept.trouble == "one_request":
        fits = kept.record.measured.longest_tokens or kept.tokens
        option = options.get("max_model_len")
        if fits and option:
            yield Next(what=f"Take requests of {fits:,.0f} tokens at most, which fit", command=f"{option} {fits:.0f}")
    if kept.trouble == "host":
        yield Next(what="A narrower file, or a device or two more, so that all weights lie on accelerators")
    if kept.trouble == "cannot_be" and engine != "llama.cpp":
        yield Next(what="Name the accelerator that the log is of (--on)")
    elif kept.trouble == "cannot_be":
        yield Next(what="Place fewer layers on the device, or experts on the host (-ngl, --n-cpu-moe)")
    if kept.trouble == "failed" and kept.record.measured.wanted_for == "compute":
        yield Next(what="A smaller micro-batch, whose buffer it is", command="-ub 128")
    if kept.trouble == "failed" and engine in ("vllm", "sglang") and kept.tokens is not None:
        share = options.get("gpu_memory_utilization") or options.get("mem_fraction_static")
        yield Next(what=f"A lower share of the memory ({share}): the cache leaves too little for the rest")
    for gain in kept.gains:
        yield _gain(engine, gain)


def _gain(engine: str, gain: Gain) -> Next:
    what = _WORDS[gain.field].format(value=gain.value)
    holds = "" if gain.sequences is None else f": about {round_significant(gain.sequences)} requests of the full length"
    if engine == "llama.cpp" and gain.field == "kv_cache":
        return Next(what=what + holds, command=f"-ctk {gain.value} -ctv {gain.value}", gain=gain.times)
    option = _OPTIONS.get(engine, {}).get(gain.field)
    value = _VALUES.get((engine, gain.value), gain.value)
    return Next(what=what + holds, command=None if option is None else f"{option} {value}", gain=gain.times)


def _notes(found: MemoryFound) -> Iterator[str]:
    kept = found.kept
    stated, seen = kept.record.stated, kept.record.measured
    if (closes := adds_up(kept)) is not None and kept.unaccounted is not None:
        sums = "add up to what it may use" if closes else f"leave {_gib(kept.unaccounted)} unexplained"
        yield f"the terms that {_name(kept)} prints {sums}"
    if seen.graph_bytes_per_accelerator is not None and seen.graph_bytes_per_accelerator < 0:
        yield "graphs took less than nothing by the engine's own count: memory was freed meanwhile, which saves none"
    context, most = stated.context_tokens, stated.max_num_seqs
    if most and context and kept.sequences is not None and 1 <= kept.sequences < most:
        yield (
            f"its limit of {most:,} sequences is reached where they hold {kept.sequences * context / most:,.0f} tokens "
            "in the mean; longer ones wait or are preempted"
        )
    if kept.tokens and context and (seen.max_concurrency or 0) > _WINDOWED * kept.tokens / context:
        yield "more requests fit than tokens over their length: layers with a window keep less of a long one"
    if kept.trouble != "host" and kept.host_share:
        yield (
            f"{_gib(seen.host_weights_bytes or 0.0)} of the weights lie in the host's memory: tables of which a token "
            "reads a row, or matrices placed there"
        )
    if kept.trouble is not None and (why := "; ".join(_cause(one) for one in kept.causes)):
        yield f"beside what is expected: {why}"
    if found.asked and kept.expected is None and not found.cannot_tell:
        yield "with what the log says of the start, model and card give no pool to expect"
    if found.others:
        yield (
            f"of {found.others + 1:,} accounts of memory the one in {kept.file} {kept.record.name}".rstrip() + " leads"
        )
