"""What lies between the ceiling of a step, its roofline time and the expected one, each part by its own name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from rooflight.numeric import Number
from rooflight.roofline.engine import Expected
from rooflight.roofline.rates import Rates
from rooflight.roofline.step import is_fusible
from rooflight.serve.phases import PhaseTime
from rooflight.values.analysis import Step
from rooflight.values.steptime import StepTime, Terms
from rooflight.values.work import Operator

# From the ceiling to the roofline time.
CHOSEN = "routed experts that tokens do not share"
ADAPTED = "adapters that sequences do not share"
RATES = "rates that are not the fastest known"
CACHES = "bytes that caches may keep between steps"
FUSED = "activations that fused kernels keep on chip"
IN_TURN = "operators one after the other"
LINKS = "links, not overlapped with kernels"
LAUNCHES = "kernels shorter than their launch"
STAGES = "pipeline stages that fill and drain"
PLACES = "host and devices one after the other"
UNLIKE = "unlike devices one after the other"
# From there to the expected time. Parts whose coefficients no row of a fit set name no cause.
KERNELS = "what kernels do not reach of the rates"
BEYOND = "links, what they do not reach of their rates"
SHARED = "reads of the cache that query heads do not share"
EXPERTS = "routed experts: sorting and imbalance"
UNMEASURED_EXPERTS = "routed experts' extra, cause not measured"
OFFLOADED = "what an engine does not reach of the host's memory and link, and going there"
ONE_BY_ONE = "kernels launched one by one"
HOST = "host between steps"
UNMEASURED_HOST = "a step's own time, cause not measured"
# The order in which answers list them: from the ceiling on.
ORDER = (
    "ceiling", STAGES, UNLIKE, PLACES, CHOSEN, ADAPTED, RATES, CACHES, FUSED, IN_TURN, LINKS, LAUNCHES,
    KERNELS, BEYOND, SHARED, EXPERTS, UNMEASURED_EXPERTS, OFFLOADED, ONE_BY_ONE, HOST, UNMEASURED_HOST,
)  # fmt: skip
# Of the expected time, parts smaller than that are what sums of floats leave.
_ROUNDING = 1e-9

Row = tuple[Operator, Number, Terms]


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of one pass on the devices, over its operators, at the rates of the roofline.

    compute, memory, link   what each resource takes; of memory, what a ceiling leaves out: chosen (experts beyond the
                fewest that could be touched), adapted (adapters), fused (activations between kernels)
    kernels     of operators that send nothing, each at the larger of compute and memory
    links       of those that send something
    """

    compute: float
    memory: float
    link: float
    chosen: float
    adapted: float
    fused: float
    kernels: float
    links: float


def waterfall(rates: Rates, phase: PhaseTime) -> tuple[Step, ...]:
    """The ceiling, and what is added to it, cause by cause; the steps add up to the expected time."""
    span = phase.span
    sums = summed(row for row in phase.time.timed if not row[2].on_host)
    parts = {"ceiling": float(span.ceiling)}
    for name, seconds in (*_to_roofline(rates, phase, sums), *_to_expected(phase, sums)):
        parts[name] = parts.get(name, 0.0) + seconds
    least = _ROUNDING * span.expected
    return tuple(Step(name=name, seconds=parts[name]) for name in ORDER if parts.get(name, 0.0) > least)


def summed(rows: Iterable[Row]) -> Sums:
    """The sums over operators. What sends is counted with links, whatever else it does."""
    found = dict.fromkeys(Sums.__struct_fields__, 0.0)
    for op, _, one in rows:
        times, moved = op.count, op.work.moved_bytes
        byte_s = one.memory * times / moved if moved else 0.0
        found["compute"] += one.compute * times
        found["memory"] += one.memory * times
        found["link"] += one.link * times
        found["chosen" if op.kind == "experts" else "adapted"] += op.work.avoidable_bytes * byte_s
        found["fused"] += op.work.activation_bytes * byte_s if is_fusible(op) else 0.0
        largest = max(one.compute, one.memory, one.link) * times
        found["links" if one.link else "kernels"] += largest
    return Sums(**{name: float(seconds) for name, seconds in found.items()})


def _to_roofline(rates: Rates, phase: PhaseTime, sums: Sums) -> Iterator[tuple[str, float]]:
    """What the roofline time has over the ceiling, from its end backwards: each cause is left out in turn, and what
    the step then still takes at least is never less than the ceiling."""
    time, span = phase.time, phase.span
    left, ceiling = float(span.roofline), float(span.ceiling)
    for name, seconds in _without(rates, time, sums):
        after = min(left, max(float(seconds), ceiling))
        yield name, left - after
        left = after
    yield _rest(rates, phase), left - ceiling


def _without(rates: Rates, time: StepTime, sums: Sums) -> Iterator[tuple[str, Number]]:
    """Each cause, and the seconds of the step without it and without those before it."""
    fill = time.fill
    there = [row for row in time.timed if row[2].on_host]
    if time.host_work is not None:
        yield CHOSEN, time.roofline_s - summed(there).chosen * fill
        yield PLACES, sum(seconds for _, seconds, terms in time.timed if not terms.on_host) * fill
    yield LAUNCHES, (sums.kernels + sums.links) * fill
    yield LINKS, max(sums.kernels, sums.links) * fill
    memory = sums.memory
    yield IN_TURN, max(sums.compute, memory, sums.link) * fill
    for name, seconds in ((FUSED, sums.fused), (CHOSEN, sums.chosen), (ADAPTED, sums.adapted)):
        memory -= seconds
        yield name, max(sums.compute, memory, sums.link) * fill
    if time.host_work is not None or rates.unlike:
        return
    compute, link = time.compute_s / time.overlap, time.link_s / time.overlap
    memory *= rates.memory_bytes_per_s / rates.fast_memory_bytes_per_s
    yield RATES, max(compute, memory, link) * fill
    kept = time.streamed_bytes / rates.fast_memory_bytes_per_s - time.memory_s
    yield CACHES, max(compute, memory - kept, link) * fill


def _rest(rates: Rates, phase: PhaseTime) -> str:
    """What is left where all others are named: how stages, or places, follow each other."""
    if phase.time.host_work is not None:
        return PLACES
    return UNLIKE if rates.unlike else STAGES if phase.layout.pp > 1 else RATES


def _to_expected(phase: PhaseTime, sums: Sums) -> Iterator[tuple[str, float]]:
    """What is expected beyond the roofline time, from its end backwards; where the roofline leaves less than the parts
    ask for, the last get less, and kernels what is left."""
    span, expected = phase.span, phase.expected
    rest = span.expected - span.roofline
    for name, part in _named(expected, expected.link_s - sums.links * phase.time.fill):
        seconds = min(max(part, 0.0), rest)
        rest -= seconds
        yield name, float(seconds)
    yield KERNELS, float(rest)


def _named(expected: Expected, beyond_s: Number) -> tuple[tuple[str, Number], ...]:
    return (
        (HOST if expected.host_measured else UNMEASURED_HOST, expected.host),
        (ONE_BY_ONE, expected.launched_s),
        (EXPERTS if expected.experts_measured else UNMEASURED_EXPERTS, expected.experts_s),
        (SHARED, expected.reads_s),
        (BEYOND, beyond_s),
        (OFFLOADED, expected.places_s - expected.places_rated_s),
    )
