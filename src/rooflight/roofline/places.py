"""Steps over several places: the devices, and the host beside them; what is passed in turn adds up."""

from __future__ import annotations

import msgspec

from rooflight.affine import elements
from rooflight.numeric import Number, largest_of, maximum, minimum, where
from rooflight.roofline.formulas import largest
from rooflight.roofline.rates import Beside, Rates, no_peak, unrated
from rooflight.roofline.step import Pass, evaluated, step_time
from rooflight.values.calibration import Calibration
from rooflight.values.steptime import Parts, StepTime, Terms
from rooflight.values.work import Operator, Work
from rooflight.work import places

# llama.cpp copies the weights of the host's layers to the card for batches of so many tokens, and multiplies there.
# Source: ggml-cuda.cu, op_offload_min_batch_size (GGML_OP_OFFLOAD_MIN_BATCH, 32).
COPIED_TOKENS = 32
# It copies them anew for each batch of the prompt, of so many tokens by default (common/arg.cpp: n_batch).
COPIED_AT_ONCE = 2048


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way to run a step over the places; any of its parts may be None.

    device  with what is read beside it at the same time (beside, and link_bytes over the link); turn: comes after it
    sent_bytes  over the link, as engines send it: through one of the devices
    own     of device, what each device does of its own layers; the rest may be shared out. None: all of it
    """

    device: Pass
    beside: Pass | None
    turn: Pass | None
    link_bytes: Number
    sent_bytes: Number
    own: Pass | None = None


class PlacedPass(msgspec.Struct, frozen=True, kw_only=True):
    """One pass: where the weights lie, or with the host's weights copied to the device.

    copied  None where nothing could be copied
    copies  whether that is expected: of as many tokens as engines copy for, where it is the faster way
    """

    lying: Way
    copied: Way | None
    copies: Number
    roofline_s: Number
    parts: Parts | None


def placed_pass(
    ops: places.Placed, rates: Rates, fits: Calibration | None, *, tokens: Number, stages: int, expert_devices: int
) -> PlacedPass:
    """The pass of operators by place. Raises MissingFact where the link is needed and nobody knows its rate."""
    beside = _beside(rates)

    def here(device: tuple[Operator, ...]) -> Pass:
        return evaluated(device, rates, fits, stages=stages, expert_devices=expert_devices)

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
    roofline = [way.device.roofline_s + seconds for way, seconds in ways]
    copies = (tokens >= COPIED_TOKENS) & (roofline[1] < roofline[0]) if copied is not None else False
    there_s = [seconds for _, seconds in ways]
    parts = None if fits is None else [way.device.parts or Parts() for way, _ in ways]
    return PlacedPass(
        lying=lying, copied=copied, copies=copies, roofline_s=_picked(copies, roofline),
        parts=None if parts is None else _joined(copies, parts, there_s, beside),
    )  # fmt: skip


def placed_time(one: PlacedPass, rates: Rates, *, stages: int = 1, overlap: Number = 1, fill: Number = 1) -> StepTime:
    """Times of a step of such passes: the ceiling of the fastest legal way, the roofline of the engine's."""
    ways = [_way_time(way, rates, stages, overlap, fill) for way in (one.lying, one.copied) if way is not None]
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


def _way_time(way: Way, rates: Rates, stages: int, overlap: Number, fill: Number) -> StepTime:
    beside = _beside(rates)
    device = step_time(way.device, rates, stages=stages, overlap=overlap, fill=fill, part=True)
    aside = None if way.beside is None else step_time(way.beside, beside.rates, part=True)
    turn = None if way.turn is None else step_time(way.turn, beside.rates, part=True)
    link, sent = _link_s(way.link_bytes, beside, fastest=True), _link_s(way.sent_bytes, beside)
    at_once = largest(_shared_s(way, device, rates, stages, overlap), 0.0 if aside is None else aside.ceiling_s, link)
    ceiling = at_once + (0.0 if turn is None else turn.ceiling_s)
    there = [one for one in (aside, turn) if one is not None]
    compute = largest(device.compute_s, *(one.compute_s for one in there))
    memory_s: Number = sum(one.memory_s for one in there)
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


def _shared_s(way: Way, device: StepTime, rates: Rates, stages: int, overlap: Number) -> Number:
    """The least that the devices take where what is no device's own is shared out evenly."""
    devices = _beside(rates).devices
    if way.own is None or devices == 1:
        return device.ceiling_s
    own = step_time(way.own, rates, stages=stages, overlap=overlap, part=True)
    return largest(own.ceiling_s, device.ceiling_s / devices)


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


def _link_s(link_bytes: Number, beside: Beside, *, fastest: bool = False) -> Number:
    """Seconds on each device's link; where all read at once, no less than their bytes take out of the host's memory."""
    if beside.link_bytes_per_s is None:
        return 0.0
    if not fastest:
        return link_bytes / beside.link_bytes_per_s
    behind = link_bytes * beside.devices / beside.rates.fast_memory_bytes_per_s
    return largest(link_bytes / beside.link_bytes_per_s, behind)


def _joined(copies: Number, parts: list[Parts], there_s: list[Number], beside: Beside) -> Parts:
    """The parts of the engine's way, and what the host takes of it.

    It may be as fast as its rates, and as slow as the least share of them; where weights would be copied also as fast
    or slow as where the host multiplies: engines differ in that.
    """
    names = ("body", "floors", "link", "experts", "unit_bytes")
    rated, handover = _picked(copies, there_s), beside.handover_s
    low, high = rated, rated / beside.least
    if len(there_s) > 1:
        low = _picked(copies, [there_s[0], minimum(*there_s)])
        high = _picked(copies, [there_s[0], maximum(*there_s)]) / beside.least
    host = {
        "host": rated / beside.reached + handover, "host_rated": rated,
        "host_low": low, "host_high": high + 2 * handover,
    }  # fmt: skip
    return msgspec.structs.replace(
        parts[0], **{name: _picked(copies, [getattr(one, name) for one in parts]) for name in names},
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
