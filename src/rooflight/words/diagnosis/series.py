"""Words that sentences about several measurements share: axes, ends, what was left out, what comes next."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.diagnose.fitted.fit import Fit, LeftOut
from rooflight.units import scaled
from rooflight.values.diagnosis import Bound, Evidence, Next

OF = {
    "token_s": "a token", "each_s": "a token of all together", "request_s": "a request", "prompt_s": "a prompt",
    "ttft_s": "the first token", "prompt_token_s": "a prompt token",
}  # fmt: skip
_ALONG = {
    "batch": "batch", "context": "context", "prompt": "prompt", "tp": "TP", "pp": "PP", "dp": "DP", "layout": "layout",
    "weights": "weights", "kv_cache": "KV cache", "device": "accelerator", "engine": "engine",
    "offload": "layers on the accelerator", "threads": "threads", "draft_tokens": "drafted tokens",
    "answer": "answers of", "cached": "cached tokens", "mixed": "run",
}  # fmt: skip
_BOUND: dict[Bound, str] = {
    "memory": "Memory bandwidth binds", "compute": "Arithmetic binds", "link": "The link between devices binds",
    "host_memory": "The host's memory or the link to it binds",
    "launch": "Host and launches bind", "capacity": "The KV cache's capacity binds", "queue": "A queue binds",
    "starved": "Too few requests come", "throttled": "The clock is held down", "idle": "Nothing runs",
}  # fmt: skip
# Points that are listed one by one.
_LISTED = 8
# What is missing, and how it is named: the report puts in their place which of the two is, and the files.
BOTH = "the model and the accelerator"
WITHOUT = f"without {BOTH}"
NAMED = "rooflight diagnose FILE --model MODEL --on ACCELERATOR"
NAME = Next(what=f"name {BOTH}", command=NAMED)
KEEP = Next(
    what="keep the KV cache where weights are read fast (not in the host's memory), an attention kernel for it, or "
    "a narrower KV cache"
)
FEWER = Next(what="fewer bytes a token: narrower weights or KV cache; a larger batch for output of all")
SAY = Next(what="say what was run: weights, accelerators, drafts, and whether prompt tokens are counted")
EACH = {"batch": "a sequence", "context": "a cached token", "prompt": "a prompt token", "offload": "a layer"}
_PART = {
    "memory": "reading weights and cache", "compute": "arithmetic", "link": "exchanges between devices",
    "launch": "host, launches, and kernels below the roof",
}  # fmt: skip
# Intervals that are narrower than that, of the values, are rounding.
_EXACT = 1e-3
# A rate that is so many times the memory's is none of reading.
_MORE = 1.1


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
    freed = None
    if one.split is not None and one.host_s is not None and one.split.whole > one.split.launch:
        # what a well-run engine's host takes stays
        freed = one.split.whole / (one.split.whole - one.split.launch + min(one.host_s, one.split.launch))
    if one.bound == "memory":
        if one.axis == "batch":
            yield Next(what="twice the batch: more output of all for the same reading of weights", gain=one.next_gain)
        elif one.said in ("cache", "slow-cache"):
            yield KEEP
        elif one.axis in ("offload",):
            yield Next(what="more layers on the accelerator", gain=one.limit_gain)
        elif one.axis == "tp":
            yield Next(what="twice the degree, by the line through these", gain=one.next_gain)
        elif one.axis == "layout":
            yield Next(what=f"the layout {one.labels[-1]} in place of {one.labels[0]}", gain=one.gain)
        else:
            yield FEWER
    elif one.bound == "launch":
        yield Next(what="CUDA graphs on, the host's work beside the device's (async scheduling)", gain=freed)
        if one.axis == "batch":
            yield Next(what="a larger batch: what is fixed is paid once", gain=one.next_gain)
    elif one.bound == "compute":
        yield Next(what="a format with a higher peak, fewer prompt tokens (prefix cache), or more devices")
    elif one.bound == "link":
        if one.axis == "layout":
            yield Next(what=f"the layout {one.labels[-1]} in place of {one.labels[0]}", gain=one.gain)
        else:
            what = "replicas in place of a higher degree, where one device holds the model"
            yield Next(what=what, gain=one.ideal_gain)
        yield Next(what="look whether devices reach each other directly (P2P, NVLink)", command="nvidia-smi topo -m")
    elif one.bound == "queue":
        yield Next(what="more sequences at once (max_num_seqs, parallel slots), or another replica")
    elif one.bound == "capacity":
        yield Next(what="a narrower KV cache, shorter contexts, or no more in flight than memory holds")
    elif one.axis == "weights":
        yield Next(what="another kernel or format for those weights; a profile shows which one takes the time")


def _to_tell(one: Fit) -> Iterator[Next]:
    if one.said == "beyond":
        yield SAY
    elif one.said in ("mixed", "alike", "near"):
        yield Next(what="measure two runs that differ in one thing alone, as batch 1 and batch 32")
    else:
        yield NAME


def hidden(one: Fit) -> bool:
    """Whether what grows is less than reading it takes at the memory's rate."""
    return bool(one.bytes_per_s and one.roof_bytes_per_s and one.bytes_per_s > _MORE * one.roof_bytes_per_s)


def evidence(one: Fit) -> Iterator[Evidence]:
    """Numbers for and against."""
    line, split = one.line, one.split
    for label, value in points_of(one):
        what = f"measured at {along(one.axis)} {label}"
        if one.quantity == "each_s" and value:
            yield Evidence(what=what, value=1 / value, unit="output tokens/s of all")
        else:
            yield Evidence(what=what, value=value, unit="s")
    if line is not None and one.axis in EACH:
        yield Evidence(what="fixed part", value=line.fixed, unit="s")
        yield Evidence(what=f"slope, {EACH[one.axis]}", value=line.slope, unit="s")
        mean = sum(one.values) / len(one.values)
        if line.spread is not None and line.spread > _EXACT * mean:
            yield Evidence(
                what="spread of the points around the line", value=line.spread, unit="s",
                supports=line.spread < 0.05 * mean,
            )  # fmt: skip
    if split is not None and one.bound is not None and split.whole:
        parts = {"memory": split.memory, "compute": split.compute, "link": split.link, "launch": split.launch}
        for name, seconds in parts.items():
            if seconds:
                what = f"part of the last point: {_PART[name]}"
                yield Evidence(what=what, value=seconds / split.whole, unit="share", supports=name == one.bound)
    if one.bytes_per_s and not hidden(one):
        yield Evidence(
            what="implied rate of reading", value=one.bytes_per_s, unit="B/s", supports=one.bound == "memory"
        )
    if one.flop_per_s:
        supports = one.bound == "compute"
        yield Evidence(what="implied rate of arithmetic", value=one.flop_per_s, unit="FLOP/s", supports=supports)
    if one.expected_gain is not None and one.axis in ("tp", "layout"):
        yield Evidence(what="gain that is expected", value=one.expected_gain)


def notes(one: Fit) -> Iterator[str]:
    """What was left out, and how far the line holds."""
    yield from (left_out(one.axis, gone) for gone in one.left_out[:_LISTED])
    line = one.line
    if line is None or one.axis not in EACH:
        return
    if line.fixed_half is not None and line.slope_half is not None:
        fixed = f"fixed part {scaled(line.fixed, 's')} +- {scaled(line.fixed_half, 's')}"
        slope = f"slope {scaled(line.slope, 's')} +- {scaled(line.slope_half, 's')}"
        exact = line.fixed_half < _EXACT * max(one.values)
        yield "the points lie on a line" if exact else f"95 % intervals of the line: {fixed}, {slope}"
    elif line.points == 2:
        yield "two points make any line exactly: a third would say whether it holds"
    if hidden(one):
        yield (
            "what grows is less than reading the cache takes at the memory's rate: the contexts are shorter or the "
            "cache narrower than was said, or the reading hides behind what is fixed"
        )
