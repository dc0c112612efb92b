"""Readings of a value in words: mix-ups that would explain it, causes of slowness, and what leaves it open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rooflight.answers.check.outcome import Finding
from rooflight.scenario.definite import Scenario
from rooflight.units import round_significant, scaled
from rooflight.words.seen import ceiling


def mix_ups(found: Sequence[Finding]) -> str:
    """The first reading under which the value is possible, and the others that would do."""
    if not found:
        return "none of the usual mix-ups explains it"
    first, *others = map(mix_up, found)
    also = f" (or {', or '.join(others)})" if others else ""
    return f"it would be right {first}{also}"


def mix_up(one: Finding) -> str:
    """A reading, as it goes on from "it would be right"."""
    return _MIX_UPS[one.kind](one.value)


def _speculative(accepted: int | None) -> str:
    if accepted is None:
        return "with speculative decoding"
    return f"with speculative decoding, {accepted} drafted token{'s' * (accepted > 1)} accepted a step"


def _format(formats: tuple[str | None, str | None]) -> str:
    weights, cache = formats
    said = [f"{weights} weights"] if weights else []
    return "for " + " and ".join([*said, *([f"an {cache} KV cache"] if cache else [])])


def _alone(rate: float | None) -> str:
    return "" if rate is None else f", of which {round_significant(rate)} tok/s are output"


_MIX_UPS: dict[str, Callable[[Any], str]] = {
    # value: the output tokens alone, tok/s; None: not told
    "total tokens": lambda rate: f"if input tokens were counted as output tokens{_alone(rate)}",
    # value: devices
    "total for per-GPU": lambda devices: f"as the total of all {devices} devices, not of each",
    "more devices": lambda devices: f"for {devices} devices",
    # value: sequences
    "total for per-user": lambda sequences: f"as the total of all {sequences:,} sequences, not of each",
    "another batch": lambda sequences: f"at batch {sequences:,}",
    "several sequences": lambda sequences: f"as what {sequences} sequences yield together",
    # value: drafted tokens accepted a step; None: not told
    "speculative decoding": _speculative,
    # value: formats of (weights, KV cache), None for the stated one
    "number format": _format,
    # value: an accelerator's id
    "another card": lambda card: f"on {card}",
    # value: (tokens cached, tokens of the prompt)
    "cached prefix": lambda tokens: f"with {tokens[0]:,} of the {tokens[1]:,} prompt tokens cached already",
    # value: sequences; of a value that is fast
    "fewer sequences": lambda sequences: f"with only {sequences:,} at once",
    # value: (engine, era)
    "newer engine": lambda value: f"for a newer {value[0]}, of {value[1]}",
    "unit": lambda _: "in seconds, not milliseconds",
    # value: (tokens generated, output_len)
    "cut short": lambda tokens: f"if only {tokens[0]:,} of {tokens[1]:,} output tokens were generated",
}


def cause(one: Finding) -> str:
    """What may take the time."""
    return _CAUSES[one.kind](one.value)


def spared(found: Sequence[Finding]) -> str:
    """Readings under which a fast value is just what is expected, the nearest first."""
    return f"as expected {', or '.join(map(mix_up, found))}"


def doubt(one: Finding, sc: Scenario, said: str) -> str:
    """What is left open; said: row or claim."""
    return _DOUBTS[one.kind](sc, one.value).replace("the row", f"the {said}")


def _queued(value: tuple[float, float, float | None, float | None] | None) -> str:
    """Waiting, and how long a queue it makes."""
    if value is None:
        return "waiting in the queue behind other prompts"
    times, one_s, slots, per_s = value
    told = f"a queue: it is as long as {times:,.0f} prefills of such a prompt ({scaled(one_s, 's')} each)"
    if slots is None or per_s is None:
        return f"{told}, so other requests were in front"
    return f"{told}, where {slots:,.0f} run at once and {round_significant(per_s)} requests/s are finished; others wait"


_CAUSES: dict[str, Callable[[Any], str]] = {
    "host": lambda _: "host time between steps",
    "launches": lambda _: "kernels launched one by one, without graphs, and host time between steps",
    "collectives": lambda _: "collectives between the devices",
    # value: a hardware format
    "arithmetic": lambda form: f"arithmetic below the {form} peak, or in a wider format",
    "memory": lambda _: "memory bandwidth not reached: small or unfused kernels",
    "host-memory": lambda _: "the host's memory not reached: threads, channels, or another socket's memory",
    # value: (times a prefill, seconds of one, sequences at once, requests a second), None where it is short
    "queue": _queued,
    "newcomers": lambda _: "prefill of newcomers between decode steps",
}


def _above(sc: Scenario) -> str:
    return f"above {ceiling(sc.accelerator)}"


def _doubted_weights(sc: Scenario, fit: str) -> str:
    own = sc.weights
    return f"{_above(sc)} of {own} weights, possible for {fit} weights: the row does not say which it ran"


def _doubted_fp16(sc: Scenario, _: None) -> str:
    return (
        f"{_above(sc)} of bf16 arithmetic, possible in fp16, which {sc.accelerator.id} adds up faster: "
        "the row does not say which it ran"
    )


def _doubted_int8(sc: Scenario, _: None) -> str:
    return (
        f"{_above(sc)} of bf16 arithmetic, possible in int8, in which llama.cpp multiplies {sc.weights}: "
        "state compute int8 to have it judged so"
    )


# What a row says of speculation.
_DRAFTED = {
    "yes": "speculative decoding was used", "unknown": "whether speculative decoding was used is not known",
    "name": "the model's name speaks of speculative decoding",
    "engine": "the engine drafts by itself where such a file carries a draft",
}  # fmt: skip


def _doubted_speculation(sc: Scenario, value: tuple[str, int]) -> str:
    said, accepted = value
    used = _DRAFTED[said]
    drafts = f"{accepted} drafted token{'s' * (accepted > 1)} accepted a step"
    return f"{_above(sc)} without drafts, possible with {drafts}: {used}, draft_tokens are not stated"


def _doubted_acceptance(sc: Scenario, value: tuple[int, float]) -> str:
    return (
        f"{_above(sc)} at an acceptance of {value[1]:g}, possible were all {value[0]} drafted tokens accepted: "
        "the row does not say how many were"
    )


def _doubted_network(sc: Scenario, rate: float) -> str:
    return (
        f"{_above(sc)} of a network of {scaled(rate, 'B/s')} a device, the fastest known, possible with a faster "
        "one: the row does not say what joins the machines"
    )


def _doubted_link(sc: Scenario, name: str) -> str:
    return (
        f"{_above(sc)} of PCIe, possible where {sc.accelerator.id} are joined by {name}, whose rate "
        "no source gives: the row does not say whether they are"
    )


def _doubted_devices(sc: Scenario, devices: int) -> str:
    above = f"{_above(sc)} of one device"
    return f"{above}, possible for {devices} devices: the row does not say how many it ran on"


def _too_big(sc: Scenario, _: None) -> str:
    """Under the ceiling, but not on that hardware in that format."""
    devices = sc.devices if sc.accelerator.joined else f"{sc.layout.devices} x {sc.accelerator.id}"
    return (
        f"possible, but not as stated: the weights of {sc.model.id} alone are more than {devices} hold, so it ran on "
        "more devices, in a narrower format, or partly from host memory"
    )


_DOUBTS: dict[str, Callable[[Scenario, Any], str]] = {
    # value: (yes or unknown, drafted tokens accepted a step)
    "speculation": _doubted_speculation,
    # value: (drafted tokens, the chance taken)
    "acceptance": _doubted_acceptance,
    # value: the format they fit in
    "weights": _doubted_weights,
    "int8": _doubted_int8,
    "fp16": _doubted_fp16,
    # value: devices it would be possible on
    "devices": _doubted_devices,
    # value: a link by name
    "unrated link": _doubted_link,
    # value: bytes a second that the ceiling takes
    "network": _doubted_network,
    "too big": _too_big,
    "offloaded": lambda sc, _: (
        f"{_above(sc)} of all of it on {sc.accelerator.id}; a part ran on the host, whose memory is read beside"
    ),
    # value: formats
    "no peak": lambda sc, forms: (
        f"slower than memory alone explains, but {sc.accelerator.id} has no published {' or '.join(forms)} peak: the "
        f"arithmetic of {sc.workload.batch:,} sequences may take the difference"
    ),
}
