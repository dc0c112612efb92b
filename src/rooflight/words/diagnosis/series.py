"""Words that sentences about several measurements share: axes, ends, what was left out, what comes next."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.diagnose.fit import Fit, LeftOut
from rooflight.units import scaled
from rooflight.values.diagnosis import Bound, Next

OF = {
    "token_s": "a token", "each_s": "a token of all together", "request_s": "a request", "prompt_s": "a prompt",
    "ttft_s": "the first token",
}  # fmt: skip
_ALONG = {
    "batch": "batch", "context": "context", "prompt": "prompt", "tp": "TP", "pp": "PP", "dp": "DP", "layout": "layout",
    "weights": "weights", "kv_cache": "KV cache", "device": "accelerator", "engine": "engine",
    "offload": "layers on the accelerator", "threads": "threads", "draft_tokens": "drafted tokens",
    "answer": "answers of", "mixed": "run",
}  # fmt: skip
_BOUND: dict[Bound, str] = {
    "memory": "Memory bandwidth binds", "compute": "Arithmetic binds", "link": "The link between devices binds",
    "launch": "Host and launches bind", "capacity": "The KV cache's capacity binds", "queue": "A queue binds",
    "starved": "Too few requests come", "throttled": "The clock is held down", "idle": "Nothing runs",
}  # fmt: skip
# Points that are listed one by one.
_LISTED = 8
_WITHOUT = "rooflight diagnose FILE --model MODEL --on ACCELERATOR"


def bound_words(bound: Bound) -> str:
    """What binds, as a sentence begins."""
    return _BOUND[bound]


def along(axis: str) -> str:
    """An axis's name in front of its value."""
    return _ALONG[axis]


def percent(share: float) -> str:
    """A share in whole per cent: percent(0.217) == "22 %"."""
    return f"{share * 100:.0f} %"


def ends(one: Fit) -> str:
    """The first and the last point."""
    first, last = scaled(one.values[0], "s"), scaled(one.values[-1], "s")
    name = along(one.axis)
    return f"{OF[one.quantity]} takes {first} at {name} {one.labels[0]} and {last} at {name} {one.labels[-1]}"


def points_of(one: Fit) -> Iterator[tuple[str, float]]:
    """The points by their labels; of many the first and the last."""
    pairs = list(zip(one.labels, one.values, strict=True))
    yield from pairs if len(pairs) <= _LISTED else (pairs[0], pairs[-1])


def left_out(axis: str, gone: LeftOut) -> str:
    """Why a point is left out."""
    where = f"{along(axis)} {gone.label} is left out"
    if gone.why == "beyond":
        return f"{where}: it is faster than its ceiling, {scaled(gone.value or 0, 's')} a step"
    if gone.why == "open":
        made = f"{gone.value:,.3g}" if gone.value is not None else "another number"
        return f"{where}: its rate and times make {made} in flight, as where start-up is in it or the batch is another"
    return f"{where}: it is far from the line through the others"


def next_steps(one: Fit) -> Iterator[Next]:
    """What to do, by what binds; the gains are the fit's own."""
    if one.cannot_tell:
        yield from _to_tell(one)
        return
    share = one.split.largest[1] if one.split is not None else None
    freed = 1 / (1 - share) if share is not None and share < 1 else None
    if one.bound == "memory":
        if one.axis == "batch":
            yield Next(what="twice the batch: more output of all for the same reading of weights", gain=one.next_gain)
        elif one.said in ("cache", "slow-cache"):
            yield Next(what="keep the KV cache and attention on the accelerator, or a narrower KV cache")
        elif one.axis in ("offload",):
            yield Next(what="more layers on the accelerator", gain=one.limit_gain)
        elif one.axis == "layout":
            yield Next(what="tensor parallelism in place of pipeline stages", gain=one.gain)
        else:
            yield Next(what="fewer bytes a token: narrower weights or KV cache; a larger batch for output of all")
    elif one.bound == "launch":
        yield Next(what="CUDA graphs on, the host's work beside the device's (async scheduling)", gain=freed)
        if one.axis == "batch":
            yield Next(what="a larger batch: what is fixed is paid once", gain=one.next_gain)
    elif one.bound == "compute":
        yield Next(what="a format with a higher peak, fewer prompt tokens (prefix cache), or more devices")
    elif one.bound == "link":
        yield Next(what="replicas in place of a higher degree, where one device holds the model", gain=one.ideal_gain)
        yield Next(what="look whether devices reach each other directly (P2P, NVLink)", command="nvidia-smi topo -m")
    elif one.bound == "queue":
        yield Next(what="more sequences at once (max_num_seqs, parallel slots), or another replica")
    elif one.bound == "capacity":
        yield Next(what="a narrower KV cache, shorter contexts, or no more in flight than memory holds")
    elif one.axis == "weights":
        yield Next(what="another kernel or format for those weights; a profile shows which one takes the time")


def _to_tell(one: Fit) -> Iterator[Next]:
    if one.said == "beyond":
        yield Next(what="say what was run: weights, accelerators, drafts, and whether prompt tokens are counted")
    elif one.said in ("mixed", "alike"):
        yield Next(what="measure two runs that differ in one thing alone, as batch 1 and batch 32")
    else:
        yield Next(what="name the model and the accelerator", command=_WITHOUT)
