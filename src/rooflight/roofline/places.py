"""Steps over several places: devices, unlike ones in turn, and the host beside them; what is passed in turn adds up."""

from __future__ import annotations

import msgspec

from rooflight.affine import elements
from rooflight.numeric import Number, largest_of, maximum, minimum, where
from rooflight.roofline.formulas import largest
from rooflight.roofline.rates import Beside, Rates, Stage, no_peak, unrated
from rooflight.roofline.step import TIMED, Pass, evaluated, step_time
from rooflight.values.calibration import Calibration
from rooflight.values.steptime import BOUNDS, Parts, StepTime, Terms
from rooflight.values.work import Operator, Work
from rooflight.work import places

# llama.cpp copies the weights of the host's layers to the card for batches of so many tokens, and multiplies there.
# Source: ggml-cuda.cu, op_offload_min_batch_size (GGML_OP_OFFLOAD_MIN_BATCH, 32).
COPIED_TOKENS = 32
# It copies them anew for each batch of the prompt, of so many tokens by default (common/arg.cpp: n_batch).
COPIED_AT_ONCE = 2048


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What devices of one kind do of a step: their part of a pass, at their rates, in so many pipeline stages."""

    one: Pass
    rates: Rates
    stages: int


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way to run a step over the places; any of its parts but the first may be None.

    device  of each kind in turn, with what is read beside them at the same time (beside, and link_bytes over the
            link); turn: comes after them
    sent_bytes  over the link, as engines send it: through one of the devices
    own     of device, what each device does of its own layers; the rest may be shared out. None: all of it
    """

    device: tuple[Turn, ...]
    beside: Pass | None
    turn: Pass | None
    link_bytes: Number
    sent_bytes: Number = 0.0
    own: tuple[Turn, ...] | None = None


class PlacedPass(msgspec.Struct, frozen=True, kw_only=True):
    """One pass: where the weights lie, or with the host's weights copied to the device.

    copied  None where nothing could be copied
    copies  whether that is expected: of as many tokens as engines copy for, where it is the faster way
    longest of the time of a pass, the share of its longest stage
    """

    lying: Way
    copied: Way | None
    copies: Number
    roofline_s: Number
    parts: Parts | None
    longest: Number = 0.0

    def stretch(self, stages: int, fill: Number, passes: Number) -> Number:
        """By how much a step of several passes takes longer than through equal stages: the longest stage sets the pace.

        Prefill: (1 + (passes - 1) x longest) / fill. Steps that follow each other: passes x longest, 1 at least. Check
        by hand: stages of 3 s and 1 s: longest 0.75; two passes in flight come round in 6 s, 1.5 times the 4 s of one.
        """
        if isinstance(self.longest, float) and not self.longest:
            return 1.0
        drained = 1 + (fill - 1) * stages * self.longest
        return maximum(maximum(drained, passes * self.longest) / fill, 1.0)


def staged_pass(ops: tuple[tuple[Operator, ...], ...], stages: tuple[Stage, ...], *, bounds_only: bool) -> PlacedPass:
    """The pass through unlike devices in turn: each with its operators, by its own rates and fits."""
    turns = tuple(
        Turn(
            one=_named(evaluated(own, stage.rates, None if bounds_only else stage.fits, stages=stage.devices),
                       stage.rates.accelerator.id),
            rates=stage.rates, stages=stage.devices,
        )
        for own, stage in zip(ops, stages, strict=True)
    )  # fmt: skip
    whole = sum(turn.one.roofline_s for turn in turns)
    each = [turn.one.roofline_s / turn.stages for turn in turns]
    way = Way(device=turns, beside=None, turn=None, link_bytes=0.0)
    return PlacedPass(
        lying=way, copied=None, copies=False, roofline_s=whole, parts=None if bounds_only else _device_parts(way),
        longest=elements(largest(*each)) / elements(whole),
    )  # fmt: skip


def placed_pass(
    ops: places.Placed, rates: Rates, fits: Calibration | None, *, tokens: Number, stages: int, expert_devices: int
) -> PlacedPass:
    """The pass of operators by place. Raises MissingFact where the link is needed and nobody knows its rate."""
    beside = _beside(rates)

    def here(device: tuple[Operator, ...]) -> tuple[Turn, ...]:
        one = evaluated(device, rates, fits, stages=stages, expert_devices=expert_devices)
        return (Turn(one=one, rates=rates, stages=stages),)

    def there(host: tuple[Operator, ...]) -> Pass | None:
        return _on_host(evaluated(host, beside.rates)) if host else None

    lying = Way(
        device=here(ops.device), beside=there(ops.beside + ops.cached), turn=there(ops.turn + ops.turn_cached),
        link_bytes=beside.streamed_bytes, sent_bytes=beside.streamed_bytes,
    )  # fmt: skip
    weights = ops.beside + ops.turn
    copied = None
    if weights and beside.link_bytes_per_s is not None:
        sent = sum((op.work.weight_bytes - op.work.avoidable_bytes) * op.count for op in weights)
        copied = Way(
            device=here(ops.device + tuple(_copied(op) for op in weights)),
            beside=there(ops.cached),
            turn=there(ops.turn_cached),
            link_bytes=beside.streamed_bytes + sent / beside.devices,
            own=lying.device,
            sent_bytes=beside.streamed_bytes + sent * maximum(tokens / COPIED_AT_ONCE, 1),
        )  # fmt: skip
    ways = [(way, _host_s(way, beside)) for way in (lying, copied) if way is not None]
    roofline = [_device_s(way) + seconds for way, seconds in ways]
    copies = (tokens >= COPIED_TOKENS) & (roofline[1] < roofline[0]) if copied is not None else False
    there_s = [seconds for _, seconds in ways]
    parts = None if fits is None else [_device_parts(way) for way, _ in ways]
    return PlacedPass(
        lying=lying, copied=copied, copies=copies, roofline_s=_picked(copies, roofline),
        parts=None if parts is None else _joined(copies, parts, there_s, beside),
    )  # fmt: skip


def placed_time(one: PlacedPass, rates: Rates, *, overlap: Number = 1, fill: Number = 1) -> StepTime:
    """Times of a step of such passes: the ceiling of the fastest legal way, the roofline of the engine's."""
    ways = [_way_time(way, rates, overlap, fill) for way in (one.lying, one.copied) if way is not None]
    least = {"hosted_bytes": ways[0].hosted_bytes, "own_compute_s": ways[0].own_compute_s}
    if len(ways) == 1:
        return msgspec.structs.replace(ways[0], parts=one.parts)
    lying, copied = ways
    faster = copied.ceiling_s < lying.ceiling_s
    names = ("compute_s", "memory_s", "link_s", "network_s", "launch_s", "bound", "host_memory_s", "host_link_s")
    chosen = {name: _picked(faster, [getattr(lying, name), getattr(copied, name)]) for name in names}
    habit = copied if _all(one.copies) else lying
    return msgspec.structs.replace(
        habit,
        streamed_bytes=_picked(faster, [lying.streamed_bytes, copied.streamed_bytes]),
        ceiling_s=minimum(lying.ceiling_s, copied.ceiling_s),
        roofline_s=_picked(one.copies, [lying.roofline_s, copied.roofline_s]),
        parts=one.parts,
        **least,
        **chosen,
    )


def _way_time(way: Way, rates: Rates, overlap: Number, fill: Number) -> StepTime:
    device = _turns_time(way.device, overlap, fill)
    if rates.beside is None:
        return device
    beside = _beside(rates)
    aside = None if way.beside is None else step_time(way.beside, beside.rates, part=True)
    turn = None if way.turn is None else step_time(way.turn, beside.rates, part=True)
    link, sent, behind = _link_s(way.link_bytes, beside), _link_s(way.sent_bytes, beside), _behind_s(way, beside)
    at_once = largest(_shared_s(way, device, rates, overlap), 0.0 if aside is None else aside.ceiling_s, link, behind)
    ceiling = at_once + (0.0 if turn is None else turn.ceiling_s)
    there = [one for one in (aside, turn) if one is not None]
    compute = largest(device.compute_s, *(one.compute_s for one in there))
    memory_s = largest(0.0 if aside is None else aside.memory_s, behind) + (0.0 if turn is None else turn.memory_s)
    roofline = device.roofline_s + (sum(one.roofline_s for one in there) + sent) * fill
    work = Work()
    for one in there:
        work = work + one.work
    return msgspec.structs.replace(
        device,
        compute_s=elements(compute),
        host_memory_s=elements(memory_s),
        host_link_s=elements(link) if beside.link_bytes_per_s is not None else None,
        ceiling_s=elements(ceiling),
        roofline_s=maximum(elements(roofline), elements(ceiling)),
        bound=largest_of(compute, device.memory_s, device.link_s, device.launch_s, memory_s, link)[1],
        timed=(*device.timed, *(row for one in there for row in one.timed)),
        host_work=work,
        hosted_bytes=elements(sum(one.streamed_bytes for one in there) + way.link_bytes),
        own_compute_s=device.compute_s,
    )


def _turns_time(turns: tuple[Turn, ...], overlap: Number, fill: Number = 1) -> StepTime:
    return _added([
        step_time(turn.one, turn.rates, stages=turn.stages, overlap=overlap, fill=fill, part=True) for turn in turns
    ])  # fmt: skip


def _added(times: list[StepTime]) -> StepTime:
    """One after the other: what each resource takes adds up, and so do ceilings."""
    if len(times) == 1:
        return times[0]
    names = ("streamed_bytes", "compute_s", "memory_s", "link_s", "network_s", "launch_s", "ceiling_s", "roofline_s")
    sums: dict[str, Number] = {name: elements(sum(getattr(one, name) for one in times)) for name in names}
    work = Work()
    for one in times:
        work = work + one.work
    return msgspec.structs.replace(
        times[0], work=work, bound=largest_of(*(sums[f"{name}_s"] for name in BOUNDS))[1],
        timed=tuple(row for one in times for row in one.timed), parts=None, **sums,
    )  # fmt: skip


def _named(one: Pass, device: str) -> Pass:
    """The same, its operators named by the device that runs them."""
    return msgspec.structs.replace(
        one,
        timed=tuple(
            (op if op.kind == "collective" else msgspec.structs.replace(op, name=f"{op.name} ({device})"), *rest)
            for op, *rest in one.timed
        ),
    )  # fmt: skip


def _device_s(way: Way) -> Number:
    """Roofline seconds of what the devices do."""
    return sum(turn.one.roofline_s for turn in way.device)


def _device_parts(way: Way) -> Parts:
    """What is expected of the devices, in turn."""
    each = [turn.one.parts or Parts() for turn in way.device]
    return Parts(**{name: elements(sum(getattr(one, name) for one in each)) for name in TIMED})


def stretched(parts: Parts, times: Number) -> Parts:
    """The same, so many times as long."""
    return Parts(**{name: getattr(parts, name) * times for name in Parts.__struct_fields__})


def _shared_s(way: Way, device: StepTime, rates: Rates, overlap: Number) -> Number:
    """The least that the devices take where what is no device's own is shared out evenly."""
    devices = _beside(rates).devices
    if way.own is None or devices == 1:
        return device.ceiling_s
    return largest(_turns_time(way.own, overlap).ceiling_s, device.ceiling_s / devices)


def _on_host(one: Pass) -> Pass:
    """The same, its operators named and bound by where they run."""
    return msgspec.structs.replace(
        one,
        timed=tuple(
            (
                msgspec.structs.replace(op, name=f"{op.name} (host)"),
                seconds,
                Terms(terms.compute, terms.memory, terms.link, terms.launch, on_host=True),
            )
            for op, seconds, terms in one.timed
        ),
    )


def _copied(op: Operator) -> Operator:
    return msgspec.structs.replace(op, name=f"{op.name} (copied)")


def _host_s(way: Way, beside: Beside) -> Number:
    """Roofline seconds of what the host does and the link carries."""
    there = sum(one.roofline_s for one in (way.beside, way.turn) if one is not None)
    return there + _link_s(way.sent_bytes, beside)


def _link_s(link_bytes: Number, beside: Beside) -> Number:
    """Seconds on each device's link."""
    return 0.0 if beside.link_bytes_per_s is None else link_bytes / beside.link_bytes_per_s


def _behind_s(way: Way, beside: Beside) -> Number:
    """Where all devices read over their links at once: what their bytes take out of the host's memory, at least."""
    if beside.link_bytes_per_s is None:
        return 0.0
    return way.link_bytes * beside.devices / beside.rates.fast_memory_bytes_per_s


def _joined(copies: Number, parts: list[Parts], there_s: list[Number], beside: Beside) -> Parts:
    """The parts of the engine's way, and what the host takes of it.

    It may be as fast as its rates, and as slow as the least share of them; where weights would be copied also as fast
    as where the host multiplies, but no slower than copying at that share: a host takes tens of times as long to
    multiply a prompt, and an end that far off would say nothing.
    """
    rated, handover = _picked(copies, there_s), beside.handover_s
    low, high = rated, rated / beside.least
    if len(there_s) > 1:
        low = _picked(copies, [there_s[0], minimum(*there_s)])
    host = {
        "host": rated / beside.reached + handover, "host_rated": rated,
        "host_low": low, "host_high": high + 2 * handover,
    }  # fmt: skip
    return msgspec.structs.replace(
        parts[0], **{name: _picked(copies, [getattr(one, name) for one in parts]) for name in TIMED},
        **{name: elements(seconds) for name, seconds in host.items()},
    )  # fmt: skip


def _picked(second: Number | bool, values: list[Number]) -> Number:
    """The second of two values where the condition holds, elementwise; the only one where there is one."""
    if len(values) == 1 or values[0] is values[1]:
        return values[0]
    if isinstance(second, bool):
        return values[1] if second else values[0]
    return where(second, elements(values[1]), elements(values[0]))


def _all(condition: Number | bool) -> bool:
    return condition if isinstance(condition, bool) else bool(condition.all())


def _beside(rates: Rates) -> Beside:
    if rates.beside is None:
        raise no_peak(rates.accelerator, unrated(rates.accelerator, ()), "a host beside it")
    return rates.beside
