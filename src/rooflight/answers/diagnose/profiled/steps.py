"""Steps that a profile marks, counted by the model: what they move and multiply, and how near that is to the roof."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

from rooflight.answers.diagnose.profiled.roof import Counted
from rooflight.errors import RooflightError
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve.expected import expected, expected_prefill
from rooflight.serve.phases import main_format
from rooflight.values.recorded import StepSeen, Traced
from rooflight.values.steptime import StepTime
from rooflight.work import count
from rooflight.work import step as steps
from rooflight.work.mixers import Slice

# A first step that takes so many times the others' compiles, captures or warms up.
_COMPILES = 3.0
_SLACK = 1.02
# Operators of a step (work.step) by the family of the kernels that run them.
_FAMILIES = {
    "linear": "gemm", "attention": "attention", "recurrent": "attention", "experts": "moe",
}  # fmt: skip
# Norms and activation functions alone are kernels of their own; others are fused and cut in many ways.
_BY_NAME = {"norm": "norm", "final_norm": "norm", "inner_norm": "norm", "act": "activation"}


class StepsFound(msgspec.Struct, frozen=True, kw_only=True):
    """The marked steps of the phase that takes most of the time; figures of a step are their means.

    left_out    first steps that compile or warm up
    batch, tokens, context  as values.recorded.StepSeen; assumed: a size that no mark states was taken from the question
    wall_s      of the mark; busy_s: the device's own
    bytes, flop of one device by the model, None: no model, or the marks state no sizes
    bound       memory or compute, of both at datasheet rates; of_bandwidth, of_peak: shares of those
    ceiling_s   the least that physics allows; faster: it took less
    expected_s  what a well-run engine takes, low_s to high_s
    checkpoint_bytes_per_s, parameters_flop_per_s   the same by rules of thumb: the whole checkpoint and the cache read,
                two FLOP a parameter and token
    format      that most FLOP run in
    """

    phase: str | None
    count: int
    left_out: int = 0
    batch: float | None = None
    tokens: float | None = None
    context: float | None = None
    assumed: bool = False
    wall_s: float
    busy_s: float | None = None
    bytes: float | None = None
    flop: float | None = None
    bytes_per_s: float | None = None
    flop_per_s: float | None = None
    of_bandwidth: float | None = None
    of_peak: float | None = None
    bound: str | None = None
    ceiling_s: float | None = None
    faster: bool = False
    expected_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    checkpoint_bytes_per_s: float | None = None
    parameters_flop_per_s: float | None = None
    format: str | None = None


def steady(marked: Sequence[StepSeen]) -> tuple[StepSeen, ...]:
    """The steps without a first one that compiles or warms up."""
    found = tuple(marked)
    while len(found) > 2 and found[0].wall_s > _COMPILES * median(one.wall_s for one in found[1:]):
        found = found[1:]
    return found


def found_steps(traced: Traced, sc: Scenario | None) -> StepsFound | None:
    """The steps of the phase that takes most time; None where none is marked."""
    marked = steady(traced.steps)
    if not marked:
        return None
    phases: dict[str | None, list[StepSeen]] = {}
    for one in marked:
        phases.setdefault(one.phase, []).append(one)
    phase = max(phases, key=lambda name: sum(_busy(one, traced) or one.wall_s for one in phases[name]))
    ones = phases[phase]
    busy = [_busy(one, traced) for one in ones]
    known = [seconds for seconds in busy if seconds]
    found = StepsFound(
        phase=phase, count=len(ones), left_out=len(traced.steps) - len(marked), batch=_mean(ones, "batch"),
        tokens=_mean(ones, "tokens"), context=_mean(ones, "context"),
        wall_s=sum(one.wall_s for one in ones) / len(ones), busy_s=sum(known) / len(known) if known else None,
    )  # fmt: skip
    if sc is None or len(known) < len(ones):
        return found
    counted = [_counted(sc, one) for one in ones]
    timed = [time for time in counted if time is not None]
    if len(timed) < len(ones):
        return found
    return _under(found, sc, ones, timed)


def _busy(one: StepSeen, traced: Traced) -> float | None:
    """The device's time in a step; of a profile that is one step, all of it."""
    if one.busy_s is None and len(traced.steps) == 1 and len(traced.devices) == 1:
        return traced.devices[0].busy_s
    return one.busy_s


def _under(found: StepsFound, sc: Scenario, ones: Sequence[StepSeen], timed: Sequence[StepTime]) -> StepsFound:
    """With what the model counts of a device in these steps, over the device's own time."""
    busy = (found.busy_s or 0.0) * len(ones)
    moved, flop = (sum(float(value) for value in values) for values in (
        [time.work.moved_bytes for time in timed], [time.work.flop for time in timed],
    ))  # fmt: skip
    memory_s, compute_s = (sum(term) for term in zip(*(_terms(time) for time in timed), strict=True))
    fits = _expected(sc, ones[0]) if len({_key(one) for one in ones}) == 1 else None
    ceiling = sum(float(time.ceiling_s) for time in timed)
    form = main_format(sc, timed[0])
    devices = sc.layout.tp * sc.layout.pp
    cache = sum(float(time.work.kv_read_bytes) for time in timed)
    rows = sum((one.batch or 0.0) + (one.tokens or 0.0) for one in ones)
    dense = all(layer.experts is None for layer in sc.model.layers)
    weights = count.weight_bytes(sc.model) / devices * len(ones)
    return msgspec.structs.replace(
        found, assumed=any(_assumes(one) for one in ones), bytes=moved / len(ones), flop=flop / len(ones),
        bytes_per_s=moved / busy, flop_per_s=flop / busy, of_bandwidth=memory_s / busy, of_peak=compute_s / busy,
        bound="compute" if compute_s > memory_s else "memory", ceiling_s=ceiling / len(ones),
        faster=ceiling > _SLACK * busy, format=form,
        expected_s=None if fits is None else fits[0], low_s=None if fits is None else fits[1],
        high_s=None if fits is None else fits[2],
        checkpoint_bytes_per_s=(weights + cache) / busy if dense else None,
        parameters_flop_per_s=2 * count.active_parameters(sc.model) * rows / devices / busy,
    )  # fmt: skip


def operators(traced: Traced, sc: Scenario | None) -> dict[str, Counted]:
    """What the model counts of each family of kernels in all steps; none where steps are not all the device did."""
    busy = [_busy(one, traced) for one in traced.steps]
    counted = [None if sc is None else _counted(sc, one) for one in traced.steps]
    device = max((one.busy_s for one in traced.devices), default=0.0)
    whole = sum(seconds or 0.0 for seconds in busy)
    if not counted or None in counted or not device or not 0.8 * device <= whole <= 1.25 * device:
        return {}
    experts = any(one.operator == "moe" for one in traced.kernels)
    devices = sum(one.busy_s > 0.1 * device for one in traced.devices)
    found: dict[str, list[float]] = {}
    for time in counted:
        for op, _, terms in () if time is None else time.timed:
            family = _BY_NAME.get(op.name.partition(" ")[0], _FAMILIES.get(op.kind, ""))
            family = "gemm" if family == "moe" and not experts else family
            sums = found.setdefault(family, [0.0] * 4)
            for place, value in enumerate((op.work.flop, op.work.moved_bytes, terms.memory, terms.compute)):
                sums[place] += float(value) * op.count * devices
    return {
        family: Counted(flop=sums[0], bytes=sums[1], memory_s=sums[2], compute_s=sums[3])
        for family, sums in found.items()
        if family
    }


def _terms(time: StepTime) -> tuple[float, float]:
    """Seconds of a pass's bytes and of its arithmetic, at datasheet rates."""
    memory = sum(float(terms.memory) * op.count for op, _, terms in time.timed)
    return memory, sum(float(terms.compute) * op.count for op, _, terms in time.timed)


def _assumes(one: StepSeen) -> bool:
    return (one.batch is not None and one.context is None) or (one.tokens is not None and one.prompts is None)


def _step(sc: Scenario, one: StepSeen) -> steps.Step | None:
    """The step as the library counts it; what a mark leaves out is the question's. None: its sizes are not stated."""
    slices: list[Slice] = []
    if one.phase != "prefill" and one.batch:
        context = context_tokens(sc.workload) if one.context is None else one.context
        slices += steps.decode(sequences=one.batch, context=context, source=sc.source_tokens).slices
    if one.phase != "decode" and one.tokens:
        prompts = one.prompts or max(1.0, round(one.tokens / sc.workload.isl))
        cached = one.prompt_context or (one.context if one.phase == "prefill" and one.context else 0.0)
        ends = steps.prompt_ends(sc.model, sc.workload.osl)
        slices.append(
            Slice(sequences=prompts, new=one.tokens / prompts, context=cached, head_positions=ends)
        )  # fmt: skip
    wanted = {"decode": bool(one.batch), "prefill": bool(one.tokens), "mixed": bool(one.batch and one.tokens)}
    return steps.Step(slices=tuple(slices)) if slices and wanted.get(one.phase or "") else None


def _counted(sc: Scenario, one: StepSeen) -> StepTime | None:
    """Bounds of a step on one device of the scenario's layout, by the one function that times steps."""
    step = _step(sc, one)
    if step is None:
        return None
    try:
        return sc.steps.time(step, bounds_only=True)
    except RooflightError:
        return None


def _expected(sc: Scenario, one: StepSeen) -> tuple[float, float, float] | None:
    """What the engine's fit says of the step; None where it has none."""
    step = _step(sc, one)
    if step is None:
        return None
    try:
        parts = sc.steps.parts(step)
        if one.phase == "prefill":
            found = expected_prefill(sc, parts, sequences=one.prompts or 1.0, fill=1)
        else:
            found = expected(sc, parts, sequences=one.batch or 1.0)
    except RooflightError:
        return None
    return float(found.seconds), float(found.low), float(found.high)


def _key(one: StepSeen) -> tuple[object, ...]:
    return one.phase, one.batch, one.tokens, one.context, one.prompts


def _mean(ones: Sequence[StepSeen], field: str) -> float | None:
    values = [getattr(one, field) for one in ones]
    return None if None in values or not values else sum(values) / len(values)
