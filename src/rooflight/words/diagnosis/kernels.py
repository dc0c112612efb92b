"""Profiles in words: what the device's time went to, how near its roof that is, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.diagnose.kernels import BUSY, KernelsFound, Time, Top
from rooflight.answers.diagnose.profiled.steps import StepsFound
from rooflight.units import round_significant, scaled
from rooflight.values.diagnosis import Evidence, KernelRow, Next, Told
from rooflight.words.diagnosis.series import BOTH, NAMED
from rooflight.words.moves import said

_OPERATORS = {
    "gemm": "matrix products", "attention": "attention", "norm": "norms", "activation": "activation functions",
    "embedding": "embedding", "sampling": "sampling", "moe": "routed experts", "communication": "collectives",
    "copy": "copies", "memset": "clearing memory", "elementwise": "element-wise kernels", "reduction": "reductions",
    "other": "other kernels",
}  # fmt: skip
_BOUNDS = {"memory": "Memory-bound", "compute": "Compute-bound", "link": "Link-bound", "launch": "Launch-bound"}
_LISTED = 3
# An operator or a wait that takes less of the time is not worth a word.
_LITTLE = 0.05
# A kernel that takes nearly all of the time is told by its name.
_ALONE = 0.8
# From that share of the time on, fusing is worth the words.
_FUSE = 0.4
_COUNTERS = Next(
    what="Record counters of the kernels that take most of the time: bytes through memory, tensor units, duration.",
    command="ncu --set full --page raw --csv --launch-count 50 PROGRAM > kernels.csv",
)
_AMD_COUNTERS = Next(
    what="Record counters of the kernels: bytes through memory, matrix instructions, duration.",
    command="rocprofv3 --kernel-trace --pmc FETCH_SIZE WRITE_SIZE --output-format csv -- PROGRAM",
)
_TRACE = Next(
    what="Record the device's kernels too, over a few steps in a row.",
    command="torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True)",
)


def told(found: KernelsFound) -> Told:
    """The finding in words."""
    return Told(
        answer=_answer(found), evidence=tuple(_evidence(found)), next=tuple(_next(found)), notes=tuple(_notes(found))
    )


def _percent(share: float) -> str:
    """12 %, 4.3 %, over 100 % as times."""
    return f"{share:.1%}".replace("%", " %") if share < 0.1 else f"{share:.0%}".replace("%", " %")


def _answer(found: KernelsFound) -> str:
    time = found.time
    if found.host_only:
        return f"{found.file} has no kernel of a device: which ceiling binds cannot be told from what its host did."
    if found.bound == "launch" and found.timeline and time is not None and time.busy < BUSY:
        waits = f"Launch-bound: the device works {scaled(time.busy_s, 's')} of {scaled(time.span_s, 's')}"
        step = "" if found.steps is None else _step(found.steps, found)
        while_it_works = f"; while it works, {step}" if step else ""
        rest = "nothing that was recorded runs" if found.cut else "it waits for its host"
        return f"{waits} ({_percent(time.busy)}); otherwise {rest}{_gaps(time)}{while_it_works}."
    if found.bound is None:
        return f"What binds cannot be told: {_unknown(found)}{_spent(found)}."
    name = _BOUNDS[found.bound]
    if found.bound in ("memory", "compute") and found.steps is not None and found.steps.bound is not None:
        return f"{name}: {_step(found.steps, found)}{_idle(time, found)}."
    if found.bound == "link":
        each = "" if found.each_s is None else f", {found.calls:,} calls of {scaled(found.each_s, 's')} each"
        return (
            f"{name}: collectives that no other kernel hides take {_percent(found.share('link'))} of the device's "
            f"time{each}."
        )
    if found.bound == "launch":
        return (
            f"{name}: {_percent(found.short_share or 0.0)} of the device's time is in {found.short_calls:,} kernels of "
            f"at most {scaled(found.short_s or 0.0, 's')}, hardly more than launching one takes."
        )
    if not found.timeline and found.top and found.top[0].share >= _ALONE and found.top[0].of_roof is not None:
        return f"{name}: {_kernel(found.top[0], found)}."
    return (
        f"{name}: {_percent(found.share(found.bound))} of the device's time is in kernels under that roof "
        f"({_operators(found)}){_idle(time, found)}."
    )


def _kernel(one: Top, found: KernelsFound) -> str:
    """A kernel alone under its roof."""
    name = short(one.name)
    reached = _percent(one.of_roof or 0.0)
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
    if not found.timeline or time is None or time.busy >= 1 - _LITTLE:
        return ""
    return f"; it works {_percent(time.busy)} of the time"


def _spent(found: KernelsFound) -> str:
    """What is known all the same: which operators take the time."""
    if not found.rows or found.rows[0].share < _LITTLE:
        return ""
    each = "" if found.each_s is None else f" ({found.calls:,} collectives of {scaled(found.each_s, 's')} each)"
    return f"; of the device's time {_operators(found)}{each}"


def _unknown(found: KernelsFound) -> str:
    if found.missing:
        some = "no kernel's bytes or FLOP are recorded"
        return some if found.model and found.card else f"{some}, and no model and accelerator that could count them"
    if found.card is None:
        return "no accelerator is named whose roof the kernels could be under"
    return "for most of the device's time neither bytes nor FLOP are recorded"


def _operators(found: KernelsFound) -> str:
    """The operators that take most of the time, with what they reach."""
    shown = [row for row in found.rows[:_LISTED] if row.share >= _LITTLE] or list(found.rows[:1])
    return ", ".join(_operator(row) for row in shown)


def _operator(row: KernelRow) -> str:
    name = f"{_OPERATORS.get(row.operator, row.operator)} {_percent(row.share)}"
    if row.of_roof is not None:
        return f"{name} at {_percent(row.of_roof)} of the roof"
    if row.bytes_per_s is not None:
        return f"{name} at {scaled(row.bytes_per_s, 'B/s')}"
    return name


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
            f"{scaled(step.flop_per_s, 'FLOP/s')}, {_percent(step.of_peak)} of the {step.format} peak of {found.card}"
        )
    return (
        f"{kind} moves {scaled(step.bytes or 0.0, 'B')} in {scaled(seconds, 's')}: {scaled(step.bytes_per_s, 'B/s')}, "
        f"{_percent(step.of_bandwidth)} of the bandwidth of {found.card}"
    )


def _evidence(found: KernelsFound) -> Iterator[Evidence]:
    yield from _of_time(found)
    if found.steps is not None:
        yield from _of_steps(found.steps, found)
    for name, share in found.shares:
        if name != "link" and share >= _LITTLE:
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
    if found.timeline and found.share("link") >= _LITTLE:
        yield Evidence(
            what="share in collectives that no other kernel hides",
            value=found.share("link"),
            unit="share",
            supports=_is(found, "link"),
        )
    if found.short_share is not None and found.short_share >= _LITTLE:
        length = scaled(found.short_s or 0.0, "s")
        yield Evidence(
            what=f"share of the device's time in {found.short_calls:,} kernels of at most {length}",
            value=found.short_share, unit="share", supports=_is(found, "launch"),
        )  # fmt: skip
    if not found.timeline:
        for one in found.top:
            if one.of_roof is not None and one.share >= _LITTLE:
                yield Evidence(
                    what=f"{short(one.name)}: share of its {one.bound} roof", value=one.of_roof, unit="share",
                    supports=one.bound == found.bound,
                )  # fmt: skip
        return
    for row in found.rows[:_LISTED]:
        if row.of_roof is not None and row.share >= _LITTLE:
            yield Evidence(
                what=f"{_OPERATORS.get(row.operator, row.operator)}: share of their {row.bound} roof",
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
    yield Evidence(what="span from its first kernel to its last", value=time.span_s, unit="s", supports=True)
    yield Evidence(
        what="share of the span in which it works", value=time.busy, unit="share", supports=waits or time.busy >= BUSY
    )
    if time.gap_s is not None and (waits or time.busy < BUSY):
        yield Evidence(
            what=f"the median of {time.gaps:,} gaps", value=time.gap_s, unit="s", supports=waits and time.alike
        )
    if found.launches:
        yield Evidence(
            what=f"the host launches {found.launches:,} times, {found.graph_launches:,} of them graphs, which takes it",
            value=found.launch_s, unit="s", supports=waits,
        )  # fmt: skip
    if found.synchronize_s and time.span_s and found.synchronize_s > _LITTLE * time.span_s:
        yield Evidence(what="the host waits for the device", value=found.synchronize_s, unit="s", supports=not waits)
    if time.copy_s > _LITTLE * time.span_s:
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


def _next(found: KernelsFound) -> Iterator[Next]:
    if found.host_only:
        yield _TRACE
        return
    for gain in found.gains:
        move = said(gain.move)
        yield Next(what=f"{move.title[0].upper()}{move.title[1:]}: it {move.acts}.", gain=gain.times)
    yield from _general(found)
    if found.bound is None and found.missing and found.model is None:
        yield Next(what=f"Name {BOTH}: what its steps move and multiply is then counted.", command=NAMED)
    if found.bound is None or (found.missing and found.steps is None):
        yield _AMD_COUNTERS if found.amd else _COUNTERS


def _general(found: KernelsFound) -> Iterator[Next]:
    time, kinds = found.time, {gain.move.key for gain in found.gains}
    if found.bound == "launch" and time is not None:
        most = 1 / time.busy if found.timeline and 0 < time.busy < BUSY else None
        if not found.graph_launches and "graphs" not in kinds:
            yield Next(
                what="Replay steps as graphs (no --enforce-eager), or compile them: the host then launches less.",
                gain=most if time.alike else None,
            )
        if "batch" not in kinds:
            yield Next(what="Give a step more work: more sequences at once cost hardly more launches.")
        if not time.alike and found.timeline:
            yield Next(
                what="Look at what the host does in the long waits (scheduling, sampling, copies, waiting for input): "
                "record several steps in a row, with stacks.",
                command="torch.profiler.profile(with_stack=True, schedule=schedule(wait=5, warmup=2, active=5))",
            )
    elif found.bound == "memory":
        if found.streaming >= _FUSE:
            yield Next(
                what=f"Fuse kernels that only move what others make, {_percent(found.streaming)} of the time: "
                "torch.compile, or an engine that has them fused."
            )
        elif not found.timeline and found.steps is None:
            yield Next(what="Move fewer bytes: narrower formats, or this kernel fused into its neighbours.")
        elif not found.gains:
            yield Next(
                what="Raise the batch: weights are read once for all sequences of a step; or store weights narrower."
            )
    elif found.bound == "compute" and not found.gains:
        yield Next(what="Multiply on the tensor units, and in the narrowest format that the card has a fast path for.")
    elif found.bound == "link" and not found.gains:
        yield Next(
            what="Spread the model over fewer devices, or hide the collectives behind other kernels; look whether they "
            "run over the fast link (nvidia-smi topo -m).",
        )


def _notes(found: KernelsFound) -> Iterator[str]:
    step, time = found.steps, found.time
    if found.files > 1:
        yield f"{found.files:,} profiles: how the time went is that of {found.file}, the busiest"
    if found.cut:
        yield (
            "the host waits for the device while no recorded kernel runs: the profile is a part of what ran, and its "
            "span may tell less than its steps"
        )
    if not found.timeline and not found.host_only:
        yield "kernels are known one by one: how the time between them goes is not"
    if time is not None and time.devices > 1 and time.idlest is not None and time.idlest < BUSY:
        yield (
            f"the {time.devices:,} devices are not alike: the least busy one works {_percent(time.idlest)} of the "
            f"time of {time.device}"
        )
    if step is not None:
        yield from _of_step_notes(step)
    if found.counted_active is not None and found.card is not None:
        counter, by_bytes = map(_percent, found.counted_active)
        yield (
            f"memory was active {counter} of the time by its counter, {by_bytes} by bytes over the bandwidth of "
            f"{found.card}: it ran on another accelerator, or at another clock"
        )
    for one in found.faster[:_LISTED]:
        yield (
            f"faster than {found.card} can be ({scaled(one.least_s, 's')} at least): {one.name[:80]} in "
            f"{scaled(one.time_s, 's')}; is the accelerator the right one?"
        )


def _of_step_notes(step: StepsFound) -> Iterator[str]:
    if step.left_out:
        yield f"the first {step.left_out:,} marked steps compile or warm up and are left out"
    if step.count > 1:
        yield f"a step's figures are means of {step.count:,} marked ones"
    if step.assumed:
        yield "the marks leave out lengths: contexts, or how many prompts there are, are taken from the question"
    if step.faster and step.ceiling_s is not None:
        yield (
            f"steps are faster than physics allows ({scaled(step.ceiling_s, 's')} at least): model, formats or "
            "accelerator are others than named"
        )
    if step.bytes is not None and step.bound == "memory" and step.checkpoint_bytes_per_s is not None:
        yield (
            "bytes of a step are weights, cache and activations that move; the input table is looked up, not read, "
            "which the rule of thumb counts whole"
        )
    if step.flop is not None and step.bound == "compute" and step.parameters_flop_per_s is not None:
        yield (
            "FLOP of a step are the products and attention that run; the rule of thumb counts tables that are looked "
            "up, and the head on every prompt token"
        )
