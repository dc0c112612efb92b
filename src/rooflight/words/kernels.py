"""Timed kernels in words: how near to their roofs they come, and why others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from rooflight.answers.check.kernels import REACHED, of_steps
from rooflight.units import scaled
from rooflight.values.kernels import Kernels, KernelTime, Why
from rooflight.words.seen import mismatched

# Of each reason a word or two for a table, and a clause for the sentence.
WORDS: dict[str, str] = {
    "launch": "call", "format": "format", "ridge": "ridge", "rows": "few rows", "small": "small", "tail": "tail",
    "memory": "memory", "arithmetic": "compute",
}  # fmt: skip
_CLAUSES: dict[Why, str] = {
    "launch": "their time is mostly the call's own cost",
    "format": "the device has no fast path for their format",
    "ridge": "near the ridge point bytes and arithmetic take turns",
    "rows": "they have few rows",
    "small": "they are small beside the cost of a call",
    "tail": "their sizes are no multiples of the tiles they are cut in",
    "memory": "their bytes come more slowly than the memory can deliver",
    "arithmetic": "their products are slower than the peak",
}
# Runs that differ by more than this share of their median tell of other load on the machine.
_RESTLESS = 0.5
_TENTH = 0.1


def told(found: Kernels) -> Kernels:
    """With its sentence, why kernels stay below their roofs, and how they were timed."""
    kernels = tuple(replace(one, because=_because(one, found)) for one in found.kernels)
    found = replace(found, kernels=kernels)
    return replace(found, answer=_answer(found), notes=_notes(found))


def _answer(found: Kernels) -> str:
    kernels = found.kernels
    if not kernels:
        return "Interrupted before the first kernel was timed."
    what = "The product" if found.model is None else f"{len(kernels)} kernels of {found.model}"
    roof = f"the roof of {found.on.id}" + ("" if found.on.measured is None else " as measured")
    where = f"{found.device}" + (f", one of {found.tp} devices" if found.tp > 1 else "")
    if len(kernels) == 1:
        one = kernels[0]
        why = f": {one.because}" if one.because else ""
        takes = f"{what} in {found.weights} takes {scaled(one.median_s, 's')} on {where}"
        return f"{takes}, {_share(one.of_roof)} of {roof}{why}.{mismatched(found.device, found.machine, found.on)}"
    steps = of_steps(kernels)
    parts = [
        f"those of {name} reach {_range(shares)}"
        for phase, name in (("decode", "a decode step"), ("prefill", "a prompt"))
        if (shares := [share for (of, _), share in steps.items() if of == phase])
    ]
    said = f"{what} in {found.weights} on {where}, by time: {' and '.join(parts)} of {roof}"
    reasons = Counter(one.why for one in kernels if one.why is not None)
    if reasons:
        first, count = reasons.most_common(1)[0]
        below = sum(reasons.values())
        most = "" if count == below else f", {count} of them"
        said += f"; {below} stay below {_share(REACHED)}{most} because {_CLAUSES[first]}"
    stopped = "" if found.complete else " (interrupted)" if found.interrupted else " (not all of them: time was up)"
    return f"{said}{stopped}.{mismatched(found.device, found.machine, found.on)}"


def _range(shares: Sequence[float]) -> str:
    """12 to 30 %; one figure where there is one."""
    low, high = _share(min(shares)), _share(max(shares))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def _share(value: float) -> str:
    return f"{value:.1%}".replace("%", " %") if value < _TENTH else f"{value:.0%}".replace("%", " %")


def _because(one: KernelTime, found: Kernels) -> str | None:
    """What keeps a kernel below its roof, with the figures that say so."""
    time_s = scaled(one.median_s, "s")
    if one.why is None:
        return None
    if one.why == "launch":
        return f"a call alone costs {scaled(one.launch_s, 's')} of its {time_s}"
    if one.why == "format":
        peaks = found.on.peak_flop_per_s
        own = peaks.get(one.sample.compute or "")
        best = max(peaks, key=lambda form: peaks[form])
        reached = "has no peak here" if own is None else f"reaches {scaled(own, 'FLOP/s')} here at best"
        return f"{one.sample.compute} {reached}, where {best} has {scaled(peaks[best], 'FLOP/s')}: no fast path for it"
    if one.why == "ridge":
        both = f"{scaled(one.memory_s, 's')} of bytes and {scaled(one.compute_s, 's')} of arithmetic"
        return f"near the ridge point, {both} take turns in its {time_s}"
    if one.why == "rows":
        if one.compute_s > one.memory_s:
            reached = f"{scaled(one.flop_per_s, 'FLOP/s')}, {_share(one.of_roof)} of the peak"
            return f"few rows fill part of a tile: it reaches {reached}"
        alone = scaled(one.alone_bytes_per_s or 0, "B/s")
        return f"the same matrix streams at {alone} with one, here at {scaled(one.bytes_per_s, 'B/s')}"
    if one.why == "small":
        return f"{scaled(max(one.compute_s, one.memory_s), 's')} of work, and a call costs {scaled(one.launch_s, 's')}"
    if one.why == "memory":
        return f"it moves {scaled(one.bytes_per_s, 'B/s')}, {_share(one.of_roof)} of the bandwidth"
    tail = "its sizes are no multiples of 64, and " if one.why == "tail" else ""
    return (
        f"{tail}it reaches {scaled(one.flop_per_s, 'FLOP/s')}, {_share(one.of_roof)} of the {one.sample.compute} peak"
    )


def _notes(found: Kernels) -> tuple[str, ...]:
    kernels = found.kernels
    notes = [
        "weights and caches come from memory: each run takes another of copies that are together 4 times the "
        f"last-level cache ({scaled(found.cache_bytes, 'B')}); activations are left where the run before put them",
        "times are medians of single calls through torch, one kernel alone, without a graph",
    ]
    if any((one.sample.shape or {}).get("matrices") for one in kernels):
        notes.append("routed experts: those that a step touches in the mean, each with its even share of the rows")
    if found.tp > 1:
        notes.append(f"sizes are those of one of {found.tp} tensor-parallel devices; what they exchange is not timed")
    restless = [one for one in kernels if one.sample.time_s is not None and one.sample.time_s.spread > _RESTLESS]
    if restless:
        notes.append(
            f"runs of {len(restless)} kernels differ by more than half their median: something else ran beside them"
        )
    faster = found.faster_than_seen()
    if faster:
        limit = f"{found.on.id} is said to allow" if found.on.measured is None else "this machine was measured"
        notes.append(f"faster than {limit}: {', '.join(_named(faster))}")
    return tuple(notes)


def _named(kernels: Sequence[KernelTime]) -> list[str]:
    return [f"{one.sample.name} ({scaled(one.median_s, 's')} for {scaled(one.ceiling_s, 's')})" for one in kernels]
