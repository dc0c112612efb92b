"""Moves in words, by kind: what each is called, what it does and what it costs."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rooflight.serve.offload import Placing
from rooflight.units import scaled
from rooflight.values.basis import ExpectedBasis
from rooflight.values.note import Note
from rooflight.words.basis import basis_clause, behind
from rooflight.work.layout import Layout


class Said(msgspec.Struct, frozen=True):
    """A move: its title; what it does to the work or the machine, in a clause; what it takes; what is assumed."""

    title: str
    acts: str
    cost: str
    assumed: tuple[str, ...] = ()


def said(move: Note) -> Said:
    """A move in words; behind its numbers may stand what lies on the host after it."""
    *numbers, last = move.value or (None,)
    if not isinstance(last, Placing):
        return WORDS[move.key](*move.value)
    words = WORDS[move.key](*numbers)
    return msgspec.structs.replace(words, title=f"{words.title}, {_placed(last)}")


def _placed(now: Placing) -> str:
    """What lies where: on the devices, or on the host."""
    layers, split, parts = now.layers, now.split, []
    if split.layers:
        parts.append(f"{layers - split.layers:,} of {layers:,} layers on the devices")
    if split.experts > split.layers:
        parts.append(_experts(split.experts, layers))
    if now.streamed_bytes:
        parts.append(f"{scaled(now.streamed_bytes, 'B')} of weights a device in the host's memory")
    if not parts:
        what = "all experts" if now.was.experts else "all layers" if now.was.layers else "all weights"
        return f"{what} on the devices"
    return ", ".join(parts)


def _experts(there: int, layers: int) -> str:
    return f"experts of {'all' if there >= layers else f'{there:,} of {layers:,}'} layers on the host"


def from_to(was_s: float, now_s: float) -> str:
    """A time before and after."""
    return f"{scaled(was_s, 's')} to {scaled(now_s, 's')}"


def _batch(was: int, now: int, held: bool, cache_bytes: float) -> Said:
    title = f"batch {was:,} to {now:,}{', all that memory holds' if held else ''}"
    if now < was:
        return Said(title, "leaves the others waiting for their turn", "fewer sequences at once")
    return Said(
        title,
        "spreads the weights of a step over more sequences" + (", each with its own KV cache" if cache_bytes else ""),
        "every sequence waits for a longer step"
        + (f"; {scaled(cache_bytes, 'B')} more KV cache" if cache_bytes else ""),
    )


# What a format of weights risks, by the one that was wanted.
_WEIGHTS = {
    "fp8": "quality: usually within noise; needs a calibrated or block-scaled checkpoint",
    "w8a8-int8": "quality: activations in INT8 need smoothing or per-token scales; test it",
    "int4-g128": "quality: a point or so on hard tasks; weight-only, so activations stay wide",
    "nvfp4": "quality: W4A4 needs a checkpoint made for it; test it",
    "mxfp4": "quality: as int4; weight-only",
}
_CACHES = {
    "fp8": "quality: usually within noise; test long contexts",
    "nvfp4": "quality: 4-bit caches lose recall over long contexts; few engines read them",
}


def _layout(now: Layout, cut: Layout, batch: int) -> Said:
    degrees = {"tp": cut.tp, "pp": cut.pp, "dp": cut.dp, "ep": cut.ep}
    named = " x ".join(f"{name} {value}" for name, value in degrees.items() if value > 1)
    parts = []
    if cut.tp != now.tp:
        parts.append("cuts each matrix finer" if cut.tp > now.tp else "cuts each matrix less, with fewer all-reduces")
    if cut.pp > 1:
        parts.append(f"puts the layers on {cut.pp} stages, one after the other")
    if cut.dp > 1:
        parts.append(f"makes {cut.dp} replicas that share {batch:,} sequence{'s' * (batch > 1)}")
    if cut.ep > 1:
        parts.append(f"spreads whole experts over {cut.ep} devices")
    return Said(
        f"the same {now.devices} devices as {named or 'tp 1'}",
        ", ".join(parts) or "keeps each expert's matrices cut",
        "memory: each replica holds all dense weights" if cut.dp > now.dp else "none but a restart",
    )


def _speculative(
    drafted: int, tokens: float, last: int | None, acceptance: float, share: float | None, name: str | None = None
) -> Said:
    pays = "" if last is None else f"; pays up to about batch {last:,}" if last else "; does not pay even at batch 1"
    return Said(
        f"speculative decoding, {drafted} tokens drafted" + ("" if name is None else f" by {name}"),
        f"yields {tokens:.2f} tokens a step, which verifies {drafted + 1} positions a sequence{pays}",
        "memory: the draft model and its cache; needs a draft that agrees with the target",
        (
            f"{acceptance:.0%} of drafted tokens accepted (--acceptance)",
            "the draft's steps are timed by their own kernels; no measurement has seen them"
            if share is None
            else f"drafting a token takes {share:.0%} of a decode step (--draft-share)",
        ),
    )


def _disaggregated(share: float, prefill: int, decode: int, cache_bytes: float, transfer_s: float) -> Said:
    ratio = f"1 : {1 / share:.1f}" if share < 1 else f"{share:.1f} : 1"
    return Said(
        f"prefill and decode apart, {prefill} worker{'s' * (prefill > 1)} to {decode}",
        f"keeps prefills out of the decode steps; both are busy at {ratio}, and a prompt's cache of "
        f"{scaled(cache_bytes, 'B')} a device travels in {scaled(transfer_s, 's')}",
        "two pools that must be sized to the mix; a fast network between them",
        ("workers as the deployment is laid out, each with as many requests as it has now",),
    )


def _card(
    devices: str, card: str, bandwidth: float | None, form: str, peak: float | None, held: float | None,
    basis: ExpectedBasis, asked: str | None,
) -> Said:  # fmt: skip
    ratios = ((bandwidth, "the bandwidth"), (peak, f"the {form} rate"), (held, "the memory"))
    has = ", ".join(f"{times:.2f}x {what}" for times, what in ratios if times is not None)
    return Said(f"{devices} to {card}", f"has {has}", f"other accelerators{behind(basis_clause(basis, asked))}")


def _offload(field: str, value: int, kept: int, layers: int, rate: float, assumed: str) -> Said:
    if not field:
        return Said("everything on the devices", "leaves nothing to the host", "the devices' memory")
    there = f"{layers - kept:,} layer{'s' * (layers - kept != 1)}"
    told = f"--{field.replace('_', '-')} {value}"
    cost = "the host's memory; a token waits for it"
    taken = (f"a host of {scaled(rate, 'B/s')}: {assumed}; --host-memory-bandwidth says otherwise",) if assumed else ()
    if field == "cpu_offload_gb":
        acts = f"reads {value} GiB of weights a device over the link of {scaled(rate, 'B/s')} every step"
        return Said(f"{value} GiB of weights in the host's memory ({told})", acts, cost, taken)
    if field == "n_cpu_moe":
        acts = f"leaves the experts of {there} to the host, which reads them at {scaled(rate, 'B/s')}"
        return Said(f"{_experts(layers - kept, layers)} ({told})", acts, cost, taken)
    acts = f"leaves {there} to the host, which reads them at {scaled(rate, 'B/s')}, in turn"
    return Said(f"{kept:,} of {layers:,} layers on the devices ({told})", acts, cost, taken)


_NO_CARD = "no such card: it shows what binds"
_TRAINED = "another model: attention is trained, not set"

# A function of the numbers that the options of a kind have (answers.moves), in their order.
WORDS: dict[str, Callable[..., Said]] = {
    "batch": _batch,
    "weights": lambda name, multiplied, wanted: Said(
        f"{name} weights",
        "shrinks the weights" + (f" and multiplies in {multiplied}" if multiplied else ", and multiplies as before"),
        _WEIGHTS[wanted],
    ),
    "kv-cache": lambda name: Said(
        f"{name} KV cache", "shrinks the KV cache and what attention reads of it; the weights stay", _CACHES[name]
    ),
    "attention": lambda: Said(
        "flash attention", "keeps the scores on chip instead of writing and reading them", "none"
    ),
    "graphs": lambda: Said(
        "CUDA graphs",
        "launches a whole step at once instead of kernel by kernel",
        "memory: a graph for each batch size, some hundred MB",
    ),
    "layout": _layout,
    "prefix-caching": lambda hit, isl, rate: Said(
        f"prefix caching, {rate:.0%} of the prompt found",
        f"prefills {isl - hit:,} of {isl:,} prompt tokens; decode reads the same cache",
        "memory: cached prefixes stay",
        (f"a hit rate of {rate:.0%} (--hit-rate)",),
    ),
    "speculative-decoding": _speculative,
    "chunked-prefill": lambda was, now, was_s, now_s: Said(
        f"{now:,} tokens a step at most, not {was:,}",
        "prefills longer prompts in smaller pieces beside the others' steps; a step with prompt tokens takes "
        f"{from_to(was_s, now_s)}",
        "the newcomer's own first token comes later, and more steps read the weights",
    ),
    "disaggregation": _disaggregated,
    "fusion": lambda kernels, held_bytes: Said(
        "element-wise kernels fused",
        f"spares {kernels:,} kernels of a decode step and {scaled(held_bytes, 'B')} of activations in a prefill; the "
        "ceiling has them fused already",
        "kernels of one's own, or a compiler",
        ("fused into their neighbours without slowing them",),
    ),
    "tp": lambda was, now: Said(
        f"tp {was} to {now}",
        "cuts weights, cache and arithmetic of a step, and adds two all-reduces a layer",
        f"{now - was} more accelerators, joined by a fast link",
    ),
    "replicas": lambda was, now, more: Said(
        f"dp {was} to {now}, with as many sequences each",
        "runs the same step twice, on twice the accelerators",
        f"{more} more accelerators",
    ),
    "stages": lambda was, now, more: Said(
        f"pp {was} to {now}",
        "halves the layers an accelerator holds; a token passes all stages one after the other",
        f"{more} more accelerators; pipeline bubbles unless the batch fills the stages",
    ),
    "experts": lambda was, now: Said(
        f"dp {now} x ep {now}, with as many sequences each",
        "replicates attention and spreads the experts: each accelerator reads fewer of them for more tokens",
        f"{now - was} more accelerators; tokens travel to their experts",
    ),
    "offload": _offload,
    "card": _card,
    "card-bandwidth": lambda: Said("twice the memory bandwidth, all else equal", "doubles the memory roof", _NO_CARD),
    "card-compute": lambda: Said("twice the FLOP/s, all else equal", "doubles the compute roofs", _NO_CARD),
    "card-capacity": lambda: Said(
        "twice the memory, filled with sequences",
        "lets more sequences share each step's weights",
        f"{_NO_CARD}; every sequence waits for a longer step",
    ),
    "card-link": lambda name: Said(f"twice the {name} bandwidth, all else equal", "doubles the link roof", _NO_CARD),
    "attention-heads": lambda heads: Said(
        f"grouped-query attention with {heads} KV heads",
        "shrinks the KV cache and its projections by the number of queries that share a head",
        _TRAINED,
    ),
    "attention-latent": lambda elements: Said(
        f"latent attention (MLA), {elements} elements a token and layer",
        "shrinks the KV cache to one latent; the arithmetic stays",
        _TRAINED,
    ),
    "attention-window": lambda tokens: Said(
        f"a window of {tokens:,} tokens in three of four layers",
        "bounds what those layers keep and read; shorter contexts stay as they are",
        _TRAINED,
    ),
    "context": lambda times, isl: Said(
        f"{'half' if times < 1 else 'twice'} the input",
        f"prefills {isl:,} tokens, and decodes behind as many",
        "other requests",
    ),
}
