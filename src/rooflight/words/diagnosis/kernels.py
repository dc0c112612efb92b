"""Profiles in words: what the device's time went to, how near its roof that is, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.diagnose.kernels import BUSY, KernelsFound, Time, Top
from rooflight.answers.diagnose.profiled.steps import StepsFound
from rooflight.units import round_significant, scaled
from rooflight.values.diagnosis import Evidence, Told
from rooflight.words.diagnosis.kernels_next import UNCOUNTED, notes, steps
from rooflight.words.diagnosis.operators import LISTED, LITTLE, OPERATORS, operators, percent, under

_BOUNDS = {"memory": "Memory-bound", "compute": "Compute-bound", "link": "Link-bound", "launch": "Launch-bound"}
# A kernel that takes nearly all of the time is told by its name.
_ALONE = 0.8


def told(found: KernelsFound) -> Told:
    """The finding in words."""
    return Told(
        answer=_answer(found), evidence=tuple(_evidence(found)), next=tuple(steps(found)), notes=tuple(notes(found))
    )


def _answer(found: KernelsFound) -> str:
    time = found.time
    if found.host_only:
        return f"{found.file} has no kernel of a device: which ceiling binds cannot be told from what its host did."
    if found.bound == "launch" and found.timeline and time is not None and time.busy < BUSY:
        waits = f"Launch-bound: the device works {scaled(time.busy_s, 's')} of {scaled(time.span_s, 's')}"
        step = "" if found.steps is None else _step(found.steps, found)
        works = "; while it works, if it runs the question's steps, " if found.own else "; while it works, "
        while_it_works = f"{works}{step}" if step else ""
        return f"{waits} ({percent(time.busy)}); otherwise it waits for its host{_gaps(time)}{while_it_works}."
    if found.bound is None:
        return f"What binds cannot be told: {_unknown(found)}{_spent(found)}{_part_of(found)}."
    name = _BOUNDS[found.bound]
    if found.bound in ("memory", "compute") and found.steps is not None and found.steps.bound is not None:
        if found.own:
            name = f"{name}, if its {found.steps.count:,} unmarked steps are those of the question"
        return f"{name}: {_step(found.steps, found)}{_idle(time, found)}."
    if found.bound == "link":
        each = "" if found.each_s is None else f", {found.calls:,} calls of {scaled(found.each_s, 's')} each"
        return (
            f"{name}: collectives that no other kernel hides take {percent(found.share('link'))} of the device's "
            f"time{each}{_part_of(found)}."
        )
    if found.bound == "launch":
        return (
            f"{name}: {percent(found.short_share or 0.0)} of the device's time is in {found.short_calls:,} kernels of "
            f"at most {scaled(found.short_s or 0.0, 's')}, hardly more than launching one takes."
        )
    if not found.timeline and found.top and found.top[0].share >= _ALONE and found.top[0].of_roof is not None:
        return f"{name}: {_kernel(found.top[0], found)}."
    return (
        f"{name}: {percent(found.share(found.bound))} of the device's time is in kernels under that roof "
        f"({under(found.parts, found.bound, found.share(found.bound))}){_beside(found)}{_idle(time, found)}."
    )


def _beside(found: KernelsFound) -> str:
    """What the rest of the time is under: ; of the rest 19 % is compute-bound (matrix products 19 %)."""
    said = []
    for bound, share in found.shares:
        if bound != found.bound and share >= LITTLE:
            named = "" if bound == "link" else f" ({under(found.parts, bound, share)})"
            said.append(f"{percent(share)} is {_BOUNDS[bound].lower()}{named}")
    unknown = sum(part.share for part in found.parts if part.bound is None)
    if unknown >= LITTLE:
        said.append(f"what binds the other {percent(unknown)} ({under(found.parts, None, unknown)}) is not known")
    return f"; {', '.join(said)}" if said else ""


def _part_of(found: KernelsFound) -> str:
    """Said of a profile in which the device does nothing that was recorded while its host waits for it."""
    time = found.time
    if not found.cut or time is None:
        return ""
    return (
        f"; the profile is a part of what ran: its kernels take {scaled(time.busy_s, 's')} of "
        f"{scaled(time.span_s, 's')} ({percent(time.busy)}), in which the host waits "
        f"{scaled(found.synchronize_s or 0.0, 's')} for the device"
    )


def _kernel(one: Top, found: KernelsFound) -> str:
    """A kernel alone under its roof."""
    name = short(one.name)
    reached = percent(one.of_roof or 0.0)
    if one.bound == "memory" and one.bytes_per_s is not None and found.card is not None:
        rate = scaled(one.bytes_per_s, "B/s")
        return f"{name} moves {rate} in its {scaled(one.time_s, 's')}, {reached} of the bandwidth of {found.card}"
    if one.bound == "compute" and one.flop_per_s is not None:
        rate = scaled(one.flop_per_s, "FLOP/s")
        return f"{name} multiplies at {rate} in its {scaled(one.time_s, 's')}, {reached} of what its units can do"
    what = "memory" if one.bound == "memory" else "multiprocessors"
    moved = "" if one.bytes_per_s is None else f"; it moves {scaled(one.bytes_per_s, 'B/s')}"
    return f"{name} keeps the {what} at {reached} of their peak for its {scaled(one.time_s, 's')}{moved}"


def short(name: str) -> str:
    """A kernel's name without its arguments, templates and what returns: saxpy_kernel of void saxpy_kernel(int)."""
    head = name.replace("(anonymous namespace)", "").partition("(")[0].partition("<")[0].strip()
    return (head.rpartition("::")[2] or head).split(" ")[-1][:60] or name[:60]


def _gaps(time: Time) -> str:
    if time.alike and time.gap_s is not None:
        return f", in {time.gaps:,} gaps of {scaled(time.gap_s, 's')} at the median between {time.kernels:,} kernels"
    return ", mostly in a few long waits" if time.gaps else ""


def _idle(time: Time | None, found: KernelsFound) -> str:
    """Said where the device waits for a part of the time that counts, yet not for most."""
    if found.cut:
        return _part_of(found)
    if not found.timeline or time is None or time.busy >= 1 - LITTLE:
        return ""
    return f"; it works {percent(time.busy)} of the time"


def _spent(found: KernelsFound) -> str:
    """What is known all the same: which operators take the time."""
    if not found.rows or found.rows[0].share < LITTLE:
        return ""
    each = "" if found.each_s is None else f" ({found.calls:,} collectives of {scaled(found.each_s, 's')} each)"
    return f"; of the device's time {operators(found.rows)}{each}"


def _unknown(found: KernelsFound) -> str:
    if found.missing:
        some = "no kernel's bytes or FLOP are recorded"
        if found.uncounted is not None and not found.own:
            return f"{some}, and {UNCOUNTED[found.uncounted]} that a model could count"
        return some if found.model and found.card else f"{some}, and no model and accelerator that could count them"
    if found.card is None:
        return "no accelerator is named whose roof the kernels could be under"
    return "for most of the device's time neither bytes nor FLOP are recorded"


def _kind(step: StepsFound) -> str:
    """A decode step of 32 sequences with 1,024 tokens cached each."""
    name = f"a {step.phase} step" if step.phase else "a step"
    parts = []
    if step.batch:
        cached = f" with {step.context:,.0f} tokens cached each" if step.context else ""
        parts.append(f"{round_significant(step.batch)} sequences{cached}")
    if step.tokens:
        parts.append(f"{step.tokens:,.0f} prompt tokens")
    return f"{name} of {' and '.join(parts)}" if parts else name


def _step(step: StepsFound, found: KernelsFound) -> str:
    seconds = step.busy_s if step.busy_s is not None else step.wall_s
    kind = _kind(step)
    if step.bytes_per_s is None or step.flop_per_s is None or step.of_bandwidth is None or step.of_peak is None:
        return f"{kind} takes {scaled(seconds, 's')}"
    if step.bound == "compute":
        return (
            f"{kind} multiplies {scaled(step.flop or 0.0, 'FLOP')} in {scaled(seconds, 's')}: "
            f"{scaled(step.flop_per_s, 'FLOP/s')}, {percent(step.of_peak)} of the {step.format} peak of {found.card}"
        )
    return (
        f"{kind} moves {scaled(step.bytes or 0.0, 'B')} in {scaled(seconds, 's')}: {scaled(step.bytes_per_s, 'B/s')}, "
        f"{percent(step.of_bandwidth)} of the bandwidth of {found.card}"
    )


def _evidence(found: KernelsFound) -> Iterator[Evidence]:
    yield from _of_time(found)
    if found.steps is not None:
        yield from _of_steps(found.steps, found)
    for name, share in found.shares:
        if name != "link" and share >= LITTLE:
            yield Evidence(
                what=f"share of the device's time in kernels bound by {name}", value=share, unit="share",
                supports=name == found.bound,
            )  # fmt: skip
    if found.calls and found.each_s is not None:
        talk = next((row.share for row in found.rows if row.operator == "communication"), 0.0)
        yield Evidence(
            what="share of the device's time in collectives", value=talk, unit="share", supports=_is(found, "link")
        )
        yield Evidence(what=f"one of {found.calls:,} collectives takes", value=found.each_s, unit="s",
                       supports=_is(found, "link"))  # fmt: skip
    if found.timeline and found.share("link") >= LITTLE:
        yield Evidence(
            what="share in collectives that no other kernel hides",
            value=found.share("link"),
            unit="share",
            supports=_is(found, "link"),
        )
    if found.short_share is not None and found.short_share >= LITTLE:
        length = scaled(found.short_s or 0.0, "s")
        yield Evidence(
            what=f"share of the device's time in {found.short_calls:,} kernels of at most {length}",
            value=found.short_share, unit="share", supports=_is(found, "launch"),
        )  # fmt: skip
    if not found.timeline:
        for one in found.top:
            if one.of_roof is not None and one.share >= LITTLE:
                yield Evidence(
                    what=f"{short(one.name)}: share of its {one.bound} roof", value=one.of_roof, unit="share",
                    supports=one.bound == found.bound,
                )  # fmt: skip
        return
    for row in found.rows[:LISTED]:
        if row.of_roof is not None and row.share >= LITTLE:
            yield Evidence(
                what=f"{OPERATORS.get(row.operator, row.operator)}: share of their {row.bound} roof",
                value=row.of_roof, unit="share", supports=row.bound == found.bound,
            )  # fmt: skip


def _is(found: KernelsFound, bound: str) -> bool:
    return found.bound == bound


def _of_time(found: KernelsFound) -> Iterator[Evidence]:
    time = found.time
    if not found.timeline or time is None:
        return
    waits = _is(found, "launch")
    yield Evidence(what="time in which the device works", value=time.busy_s, unit="s", supports=True)
    yield Evidence(what="span from its first kernel to its last", value=time.span_s, unit="s", supports=not found.cut)
    yield Evidence(
        what="share of the span in which it works", value=time.busy, unit="share", supports=waits or time.busy >= BUSY
    )
    if time.gap_s is not None and not found.cut and (waits or time.busy < BUSY):
        yield Evidence(
            what=f"the median of {time.gaps:,} gaps", value=time.gap_s, unit="s", supports=waits and time.alike
        )
    if found.launches:
        yield Evidence(
            what=f"the host launches {found.launches:,} times, {found.graph_launches:,} of them graphs, which takes it",
            value=found.launch_s, unit="s", supports=waits,
        )  # fmt: skip
    if found.synchronize_s and time.span_s and found.synchronize_s > LITTLE * time.span_s:
        yield Evidence(what="the host waits for the device", value=found.synchronize_s, unit="s", supports=not waits)
    if time.copy_s > LITTLE * time.span_s:
        yield Evidence(what="with nothing but copies running", value=time.copy_s, unit="s", supports=False)


def _of_steps(step: StepsFound, found: KernelsFound) -> Iterator[Evidence]:
    if step.bytes_per_s is None or step.flop_per_s is None:
        return
    memory, compute = _is(found, "memory"), _is(found, "compute")
    yield Evidence(what="a step moves, by the model", value=step.bytes_per_s, unit="B/s", supports=not compute)
    yield Evidence(what="share of the bandwidth", value=step.of_bandwidth, unit="share", supports=not compute)
    yield Evidence(what="a step multiplies, by the model", value=step.flop_per_s, unit="FLOP/s", supports=not memory)
    yield Evidence(what=f"share of the {step.format} peak", value=step.of_peak, unit="share", supports=not memory)
    if step.checkpoint_bytes_per_s is not None and step.bound == "memory":
        yield Evidence(
            what="by the rule of thumb, the whole checkpoint and the cache read in a step",
            value=step.checkpoint_bytes_per_s, unit="B/s", supports=not compute,
        )  # fmt: skip
        if found.bandwidth_bytes_per_s:
            yield Evidence(
                what="share of the bandwidth, by that rule", unit="share", supports=not compute,
                value=step.checkpoint_bytes_per_s / found.bandwidth_bytes_per_s,
            )  # fmt: skip
    if step.parameters_flop_per_s is not None and step.bound == "compute":
        yield Evidence(
            what="by the rule of thumb, two FLOP a parameter and token", value=step.parameters_flop_per_s,
            unit="FLOP/s", supports=not memory,
        )  # fmt: skip
    if step.ceiling_s is not None and step.busy_s is not None:
        yield Evidence(what="physics allows the step in", value=step.ceiling_s, unit="s", supports=not step.faster)
    if step.expected_s is not None:
        yield Evidence(
            what="a well-run engine takes for it, its host included", value=step.expected_s, unit="s", supports=True
        )
