"""Monitoring judged minute by minute: which ceiling binds each device and engine, for how long, and what leads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from statistics import fmean
from typing import Literal

import msgspec

from rooflight.answers.diagnose.setting import Setting
from rooflight.answers.diagnose.watched.facts import Facts
from rooflight.answers.diagnose.watched.judged import Sign, Verdict, judge, lower
from rooflight.answers.diagnose.watched.stepped import Stepped, doubled, holds, stepped, token_s
from rooflight.answers.diagnose.watched.thresholds import limit
from rooflight.answers.diagnose.watched.together import Seen, together
from rooflight.values.diagnosis import Bound, Confidence, Found, Regime
from rooflight.values.recorded import Recorded

# What a row shows, in its order, where it was recorded; and what only one of its regime does.
_SHOWN = (
    "gpu_util", "engine_active", "sm_active", "tensor_active", "dram_active", "running", "waiting", "kv_usage",
    "preemptions",
)  # fmt: skip
_SHOWN_OF = {
    "link": ("nvlink_bytes_per_s", "pcie_bytes_per_s"),
    None: ("memory_util",),
}
_OF_DEVICE = ("power_w", "sm_clock_hz", "memory_clock_hz", "temperature_c")
# Regimes that more requests at once may lift.
_OF_MORE = ("memory", "starved", "queue", "launch")
# The format of files that AMD's tools write.
_AMD = "amd-smi"
# Values of a rule that may be of all the time since an engine's start, and the field that says so.
_EVER = {"preemptions": "preemptions", "queued": "queue_s", "tpot_s": "tpot_s", "itl_s": "itl_s"}
# Distinct batches and lengths of a monitoring for which the step is worked out; more are of their neighbours' kind.
_MOST_STEPS = 64


Kind = Literal["device", "slice", "engine"]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """How long one subject was in one regime: a share of its own time."""

    subject: str
    bound: Bound | None
    share: float


class RegimesFound(Found, frozen=True, kw_only=True):
    """What monitoring says.

    rows        the table of regimes, by subject and time; parts: of each subject's time, the longest first
    why         the leading rule's reason; signs: its values, each the mean of the rows that it leads
    missing     what to record to tell more
    lead        subjects that are in it; others: subjects that mostly are in another one
    on, of      how many subjects mostly are in it, of how many; kind: what they are
    share       of those subjects' time with a load (of all, where nothing has one) in it; idle: of all their time
    step        arithmetic of the engine's step there; takes: requests that could run
    running, kv_usage, clock_lost   in the mean
    doubled     times the output tokens a second with twice as many requests, as predicted; None: not known
    bytes_per_s of one device by DRAM active and the card's bandwidth, which is rate_bytes_per_s
    throttled   the reasons that any row names; lifetime: the engine's values are since its start
    replicas, devices   engines that were watched, and accelerators one of them runs on
    model, accelerator  by name, as a command takes them; amd: the devices are AMD's, which have other tools
    """

    rows: tuple[Regime, ...] = ()
    parts: tuple[Part, ...] = ()
    why: str = ""
    signs: tuple[Sign, ...] = ()
    missing: tuple[str, ...] = ()
    share: float = 1.0
    idle: float = 0.0
    on: int = 1
    of: int = 1
    kind: Kind = "device"
    lead: tuple[str, ...] = ()
    others: tuple[Part, ...] = ()
    step: Stepped | None = None
    doubled: float | None = None
    takes: float | None = None
    running: float | None = None
    kv_usage: float | None = None
    clock_lost: float | None = None
    bytes_per_s: float | None = None
    rate_bytes_per_s: float | None = None
    throttled: tuple[str, ...] = ()
    lifetime: bool = False
    replicas: int = 0
    devices: int = 1
    model: str | None = None
    accelerator: str | None = None
    amd: bool = False


class _Led(msgspec.Struct, frozen=True, kw_only=True):
    """The leading rows, and of all with a load the share that they are.

    subjects    that mostly are in the leading regime, of so many; share, idle: of their time
    """

    rows: list[_Row]
    votes: float
    subjects: frozenset[str]
    of: int
    share: float
    idle: float


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row that was judged, and how much of the time it stands for."""

    facts: Facts
    verdict: Verdict
    weight: float


def regimes(files: Sequence[Recorded], at: Setting) -> RegimesFound | None:
    """What monitoring in these files says; None where there is none."""
    seen = together(files, None if at.scenario is None else at.scenario.deployment.max_num_seqs)
    if not seen:
        return None
    judged = _judged(seen, at)
    rate = None if at.card is None else at.card.memory_bytes_per_s
    rows = tuple(_regime(one, rate) for one in judged)
    voters = _voters(judged)
    led = _leading(voters)
    lead = led.rows
    first, sure = _first(lead), _confidence(lead, led.votes)
    told = first.verdict
    found = RegimesFound(
        bound=told.bound, confidence=sure, cannot_tell=told.bound is None, rows=rows, parts=_parts(judged),
        why=told.why, signs=_signs(lead), missing=told.missing, share=led.share, idle=led.idle,
        on=len(led.subjects), of=led.of, kind=_kind(voters),
        lead=tuple(sorted({one.facts.row.subject for one in lead})), step=first.facts.step,
        takes=first.facts.takes, running=_mean(lead, "running"), kv_usage=_mean(lead, "kv_usage"),
        clock_lost=_mean(lead, "clock_lost"),
        throttled=tuple(sorted({name for one in lead for name in one.facts.row.throttled or ()})),
        lifetime=any(_EVER[name] in one.facts.seen.ever for one in lead for name in _names(one) & _EVER.keys()),
        replicas=max(one.replicas for one in seen), devices=max(one.facts.seen.devices for one in lead),
    )  # fmt: skip
    gain = None
    if at.scenario is not None and told.bound in _OF_MORE:
        gain = doubled(at.scenario, first.facts.row, found.replicas)
    amd = any(file.watched and file.format == _AMD for file in files)
    found = msgspec.structs.replace(found, others=_others(found, led.subjects), doubled=gain, amd=amd)
    return _rated(found, lead, at)


def _judged(seen: Sequence[Seen], at: Setting) -> list[_Row]:
    """Each row's verdict; arithmetic of a step once for each number that runs and each length."""
    replicas = max(one.replicas for one in seen)
    most = None if at.scenario is None else holds(at.scenario, replicas)
    steps: dict[tuple[object, ...], Stepped | None] = {}
    found = []
    for one in seen:
        row = one.row
        step = None
        if at.scenario is not None and one.queue_span is not None:
            key = (
                row.running and round(row.running), row.isl and round(row.isl), row.osl and round(row.osl),
                token_s(row),
            )  # fmt: skip
            if key not in steps and len(steps) < _MOST_STEPS:
                steps[key] = stepped(at.scenario, row, replicas)
            step = steps.get(key)
        facts = Facts(one, at, step, most)
        found.append(_Row(facts=facts, verdict=judge(facts), weight=row.seconds or 1.0))
    return found


def _regime(one: _Row, rate: float | None) -> Regime:
    """A row of the table. rate: of the card's memory, bytes a second."""
    row = one.facts.row
    shown = (
        *_SHOWN,
        *_SHOWN_OF.get(one.verdict.bound, ()),
        *(("output_tokens_per_s",) if row.kind == "engine" else _OF_DEVICE),
    )
    values = {name: float(value) for name in shown if (value := getattr(row, name)) is not None}
    if row.kind == "engine" and one.facts.step is not None:
        values |= one.facts.step.figures
    if row.kind == "device" and row.dram_active is not None and rate is not None and row.mig is None:
        values["bytes_per_s"] = row.dram_active * rate
    if row.kind == "device" and one.verdict.bound != "idle":
        values |= _slowed(one.facts)
    return Regime(
        subject=row.subject, start=row.start, seconds=row.seconds, bound=one.verdict.bound, values=values
    )  # fmt: skip


def _slowed(facts: Facts) -> dict[str, float]:
    """By how much clocks are lowered under a load, where they are; and how many reasons the driver names."""
    found = {}
    if facts.slowed:
        found = {"clock_lost": facts.clock_lost, "throttled": float(len(facts.row.throttled or ())) or None}
    if (facts.memory_clock_lost or 0.0) >= limit("memory_lost"):
        found["memory_clock_lost"] = facts.memory_clock_lost
    return {name: value for name, value in found.items() if value is not None}


def _kind(voters: Sequence[_Row]) -> Kind:
    if all(one.facts.row.kind == "engine" for one in voters):
        return "engine"
    return "slice" if all(one.facts.row.mig is not None for one in voters) else "device"


def _voters(judged: Sequence[_Row]) -> list[_Row]:
    """Whose rows say what leads: devices saw themselves; engines do where no device was watched, or none tells."""
    devices = [one for one in judged if one.facts.row.kind == "device"]
    engines = [one for one in judged if one.facts.row.kind == "engine"]
    if not devices or (engines and all(one.verdict.bound is None for one in devices)):
        return engines or devices
    return devices


def _leading(voters: Sequence[_Row]) -> _Led:
    """The rows of the regime that takes most of what has a load; subjects without one have no vote, as others do.

    A share of time is along the rows of the subjects that are mostly in it: one of two devices is no half of the time.
    """
    whole, idle = _weights(voters), _weights(one for one in voters if one.verdict.bound == "idle")
    off = {name: sum(idle.get(name, {}).values()) / sum(own.values()) for name, own in whole.items()}
    loaded = [
        one for one in voters if one.verdict.bound != "idle" and off[one.facts.row.subject] < limit("idle_all")
    ]  # fmt: skip
    some = loaded or list(voters)
    own = _weights(some)
    weights: dict[str, float] = {}
    for name, weight in (pair for each in own.values() for pair in each.items()):
        weights[name] = weights.get(name, 0.0) + weight
    best = max(sorted(weights), key=lambda name: (weights[name], name != "")) if loaded else "idle"
    mostly = {name for name, each in own.items() if each.get(best, 0.0) >= max(each.values())}
    mostly = mostly or {name for name, each in own.items() if best in each}
    spent = fsum(sum(own[name].values()) for name in mostly)
    return _Led(
        rows=[one for one in some if (one.verdict.bound or "") == best], votes=weights[best] / sum(weights.values()),
        subjects=frozenset(mostly), of=len(whole), share=fsum(own[name].get(best, 0.0) for name in mostly) / spent,
        idle=fmean(off[name] for name in mostly),
    )  # fmt: skip


def _weights(rows: Iterable[_Row]) -> dict[str, dict[str, float]]:
    """How long each subject is in each regime ("": nobody can tell)."""
    found: dict[str, dict[str, float]] = {}
    for one in rows:
        own = found.setdefault(one.facts.row.subject, {})
        name = one.verdict.bound or ""
        own[name] = own.get(name, 0.0) + one.weight
    return found


def _first(lead: Sequence[_Row]) -> _Row:
    """The row whose reason is given: of the reason that is longest, the surest and then the first."""
    weights: dict[str, float] = {}
    for one in lead:
        weights[one.verdict.why] = weights.get(one.verdict.why, 0.0) + one.weight
    why = max(sorted(weights), key=lambda name: weights[name])
    return max((one for one in lead if one.verdict.why == why), key=lambda one: len(one.verdict.signs))


def _confidence(lead: Sequence[_Row], share: float) -> Confidence:
    """The weighted middle of the rows', one step lower where the regime is one of several."""
    levels = ("low", "medium", "high")
    ranked = sorted(lead, key=lambda one: levels.index(one.verdict.confidence))
    half, passed = sum(one.weight for one in ranked) / 2, 0.0
    for one in ranked:
        passed += one.weight
        if passed >= half:
            break
    sure = one.verdict.confidence
    if one.verdict.bound == "idle" and one.facts.seen.ever and one.facts.row.requests:
        return "low"  # one look after requests that its totals count is no load that is missing
    return sure if share >= limit("mostly") else lower(sure)


def _names(one: _Row) -> set[str]:
    return {sign.name for sign in one.verdict.signs}


def _signs(lead: Sequence[_Row]) -> tuple[Sign, ...]:
    """Each value's weighted mean, for the verdict where it is in most rows."""
    found: dict[str, list[tuple[Sign, float]]] = {}
    for one in lead:
        for sign in one.verdict.signs:
            found.setdefault(sign.name, []).append((sign, one.weight))
    return tuple(
        Sign(
            name=name,
            value=round(fsum(sign.value * weight for sign, weight in some) / fsum(weight for _, weight in some), 9),
            supports=2 * sum(weight for sign, weight in some if sign.supports) >= sum(weight for _, weight in some),
        )
        for name, some in found.items()
    )


def _parts(judged: Iterable[_Row]) -> tuple[Part, ...]:
    """Of each subject's time, the share of every regime."""
    weights: dict[str, dict[Bound | None, float]] = {}
    for one in judged:
        own = weights.setdefault(one.facts.row.subject, {})
        own[one.verdict.bound] = own.get(one.verdict.bound, 0.0) + one.weight
    return tuple(
        Part(subject=subject, bound=bound, share=weight / sum(own.values()))
        for subject, own in sorted(weights.items())
        for bound, weight in sorted(own.items(), key=lambda item: (-item[1], item[0] or ""))
    )


def _others(found: RegimesFound, mostly: frozenset[str]) -> tuple[Part, ...]:
    """Subjects whose longest regime is another one than the leading, and that are not mostly in that under a load."""
    longest: dict[str, Part] = {}
    for part in found.parts:
        longest.setdefault(part.subject, part)
    return tuple(
        part for name, part in longest.items() if part.bound not in (found.bound, None) and name not in mostly
    )  # fmt: skip


def _mean(lead: Sequence[_Row], name: str) -> float | None:
    """The mean of a value of the facts or of the row, over the rows that have it."""
    values = [
        value for one in lead if (value := getattr(one.facts, name, getattr(one.facts.row, name, None))) is not None
    ]
    return fmean(values) if values else None


def _rated(found: RegimesFound, lead: Sequence[_Row], at: Setting) -> RegimesFound:
    """With the bytes a second that DRAM active comes to on the card; a MIG slice has an unknown part of it."""
    count = at.count or found.devices
    vendor = "" if at.card is None else at.card.vendor
    found = msgspec.structs.replace(
        found, model=None if at.model is None else at.model.id,
        accelerator=None if at.card is None else f"{count}x{at.card.id}" if count > 1 else at.card.id,
        amd=found.amd or vendor == "AMD",
    )  # fmt: skip
    rate = None if at.card is None else at.card.memory_bytes_per_s
    if rate is None or any(one.facts.row.mig is not None for one in lead):
        return found
    active = _mean(lead, "dram_active")
    return msgspec.structs.replace(
        found, bytes_per_s=None if active is None else active * rate, rate_bytes_per_s=rate
    )  # fmt: skip
