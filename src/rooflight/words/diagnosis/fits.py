"""Several measurements of one thing in words."""

from __future__ import annotations

from collections.abc import Callable

from rooflight.answers.diagnose.fits import FitsFound
from rooflight.answers.diagnose.fitted.fit import Fit
from rooflight.units import round_significant, scaled
from rooflight.values.diagnosis import Told
from rooflight.words.diagnosis.series import (
    EACH,
    OF,
    WITHOUT,
    along,
    bound_words,
    ends,
    evidence,
    hidden,
    next_steps,
    notes,
    percent,
)

# Other series of the same records that are worth a note.
_MOST = 4


def told(found: FitsFound) -> Told:
    """The series that says most, then what the others say, what was left out, and how far the fit holds."""
    first, others = found.fits[0], found.fits[1 : 1 + _MOST]
    said = [sentence(one) for one in others]
    return Told(
        answer=sentence(first),
        evidence=tuple(evidence(first)),
        next=tuple(next_steps(first)),
        notes=(*notes(first), *dict.fromkeys(said)),
    )


def sentence(one: Fit) -> str:
    """What a series says."""
    return _SAID[one.said](one)


def _beyond(one: Fit) -> str:
    gone = [left for left in one.left_out if left.why == "beyond"]
    first, count = gone[0], len(gone)
    least = scaled(first.value or 0, "s")
    return (
        f"Which ceiling binds cannot be told: {count:,} of {count + len(one.values):,} points "
        f"{'is' if count == 1 else 'are'} faster than physics allows ({along(one.axis)} {first.label}: {least} at "
        "least), so the model, its format, the accelerator, or what the value counts is another."
    )


def _near(one: Fit) -> str:
    return (
        f"What is fixed and what grows cannot be told from points so near each other: {ends(one)}; measure two "
        "that are many times apart."
    )


def _split(one: Fit) -> str:
    """A decode step divided by what takes it."""
    split, last = one.split, one.values[-1]
    if split is None or one.bound is None:
        return _parts(one)
    parts = []
    if one.weights_s is not None:
        parts.append(f"{scaled(one.weights_s, 's')} are the reading of weights")
    if one.grows_s:
        parts.append(f"{scaled(one.grows_s, 's')} grow ({_rate(one)})")
    if one.prompts_s:
        parts.append(f"about {scaled(one.prompts_s, 's')} are prompts of other requests, computed between tokens")
    if one.left_s is not None and one.left_s > 0:
        parts.append(f"{scaled(one.left_s, 's')} are left for host, launches and kernels below the roof")
    where = f"{along(one.axis)} {one.labels[-1]}"
    return f"{bound_words(one.bound)} at {where}: of {scaled(last, 's')} {OF[one.quantity]}, {', '.join(parts)}."


def _rate(one: Fit) -> str:
    said = f"{scaled(one.slope_s or 0, 's')} {EACH[one.axis]}"
    if one.cached_tokens is not None:
        return f"{said}: the reading of {round_significant(one.cached_tokens)} cached tokens, as no length is stated"
    if not one.bytes_per_s or not one.bytes_each:
        return said
    if hidden(one):
        return f"{said}, less than reading its {scaled(one.bytes_each, 'B')} takes: that hides behind the rest"
    said += f": {scaled(one.bytes_each, 'B')} at {scaled(one.bytes_per_s, 'B/s')}"
    if one.roof_bytes_per_s:
        said += f", {percent(one.bytes_per_s / one.roof_bytes_per_s)} of the memory's rate"
    return said


def _parts(one: Fit) -> str:
    line = one.line
    if line is None:
        return _mixed(one)
    if not one.share:
        return (
            f"The {_NOUN[one.axis]} does not show in what was tried ({ends(one)}): whether what is fixed is "
            f"reading weights or the host cannot be told {WITHOUT}."
        )
    grows = f"{scaled(max(line.slope, 0), 's')} {EACH[one.axis]}"
    return (
        f"{OF[one.quantity].capitalize()} takes {scaled(line.fixed, 's')} at any {_NOUN[one.axis]}, and {grows} more: "
        f"{percent(one.share or 0)} of it grow at {along(one.axis)} {one.labels[-1]}; whether the fixed part is "
        f"reading weights or the host cannot be told {WITHOUT}."
    )


def _flat(one: Fit) -> str:
    said = f"ached tokens do not show: {ends(one)}, so reading the cache is not what binds"
    if one.split is None or one.bound is None:
        return f"C{said}; weights or host do, which cannot be told {WITHOUT}."
    left = f"{scaled(max(one.left_s or 0, 0), 's')} are left for host, launches and kernels below the roof"
    last, weights = scaled(one.values[-1], "s"), scaled(one.weights_s or 0, "s")
    return f"{bound_words(one.bound)}: c{said}; of the {last} {weights} are reading the weights, {left}."


def _cache(one: Fit) -> str:
    share = ""
    if one.roof_bytes_per_s and one.bytes_per_s:
        share = f", {percent(one.bytes_per_s / one.roof_bytes_per_s)} of the memory's rate"
    return (
        f"Memory binds, where the cache lies: each cached token adds {scaled(one.line.slope if one.line else 0, 's')}, "
        f"so its {scaled(one.bytes_each or 0, 'B')} are read at {scaled(one.bytes_per_s or 0, 'B/s')}{share}; a rate "
        "so far below the memory's means a cache in another, slower memory (the host's), or attention on a slow path."
    )


def _prompt(one: Fit) -> str:
    last = one.values[-1]
    fixed = scaled(one.left_s or 0, "s")
    floor = f"{fixed} are there for any prompt" if one.left_s else "nothing that shows is there for any prompt"
    if one.knee is not None:
        floor = f"up to {round_significant(one.knee)} tokens it is {fixed} whatever the prompt"
    if one.weights_s is not None and one.left_s:
        floor += f", of which reading the weights explains {scaled(min(one.weights_s, one.left_s or 0), 's')}"
    rate = ""
    hidden = one.flop_per_s and one.roof_flop_per_s and one.flop_per_s > one.roof_flop_per_s
    if one.flop_per_s and not hidden:
        rate = f" at {scaled(one.flop_per_s, 'FLOP/s')}"
        if one.roof_flop_per_s:
            rate += f", {percent(one.flop_per_s / one.roof_flop_per_s)} of the peak"
    part = percent(one.share or 0)
    what = bound_words(one.bound) if one.bound else "Nothing binds alone"
    grows = f"{part} of the {scaled(last, 's')} at {one.labels[-1]} tokens grow with the prompt{rate}"
    return f"{what} in prefill: {floor}; {grows}."


def _slower(one: Fit) -> str:
    more = f"{along(one.axis)} {one.labels[-1]}"
    said = f"The link between devices eats what {more} saves: {ends(one)}"
    if one.added_s and one.collectives:
        each = scaled(one.added_s / one.collectives, "s")
        said += f"; splitting adds {scaled(one.added_s, 's')}, {each} an exchange ({one.collectives:g} a step)"
    return f"{said}."


def _no_gain(one: Fit) -> str:
    if one.axis in ("weights", "kv_cache", "mixed"):
        return _format(one)
    if one.bound == "link":
        return f"{along(one.axis).capitalize()} gains nothing: {ends(one)}; stages and exchanges take all of it."
    return (
        f"More devices change nothing: {ends(one)}; whether exchanges eat what splitting saves, or the host, which no "
        f"device shortens, takes the time, cannot be told {WITHOUT}."
    )


def _format(one: Fit) -> str:
    said = f"The narrower format is not faster: {ends(one)}, though it reads {_times(one.ideal_gain)} fewer bytes"
    if one.bytes_per_s and one.roof_bytes_per_s:
        share = percent(one.bytes_per_s / one.roof_bytes_per_s)
        said += f"; its kernels read {scaled(one.bytes_per_s, 'B/s')}, {share} of the memory's rate"
    if one.bound == "memory":
        return f"{bound_words(one.bound)}, though not by what was narrowed: {said[0].lower()}{said[1:]}."
    if one.bound is not None:
        return f"{bound_words(one.bound)}: {said[0].lower()}{said[1:]}, and takes kernels more."
    return f"{said}: no ceiling binds it, its kernels (unpacking) or the host do."


def _replicas(one: Fit) -> str:
    return (
        f"Replicas exchange nothing, and {_times(one.ideal_gain)} as many give {_times(one.gain)} the speed: "
        f"{ends(one)}; too few requests for them, or a host that they share, which cannot be told from this."
    )


def _holds_more(one: Fit) -> str:
    return (
        f"The KV cache's capacity binds: the narrower cache holds more sequences at once, and output is "
        f"{_times(one.gain)} as much ({ends(one)})."
    )


def _behind(one: Fit) -> str:
    line = one.line
    fixed, each = (scaled(line.fixed, "s"), scaled(max(line.slope, 0), "s")) if line else ("", "")
    return (
        f"Arithmetic binds prefill: a prompt token takes {fixed} behind an empty cache and {each} more a cached token, "
        f"which is attention: {percent(one.share or 0)} at {one.labels[-1]} cached."
    )


def _scales(one: Fit) -> str:
    return (
        f"It scales: {ends(one)}, of {_times(one.ideal_gain)} at most; which ceiling the split work hits cannot be "
        f"told {WITHOUT}."
    )


def _partly(one: Fit) -> str:
    gain = f"{_times(one.gain)} the speed from {_times(one.ideal_gain)} the devices ({percent(_efficiency(one))} of it)"
    if one.bound == "link":
        return f"{gain}: {ends(one)}; replicas of the smaller deployment give {_times(one.ideal_gain)} by construction."
    serial = percent(one.share or 0)
    return (
        f"{gain}: {ends(one)}; by Amdahl's law {serial} of the time does not shrink with devices: exchanges or the "
        f"host, which cannot be told {WITHOUT}."
    )


def _efficiency(one: Fit) -> float:
    return (one.gain or 0) / one.ideal_gain if one.ideal_gain else 0.0


def _degree_split(one: Fit) -> str:
    split = one.split
    if split is None or one.bound is None:
        return _partly(one)
    own, last = scaled(split.memory + split.compute, "s"), f"{along(one.axis)} {one.labels[-1]}"
    said = (
        f"{bound_words(one.bound)} at {last}: {ends(one)} ({_times(one.gain)} from {_times(one.ideal_gain)} the "
        f"devices); of {scaled(split.whole, 's')} the device's own ceiling explains {own}, exchanges "
        f"{scaled(split.link, 's')}, the rest {scaled(split.launch, 's')}"
    )
    return f"{said}; {_times(one.expected_gain)} are expected." if one.expected_gain else f"{said}."


def _stages(one: Fit) -> str:
    said = f"Pipeline stages are passed in turn, each reading its own weights: {ends(one)} ({_times(one.gain)})"
    if one.expected_gain:
        said += f"; {_times(one.expected_gain)} are expected"
    return f"{said}. Memory binds each stage, and no further stage shortens a token."


def _layouts(one: Fit) -> str:
    said = f"{one.labels[-1]} is {_times(one.gain)} as fast as {one.labels[0]}: {ends(one)}"
    if one.expected_gain:
        said += f"; {_times(one.expected_gain)} are expected"
    if one.said == "exchanges":
        return f"{bound_words('link')} where matrices are split: {said}."
    return f"{said}; which ceiling binds cannot be told from layouts alone."


def _moved(one: Fit) -> str:
    share = percent(one.share or 0)
    what = "the memory's rate" if one.axis == "device" else "the bytes"
    said = f"{share} of the time goes with {what} ({ends(one)}), where {what} alone would give {_times(one.ideal_gain)}"
    if one.bound is None:
        return f"{said}; what the rest is cannot be told {WITHOUT}."
    rest = f"; {scaled(one.left_s, 's')} stay as they are" if one.left_s else ""
    return f"{bound_words(one.bound)}: {said[0].lower()}{said[1:]}{rest}."


def _peaks(one: Fit) -> str:
    said = f"{percent(one.share or 0)} of the time goes with the arithmetic's peak: {ends(one)}, where the peak alone"
    said += f" would give {_times(one.ideal_gain)}"
    if one.bound is None:
        return f"Which ceiling binds prefill cannot be told: {said}."
    return f"Arithmetic binds prefill: {said}."


def _alike(one: Fit) -> str:
    what = "accelerators' memory rates" if one.axis == "device" else "bytes that they move"
    return f"Which ceiling binds cannot be told: the {what} differ too little ({ends(one)})."


def _mixed(one: Fit) -> str:
    count = len(one.values) + len(one.left_out)
    return (
        f"Which ceiling binds cannot be told from {count:,} runs that differ in several things at once, "
        f"{WITHOUT}: measure two that differ in one thing alone."
    )


def _same_memory(one: Fit) -> str:
    return (
        f"Memory bandwidth binds: {ends(one)}, as alike as the accelerators' memories, though one has "
        f"{_times(one.expected_gain)} the arithmetic."
    )


def _not_memory(one: Fit) -> str:
    said = f"the memory of {one.labels[-1]} is {_times(one.ideal_gain)} as fast and the run {_times(one.gain)}"
    share = f"so memory is {percent(one.share or 0)} of the time at most"
    if one.bound is None:
        return f"Memory does not bind: {said}, {share}; whether arithmetic or the host does cannot be told from this."
    return f"Host and launches bind: {said}, {share}, and arithmetic takes less."


def _worse(one: Fit) -> str:
    slower = _times(1 / one.gain) if one.gain else "many times"
    return (
        f"No ceiling of {one.labels[-1]} binds: its memory is {_times(one.ideal_gain)} as fast as that of "
        f"{one.labels[0]} and the run {slower} as slow: kernels, settings or the software for it do."
    )


def _engines(one: Fit) -> str:
    fast, slow = one.labels[-1], one.labels[0]
    said = f"{fast} is {_times(one.gain)} as fast as {slow} on the same machine: {ends(one)}"
    if one.share:
        said += f"; {fast} reaches {percent(one.share)} of the ceiling's speed"
    if one.bound == "memory":
        return f"{bound_words('memory')} where it is fastest: {said}."
    if one.bound is None:
        return f"{said}; too near each other to say what binds."
    return f"{said}. No ceiling of the machine binds {slow}: its kernels, its host side or its settings do."


def _layers(one: Fit) -> str:
    each = scaled(abs(one.line.slope) if one.line else 0, "s")
    if one.said == "layers":
        return f"The host's memory binds: each layer moved to the accelerator saves {each} a token ({ends(one)})."
    return (
        f"No ceiling binds the accelerator's layers; their kernels or driver do: each layer moved there adds {each} a "
        f"token ({ends(one)})."
    )


def _threads(one: Fit) -> str:
    if one.said == "threads-on":
        return f"Cores bind: output still grows with every thread ({ends(one)})."
    knee = round_significant(one.knee or 0)
    said = f"nothing is gained beyond {knee} threads, {_times(one.gain)} the output of the fewest"
    if one.cannot_tell:
        return f"Which ceiling binds cannot be told: {said}."
    return f"Memory bandwidth binds: {said}; more cores only wait for it."


def _drafts(one: Fit) -> str:
    gain = f", {_times(one.gain)} as fast as without" if one.gain else ""
    return (
        f"{round_significant(one.knee or 0)} drafted tokens a step are the best of those tried{gain}: accepted tokens "
        "saturate and drafting does not. Which ceiling binds cannot be told from this."
    )


def _collide(one: Fit) -> str:
    first, last = scaled(one.values[0], "s"), scaled(one.values[-1], "s")
    return (
        f"A queue of prompts: the first token takes {first} at an answer length of {one.labels[0]} and {last} at "
        f"{one.labels[-1]}, with as many in flight: short answers end together, so the prompts that follow them meet "
        "in front of the engine."
    )


def _slots(one: Fit) -> str:
    late = f"; the first token comes {_times(one.expected_gain)} later" if (one.expected_gain or 0) > 2 else ""
    slots, waiting = round_significant(one.slots or 0, 2), round_significant(one.waiting or 0, 2)
    knee = round_significant(one.knee or 0)
    said = f"output is level from {knee} in flight on, about {slots} run and {waiting} wait{late}"
    if one.said == "room":
        held = round_significant(one.room or 0, 2)
        return f"The KV cache's capacity binds: {said}; memory holds about {held} sequences."
    return f"A queue binds: {said}; a limit on requests at once holds them (slots, max_num_seqs), not the machine."


def _times(value: float | None) -> str:
    return "an unknown number of times" if value is None else f"{round_significant(value)} times"


_NOUN = {"batch": "batch", "context": "context"}
_SAID: dict[str, Callable[[Fit], str]] = {
    "beyond": _beyond, "near": _near,
    "split": lambda one: _degree_split(one) if one.axis == "tp" else _split(one), "parts": _parts,
    "flat": _flat, "slow-cache": _cache, "cache": _cache, "prompt": _prompt, "prompt-slow": _prompt,
    "flat-prompt": lambda one: f"Host and launches bind: the first token does not grow with the prompt ({ends(one)}).",
    "slower": _slower, "no-gain": _no_gain, "scales": _scales, "partly": _partly, "stages": _stages,
    "layouts": _layouts, "moved": _moved, "alike": _alike, "mixed": _mixed, "same-memory": _same_memory,
    "not-memory": _not_memory, "worse": _worse, "engines": _engines, "layers": _layers, "layers-slow": _layers,
    "threads": _threads, "threads-on": _threads, "drafts": _drafts, "collide": _collide, "behind": _behind,
    "peaks": _peaks,
    "replicas": _replicas, "exchanges": _layouts, "holds-more": _holds_more, "slots": _slots,
    "room": _slots,
}  # fmt: skip
