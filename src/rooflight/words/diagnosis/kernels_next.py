"""What to do after a profile, and what to know of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rooflight.answers.diagnose.kernels import BUSY, KernelsFound
from rooflight.answers.diagnose.profiled.steps import StepsFound
from rooflight.units import scaled
from rooflight.values.diagnosis import Next
from rooflight.words.diagnosis.operators import LISTED, percent
from rooflight.words.moves import said

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
# What a profile lacks for a model to count its steps.
UNCOUNTED = {
    "marks": "no step is marked",
    "sizes": "no mark says the sizes of a step",
    "time": "no device's time is known of the steps marked",
}
_MARKS = Next(
    what="Record steps with marks that say their sizes, as the profilers of vLLM (0.13 and later: "
    "execute_context_0(0)_generation_32(32)) and SGLang (step[DECODE bs=32]) leave them; ranges of that name around "
    "each step are read too, from PyTorch's profiler and from NVTX (nsys export --type sqlite).",
    command='with torch.profiler.record_function("step[DECODE bs=32]"): STEP',
)
_STATE = Next(
    what="Or state the decode step that was profiled (--batch with --isl or --context): where the calls fit the "
    "model's layers, it is counted for the profile's steps."
)
_WHOLE = Next(
    what="Record several whole steps in a row, after warm-up, and stop once the device is done; where kernels of "
    "graphs are missing, record a run without graphs too (vLLM --enforce-eager, SGLang --disable-cuda-graph).",
    command="torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], "
    "schedule=schedule(wait=5, warmup=2, active=5))",
)


def steps(found: KernelsFound) -> Iterator[Next]:
    """What to do next, the surest gains first."""
    if found.host_only:
        yield _TRACE
        return
    if found.cut:
        yield _WHOLE
    for gain in found.gains:
        move = said(gain.move)
        yield Next(what=f"{move.title[0].upper()}{move.title[1:]}: it {move.acts}.", gain=gain.times)
    yield from _general(found)
    if found.missing and found.uncounted in ("marks", "sizes"):
        if found.supposed is not None and found.supposed.refused == "question":
            yield _STATE
        yield _MARKS
    if found.missing and found.uncounted != "time" and (found.model is None or found.card is None):
        yield _named(found)
    if found.bound is None or (found.missing and (found.steps is None or found.own)):
        yield _AMD_COUNTERS if found.amd else _COUNTERS


def _named(found: KernelsFound) -> Next:
    """What of model and accelerator is not known yet."""
    lacks = [what for what, known in (("model", found.model), ("accelerator", found.card)) if known is None]
    return Next(
        what=f"Name the {' and the '.join(lacks)}: what the marked steps move and multiply is then counted.",
        command=f"rooflight diagnose {shlex.quote(found.file)} --model {found.model or 'MODEL'} "
        f"--on {found.card or 'ACCELERATOR'}",
    )


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
                what=f"Fuse kernels that only move what others make, {percent(found.streaming)} of the time: "
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


def notes(found: KernelsFound) -> Iterator[str]:
    """What to know of the profile and of how it was counted."""
    step, time = found.steps, found.time
    if found.files > 1:
        yield f"{found.files:,} profiles: how the time went is that of {found.file}, the busiest"
    if found.cut:
        yield (
            "the host waits for the device while no recorded kernel runs: the profile is a part of what ran (kernels "
            "of a graph recorded in part, a cut, or another process on the device), and its span tells nothing of its "
            "steps"
        )
    if found.model is not None and found.uncounted is not None and (found.missing or found.timeline):
        yield f"{UNCOUNTED[found.uncounted]}: {_supposed(found)}"
    if not found.timeline and not found.host_only:
        yield "kernels are known one by one: how the time between them goes is not"
    if time is not None and time.devices > 1 and time.idlest is not None and time.idlest < BUSY:
        yield (
            f"the {time.devices:,} devices are not alike: the least busy one works {percent(time.idlest)} of the "
            f"time of {time.device}"
        )
    if step is not None:
        yield from _of_step_notes(step, own=found.own)
    if found.counted_active is not None and found.card is not None:
        counter, by_bytes = map(percent, found.counted_active)
        yield (
            f"memory was active {counter} of the time by its counter, {by_bytes} by bytes over the bandwidth of "
            f"{found.card}: it ran on another accelerator, or at another clock"
        )
    for one in found.faster[:LISTED]:
        yield (
            f"faster than {found.card} can be ({scaled(one.least_s, 's')} at least): {one.name[:80]} in "
            f"{scaled(one.time_s, 's')}; is the accelerator the right one?"
        )


def _supposed(found: KernelsFound) -> str:
    """Whether the question's step is taken for the steps of a profile that no mark sizes, and why not."""
    own = found.supposed
    none = f"steps are not counted by {found.model}"
    if own is None or own.refused == "question":
        return f"{none}, and the batch and the lengths of the question are not taken for theirs"
    if own.refused == "devices":
        return f"{none}, and the question's is not taken for steps of several devices, replicas or stages in one file"
    counts = f"calls of attention ({own.calls:,}) over the model's {own.layers:,} layers"
    if own.refused == "calls" or own.found is None:
        return f"{none}, and the question's is not taken for theirs: {counts} and matrix products fit no whole steps"
    taken, least = (scaled(seconds or 0.0, "s") for seconds in (own.found.busy_s, own.found.ceiling_s))
    if own.refused is None:
        return f"{counts} are {own.found.count:,} steps, taken for the decode step that the question states"
    than = "less than" if own.refused == "faster" else "far more than"
    return (
        f"{none}, and the question's decode step is not taken for theirs: by {counts} one takes {taken}, {than} the "
        f"{least} that physics allows it in"
    )


def _of_step_notes(step: StepsFound, *, own: bool) -> Iterator[str]:
    if step.left_out:
        yield f"the first {step.left_out:,} marked steps compile or warm up and are left out"
    if step.count > 1 and not own:
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
