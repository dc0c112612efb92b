"""The answer of `sweep`: the document rooflight.sweep/1 and its rows, made block by block as they are asked for.

The JSON document:

    schema          "rooflight.sweep/1"
    answer          one sentence: the knee, the ridge crossing and the KV limit of the first deployment
    model           the model's id
    phase           "decode" or "prefill": which step every row is
    axes            names of what was swept
    points          how many rows
    assumptions     as in analyze
    warnings        as in analyze
    landmarks       one a deployment (values.sweep.Landmarks): accelerator, devices, tp, weights, kv_cache, context,
                    ridge_batch, compute_batch, knee_batch (null: not below 2^20 sequences), kv_limit
    schedule        under which every row is a run (show.runs.RunRow); null where rows are steps
    goals           one a deployment and pair of lengths (values.sweep.Goal), where goals were asked for
    rows            one a point: the fields of Row, nested ones as in analyze

A row that does not fit has bound "capacity", and its times and rates are null, unless --ignore-capacity asked for them.
Without a compute peak ceilings_s.compute and the ridge are null; in prefill the bound, times and rates too.
CSV holds the rows alone, nested fields joined by a dot (`time_s.ceiling`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from rooflight.numeric import tidy
from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Prose, Table
from rooflight.show.data import Rows, encode, write_list
from rooflight.show.goals import goal_blocks
from rooflight.show.seen import note, renamed
from rooflight.units import several
from rooflight.values.accelerator import devices_named
from rooflight.values.analysis import Bytes
from rooflight.values.held import BOUNDLESS
from rooflight.values.steptime import BINDING
from rooflight.values.sweep import Goal, Landmarks, SweepBlock
from rooflight.words.seen import measured_among
from rooflight.words.sweep import goal_answer

if TYPE_CHECKING:
    from rooflight.words.sweep import Sweep

SCHEMA = "rooflight.sweep/1"
# Rows of the text form; more are thinned evenly.
TEXT_ROWS = 40


class OpenSpan(msgspec.Struct, frozen=True, gc=False):
    """A Span that is null where the point does not fit."""

    ceiling: float | None = None
    roofline: float | None = None
    expected: float | None = None
    low: float | None = None
    high: float | None = None


class OpenCeilings(msgspec.Struct, frozen=True, gc=False):
    """Ceilings that are null where the point does not fit."""

    compute: float | None = None
    memory: float | None = None
    link: float | None = None
    launch: float | None = None
    host_memory: float | None = None
    host_link: float | None = None


class Row(msgspec.Struct, frozen=True):
    """One point. FLOP and bytes are summed over all devices, times are wall times of one step."""

    accelerator: str
    devices: int
    tp: int
    pp: int
    ep: int
    dp: int
    weights: str
    kv_cache: str
    phase: str
    batch: int
    prefill_batch: int
    isl: int
    osl: int
    context: float | None
    fits: bool | None
    max_batch: int | None
    bound: str | None
    ceilings_s: OpenCeilings
    time_s: OpenSpan
    tokens_per_s: OpenSpan
    tokens_per_s_per_user: OpenSpan
    intensity_flop_per_byte: float
    ridge_flop_per_byte: float | None
    bytes: Bytes
    flop: float
    link_bytes: float


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The document without its rows."""

    schema: str = SCHEMA
    answer: str
    model: str
    phase: str
    axes: tuple[str, ...]
    points: int
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    landmarks: tuple[Landmarks, ...]
    schedule: str | None = None
    goals: tuple[Goal, ...] = ()
    measured_or_absent: tuple[str, ...] | msgspec.UnsetType = msgspec.field(name="measured", default=msgspec.UNSET)

    @property
    def measured(self) -> tuple[str, ...]:
        """Ids of the accelerators that were measured: their ceilings are the fastest seen there."""
        return () if self.measured_or_absent is msgspec.UNSET else self.measured_or_absent


def summary(sweep: Sweep, model: str) -> Summary:
    """What stands above the rows."""
    landmarks, goals = sweep.landmarks(), sweep.goals()
    return Summary(
        answer=goal_answer(model, goals, sweep.scenarios) if goals else answer(model, landmarks, sweep.phase),
        model=model,
        phase=sweep.phase,
        axes=sweep.axes,
        points=sweep.points,
        assumptions=sweep.assumptions,
        warnings=sweep.warnings,
        landmarks=landmarks,
        schedule=sweep.schedule,
        goals=goals,
        measured_or_absent=measured_among(sc.accelerator for sc in sweep.scenarios) or msgspec.UNSET,
    )


def answer(model: str, landmarks: Sequence[Landmarks], phase: str = "decode") -> str:
    """How many sequences fit, where a larger decode batch stops paying, and where decode meets the ridge; in prefill,
    from which prompt length on it is compute-bound."""
    first = next((mark for mark in landmarks if mark.kv_limit != 0), landmarks[0])
    where = devices_named(first.accelerator, first.devices)
    more = len(landmarks) - 1
    others = f" ({more} more line{'s' * (more > 1)} below.)" if more else ""
    if first.kv_limit == 0:
        return f"{model} does not fit on {where} with {several(first.context, 'token')} of context.{others}"
    if not first.rated:
        return (
            f"{model} on {where} ({first.weights} weights, {several(first.context, 'token')} of context): "
            f"{_limit(first)}; where decode turns to arithmetic, and what prompts take, cannot be told: no compute "
            f"peak of it is published.{others}"
        )
    if phase == "prefill":
        turn = first.compute_isl
        told = "at no length below 2^20 tokens" if turn is None else f"from {turn:,} tokens on"
        return f"{model} on {where} ({first.weights} weights): prefill of one prompt is compute-bound {told}.{others}"
    return (
        f"{model} on {where} ({first.weights} weights, {several(first.context, 'token')} of context): "
        f"{_limit(first)}; the knee, from which doubling the decode batch gains less than half, is "
        f"{_batch(first.knee_batch, first.kv_limit)}; decode meets the ridge point "
        f"{_batch(first.ridge_batch, first.kv_limit)}."
        f"{others}"
    )


def _limit(mark: Landmarks) -> str:
    if mark.kv_limit is None:
        return "no source says how much memory there is"
    return f"the KV cache holds at most {mark.kv_limit:,} sequences"


def _batch(batch: int | None, most: int | None) -> str:
    if batch is None:
        return "at no batch below 2^20"
    return f"at batch {batch:,}" + (" (beyond what fits)" if most is not None and batch > most else "")


def rows(blocks: Iterable[SweepBlock], *, ignore_capacity: bool = False) -> Iterator[Row]:
    """The points of the blocks, one after the other."""
    for block in blocks:
        yield from _block_rows(block, slice(None), ignore_capacity)


_NESTED = {
    "ceilings_s": OpenCeilings,
    "time_s": OpenSpan,
    "tokens_per_s": OpenSpan,
    "tokens_per_s_per_user": OpenSpan,
    "bytes": Bytes,
}
COLUMNS = tuple(
    path
    for name in Row.__struct_fields__
    for path in ([f"{name}.{part}" for part in _NESTED[name].__struct_fields__] if name in _NESTED else [name])
)


def flat_rows(points: Iterable[Row]) -> Rows:
    """The rows for CSV."""
    return Rows(COLUMNS, map(attrgetter(*COLUMNS), points))


def _block_rows(block: SweepBlock, chosen: slice, ignore_capacity: bool) -> Iterator[Row]:
    """Rows of a block; `chosen` picks some of its points in the order of the grid."""
    same = (
        block.accelerator, block.devices, block.tp, block.pp, block.ep, block.dp, block.weights, block.kv_cache,
        block.phase,
    )  # fmt: skip
    columns = _columns(block, chosen)
    ridge = block.ridge_flop_per_byte
    for (
        batch, prefill_batch, isl, osl, context, fits, max_batch, bound, compute, memory, link, launch,
        host_memory, host_link, flop, weights, kv_read, kv_write, activations, link_bytes, *spans,
    ) in zip(*columns, strict=True):  # fmt: skip
        total = weights + kv_read + kv_write + activations
        shown = fits or ignore_capacity
        told = shown and block.known
        yield Row(
            *same, int(batch), int(prefill_batch), int(isl), int(osl),
            None if context is None else tidy(float(context)), *known(fits, max_batch),
            (BINDING[bound] if block.known else None) if shown else "capacity",
            OpenCeilings(
                None if block.unrated else compute, memory, link, launch, host_memory, host_link
            ) if told else _NO_CEILINGS,
            OpenSpan(*spans[:5]) if told else _NOTHING,
            OpenSpan(*spans[5:10]) if told else _NOTHING,
            OpenSpan(*spans[10:]) if told else _NOTHING,
            flop / total,
            ridge,
            Bytes(weights=weights, kv_read=kv_read, kv_write=kv_write, activations=activations, total=total),
            flop,
            link_bytes,
        )  # fmt: skip


def known(fits: bool, most: int) -> tuple[bool | None, int | None]:
    """Whether it fits and how many do; nothing where no source has the devices' size."""
    return (None, None) if most >= BOUNDLESS else (fits, int(most))


_NOTHING, _NO_CEILINGS = OpenSpan(), OpenCeilings()


def _columns(block: SweepBlock, chosen: slice) -> list[list[Any]]:
    """The arrays of a block as plain lists of equal length; last the times, the rates, and those of a user."""
    import numpy as np

    time, work = block.time, block.work
    rates = [block.span, block.span.rate(block.tokens)]
    rates += [block.span.rate(block.tokens / block.batch)] if block.phase == "decode" else []
    arrays = (
        block.batch, block.prefill_batch, block.isl, block.osl, block.context, block.fits, block.max_batch, time.bound,
        time.compute_s, time.memory_s, time.link_s, time.launch_s, time.host_memory_s, time.host_link_s,
        work.flop, work.weight_bytes, work.kv_read_bytes, work.kv_write_bytes, work.activation_bytes, work.link_bytes,
        *(getattr(span, name) for span in rates for name in OpenSpan.__struct_fields__),
    )  # fmt: skip
    return [np.broadcast_to(np.asarray(values), block.shape).reshape(-1)[chosen].tolist() for values in arrays]


def write_json(stream: TextIO, head: Summary, texts: Iterable[str]) -> None:
    """The document, written as its rows' texts come."""
    stream.write(encode(head)[:-1] + ',"rows":')
    write_list(stream, texts)
    stream.write("}\n")


def blocks(sweep: Iterable[SweepBlock], head: Summary, *, ignore_capacity: bool = False) -> list[Block]:
    """The sentence, the landmarks, the rows (thinned), the assumptions."""
    shown = head_blocks(head)
    few = list(thinned(sweep, head.points, ignore_capacity))
    tables = [_row_table(title, list(group), head.axes) for title, group in groupby(few, _heading)]
    alone = all(row.accelerator in head.measured for row in few)
    shown += renamed(tables, alone)
    return shown + ([] if alone else note(head.measured)) + foot_blocks(head, len(few))


def head_blocks(head: Summary) -> list[Block]:
    """What stands above the rows."""
    shown: list[Block] = [Prose(head.answer, "answer")]
    shown += [Prose(f"Warning: {text}", "warning") for text in head.warnings]
    shown += goal_blocks(head.goals)
    if len(head.landmarks) > 1 and not head.goals:
        shown.append(_landmark_table(head.landmarks))
    return shown


def foot_blocks(head: Summary, few: int) -> list[Block]:
    """How many rows are left out, and what was assumed."""
    shown: list[Block] = []
    if few < head.points:
        left = head.points - few
        shown.append(Prose(f"{left:,} of {head.points:,} rows left out; --format csv or json gives all.", "note"))
    return [*shown, Bullets("Assumed:", head.assumptions)]


def thinned(sweep: Iterable[SweepBlock], points: int, ignore_capacity: bool) -> Iterator[Row]:
    """At most TEXT_ROWS rows, evenly spread; memory does not grow with the number of points."""
    step = -(-points // TEXT_ROWS)
    seen = 0
    for block in sweep:
        first = -seen % step
        if first < block.points:
            yield from _block_rows(block, slice(first, None, step), ignore_capacity)
        seen += block.points


_AXIS_HEADS = {"prefill_batch": "prefill\nbatch"}
_IN_HEADING = ("accelerator", "weights", "kv_cache")


def _heading(row: Row) -> str:
    """What the rows of a table have in common."""
    where = devices_named(row.accelerator, row.devices)
    ridge = row.ridge_flop_per_byte
    said = "no compute peak known" if ridge is None else f"ridge point {numbers.plain(ridge)} FLOP/byte"
    return f"{row.phase.capitalize()} on {where}, {row.weights} weights, {row.kv_cache} KV cache, {said}:"


def _row_table(title: str, few: Sequence[Row], axes: Sequence[str]) -> Table:
    """The swept values, then what they give."""
    axes = [axis for axis in axes if axis not in _IN_HEADING] or ["batch"]
    heads = (
        *(_AXIS_HEADS.get(axis, axis) for axis in axes),
        "bound", "ceiling", "roofline", "expected", "tok/s\nexpected", "tok/s\na user", "FLOP/\nbyte", "at most\nfit",
    )  # fmt: skip
    return Table(title=title, heads=heads, left=("bound",), rows=tuple(_cells(row, axes) for row in few))


def _cells(row: Row, axes: Sequence[str]) -> tuple[str, ...]:
    return (
        *(numbers.count(getattr(row, axis)) for axis in axes),
        numbers.resource(row.bound) or "not known",
        numbers.seconds(row.time_s.ceiling),
        numbers.seconds(row.time_s.roofline),
        numbers.seconds(row.time_s.expected),
        numbers.plain(row.tokens_per_s.expected),
        numbers.plain(row.tokens_per_s_per_user.expected),
        numbers.plain(row.intensity_flop_per_byte),
        "?" if row.max_batch is None else f"{row.max_batch:,}",
    )


def _landmark_table(landmarks: Sequence[Landmarks]) -> Table:
    heads = (
        "deployment",
        "weights",
        "KV cache",
        "context",
        "knee\nbatch",
        "ridge\nbatch",
        "compute\nbatch",
        "KV\nlimit",
        "compute\nprompt",
    )
    return Table(
        title="Where the decode batch turns, a deployment a line:",
        heads=heads,
        left=heads[:3],
        rows=tuple(
            (
                f"{devices_named(mark.accelerator, mark.devices)}, {_degrees(mark)}",
                mark.weights,
                mark.kv_cache,
                f"{mark.context:,}",
                *(
                    "-" if batch is None else f"{batch:,}"
                    for batch in (mark.knee_batch, mark.ridge_batch, mark.compute_batch)
                ),
                "?" if mark.kv_limit is None else f"{mark.kv_limit:,}",
                "-" if mark.compute_isl is None else f"{mark.compute_isl:,}",
            )
            for mark in landmarks
        ),
    )


def _degrees(mark: Landmarks) -> str:
    """tp, and the other degrees of parallelism where they are more than one."""
    others = [f"{name} {getattr(mark, name)}" for name in ("pp", "dp", "ep") if getattr(mark, name) > 1]
    return " ".join([f"tp {mark.tp}", *others])
