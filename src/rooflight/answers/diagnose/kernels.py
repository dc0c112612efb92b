"""Profiles under the roof: busy time against gaps, operators, steps, and which ceiling binds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from rooflight.answers.diagnose.profiled.gains import Gain, gains
from rooflight.answers.diagnose.profiled.roof import STREAMING, Placed, compute_format, machine, placed, rows, too_fast
from rooflight.answers.diagnose.profiled.shares import Part, parts, shares
from rooflight.answers.diagnose.profiled.steps import StepsFound, found_steps, operators, steady
from rooflight.answers.diagnose.profiled.unmarked import Supposed, supposed
from rooflight.answers.diagnose.setting import Setting
from rooflight.values.diagnosis import Bound, Confidence, Found, KernelRow
from rooflight.values.recorded import DeviceTrace, Launched, Recorded, Traced

# A device that works less than that share of the time waits for its host; between both the verdict is less sure.
IDLE = 0.5
BUSY = 0.8
# Gaps that their median accounts for by that share are many and alike: launches; else a few long waits are most of it.
_ALIKE = 0.3
# So few kernels tell little of a run.
_FEW = 50
# A kernel that takes no longer than so many launch floors is mostly launch.
_SHORT = 2.0
# Memory that is active less than that tells nothing of its bandwidth; more than that apart are two bandwidths.
_LITTLE, _APART = 0.2, 0.25
# Kernels that are told by name.
_TOLD = 3
# The host waits for the device in so much of the time in which that does nothing: part of what ran is not recorded.
_CUT = 0.5
# Gaps shorter than the clock of a profile tells apart.
_NO_GAP_S = 50e-9
# A verdict is sure where so much of the device's time is known.
_SURE, _SOME = 0.8, 0.5


class Time(msgspec.Struct, frozen=True, kw_only=True):
    """How the busiest device's time went, in seconds; of marked steps alone where a first one was left out.

    gap_s       the median gap; alike: gaps are many and alike, so that launches make them rather than a few waits
    devices     in all; idlest: the least share of its busy time that another one worked
    """

    device: str
    name: str | None
    span_s: float
    busy_s: float
    communication_s: float
    exposed_s: float
    copy_s: float
    kernels: int
    gaps: int
    gap_s: float | None
    alike: bool
    devices: int = 1
    idlest: float | None = None

    @property
    def busy(self) -> float:
        """Share of the span in which the device worked."""
        return self.busy_s / self.span_s if self.span_s else 0.0


class Fast(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel that ran faster than the named card can."""

    name: str
    time_s: float
    least_s: float


class Top(msgspec.Struct, frozen=True, kw_only=True):
    """Kernels of one name that take much of the time; share: of all, rates of a call."""

    name: str
    calls: int
    share: float
    time_s: float
    bound: str | None = None
    of_roof: float | None = None
    bytes_per_s: float | None = None
    flop_per_s: float | None = None


class KernelsFound(Found, frozen=True, kw_only=True):
    """What profiles say.

    timeline    False: kernels were profiled one by one, or only their sums are known
    file        where the time is from; files: how many profiles there are
    time        None where no device was recorded
    rows        operators under the roof, most time first
    shares      of the device's busy time by what binds: memory, compute, link, launch; the rest is not known
    parts       of the busy time by roof and operator, most first
    short_share of the busy time in kernels no longer than short_s, of which there are short_calls
    calls, each_s       collectives, and what one takes
    launches, launch_s, graph_launches, synchronize_s   of the host, over all files
    cut         the host waits for a device that nothing recorded keeps busy: the profile lacks what ran
    top         kernels that take most of the time, where they are known one by one
    streaming   share of the time in kernels that only move what others make: element-wise, norms, copies ...
    steps       marked ones; gains: what the best moves promise
    uncounted   why a model counts no step: none is marked, the marks state no sizes, or the device's time is not known
    supposed    the question's step in place of such, or why it is not: steps is then the question's
    faster      kernels faster than the card can be; missing: no operator's FLOP or bytes are known
    host_only   no kernel of a device was recorded; amd: the device is one of AMD's
    counted_active  share of the time in which memory was active by its counter, and by bytes over the card's bandwidth,
                where both are known and differ
    bandwidth_bytes_per_s   of the card, datasheet
    """

    file: str = ""
    files: int = 1
    timeline: bool = True
    time: Time | None = None
    rows: tuple[KernelRow, ...] = ()
    shares: tuple[tuple[str, float], ...] = ()
    parts: tuple[Part, ...] = ()
    short_s: float | None = None
    short_share: float | None = None
    short_calls: int = 0
    calls: int = 0
    each_s: float | None = None
    launches: int = 0
    launch_s: float = 0.0
    graph_launches: int = 0
    synchronize_s: float | None = None
    cut: bool = False
    top: tuple[Top, ...] = ()
    streaming: float = 0.0
    steps: StepsFound | None = None
    gains: tuple[Gain, ...] = ()
    uncounted: Literal["marks", "sizes", "time"] | None = None
    supposed: Supposed | None = None
    faster: tuple[Fast, ...] = ()
    missing: bool = False
    host_only: bool = False
    amd: bool = False
    counted_active: tuple[float, float] | None = None
    model: str | None = None
    card: str | None = None
    bandwidth_bytes_per_s: float | None = None

    @property
    def own(self) -> bool:
        """Whether steps are the question's, for none that says its sizes is marked."""
        return self.supposed is not None and self.supposed.traced is not None

    def share(self, what: str) -> float:
        """Of the busy time that is bound so."""
        return dict(self.shares).get(what, 0.0)


def kernels(files: Sequence[Recorded], at: Setting) -> KernelsFound | None:
    """What the profiles among the files say; None where there is none."""
    profiles = [(file, file.traced) for file in files if file.traced is not None]
    if not profiles:
        return None
    # a timeline of more than a few kernels says more than counters of kernels alone
    drawn = [sum(device.kernels for device in one.devices) for _, one in profiles if one.timeline and one.kernels]
    counters = any(not one.timeline and one.kernels for _, one in profiles)
    timeline = bool(drawn) and (max(drawn) >= _FEW or not counters)
    chosen = [(file, one) for file, one in profiles if one.timeline is timeline and one.kernels]
    traces = [one for _, one in chosen] or [one for _, one in profiles]
    file, lead = max(chosen or profiles, key=lambda pair: _busiest(pair[1]))
    known = KernelsFound(
        file=file.file, files=len(profiles), timeline=timeline, cannot_tell=True,
        launches=sum(one.launches for one in traces), launch_s=sum(one.launch_s for one in traces),
        graph_launches=sum(one.graph_launches for one in traces), synchronize_s=lead.synchronize_s,
        amd=_is_amd(file, lead, at), model=None if at.model is None else at.model.id,
        card=None if at.card is None else at.card.id,
    )  # fmt: skip
    if not chosen:
        return msgspec.structs.replace(known, host_only=True, timeline=False)
    return _judged(_under_roof(known, traces, lead, at), at)


def _is_amd(file: Recorded, lead: Traced, at: Setting) -> bool:
    """Whether another vendor's profiler is the one to ask next."""
    names = " ".join(device.name or "" for device in lead.devices)
    vendor = "" if at.card is None else at.card.vendor
    return "amd" in f"{names} {vendor}".lower() or file.tool.startswith("rocprof")


def _busiest(one: Traced) -> float:
    return max((device.busy_s for device in one.devices), default=0.0)


def _under_roof(known: KernelsFound, traces: Sequence[Traced], lead: Traced, at: Setting) -> KernelsFound:
    """With the table of operators, the steps, and where the time went."""
    card = machine(at, graphs=known.graph_launches > 0)
    stored = None if at.scenario is None else at.scenario.weights
    default = "bf16" if card is None else compute_format(stored, card, "bf16")
    ones = [placed(kernel, card, default) for trace in traces for kernel in trace.kernels]
    total = sum(one.kernel.total_s for one in ones)
    marked = found_steps(lead, at.scenario)
    lacks = _uncounted(marked)
    sized = marked is not None and marked.phase is not None
    own = None if sized or any(_measured(one.kernel) for one in ones) else supposed(lead, at)
    stepped = lead if own is None or own.traced is None or own.found is None else own.traced
    model = operators(stepped, at.scenario) if len(traces) == 1 else {}
    found = rows(ones, total, "shapes" if lead.timeline else "counters", model)
    talks = [one.kernel for one in ones if one.kernel.operator == "communication"]
    calls = sum(one.calls for one in talks)
    short_s = None if card is None or not card.launch_s else _SHORT * card.launch_s
    short = [one.kernel for one in ones if short_s is not None and _each(one.kernel) <= short_s]
    fast = [Fast(name=one.kernel.name, time_s=_each(one.kernel), least_s=(one.least_s or 0.0) / one.kernel.calls)
            for one in too_fast(ones)]  # fmt: skip
    some = parts(ones, found, short)
    return msgspec.structs.replace(
        known, rows=found, time=_time(lead), cut=_is_cut(lead), top=_top(ones, total),
        streaming=sum(row.share for row in found if row.operator in STREAMING),
        parts=some, shares=shares(some, lead), calls=calls,
        each_s=sum(one.total_s for one in talks) / calls if calls else None, short_s=short_s,
        short_share=sum(one.total_s for one in short) / total if total and short_s is not None else None,
        short_calls=sum(one.calls for one in short), uncounted=lacks, supposed=own,
        steps=own.found if own is not None and own.traced is not None else marked, faster=tuple(fast),
        missing=all(row.counted is None for row in found), counted_active=_counted_active(ones),
        bandwidth_bytes_per_s=None if card is None else card.memory_bytes_per_s,
    )  # fmt: skip


def _measured(kernel: Launched) -> bool:
    """Whether the profile itself says what a kernel did."""
    return kernel.flop is not None or kernel.bytes is not None or bool(kernel.counters)


def _each(kernel: Launched) -> float:
    """Seconds of a call, at the median where that is known."""
    return kernel.time_s.median if kernel.time_s is not None else kernel.total_s / kernel.calls


def _top(ones: Sequence[Placed], total: float) -> tuple[Top, ...]:
    """Those that take most of the time, equal names together as they were profiled."""
    first = sorted(ones, key=lambda one: -one.kernel.total_s)[:_TOLD]
    return tuple(
        Top(
            name=one.kernel.name, calls=one.kernel.calls, share=one.kernel.total_s / total, time_s=_each(one.kernel),
            bound=one.bound, of_roof=None if one.needed_s is None else one.needed_s / one.kernel.total_s,
            bytes_per_s=_rate(one.kernel, one.kernel.bytes), flop_per_s=_rate(one.kernel, one.kernel.flop),
        )
        for one in first
        if total and one.kernel.total_s
    )  # fmt: skip


def _counted_active(ones: Sequence[Placed]) -> tuple[float, float] | None:
    """How long memory was active, by its counter and by bytes at the card's bandwidth, where these are far apart."""
    both = [one for one in ones if one.memory_s and one.kernel.bytes and (one.kernel.counters or {}).get("dram_active")]
    total = sum(one.kernel.total_s for one in both)
    if not total:
        return None
    counter = sum((one.kernel.counters or {})["dram_active"] * one.kernel.total_s for one in both) / total
    by_bytes = sum(one.memory_s or 0.0 for one in both) / total
    return (counter, by_bytes) if counter > _LITTLE and abs(by_bytes / counter - 1) > _APART else None


def _rate(kernel: Launched, amount: float | None) -> float | None:
    return None if amount is None else amount * kernel.calls / kernel.total_s


def _is_cut(lead: Traced) -> bool:
    """Whether a device mostly does nothing, and its host waits for it in most of that time.

    Of what the host waits, all the time in which the device works may be a part; each device may have a thread that
    waits for it.
    """
    device = max(lead.devices, key=lambda one: one.busy_s, default=None)
    if device is None or lead.synchronize_s is None or device.busy_s > IDLE * device.span_s:
        return False
    waits = lead.synchronize_s / len(lead.devices) - device.busy_s
    return waits > _CUT * (device.span_s - device.busy_s)


def _uncounted(marked: StepsFound | None) -> Literal["marks", "sizes", "time"] | None:
    """What a profile lacks for a model to count its steps; None: nothing but a model and a machine."""
    if marked is None:
        return "marks"
    wanted = {"decode": (marked.batch,), "prefill": (marked.tokens,), "mixed": (marked.batch, marked.tokens)}
    if not all(wanted.get(marked.phase or "", (None,))):
        return "sizes"
    return "time" if marked.busy_s is None else None


def _time(lead: Traced) -> Time | None:
    """Of the busiest device; without a first step that compiles, whose time is none of a run's."""
    if not lead.devices:
        return None
    one = max(lead.devices, key=lambda device: device.busy_s)
    span, busy = _steady_span(lead, one)
    gap = None if one.gap_s is None or one.gap_s.median < _NO_GAP_S else one.gap_s.median
    idle = one.span_s - one.busy_s
    return Time(
        device=one.device, name=one.name, span_s=span, busy_s=busy, communication_s=one.communication_s,
        exposed_s=one.exposed_s, copy_s=one.copy_s, kernels=one.kernels, gaps=one.gaps, gap_s=gap,
        alike=gap is not None and idle > 0 and gap * one.gaps >= _ALIKE * idle, devices=len(lead.devices),
        idlest=min(other.busy_s for other in lead.devices) / one.busy_s if one.busy_s else None,
    )  # fmt: skip


def _steady_span(lead: Traced, one: DeviceTrace) -> tuple[float, float]:
    """Span and busy time of the steps after one that compiles, where steps are marked with their device's time."""
    left = steady(lead.steps)
    busy = [step.busy_s for step in left]
    if len(left) == len(lead.steps) or None in busy:
        return one.span_s, one.busy_s
    last = left[-1]
    worked = sum(seconds or 0.0 for seconds in busy)
    return max(last.start_s + last.wall_s - left[0].start_s, worked), worked


def _judged(found: KernelsFound, at: Setting) -> KernelsFound:
    """With the verdict: the host where the device mostly waits, else what binds most of the device's time."""
    bound, confidence = _verdict(found)
    if found.faster or (found.steps is not None and found.steps.faster):
        confidence = "low"
    found = msgspec.structs.replace(found, bound=bound, confidence=confidence, cannot_tell=bound is None)
    return msgspec.structs.replace(found, gains=gains(found.bound, found.steps, at))


def _verdict(found: KernelsFound) -> tuple[Bound | None, Confidence]:
    time = found.time
    if found.cut:
        return _of_a_part(found)
    if found.timeline and time is not None and time.busy < IDLE:
        return "launch", "low" if time.kernels < _FEW else "high" if time.alike else "medium"
    return _of_kernels(found)


def _of_a_part(found: KernelsFound) -> tuple[Bound | None, Confidence]:
    """The verdict of a profile that lacks a part of what ran: that of its kernels, a marked step's where it has one.

    Short kernels among those that are there say nothing of those that are not.
    """
    bound, _ = _of_kernels(found)
    if bound is None or bound == "launch":
        return None, "low"
    step = found.steps is not None and found.steps.bound is not None and not found.steps.assumed and not found.own
    enough = found.time is not None and found.time.kernels >= _FEW
    return bound, "medium" if step and enough else "low"


def _of_kernels(found: KernelsFound) -> tuple[Bound | None, Confidence]:
    """By the step that is marked, else by what most kernels are bound by."""
    time = found.time
    unsure = found.timeline and (time is None or time.busy < BUSY)
    step = found.steps
    if step is not None and step.bound is not None and found.share("link") < _SOME and found.share("launch") < _SOME:
        bound: Bound = "compute" if step.bound == "compute" else "memory"
        if found.own:
            return bound, "low"
        return bound, "medium" if unsure or step.assumed else "high"
    if not found.shares:
        return None, "low"
    name, share = found.shares[0]
    known = sum(part for _, part in found.shares)
    # what is not known could still overturn it
    if share <= 1 - known and share < _SOME:
        return None, "low"
    sure: Confidence = "high" if share >= _SOME and known >= _SURE else "medium" if share >= _SOME else "low"
    return _named(name), "medium" if unsure and sure == "high" else sure


def _named(name: str) -> Bound:
    bounds: dict[str, Bound] = {"memory": "memory", "compute": "compute", "link": "link", "launch": "launch"}
    return bounds[name]
